-- Drafts are listed by state among those of personas, found by conversation, and ended when they are old.
-- The last run of a conversation says whether its answer can be repeated.

create index pending_changes_of_personas on pending_changes (space_id, state, change_id)
    where proposed_by_kind = 'persona' or state = 'conflict';
create index pending_changes_by_conversation on pending_changes (space_id, conversation_id, decided_at)
    where conversation_id is not null;
create index pending_changes_expiring on pending_changes (expires_at) where state = 'pending';
create index run_by_conversation on run (space_id, conversation_id, run_id);
