-- One row per turn and outcome, rated or not.
-- key: outcome, conversation, turn
select
    conversation,
    message,
    turn,
    outcome,
    value,
    answer
from raw.ratings
