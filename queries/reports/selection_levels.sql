-- One row per level that a filter can keep, with how many conversations have it.
-- key: filter, level
-- parameters: none
with levels as (
    select 'task' as filter, task as level, count(*) as n_conversations, 0.0 as sort_value
    from stg_conversations where task is not null group by all
    union all
    select 'model', model, count(*), 0.0
    from stg_conversations where model is not null group by all
    union all
    select 'participant', participant, count(*), 0.0
    from stg_conversations where participant is not null group by all
    union all
    select 'desired_empathy', printf('%g', desired_empathy), count(*), desired_empathy
    from survey_scores where desired_empathy is not null group by all
)
select
    filter,
    level,
    n_conversations
from levels
order by filter, sort_value, level
