-- What senders call their messages, so that one that was sent twice is said once.
create table sent_message (
    space_id text not null,
    conversation_id text not null,
    client_id text not null, -- what the sender calls it
    message_id text not null,
    primary key (space_id, conversation_id, client_id),
    foreign key (space_id, message_id)
        references message (space_id, message_id) on delete cascade
) strict;

create index sent_message_by_message on sent_message (space_id, message_id);
