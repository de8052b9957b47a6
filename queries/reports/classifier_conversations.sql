-- One row per conversation with what a classifier's predictions are held against and split by.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- ground_truth is the official one, null where unrated; n_turns counts all turns of the rated role. cluster is the
-- participant, or the conversation where the source knows no participants.
select
    selected.conversation,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.model,
    selected.desired_empathy,
    selected.n_assistant_turns as n_turns,
    selected.ground_truth
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
order by selected.position, selected.conversation
