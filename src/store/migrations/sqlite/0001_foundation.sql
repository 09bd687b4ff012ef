-- Everything belongs to a space, and every key begins with it: a row cannot even
-- refer to a row of another space.

create table space (
    space_id text primary key,
    name text not null,
    created_at integer not null -- milliseconds since 1970, as everywhere
) strict;

create table "user" (
    user_id text primary key,
    name text not null,
    created_at integer not null
) strict;

create table membership (
    space_id text not null references space (space_id),
    user_id text not null references "user" (user_id),
    role text not null check (role in ('owner', 'editor', 'viewer')),
    created_at integer not null,
    primary key (space_id, user_id)
) strict;

create table persona (
    space_id text not null references space (space_id),
    persona_id text not null,
    revision integer not null, -- the version it is at
    name_folded text not null, -- in small letters, for finding and sorting
    agent_conversation_id text,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer, -- set while it lies in the bin
    primary key (space_id, persona_id)
) strict;

create index persona_by_recency on persona (space_id, updated_at, persona_id) where deleted_at is null;
create index persona_in_bin on persona (space_id, deleted_at) where deleted_at is not null;

-- Never updated: what was written stays.
create table persona_version (
    space_id text not null,
    persona_id text not null,
    revision integer not null,
    name text not null,
    system_prompt text not null,
    appearance text not null,
    notes text not null,
    model text not null,
    tools text not null, -- a JSON array of names
    tier text not null check (tier in ('read', 'suggest', 'act')),
    roleplay_data text, -- JSON, once it was made
    change_id text not null,
    author_kind text not null,
    author_user_id text,
    author_persona_id text,
    reason text not null,
    created_at integer not null,
    primary key (space_id, persona_id, revision),
    foreign key (space_id, persona_id) references persona (space_id, persona_id) on delete cascade
) strict;

create table persona_label (
    space_id text not null,
    persona_id text not null,
    label text not null,
    revision integer not null,
    updated_at integer not null,
    primary key (space_id, persona_id, label),
    foreign key (space_id, persona_id, revision)
        references persona_version (space_id, persona_id, revision) on delete cascade
) strict;

create table test_input (
    space_id text not null,
    test_input_id text not null,
    persona_id text not null,
    revision integer not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    primary key (space_id, test_input_id),
    foreign key (space_id, persona_id) references persona (space_id, persona_id) on delete cascade
) strict;

create index test_input_by_persona on test_input (space_id, persona_id) where deleted_at is null;
create index test_input_in_bin on test_input (space_id, deleted_at) where deleted_at is not null;

create table test_input_version (
    space_id text not null,
    test_input_id text not null,
    revision integer not null,
    content text not null,
    position text not null, -- sorts among its siblings, byte by byte
    change_id text not null,
    author_kind text not null,
    author_user_id text,
    author_persona_id text,
    reason text not null,
    created_at integer not null,
    primary key (space_id, test_input_id, revision),
    foreign key (space_id, test_input_id)
        references test_input (space_id, test_input_id) on delete cascade
) strict;

-- Every change, waiting or decided. It refers to its entity by word, because it
-- may propose one that does not exist yet and outlives one that is gone.
create table pending_changes (
    space_id text not null references space (space_id),
    change_id text not null,
    entity_type text not null,
    entity_id text not null,
    op text not null,
    patch text not null, -- JSON: the fields it writes
    base_revision integer,
    state text not null check (
        state in ('pending', 'applied', 'rejected', 'superseded', 'expired', 'conflict')
    ),
    summary text not null,
    reason text not null,
    undoes text, -- the change that this one takes back
    undone_by text, -- the change that took this one back
    proposed_by_kind text not null,
    proposed_by_user_id text,
    proposed_by_persona_id text,
    run_id text,
    conversation_id text,
    message_id text,
    untrusted text, -- JSON: what the run had read before, and where
    created_at integer not null,
    expires_at integer,
    decided_by_user_id text,
    decided_at integer,
    decision_note text,
    from_revision integer, -- what it found when it was applied
    to_revision integer, -- what it made
    primary key (space_id, change_id)
) strict;

create index pending_changes_by_state on pending_changes (space_id, state, change_id);
create index pending_changes_by_entity on pending_changes (space_id, entity_type, entity_id, change_id);

create table audit (
    space_id text not null references space (space_id),
    audit_id text not null,
    change_id text not null,
    entity_type text not null,
    entity_id text not null,
    op text not null,
    summary text not null,
    actor_kind text not null,
    user_id text,
    persona_id text,
    run_id text,
    from_revision integer,
    to_revision integer,
    created_at integer not null,
    primary key (space_id, audit_id)
) strict;

create index audit_by_entity on audit (space_id, entity_type, entity_id, audit_id);
