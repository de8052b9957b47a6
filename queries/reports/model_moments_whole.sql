-- One row per conversation of the whole data: the sums of its turns for one outcome, who took part, its task and its model.
-- key: conversation
-- parameters: outcome
-- The same as model_moments where nothing is filtered and no score is asked for, without the joins that these take: for
-- millions of conversations, which are therefore numbered (by position) rather than named.
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
    conversations.model
from conversation_moments as moments
inner join stg_conversations as conversations using (conversation)
where moments.outcome = coalesce($outcome, 'overall')
order by conversation
