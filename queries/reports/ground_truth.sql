-- One row per conversation with its ground truth: the mean over turns of the mean of the dimensions that carry a number.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- ground_truth_complete is the same over turns on which every dimension carries a number; both are null where unrated.
select
    selected.conversation,
    selected.participant,
    selected.task,
    selected.model,
    selected.n_assistant_turns as n_turns,
    selected.ground_truth,
    selected.ground_truth_complete
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
order by selected.position, selected.conversation
