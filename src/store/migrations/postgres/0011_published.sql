-- What anyone may read: one version of a persona, under an address that is one in the whole house.

create table publication (
    space_id text not null,
    persona_id text not null,
    slug text not null unique,
    revision bigint not null, -- the version that is public
    shows_prompt bigint not null check (shows_prompt in (0, 1)),
    indexed bigint not null check (indexed in (0, 1)), -- whether search engines may list it
    examples text not null, -- JSON: test inputs and answers as they were when they were chosen
    published_by_user_id text,
    published_at bigint not null,
    primary key (space_id, persona_id),
    foreign key (space_id, persona_id, revision)
        references persona_version (space_id, persona_id, revision) on delete cascade
);

-- Whether a message asks for drafts, whatever the persona's agent may do by itself.
alter table message add column drafts_only bigint not null default 0;
