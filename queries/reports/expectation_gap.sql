-- One row per conversation of the Selection for which desired or experienced empathy is known.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- Both on their own scales; experienced_empathy and satisfaction average the conversation's answered items.
select
    selected.conversation,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.model,
    selected.importance,
    selected.desired_empathy,
    selected.experienced_empathy,
    selected.satisfaction
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
where selected.desired_empathy is not null or selected.experienced_empathy is not null
order by selected.position, selected.conversation
