-- One row per conversation of the Selection with its scores and what may explain them.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- experienced_empathy and satisfaction average answered items; ground_truth averages turn means. Null where unanswered.
select
    selected.conversation,
    selected.participant,
    selected.task,
    selected.model,
    selected.importance,
    selected.desired_empathy,
    selected.experienced_empathy,
    selected.satisfaction,
    selected.ground_truth
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
order by selected.position, selected.conversation
