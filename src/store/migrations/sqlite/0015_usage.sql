-- What runs took, summed up by day, model and persona as they end: a page of sums reads these few rows,
-- however many runs there are. It stays when a persona is removed for good.

create table usage_day (
    space_id text not null,
    day integer not null, -- in UTC: how many came before it since 1970 began
    model text not null,
    persona_id text not null,
    runs integer not null,
    errors integer not null, -- of them, failed or interrupted
    input_tokens integer not null,
    output_tokens integer not null,
    cost_micros integer not null,
    unpriced integer not null, -- of the runs, those whose price is not known
    primary key (space_id, day, model, persona_id)
) strict;

insert into usage_day
select space_id, created_at / 86400000, model, persona_id, count(*),
    sum(case when status in ('failed', 'interrupted') then 1 else 0 end),
    coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
    coalesce(sum(cost_micros), 0), sum(case when cost_micros is null then 1 else 0 end)
from run where ended_at is not null
group by space_id, created_at / 86400000, model, persona_id;
