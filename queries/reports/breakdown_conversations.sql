-- One row per conversation of the selection, with its number and what it may be compared by.
-- key: conversation_number
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- conversation_number counts the selected conversations in the order of the source, from 0, as in the report
-- "breakdown_turns"; cluster_number counts participants (conversations where the source knows no participants).
select
    row_number() over (order by chosen.position, chosen.conversation) - 1 as conversation_number,
    chosen.conversation,
    chosen.participant,
    dense_rank() over (order by chosen.cluster) - 1 as cluster_number,
    chosen.task,
    chosen.model,
    scores.desired_empathy,
    scores.experienced_empathy,
    scores.satisfaction
from selected_ids(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
) as chosen
left join survey_scores as scores using (conversation)
order by conversation_number
