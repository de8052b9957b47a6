-- One row per dimension and turn that was answered on it (rated or said not to apply), with the turn's overall rating.
-- key: dimension, conversation, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, dimension
-- dimension null means every dimension; overall is null where the turn has no overall rating.
with chosen as materialized (
    select conversation, cluster, task, position
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
)

select
    ratings.outcome as dimension,
    chosen.cluster,
    ratings.conversation,
    ratings.turn,
    chosen.task,
    (ratings.answer = 'not_applicable')::integer as not_applicable,
    overall.value as overall
from stg_ratings as ratings
inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
inner join chosen using (conversation)
left join stg_ratings as overall
    on
        ratings.conversation = overall.conversation
        and ratings.turn = overall.turn
        and overall.outcome = 'overall'
where
    ratings.answer in ('rated', 'not_applicable')
    and ($dimension::varchar is null or ratings.outcome = $dimension::varchar)
order by scales.position, ratings.outcome, chosen.position, ratings.conversation, ratings.turn
