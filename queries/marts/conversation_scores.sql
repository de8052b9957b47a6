-- One row per conversation with what was wanted before, rated during and answered after.
-- key: conversation
-- experienced_empathy and satisfaction average the conversation's answered items. ground_truth averages turn means, each over
-- the dimensions that carry a number; ground_truth_complete only over turns on which every dimension carries one. Summed in
-- the order of turns: threads would add them up in another each time, and the last digit would not repeat.
with turns as (
    select
        ratings.conversation,
        ratings.turn,
        avg(ratings.value) as turn_mean,
        count(ratings.value) = count(*) as is_complete
    from stg_ratings as ratings
    inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    group by ratings.conversation, ratings.turn
),

truth as (
    select
        conversation,
        avg(turn_mean order by turn) as ground_truth,
        avg(turn_mean order by turn) filter (where is_complete) as ground_truth_complete
    from turns
    group by conversation
),

lengths as (
    select
        conversation,
        count(*) as n_messages,
        count(turn) as n_assistant_turns
    from stg_messages
    group by conversation
)

select
    conversations.conversation,
    conversations.participant,
    conversations.cluster,
    conversations.task,
    conversations.model,
    conversations.position,
    items.importance,
    items.desired_empathy,
    items.experienced_empathy,
    items.satisfaction,
    truth.ground_truth,
    truth.ground_truth_complete,
    coalesce(lengths.n_messages, 0) as n_messages,
    coalesce(lengths.n_assistant_turns, 0) as n_assistant_turns
from stg_conversations as conversations
left join survey_scores as items using (conversation)
left join truth using (conversation)
left join lengths using (conversation)
