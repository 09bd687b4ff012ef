-- What files said of the turns of sessions that were brought in: there are no runs that could tell.

create table imported_turn (
    space_id text not null,
    message_id text not null, -- what a person said
    facts text not null, -- JSON: model, status, what went wrong, and what it took
    primary key (space_id, message_id),
    foreign key (space_id, message_id) references message (space_id, message_id) on delete cascade
) strict;
