-- One row per measure with an impossible scale or kind.
-- key: example
select measure as example
from raw.scales
where
    minimum is null or maximum is null or minimum >= maximum or step <= 0
    or kind not in ('rating', 'pre', 'post') or kind is null
    or (kind = 'rating') != (rated_role is not null)
order by measure
