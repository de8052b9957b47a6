-- One row per conversation of the selection, with its number and what it may be compared by.
-- key: conversation_number
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- conversation_number counts the selected conversations in the order of the source, from 0, as in the report
-- "breakdown_turns"; cluster_number counts participants (conversations where the source knows no participants).
select
    row_number() over (order by position, conversation) - 1 as conversation_number,
    conversation,
    participant,
    dense_rank() over (order by cluster) - 1 as cluster_number,
    task,
    model,
    desired_empathy,
    experienced_empathy,
    satisfaction
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
)
order by conversation_number
