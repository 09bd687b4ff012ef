-- The Inbox lists what persons decided on beside what personas proposed: a text that could not be saved at
-- once is a person's own.

drop index pending_changes_of_personas;
create index pending_changes_listed on pending_changes (space_id, state, change_id)
    where proposed_by_kind = 'persona' or state = 'conflict' or decided_by_user_id is not null;
