-- What is searched: one row per thing outside the bin, written with the thing.

create table search_document (
    space_id text not null references space (space_id),
    kind text not null,
    entity_id text collate "C" not null,
    parent_id text, -- what it goes into the bin with
    title text not null,
    secondary text not null,
    body text not null,
    written bigint not null, -- how often the texts were written
    updated_at bigint not null,
    vector bytea, -- what the texts mean: numbers of 32 bits, the low byte first
    vector_of text, -- what the vector was made by and of: the model, @, and the number of the writing
    words tsvector not null, -- split and folded in store/words.rs, alike for both databases
    primary key (space_id, kind, entity_id)
);

create index search_document_by_parent on search_document (space_id, parent_id)
    where parent_id is not null;
create index search_document_words on search_document using gin (words);
