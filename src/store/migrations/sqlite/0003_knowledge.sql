-- Pages, refs and tasks: one life for all of them, so one pair of tables.

create table entry (
    space_id text not null references space (space_id),
    entry_id text not null, -- unique among all kinds
    kind text not null check (kind in ('page', 'ref', 'task')),
    revision integer not null, -- the version it is at
    title text not null, -- as lists show it
    title_folded text not null, -- in small letters, for finding
    status text, -- of a task
    card text not null, -- JSON: what lists show, see domain/knowledge.rs
    sort_at integer not null, -- where lists put it, the highest first
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer, -- set while it lies in the bin
    primary key (space_id, entry_id)
) strict;

create index entry_by_kind on entry (space_id, kind, sort_at, entry_id) where deleted_at is null;
create index entry_by_title on entry (space_id, kind, title_folded) where deleted_at is null;
create index entry_in_bin on entry (space_id, deleted_at) where deleted_at is not null;
create index persona_by_name on persona (space_id, name_folded) where deleted_at is null;

-- Never updated: what was written stays.
create table entry_version (
    space_id text not null,
    entry_id text not null,
    revision integer not null,
    title text not null,
    fields text not null, -- JSON: see domain/knowledge.rs
    change_id text not null,
    author_kind text not null,
    author_user_id text,
    author_persona_id text,
    reason text not null,
    created_at integer not null,
    primary key (space_id, entry_id, revision),
    foreign key (space_id, entry_id) references entry (space_id, entry_id) on delete cascade
) strict;
