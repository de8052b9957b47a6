-- One row per participant and covariate that is filled: its value as text, and as a number where it is one.
-- key: participant, covariate
-- parameters: none
-- The empty column lets a source without covariates give no rows: unpivot needs a column, and leaves out nulls.
with people as (
    select *, null::varchar as "(none)" from stg_participants
),

filled as (
    unpivot (select participant, columns(* exclude (participant))::varchar from people)
    on columns(* exclude (participant)) into name covariate value text
)

select
    participant,
    covariate,
    text,
    try_cast(text as double) as number
from filled
order by covariate, participant
