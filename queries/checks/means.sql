-- One row per turn mean that is not the mean of its dimensions.
-- key: example
with means as (
    select ratings.conversation, ratings.turn, avg(ratings.value) as mean
    from raw.ratings as ratings
    inner join raw.scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    where ratings.answer = 'rated'
    group by ratings.conversation, ratings.turn
)

select concat_ws(', ', ratings.conversation, 'turn ' || ratings.turn, ratings.value) as example
from raw.ratings as ratings
inner join raw.scales as scales on ratings.outcome = scales.measure and scales.score = 'turn_mean'
left join means using (conversation, turn)
where
    (ratings.value is null) != (means.mean is null)
    or abs(ratings.value - means.mean) > 1e-9
order by example
