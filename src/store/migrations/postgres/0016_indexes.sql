-- What is looked at of very many rows is all in an index: the rows themselves are wide and far apart.

-- The siblings of a message that are shown, and what follows them.
create index message_shown on message (space_id, conversation_id, parent_id, message_id)
    where pruned_at is null;
