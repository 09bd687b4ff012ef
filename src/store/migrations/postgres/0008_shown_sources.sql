-- What a person looked at is told with their message and kept nowhere; but what of it was written elsewhere
-- must be known as long as the conversation goes on.

create table shown_source (
    space_id text not null,
    conversation_id text not null,
    message_id text not null,
    sources text not null, -- JSON: see domain/proposal.rs
    primary key (space_id, conversation_id, message_id),
    foreign key (space_id, conversation_id)
        references conversation (space_id, conversation_id) on delete cascade
);
