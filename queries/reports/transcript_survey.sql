-- One row per conversation and survey item of the selection, or of one conversation of it: what was asked before and after.
-- key: conversation, item
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
    survey.conversation,
    survey.phase,
    survey.item,
    scales.label,
    survey.value,
    survey.answer,
    scales.minimum,
    scales.maximum,
    scales.minimum_label,
    scales.maximum_label
from stg_survey as survey
inner join chosen using (conversation)
inner join stg_scales as scales on survey.item = scales.measure
where $conversation::varchar is null or survey.conversation = $conversation::varchar
order by chosen.position, survey.conversation, scales.position, survey.item
