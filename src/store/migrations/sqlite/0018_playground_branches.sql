-- What is tried on a branch of a session instead of the prompt of its version, from an answer on.
create table playground_prompt (
    space_id text not null,
    conversation_id text not null,
    message_id text not null, -- the answer that was the first to be given with it; it may be on its way
    system_prompt text not null,
    primary key (space_id, conversation_id, message_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
) strict;

-- What a list of traces is looked through for, when few of very many fit: all of it in an index, because
-- the rows themselves are wide and far apart.
create index run_measured
    on run (space_id, run_id, status, cost_micros, duration_ms, conversation_id);
