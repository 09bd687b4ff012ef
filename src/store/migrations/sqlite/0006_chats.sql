-- Chats: conversations with personas as trees of messages, each persona as it was at one version.

create table chat (
    space_id text not null,
    conversation_id text not null,
    revision integer not null, -- the version it is at; its title is the conversation's
    titled_by text not null check (titled_by in ('new', 'model', 'person')),
    mode text not null check (mode in ('roleplay', 'story')),
    settings text not null, -- JSON: see domain/chat.rs
    primary key (space_id, conversation_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
) strict;

-- Who speaks in a chat, in order, each as it was at a version.
create table chat_member (
    space_id text not null,
    conversation_id text not null,
    position integer not null,
    persona_id text not null,
    revision integer not null, -- of the persona
    primary key (space_id, conversation_id, position),
    foreign key (space_id, conversation_id)
        references chat (space_id, conversation_id) on delete cascade,
    foreign key (space_id, persona_id, revision)
        references persona_version (space_id, persona_id, revision) on delete cascade
) strict;

create index chat_member_by_persona on chat_member (space_id, persona_id, revision, conversation_id);

-- Never updated: what was written stays.
create table chat_version (
    space_id text not null,
    conversation_id text not null,
    revision integer not null,
    fields text not null, -- JSON: see domain/chat.rs
    change_id text not null,
    author_kind text not null,
    author_user_id text,
    author_persona_id text,
    reason text not null,
    created_at integer not null,
    primary key (space_id, conversation_id, revision),
    foreign key (space_id, conversation_id)
        references chat (space_id, conversation_id) on delete cascade
) strict;

-- Where each device of each person last was in a chat.
create table chat_leaf (
    space_id text not null,
    conversation_id text not null,
    user_id text not null,
    device_id text not null, -- made up by the browser
    leaf_id text not null,
    updated_at integer not null,
    primary key (space_id, conversation_id, user_id, device_id),
    foreign key (space_id, conversation_id)
        references chat (space_id, conversation_id) on delete cascade
) strict;

create index conversation_by_recency on conversation (space_id, kind, updated_at, conversation_id)
    where deleted_at is null;
create index conversation_in_bin on conversation (space_id, deleted_at) where deleted_at is not null;

-- A message's parent is a message of the same conversation that was there before it: there are no
-- circles, and nothing hangs in the air. SQLite learns that only with a new table.
create table message_in_tree (
    space_id text not null,
    message_id text not null,
    conversation_id text not null,
    parent_id text, -- never updated
    role text not null check (role in ('user', 'assistant')),
    parts text not null, -- JSON: see domain/message.rs
    run_id text,
    model text not null,
    stop text,
    spent text not null, -- JSON: see domain/run.rs
    created_at integer not null,
    label text not null default '', -- what a person calls this moment
    bookmarked_at integer,
    pruned_at integer, -- set while it is hidden with all that follows it
    primary key (space_id, message_id),
    unique (space_id, conversation_id, message_id),
    check (parent_id is null or parent_id <> message_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade,
    foreign key (space_id, conversation_id, parent_id)
        references message_in_tree (space_id, conversation_id, message_id)
) strict;

insert into message_in_tree
    (space_id, message_id, conversation_id, parent_id, role, parts, run_id, model, stop, spent, created_at)
select m.space_id, m.message_id, m.conversation_id,
    (select p.message_id from message p where p.space_id = m.space_id
        and p.conversation_id = m.conversation_id and p.message_id = m.parent_id),
    m.role, m.parts, m.run_id, m.model, m.stop, m.spent, m.created_at
from message m;

drop table message;
alter table message_in_tree rename to message;

create index message_by_parent on message (space_id, conversation_id, parent_id, message_id);
create index message_pruned on message (space_id, conversation_id) where pruned_at is not null;

-- What a run's model was told before the conversation, and how much of it went along.
alter table run add column prompt text; -- JSON: see domain/sent.rs

-- When a model made the roleplay data; null when a person wrote it.
alter table persona_version add column roleplay_made_at integer;

-- A moment of a chat as a test input: what was said before, and what a good answer does.
alter table test_input_version add column history text not null default '[]'; -- JSON: see domain/test_input.rs
alter table test_input_version add column check_text text not null default '';
