-- One row per message of the selection that holds what is sought, with how often; the first ones in the order of the source.
-- key: conversation, message
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, text, match_case, whole_word, role, most
-- Text null or empty finds every message, with 0 hits. At most "most" rows (200 when null). near_turn is the message's turn or,
-- for a message that is none, the turn that follows it (the last one where none follows).
-- Messages are stored in the order of the source: without a filter the search ends as soon as it has enough of them.
with everywhere as (
    select
        conversation,
        message,
        role,
        text
    from found_messages($text, $match_case, $whole_word, $role)
    where
        $task::varchar[] is null and $model::varchar[] is null and $participant::varchar[] is null
        and $desired_empathy::double[] is null and $min_rated_turns::integer is null
        and not coalesce($exclude_flagged::boolean, false)
    limit coalesce($most::bigint, 200)
),

selected as (
    select
        messages.conversation,
        messages.message,
        messages.role,
        messages.text
    from found_messages($text, $match_case, $whole_word, $role) as messages
    inner join
        selected_ids($task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null) as chosen
        using (conversation)
    where
        $task::varchar[] is not null or $model::varchar[] is not null or $participant::varchar[] is not null
        or $desired_empathy::double[] is not null or $min_rated_turns::integer is not null
        or coalesce($exclude_flagged::boolean, false)
    order by chosen.position, messages.conversation, messages.message
    limit coalesce($most::bigint, 200)
),

found as materialized (
    select
        conversation,
        message,
        role,
        text
    from everywhere
    union all
    select
        conversation,
        message,
        role,
        text
    from selected
),

turns as (
    select
        found.conversation,
        found.message,
        min(messages.turn) filter (where messages.message >= found.message) as next_turn,
        max(messages.turn) as last_turn
    from found
    inner join stg_messages as messages on found.conversation = messages.conversation and messages.turn is not null
    group by found.conversation, found.message
)

select
    found.conversation,
    found.message,
    coalesce(turns.next_turn, turns.last_turn) as near_turn,
    found.role,
    hits.n_hits,
    found.text
from found
inner join stg_conversations as conversations on found.conversation = conversations.conversation
left join turns on found.conversation = turns.conversation and found.message = turns.message
cross join text_hits(found.text, $text, $match_case, $whole_word) as hits
order by conversations.position, found.conversation, found.message
