-- One row per task or model of the selected data.
-- key: group, level
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
with chosen as (
    select *
    from selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
),

levels as (
    select 'task' as "group", task as level, cluster, n_assistant_turns from chosen where task is not null
    union all
    select 'model', model, cluster, n_assistant_turns from chosen where model is not null
)

select
    "group",
    level,
    count(*) as n_conversations,
    count(distinct cluster) as n_participants,
    sum(n_assistant_turns) as n_turns
from levels
group by "group", level
order by "group" desc, n_conversations desc, level
