-- One row per group of conversations with the same 20 or more ratings of at least three levels.
-- key: example
with answers as (
    select
        ratings.conversation,
        count(distinct ratings.turn) as n_turns,
        md5(string_agg(concat_ws(':', turn, outcome, value, answer), chr(31) order by turn, outcome)) as content
    from raw.ratings as ratings
    inner join raw.scales as scales on ratings.outcome = scales.measure
    where scales.score is distinct from 'turn_mean'
    group by ratings.conversation
    having count(*) filter (ratings.answer = 'rated') >= 20 and count(distinct ratings.value) >= 3
)

select string_agg(conversation, ' = ' order by conversation) as example
from answers
group by content, n_turns
having count(*) > 1
order by example
