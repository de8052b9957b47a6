-- One row per conversation of the Selection, with its scores.
-- key: conversation
-- parameters: tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on
-- Scores read every turn: reports that need ids alone read selected_ids.
select
    scores.conversation,
    scores.participant,
    scores.cluster,
    scores.task,
    scores.model,
    scores.position,
    scores.importance,
    scores.desired_empathy,
    scores.experienced_empathy,
    scores.satisfaction,
    scores.ground_truth,
    scores.ground_truth_complete,
    scores.n_messages,
    scores.n_assistant_turns
from conversation_scores as scores
inner join
    selected_ids(tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on) as selected
    using (conversation)
