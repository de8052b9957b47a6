-- One row per outcome and conversation: the sums that a mixed model needs of its turns.
-- key: outcome, conversation
-- n counts rated turns, n_turns all; sums are over rated turns and null where there is none. Where nothing but the turn number
-- varies within a conversation, they hold all that the turns tell of the model, however many there are.
select
    outcome,
    conversation,
    count(*) as n_turns,
    count(value) as n,
    sum(turn::double) filter (where value is not null) as sum_turn,
    sum(turn::double * turn) filter (where value is not null) as sum_turn2,
    sum(value) as sum_y,
    sum(value * turn) as sum_y_turn,
    sum(value * value) as sum_y2
from stg_ratings
group by outcome, conversation
