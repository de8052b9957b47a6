-- One row per level of task, assistant model and desired empathy that the whole data has.
-- key: filter, level
-- parameters: none
-- In the order in which figures show and colour them, whatever is selected.
with levels as (
    select distinct 'task' as filter, task as level, 0.0 as sort_value
    from stg_conversations where task is not null
    union all
    select distinct 'model', model, 0.0
    from stg_conversations where model is not null
    union all
    select distinct 'desired_empathy', printf('%g', survey.value), survey.value
    from stg_survey as survey
    inner join stg_scales as scales on survey.item = scales.measure and scales.score = 'desired_empathy'
    where survey.answer = 'rated'
)

select
    filter,
    level
from levels
order by filter, sort_value, level
