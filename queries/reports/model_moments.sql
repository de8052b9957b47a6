-- One row per conversation of the Selection: the sums of its turns for one outcome, and what may explain them.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
select
    moments.conversation,
    moments.n_turns,
    moments.n,
    moments.sum_turn,
    moments.sum_turn2,
    moments.sum_y,
    moments.sum_y_turn,
    moments.sum_y2,
    selected.participant,
    selected.task,
    selected.model,
    selected.importance,
    selected.desired_empathy,
    selected.experienced_empathy,
    selected.satisfaction,
    selected.ground_truth
from conversation_moments as moments
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    ) as selected
    using (conversation)
where moments.outcome = coalesce($outcome, 'overall')
order by selected.position, moments.conversation
