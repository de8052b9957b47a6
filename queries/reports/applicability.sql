-- One row per dimension, level and independent unit: how many turns were rated, said not to apply, or left blank.
-- key: dimension, level, cluster
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, by
-- by is 'task', 'model' or 'turn' (turns from the tenth on together), or null for one level "all".
with levelled as (
    select
        ratings.outcome as dimension,
        scales.position,
        selected.cluster,
        ratings.answer,
        case $by
            when 'task' then selected.task
            when 'model' then selected.model
            when 'turn' then if(ratings.turn >= 10, '10+', ratings.turn::varchar)
            else 'all'
        end as level
    from stg_ratings as ratings
    inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    inner join
        selected_conversations(
            $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
        ) as selected
        using (conversation)
)

select
    dimension,
    level,
    cluster,
    count(*) filter (where answer = 'rated') as n_rated,
    count(*) filter (where answer = 'not_applicable') as n_not_applicable,
    count(*) filter (where answer = 'missing') as n_missing
from levelled
where level is not null
group by dimension, position, level, cluster
order by position, dimension, try_cast(replace(level, '+', '') as integer), level, cluster
