-- One row per column of the data tables: its type, how many cells are filled, its least and greatest value.
-- key: table, position
-- parameters: none
-- n_distinct counts among a table's first 1,000,000 rows; minimum and maximum of text are in code point order, their
-- first 40 characters.
with described as (
    select 1 as table_position, 'conversations' as "table", * from (summarize raw.conversations)
    union all
    select 2, 'messages', * from (summarize raw.messages)
    union all
    select 3, 'ratings', * from (summarize raw.ratings)
    union all
    select 4, 'survey', * from (summarize raw.survey)
    union all
    select 5, 'participants', * from (summarize raw.participants)
    union all
    select 6, 'scales', * from (summarize raw.scales)
),

numbered as (
    select
        *,
        row_number() over (partition by table_position) as position
    from described
),

distinct_counts as (
    select 'conversations' as "table", "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.conversations limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
    union all
    select 'messages', "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.messages limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
    union all
    select 'ratings', "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.ratings limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
    union all
    select 'survey', "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.survey limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
    union all
    select 'participants', "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.participants limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
    union all
    select 'scales', "column", n_distinct
    from (
        unpivot (select count(distinct columns(*)) from (from raw.scales limit 1000000))
        on columns(*) into name "column" value n_distinct
    )
)

select
    numbered."table",
    numbered.position,
    numbered.column_name as "column",
    lower(numbered.column_type) as type,
    numbered.count as n,
    1 - numbered.null_percentage::double / 100 as share_filled,
    distinct_counts.n_distinct,
    numbered.min[:40] as minimum,
    numbered.max[:40] as maximum
from numbered
left join distinct_counts on numbered."table" = distinct_counts."table" and numbered.column_name = distinct_counts."column"
order by numbered.table_position, numbered.position
