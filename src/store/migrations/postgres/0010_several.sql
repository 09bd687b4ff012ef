-- Several personas answer one message, and what comes next in a chat.

-- Answers to one message that belong together, in the order in which they stand.
alter table run add column round_id text collate "C" not null default ''; -- the first run of them; empty for itself
alter table run add column place bigint not null default 0;
alter table run add column follows_id text; -- what its message follows, when that is not what asked for it

drop index run_going_on;
create unique index run_going_on on run (space_id, conversation_id, place)
    where status in ('queued', 'running');
create index run_by_round on run (space_id, round_id, place);

-- What comes next, once the answer is there: further answers, turns that are said again, a person's words.
create table chat_next (
    space_id text not null,
    conversation_id text collate "C" not null,
    item_id text collate "C" not null, -- later ones sort after earlier ones
    rank bigint not null, -- what belongs to an answer comes before what is said next
    item text not null, -- JSON: see domain/line.rs
    user_id text not null, -- for whom
    held text, -- why it waits for a person; null while it goes on by itself
    created_at bigint not null,
    primary key (space_id, conversation_id, item_id),
    foreign key (space_id, conversation_id)
        references chat (space_id, conversation_id) on delete cascade
);

create index chat_next_moving on chat_next (created_at) where held is null;
