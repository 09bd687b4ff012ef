-- Conversations, the runs that go on in them, and what the models are.

create table conversation (
    space_id text not null references space (space_id),
    conversation_id text collate "C" not null,
    kind text not null check (kind in ('companion', 'editor', 'chat', 'playground', 'terminal', 'test')),
    persona_id text,
    title text not null,
    leaf_id text, -- the last message of the branch in use
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    primary key (space_id, conversation_id),
    foreign key (space_id, persona_id) references persona (space_id, persona_id) on delete cascade
);

create index conversation_by_persona on conversation (space_id, persona_id, kind, conversation_id);

create table message (
    space_id text not null,
    message_id text collate "C" not null,
    conversation_id text not null,
    parent_id text,
    role text not null check (role in ('user', 'assistant')),
    parts text not null, -- JSON: see domain/message.rs
    run_id text,
    model text not null,
    stop text,
    spent text not null, -- JSON: see domain/run.rs
    created_at bigint not null,
    primary key (space_id, message_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
);

create index message_by_conversation on message (space_id, conversation_id, message_id);

create table run (
    space_id text not null,
    run_id text collate "C" not null,
    conversation_id text not null,
    message_id text not null, -- the message that asked for it
    attempt bigint not null, -- a message can be asked again
    reply_id text not null, -- the message it writes
    persona_id text not null,
    persona_revision bigint not null,
    user_id text not null, -- for whom it works
    model text not null,
    status text not null check (
        status in ('queued', 'running', 'done', 'stopped', 'failed', 'interrupted')
    ),
    stop text,
    error text, -- JSON
    spent text not null, -- JSON
    created_at bigint not null,
    node text not null, -- the process it goes on in
    alive_at bigint not null, -- when that process last said so
    stop_asked_at bigint, -- when another process was asked to stop it
    ended_at bigint,
    primary key (space_id, run_id),
    unique (space_id, message_id, attempt),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
);

-- One run at a time in a conversation, whoever starts it.
create unique index run_going_on on run (space_id, conversation_id)
    where status in ('queued', 'running');
create index run_unfinished on run (alive_at) where status in ('queued', 'running');

-- What a run told, in order. Words that came close together are one row.
create table run_event (
    space_id text not null,
    run_id text not null,
    seq bigint not null, -- of the last event in the row
    lengths text, -- JSON: the lengths of the joined words, when they are several events
    event text not null, -- JSON: see domain/event.rs
    at bigint not null,
    primary key (space_id, run_id, seq),
    foreign key (space_id, run_id) references run (space_id, run_id) on delete cascade
);

-- What a persona, as it was at a version, answered to a test input.
create table test_answer (
    space_id text not null,
    test_input_id text not null,
    run_id text collate "C" not null,
    input_revision bigint not null,
    persona_id text not null,
    persona_revision bigint not null,
    created_at bigint not null,
    primary key (space_id, test_input_id, run_id),
    foreign key (space_id, test_input_id)
        references test_input (space_id, test_input_id) on delete cascade,
    foreign key (space_id, run_id) references run (space_id, run_id) on delete cascade
);

create index test_answer_by_persona on test_answer (space_id, persona_id, run_id);

-- How a service is reached, where that differs from what is built in.
create table service (
    space_id text not null references space (space_id),
    service text not null,
    label text not null,
    dialect text not null,
    base_url text not null,
    key_ref text not null, -- env:NAME or file:/path, never the key
    updated_at bigint not null,
    primary key (space_id, service)
);

-- Models beside those built in.
create table model (
    space_id text not null references space (space_id),
    model_id text not null,
    facts text not null, -- JSON: see domain/model.rs
    updated_at bigint not null,
    primary key (space_id, model_id)
);

create table preference (
    space_id text not null references space (space_id),
    name text not null,
    value text not null,
    updated_at bigint not null,
    primary key (space_id, name)
);
