-- One row per outcome that turns of this data are rated on, with its scale.
-- key: outcome
-- parameters: none
select
    measure as outcome,
    label,
    score,
    position,
    minimum,
    maximum,
    step,
    n_levels,
    low_at,
    minimum_label,
    maximum_label,
    wording
from stg_scales
where kind = 'rating'
order by position, outcome
