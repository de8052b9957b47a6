-- One row per measure of this data, and what it counts towards.
-- key: measure
-- parameters: none
-- score is null for an item that stands alone. Nothing but the scales is read, however many turns there are.
select
    measure,
    kind,
    score
from stg_scales
order by position, measure
