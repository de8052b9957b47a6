-- One row per measure of this data: turn ratings and survey items, with scale, wording and how often it was answered.
-- key: measure
-- parameters: none
with answers as (
    select
        outcome as measure,
        count(*) filter (where answer = 'rated') as n_rated,
        count(*) filter (where answer = 'not_applicable') as n_not_applicable,
        count(*) filter (where answer = 'missing') as n_missing
    from stg_ratings
    group by outcome
    union all
    select
        item,
        count(*) filter (where answer = 'rated'),
        count(*) filter (where answer = 'not_applicable'),
        count(*) filter (where answer = 'missing')
    from stg_survey
    group by item
)

select
    scales.measure,
    scales.label,
    scales.kind,
    scales.score,
    scales.minimum,
    scales.maximum,
    scales.step,
    scales.minimum_label,
    scales.maximum_label,
    scales.wording,
    scales.rated_role,
    coalesce(answers.n_rated, 0) as n_rated,
    coalesce(answers.n_not_applicable, 0) as n_not_applicable,
    coalesce(answers.n_missing, 0) as n_missing
from stg_scales as scales
left join answers using (measure)
order by scales.position, scales.measure
