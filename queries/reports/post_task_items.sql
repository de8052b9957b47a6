-- One row per conversation of the selection and answered item that counts towards experienced empathy.
-- key: conversation, item
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
select
    survey.conversation,
    survey.item,
    selected.cluster,
    survey.value
from stg_survey as survey
inner join stg_scales as scales on survey.item = scales.measure and scales.score = 'experienced_empathy'
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    ) as selected
    using (conversation)
where survey.answer = 'rated'
order by selected.position, survey.conversation, scales.position, survey.item
