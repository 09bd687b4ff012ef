-- What is looked at of very many rows is all in an index: the rows themselves are wide and far apart.

-- To whom a document belongs that has the words of a search.
create index search_document_scope on search_document (document_id, space_id, kind, entity_id);

-- The siblings of a message that are shown, and what follows them.
create index message_shown on message (space_id, conversation_id, parent_id, message_id)
    where pruned_at is null;
