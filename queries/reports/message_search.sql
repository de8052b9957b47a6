-- One row per message of the selection that holds what is sought, with how often; the first ones in the order of the source.
-- key: conversation, message
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, text, match_case, whole_word, role, most
-- Text null or empty finds every message, with 0 hits. At most "most" rows (200 when null). near_turn is the message's turn or,
-- for a message that is none, the turn that follows it (the last one where none follows).
with found as (
    select
        messages.conversation,
        messages.message,
        messages.role,
        messages.text,
        messages.n_hits,
        selected.position
    from found_messages($text, $match_case, $whole_word, $role) as messages
    inner join
        selected_conversations(
            $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
        ) as selected
        using (conversation)
    order by selected.position, messages.conversation, messages.message
    limit coalesce($most::bigint, 200)
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
    found.n_hits,
    found.text
from found
left join turns using (conversation, message)
order by found.position, found.conversation, found.message
