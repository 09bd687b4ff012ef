-- What is looked at of very many rows is all in an index: the rows themselves are wide and far apart.

-- To whom a document belongs that has the words of a search.
create index search_document_scope on search_document (document_id, space_id, kind, entity_id);

-- The siblings of a message, and what follows them.
drop index message_by_parent;
create index message_by_parent
    on message (space_id, conversation_id, parent_id, message_id, pruned_at);
