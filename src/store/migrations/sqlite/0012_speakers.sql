-- Who said a message that no run wrote: what came from a file. The run knows it for all others.
alter table message add column persona_id text;
