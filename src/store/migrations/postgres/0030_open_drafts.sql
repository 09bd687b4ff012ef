-- Every change looks for the drafts about the same thing that still wait, however many versions that has;
-- and a draft that fits no longer grows as old as one that does.

create index pending_changes_open on pending_changes (space_id, entity_type, entity_id, change_id)
    where state in ('pending', 'conflict');
drop index pending_changes_expiring;
create index pending_changes_expiring on pending_changes (expires_at)
    where state in ('pending', 'conflict');
