-- One row per turn and outcome without a row.
-- key: example
with outcomes as (select measure as outcome from raw.scales where kind = 'rating'),

turns as (select conversation, turn from raw.messages where turn is not null)

select concat_ws(', ', outcomes.outcome, turns.conversation, 'turn ' || turns.turn) as example
from turns
cross join outcomes
anti join raw.ratings as ratings using (conversation, turn, outcome)
order by example
