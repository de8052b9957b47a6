-- One row per column of the data tables: its three most frequent values among the table's first 100,000 rows.
-- key: table, column
-- parameters: none
with cells as (
    select 'conversations' as "table", "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.conversations limit 100000))
        on columns(*) into name "column" value value
    )
    union all
    select 'messages', "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.messages limit 100000))
        on columns(*) into name "column" value value
    )
    union all
    select 'ratings', "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.ratings limit 100000))
        on columns(*) into name "column" value value
    )
    union all
    select 'survey', "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.survey limit 100000))
        on columns(*) into name "column" value value
    )
    union all
    select 'participants', "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.participants limit 100000))
        on columns(*) into name "column" value value
    )
    union all
    select 'scales', "column", value
    from (
        unpivot (select columns(*)::varchar from (from raw.scales limit 100000))
        on columns(*) into name "column" value value
    )
),

counted as (
    select
        "table",
        "column",
        if(length(value) > 40, value[:39] || '…', value) as example,
        count(*) as n
    from cells
    group by all
),

ranked as (
    select
        *,
        row_number() over (partition by "table", "column" order by n desc, example) as place
    from counted
)

select
    "table",
    "column",
    string_agg(example, ' · ' order by place) as examples
from ranked
where place <= 3
group by "table", "column"
order by "table", "column"
