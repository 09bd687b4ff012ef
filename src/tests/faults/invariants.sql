-- What must never be: each of these finds nothing after whatever happened.

-- An applied change without a line of the audit.
select c.change_id from pending_changes c
where c.state = 'applied' and not exists (
    select 1 from audit a where a.space_id = c.space_id and a.change_id = c.change_id);

-- A line of the audit without its applied change.
select a.audit_id from audit a
where not exists (select 1 from pending_changes c where c.space_id = a.space_id
    and c.change_id = a.change_id and c.state = 'applied');

-- Two lines of the audit for one change.
select a.change_id from audit a group by a.space_id, a.change_id having count(*) > 1;

-- An applied change of a persona, a page, a ref or a task that made no version.
select c.change_id from pending_changes c
where c.state = 'applied' and c.op in ('create', 'update') and c.entity_type = 'persona'
    and exists (select 1 from persona p where p.space_id = c.space_id and p.persona_id = c.entity_id)
    and not exists (select 1 from persona_version v where v.space_id = c.space_id
        and v.persona_id = c.entity_id and v.change_id = c.change_id);
select c.change_id from pending_changes c
where c.state = 'applied' and c.op in ('create', 'update')
    and c.entity_type in ('page', 'ref', 'task')
    and exists (select 1 from entry e where e.space_id = c.space_id and e.entry_id = c.entity_id)
    and not exists (select 1 from entry_version v where v.space_id = c.space_id
        and v.entry_id = c.entity_id and v.change_id = c.change_id);

-- A version whose change is not applied.
select v.change_id from persona_version v
where not exists (select 1 from pending_changes c where c.space_id = v.space_id
    and c.change_id = v.change_id and c.state = 'applied');
select v.change_id from entry_version v
where not exists (select 1 from pending_changes c where c.space_id = v.space_id
    and c.change_id = v.change_id and c.state = 'applied');

-- A thing whose present version is not there, or is not the last one, or versions with a gap.
select p.persona_id from persona p
where p.revision <> (select max(v.revision) from persona_version v
        where v.space_id = p.space_id and v.persona_id = p.persona_id)
    or p.revision <> (select count(*) from persona_version v
        where v.space_id = p.space_id and v.persona_id = p.persona_id);
select e.entry_id from entry e
where e.revision <> (select max(v.revision) from entry_version v
        where v.space_id = e.space_id and v.entry_id = e.entry_id)
    or e.revision <> (select count(*) from entry_version v
        where v.space_id = e.space_id and v.entry_id = e.entry_id);

-- A message whose parent is in another conversation, or nowhere.
select m.message_id from message m
where m.parent_id is not null and not exists (select 1 from message p where p.space_id = m.space_id
    and p.conversation_id = m.conversation_id and p.message_id = m.parent_id);

-- A run that is over and has no end, and one that ended and is not over.
select r.run_id from run r
where (r.status in ('done', 'stopped', 'failed', 'interrupted')) <> (r.ended_at is not null);

-- Two runs at once in one conversation, but for those that answer together.
select r.conversation_id from run r where r.status in ('queued', 'running')
group by r.space_id, r.conversation_id having count(distinct r.message_id) > 1 or count(*) > 8;

-- A picture that is done without its facts.
select p.picture_id from picture p where p.state = 'done' and p.facts is null;

-- Rows that refer to what is not there.
select f."table" from pragma_foreign_key_check f;
