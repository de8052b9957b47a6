-- One row per group of conversations with the same texts.
-- key: example
with texts as (
    select
        conversation,
        count(*) as n_messages,
        md5(string_agg(role || ':' || text, chr(31) order by message)) as content
    from raw.messages
    where text is not null
    group by conversation
    having count(*) >= 2 and count(distinct role) >= 2
)

select string_agg(conversation, ' = ' order by conversation) as example
from texts
group by content, n_messages
having count(*) > 1
order by example
