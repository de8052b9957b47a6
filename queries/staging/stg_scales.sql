-- One row per measure: turn ratings and survey items.
-- key: measure
-- n_levels is null for a continuous measure; low_at is the value at a quarter of the scale (POMP 25): at or below it a rating is low.
select
    measure,
    label,
    kind,
    score,
    position,
    minimum,
    maximum,
    step,
    cast(round((maximum - minimum) / step) + 1 as integer) as n_levels,
    minimum + (maximum - minimum) * 0.25 as low_at,
    minimum_label,
    maximum_label,
    wording,
    rated_role
from raw.scales
