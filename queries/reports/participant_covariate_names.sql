-- One row per covariate that the source knows of participants.
-- key: covariate
-- parameters: none
with described as (
    select
        column_name,
        row_number() over () as position
    from (
        describe
        select * from stg_participants
    )
)

select
    position,
    column_name as covariate
from described
where column_name != 'participant'
order by position, covariate
