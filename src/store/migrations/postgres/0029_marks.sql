-- The messages of a chat that a person marked or hid: few of very many.
create index message_marked on message (space_id, conversation_id, message_id)
    where label <> '' or bookmarked_at is not null or pruned_at is not null;
