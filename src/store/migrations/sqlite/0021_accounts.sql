-- Who may come in. A person without a password hash cannot sign in: the one who works on this machine
-- needs none, and whoever a proxy vouches for has none.

alter table "user" add column password_hash text; -- argon2id in its own text form, never the password

-- What a browser holds is known by its SHA-256 only, so that a copy of this table opens nothing.
create table account_session (
    session_hash text primary key,
    user_id text not null references "user" (user_id),
    space_id text not null references space (space_id), -- where this browser works now
    browser text not null, -- what it calls itself, shortened
    address text not null,
    created_at integer not null,
    used_at integer not null, -- some minutes behind, so that reading need not write
    expires_at integer not null -- however much it is used
) strict;

create index account_session_by_user on account_session (user_id);

create table api_token (
    token_hash text primary key,
    token_id text not null unique, -- how it is named on pages
    user_id text not null references "user" (user_id),
    space_id text not null references space (space_id),
    name text not null,
    scope text not null check (scope in ('read', 'write')),
    created_at integer not null,
    used_at integer,
    expires_at integer not null
) strict;

create index api_token_by_user on api_token (user_id);

-- Links that an owner makes: to come into a Space, or to choose a new password. Each is used once.
create table account_link (
    link_hash text primary key,
    link_id text not null unique,
    kind text not null check (kind in ('invite', 'reset')),
    space_id text not null references space (space_id),
    user_id text references "user" (user_id), -- whose password it sets; none for an invitation
    role text check (role in ('owner', 'editor', 'viewer')), -- what the invited becomes
    made_by text not null,
    created_at integer not null,
    expires_at integer not null,
    used_at integer
) strict;

-- Failed signing in, counted by account and by address, so that a restart forgets nothing.
create table login_attempt (
    attempt_key text primary key,
    failures integer not null,
    blocked_until integer not null,
    updated_at integer not null
) strict;

-- What happened to accounts, for owners to read. It outlives whom it is about.
create table account_event (
    event_id text primary key,
    space_id text, -- none when nobody knows whose it was
    user_id text, -- the account that it is about; as it was typed when there is none of that name
    what text not null,
    detail text not null,
    address text not null,
    created_at integer not null
) strict;

create index account_event_by_space on account_event (space_id, event_id);
