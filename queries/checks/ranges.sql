-- One row per answer outside its scale or between its levels.
-- key: example
with answers as (
    select outcome as measure, concat_ws(', ', outcome, conversation, 'turn ' || turn, value) as example, value
    from raw.ratings
    union all
    select item, concat_ws(', ', item, conversation, value), value from raw.survey
)

select answers.example
from answers
inner join raw.scales as scales using (measure)
where
    answers.value not between scales.minimum and scales.maximum
    or abs(
        (answers.value - scales.minimum) / scales.step - round((answers.value - scales.minimum) / scales.step)
    ) > 1e-9
order by answers.example
