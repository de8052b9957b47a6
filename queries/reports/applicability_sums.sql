-- One row per dimension, independent unit and answer: how many turns the unit rated, or said that the dimension does not apply to.
-- key: dimension, cluster_number, not_applicable
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- n_overall and total_overall are of those turns that carry an overall rating. cluster_number counts units in the order of their ids,
-- from 0.
with chosen as materialized (
    select
        conversation,
        dense_rank() over (order by cluster) - 1 as cluster_number
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
),

overall as materialized (
    select chosen.conversation, ratings.turn, ratings.value
    from stg_ratings as ratings
    inner join chosen using (conversation)
    where ratings.outcome = 'overall' and ratings.answer = 'rated'
)

select
    ratings.outcome as dimension,
    chosen.cluster_number,
    (ratings.answer = 'not_applicable')::integer as not_applicable,
    count(*) as n_turns,
    count(overall.value) as n_overall,
    coalesce(sum(overall.value), 0.0) as total_overall
from stg_ratings as ratings
inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
inner join chosen using (conversation)
left join overall on ratings.conversation = overall.conversation and ratings.turn = overall.turn
where ratings.answer in ('rated', 'not_applicable')
group by ratings.outcome, chosen.cluster_number, ratings.answer
order by ratings.outcome, chosen.cluster_number, not_applicable
