-- One row per conversation of the whole data: the sums of its turns for one outcome, and what was known before it began.
-- key: conversation
-- parameters: outcome
-- The same as model_moments where nothing is filtered and no score is asked for, without the joins that these take: for
-- millions of conversations, which are therefore numbered (by position) rather than named.
with wanted as (
    select
        survey.conversation,
        max(survey.value) filter (where scales.score = 'importance') as importance,
        max(survey.value) filter (where scales.score = 'desired_empathy') as desired_empathy
    from stg_survey as survey
    inner join stg_scales as scales on survey.item = scales.measure and scales.score in ('importance', 'desired_empathy')
    where survey.answer = 'rated'
    group by survey.conversation
)

select
    conversations.position as conversation,
    moments.n_turns,
    moments.n,
    moments.sum_turn,
    moments.sum_turn2,
    moments.sum_y,
    moments.sum_y_turn,
    moments.sum_y2,
    conversations.participant,
    conversations.task,
    conversations.model,
    wanted.importance,
    wanted.desired_empathy
from conversation_moments as moments
inner join stg_conversations as conversations using (conversation)
left join wanted using (conversation)
where moments.outcome = coalesce($outcome, 'overall')
order by conversation
