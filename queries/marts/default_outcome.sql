-- One row per data set: the outcome that is meant where none is named; the overall rating, else the first that turns are rated on.
-- key: measure
select arg_min(measure, if(measure = 'overall', -1, position)) as measure
from stg_scales
where kind = 'rating'
