-- One row per turn of the Selection for one outcome, rated or not, with its conversation's properties and its scale.
-- key: conversation, turn
-- parameters: tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on
select
    ratings.conversation,
    ratings.message,
    ratings.turn,
    ratings.outcome,
    ratings.value,
    ratings.answer,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.model,
    selected.position,
    wishes.importance,
    wishes.desired_empathy,
    scales.minimum,
    scales.maximum,
    scales.step,
    scales.n_levels,
    scales.low_at
from stg_ratings as ratings
inner join
    selected_ids(tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on) as selected
    using (conversation)
inner join stg_scales as scales on ratings.outcome = scales.measure
left join survey_scores as wishes on ratings.conversation = wishes.conversation
where ratings.outcome = coalesce(rated_on::varchar, (select measure from default_outcome))
