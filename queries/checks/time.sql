-- One row per conversation in which a message is earlier than the one before it.
-- key: example
with steps as (
    select
        conversation,
        seconds < lag(seconds) over (partition by conversation order by message) as is_backwards
    from raw.messages
    where seconds is not null
)

select conversation as example
from steps
where is_backwards
group by conversation
order by conversation
