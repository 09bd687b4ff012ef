-- What is looked at of very many rows is all in an index: the rows themselves are wide and far apart.

-- The siblings of a message, and what follows them.
drop index message_by_parent;
create index message_by_parent
    on message (space_id, conversation_id, parent_id, message_id) include (pruned_at);
