-- Pictures, and the work that is done while nobody waits.

create table picture (
    space_id text not null references space (space_id),
    picture_id text not null,
    persona_id text, -- whom it shows
    conversation_id text, -- the chat it belongs to
    message_id text, -- the message it belongs to
    user_id text not null, -- for whom it is made
    state text not null check (state in ('queued', 'drawing', 'done', 'failed')),
    wish text not null, -- JSON: see domain/picture.rs
    facts text, -- JSON, once it is there
    problem text, -- why it is not there
    asked_at integer, -- when the service was asked: counts for that day's budget
    cost_micros integer, -- millionths of a dollar; null when the price is not known
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    primary key (space_id, picture_id),
    foreign key (space_id, persona_id) references persona (space_id, persona_id) on delete cascade,
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
) strict;

create index picture_by_persona on picture (space_id, persona_id, picture_id);
create index picture_by_message on picture (space_id, conversation_id, message_id, picture_id);
create index picture_by_day on picture (space_id, asked_at) where asked_at is not null;

-- Each is done at least once, by one process at a time.
create table job (
    job_id text primary key,
    space_id text not null references space (space_id),
    kind text not null,
    payload text not null, -- JSON: see jobs/
    state text not null check (state in ('queued', 'running', 'done', 'failed')),
    attempts integer not null, -- how often it was begun
    not_before integer not null,
    node text, -- the process it goes on in
    alive_at integer, -- when that process last said so
    problem text,
    created_at integer not null,
    ended_at integer
) strict;

create index job_due on job (not_before, job_id) where state = 'queued';
create index job_going_on on job (alive_at) where state = 'running';
create index job_over on job (ended_at) where ended_at is not null;

-- The picture that is the persona's face; empty for one that is drawn from its name.
alter table persona_version add column face text not null default '';
