-- How good somebody found a message, and why.

create table rating (
    space_id text not null,
    message_id text collate "C" not null,
    user_id text not null,
    rating bigint not null check (rating between 1 and 5),
    note text not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (space_id, message_id, user_id),
    foreign key (space_id, message_id) references message (space_id, message_id) on delete cascade
);
