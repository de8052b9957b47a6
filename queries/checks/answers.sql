-- One row per answer that is unknown, or whose value does not go with it.
-- key: example
select example
from (
    select concat_ws(', ', outcome, conversation, 'turn ' || turn, answer, value) as example, answer, value from raw.ratings
    union all
    select concat_ws(', ', item, conversation, answer, value), answer, value from raw.survey
)
where
    answer is null
    or answer not in ('rated', 'not_applicable', 'missing')
    or (answer = 'rated') != (value is not null)
    or not isfinite(coalesce(value, 0))
order by example
