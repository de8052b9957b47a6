-- One row per turn of the Selection with one outcome, rated or not, and what may explain it.
-- key: conversation, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
select
    ratings.conversation,
    ratings.turn,
    ratings.value,
    ratings.answer,
    selected.participant,
    selected.task,
    selected.model,
    selected.importance,
    selected.desired_empathy,
    selected.experienced_empathy,
    selected.satisfaction,
    selected.ground_truth
from stg_ratings as ratings
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    ) as selected
    using (conversation)
where ratings.outcome = coalesce($outcome, 'overall')
order by selected.position, ratings.conversation, ratings.turn
