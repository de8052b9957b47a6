-- One row per key that is null or there twice.
-- key: example
select table_name || ': ' || key as example
from (
    select 'conversations' as table_name, conversation as key, conversation is null as incomplete from raw.conversations
    union all
    select 'messages', concat_ws(', ', conversation, message), conversation is null or message is null from raw.messages
    union all
    select
        'ratings',
        concat_ws(', ', outcome, conversation, turn),
        outcome is null or conversation is null or turn is null
    from raw.ratings
    union all
    select 'survey', concat_ws(', ', conversation, item), conversation is null or item is null from raw.survey
    union all
    select 'participants', participant, participant is null from raw.participants
    union all
    select 'scales', measure, measure is null from raw.scales
)
group by table_name, key
having count(*) > 1 or bool_or(incomplete)
order by example
