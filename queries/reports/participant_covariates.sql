-- One row per participant and covariate that is filled in, as text.
-- key: covariate, participant
-- parameters: none
-- is_number says whether every filled cell of the covariate is a number.
-- The id itself is unpivoted too and then left out, so that data without any covariate gives no rows.
with long as (
    unpivot (select participant as unit_id, columns(*)::varchar from stg_participants)
    on columns(* exclude unit_id) into name covariate value value
)

select
    covariate,
    unit_id as participant,
    value,
    count(try_cast(value as double)) over (partition by covariate)
    = count(*) over (partition by covariate) as is_number
from long
where covariate <> 'participant'
order by covariate, participant
