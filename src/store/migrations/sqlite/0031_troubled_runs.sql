-- What went wrong is more than what failed: what a limit ended, what was cut short and what was refused says
-- so as well, and a list of all of that is as short to find.

drop index run_failed;
create index run_troubled on run (space_id, run_id) where error is not null;
