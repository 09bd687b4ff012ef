-- What runs told in one round of the log and is not among their events yet: see store/journal.rs.
create table run_journal (
    round_id integer primary key,
    told text not null -- JSON: rows of events, of all runs
) strict;
