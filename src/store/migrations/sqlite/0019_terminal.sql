-- Sessions of the terminal: conversations with a model or a persona, and what was set for them when.

create table terminal_session (
    space_id text not null,
    conversation_id text not null,
    model text not null, -- a model string, or persona:ID with @LABEL
    window_size integer not null, -- in exchanges
    truncate_results integer not null,
    manager text not null check (manager in ('sliding_window', 'summarizing')),
    prompt text, -- null for the persona's own, or none
    prompt_source text check (prompt_source in ('inline', 'file')),
    prompt_path text, -- as it was named
    summary text, -- what stands for the oldest exchanges
    summary_until text, -- the last message that is in it
    primary key (space_id, conversation_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
) strict;

create table terminal_setting (
    space_id text not null,
    conversation_id text not null,
    place integer not null, -- counts within the session
    changes text not null, -- JSON: what was set
    at integer not null,
    primary key (space_id, conversation_id, place),
    foreign key (space_id, conversation_id)
        references terminal_session (space_id, conversation_id) on delete cascade
) strict;
