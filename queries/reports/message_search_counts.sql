-- One row per role: how many messages of the selection it has, how many hold what is sought, and how often in all.
-- key: role
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, text, match_case, whole_word
-- Text null or empty: no message holds it. n_conversations counts conversations with a hit in a message of this role.
with chosen as (
    select conversation
    from selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
),

everything as (
    select
        messages.role,
        count(*) as n_messages
    from stg_messages as messages
    inner join chosen using (conversation)
    group by messages.role
),

found as (
    select
        messages.role,
        count(*) as n_with,
        sum(messages.n_hits) as n_hits,
        count(distinct messages.conversation) as n_conversations
    from found_messages($text, $match_case, $whole_word, null) as messages
    inner join chosen using (conversation)
    where coalesce($text::varchar, '') <> ''
    group by messages.role
)

select
    everything.role,
    everything.n_messages,
    coalesce(found.n_with, 0) as n_with,
    coalesce(found.n_hits, 0)::bigint as n_hits,
    coalesce(found.n_conversations, 0) as n_conversations
from everything
left join found using (role)
order by everything.role
