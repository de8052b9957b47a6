-- One row per conversation of the Selection, with its ids alone: the only place where filters are applied.
-- key: conversation
-- parameters: tasks, models, participants, desired_levels, min_turns, without_flagged, rated_on
-- Each is null for no filter; the inner conditions repeat that, so that what is not asked is not read.
-- min_turns counts rated turns of the outcome rated_on (the default outcome when that is null).
select
    conversations.conversation,
    conversations.participant,
    conversations.cluster,
    conversations.task,
    conversations.model,
    conversations.position
from stg_conversations as conversations
where
    (tasks::varchar[] is null or list_contains(tasks::varchar[], conversations.task))
    and (models::varchar[] is null or list_contains(models::varchar[], conversations.model))
    and (participants::varchar[] is null or list_contains(participants::varchar[], conversations.participant))
    and (
        desired_levels::double[] is null
        or exists (
            select 1
            from survey_scores
            where
                desired_levels::double[] is not null
                and survey_scores.conversation = conversations.conversation
                and list_contains(desired_levels::double[], survey_scores.desired_empathy)
        )
    )
    and (
        min_turns::integer is null
        or min_turns::integer <= (
            select count(*)
            from stg_ratings as ratings
            where
                min_turns::integer is not null
                and ratings.conversation = conversations.conversation
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
                and straight_lining.cluster = conversations.cluster
                and straight_lining.flagged
        )
    )
