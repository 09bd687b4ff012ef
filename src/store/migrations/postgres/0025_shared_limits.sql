-- What runs that go on may still take, so that others are not given the same, and with which key each was
-- begun, so that all servers and Spaces that have it count as one.
alter table run add column held_tokens bigint not null default 0; -- read and written
alter table run add column held_micros bigint not null default 0; -- millionths of a dollar
alter table run add column service_key text collate "C" not null default ''; -- the service and where its key is, never the key

create index run_by_key on run (service_key, created_at) where service_key <> '';
