-- One row per outcome, independent unit and value: how often it was given.
-- key: outcome, cluster, value
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- Counts per unit rather than totals, so that intervals can take the participant as the unit.
select
    ratings.outcome,
    selected.cluster,
    ratings.value,
    count(*) as n,
    count(distinct ratings.conversation) as n_conversations
from stg_ratings as ratings
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    ) as selected
    using (conversation)
where ratings.answer = 'rated'
group by ratings.outcome, selected.cluster, ratings.value
order by ratings.outcome, selected.cluster, ratings.value
