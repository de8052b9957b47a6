-- One row per independent unit: how often all dimensions of a turn got the same rating.
-- key: cluster
-- A turn counts when three or more dimensions carry a number. Flagged: at least 90 % of five or more such turns.
with turns as (
    select
        ratings.conversation,
        ratings.turn,
        min(ratings.value) = max(ratings.value) as is_constant
    from stg_ratings as ratings
    inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    where ratings.answer = 'rated'
    group by ratings.conversation, ratings.turn
    having count(*) >= 3
)
select
    conversations.cluster,
    count(*) as n_turns,
    avg(turns.is_constant::integer) as share_straight_lining,
    count(*) >= 5 and avg(turns.is_constant::integer) >= 0.9 as flagged
from turns
inner join stg_conversations as conversations using (conversation)
group by conversations.cluster
