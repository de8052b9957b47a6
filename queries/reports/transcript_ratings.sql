-- One row per turn and outcome of the selection, or of one conversation of it, rated or not.
-- key: conversation, turn, outcome
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, conversation
with chosen as (
    select
        conversation,
        position
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
    where $conversation::varchar is null or conversation = $conversation::varchar
)

select
    ratings.conversation,
    ratings.turn,
    ratings.outcome,
    ratings.value,
    ratings.answer
from stg_ratings as ratings
inner join chosen using (conversation)
inner join stg_scales as scales on ratings.outcome = scales.measure
where $conversation::varchar is null or ratings.conversation = $conversation::varchar
order by chosen.position, ratings.conversation, ratings.turn, scales.position, ratings.outcome
