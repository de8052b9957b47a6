-- One row per outcome and conversation with a rated turn: the sums that a mixed model needs of its turns.
-- key: outcome, conversation
-- n counts rated turns. Where nothing but the turn number varies within a conversation, these six sums hold all that the
-- turns tell of the model, however many there are.
select
    outcome,
    conversation,
    count(*) as n,
    sum(turn)::double as sum_turn,
    sum(turn::double * turn) as sum_turn_turn,
    sum(value) as sum_y,
    sum(value * turn) as sum_y_turn,
    sum(value * value) as sum_y_y
from stg_ratings
where answer = 'rated'
group by outcome, conversation
