-- What is searched: one row per thing outside the bin, written with the thing.

create table search_document (
    document_id integer primary key, -- for the index of words only
    space_id text not null references space (space_id),
    kind text not null,
    entity_id text not null,
    parent_id text, -- what it goes into the bin with
    title text not null,
    secondary text not null,
    body text not null,
    written integer not null, -- how often the texts were written
    updated_at integer not null,
    vector blob, -- what the texts mean: numbers of 32 bits, the low byte first
    vector_of text, -- what the vector was made by and of: the model, @, and the number of the writing
    unique (space_id, kind, entity_id)
) strict;

create index search_document_by_parent on search_document (space_id, parent_id)
    where parent_id is not null;

-- The words are split and folded in store/words.rs, alike for both databases, and stand here with a space
-- between them. Marks are letters, or words of some scripts would be split again.
create virtual table search_words using fts5 (
    title, secondary, body,
    content = '', contentless_delete = 1,
    prefix = '2 3',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);
