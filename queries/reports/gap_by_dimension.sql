-- One row per conversation and dimension answered after the task, with the empathy desired before it.
-- key: conversation, item
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
select
    selected.conversation,
    survey.item,
    selected.cluster,
    selected.task,
    selected.desired_empathy,
    survey.value
from stg_survey as survey
inner join stg_scales as scales on survey.item = scales.measure and scales.score = 'experienced_empathy'
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    ) as selected
    using (conversation)
where survey.answer = 'rated' and selected.desired_empathy is not null
order by selected.position, selected.conversation, scales.position, survey.item
