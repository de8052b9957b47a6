-- One row per conversation of the Selection: the only place where filters are applied.
-- key: conversation
-- parameters: tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on
-- Each is null for no filter; the inner conditions repeat that, so that what is not asked is not read.
-- min_turns counts rated turns of the outcome rated_on (the default outcome when that is null).
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
where
    (tasks::varchar[] is null or list_contains(tasks::varchar[], scores.task))
    and (models::varchar[] is null or list_contains(models::varchar[], scores.model))
    and (participants::varchar[] is null or list_contains(participants::varchar[], scores.participant))
    and (desired_levels::double[] is null or list_contains(desired_levels::double[], scores.desired_empathy))
    and (
        min_turns::integer is null
        or min_turns::integer <= (
            select count(*)
            from stg_ratings as ratings
            where
                min_turns::integer is not null
                and ratings.conversation = scores.conversation
                and ratings.outcome = coalesce(rated_on::varchar, (select measure from default_outcome))
                and ratings.answer = 'rated'
        )
    )
    and (
        without_flagged::boolean is null
        or not without_flagged::boolean
        or not exists (
            select 1
            from straight_lining
            where
                without_flagged::boolean
                and straight_lining.cluster = scores.cluster
                and straight_lining.flagged
        )
    )
