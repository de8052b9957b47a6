-- One row per conversation of the Selection whose desired empathy is known, with what it may depend on.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
select
    selected.conversation,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.model,
    selected.importance,
    selected.desired_empathy
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
where selected.desired_empathy is not null
order by selected.position, selected.conversation
