-- The playground: sessions with a persona that has tools, and the files that it works on.

create table playground_session (
    space_id text not null,
    conversation_id text collate "C" not null,
    persona_id text not null,
    persona_revision bigint not null, -- the version that speaks
    model text not null, -- empty for the persona's own
    variables text not null, -- JSON: what stands in for {{name}} in the prompt
    system_prompt text, -- what is tried instead of the version's own prompt
    primary key (space_id, conversation_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade,
    foreign key (space_id, persona_id, persona_revision)
        references persona_version (space_id, persona_id, revision) on delete cascade
);

create index playground_session_by_version
    on playground_session (space_id, persona_id, persona_revision);

-- One row for each file and revision. A revision belongs to a message, and is there on every branch on
-- which that message is; what was put in before anything was said belongs to none, and is there on all.
create table playground_file (
    space_id text not null,
    conversation_id text collate "C" not null,
    path text collate "C" not null,
    revision bigint not null, -- counts within the path
    message_id text collate "C" not null, -- the message whose making wrote it; it may still be on its way. Empty for none
    call_id text not null, -- the tool's call that wrote it; empty for a person
    content bytea, -- null when it was deleted
    size bigint not null,
    created_at bigint not null,
    primary key (space_id, conversation_id, path, revision),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
);

create index playground_file_by_message
    on playground_file (space_id, conversation_id, message_id, path, revision);

-- What runs took, for lists, sums and limits; all of it is in `spent` too.
alter table run add column cost_micros bigint;
alter table run add column duration_ms bigint;
alter table run add column input_tokens bigint;
alter table run add column output_tokens bigint;

update run set
    cost_micros = (spent::json->>'costMicros')::bigint,
    duration_ms = (spent::json->>'durationMs')::bigint,
    input_tokens = (spent::json->'usage'->>'input')::bigint,
    output_tokens = (spent::json->'usage'->>'output')::bigint
where ended_at is not null;

create index run_by_time on run (space_id, created_at);
create index run_by_persona on run (space_id, persona_id, run_id);
create index run_by_model on run (space_id, model, run_id);
create index run_failed on run (space_id, run_id) where status in ('failed', 'interrupted');
