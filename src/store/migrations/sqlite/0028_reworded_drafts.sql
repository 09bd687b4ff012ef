-- What was proposed at first, as JSON like the patch, where a person has written it anew since.
alter table pending_changes add column proposed text;
