-- One row per message whose number or turn is not its place in the conversation.
-- key: example
with numbered as (
    select
        conversation,
        message,
        turn,
        row_number() over (partition by conversation order by message) as place,
        case when turn is not null
            then row_number() over (partition by conversation, turn is not null order by message)
        end as counted
    from raw.messages
)

select concat_ws(', ', conversation, 'message ' || message, 'turn ' || turn) as example
from numbered
where message != place or turn is distinct from counted
order by example
