-- One row per message of the selection, or of one conversation of it: who said what, when, and at which turn it stands.
-- key: conversation, message
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, conversation
-- near_turn is the message's turn or, for a message that is none, the turn that follows it (the last one where none follows).
with chosen as (
    select
        conversation,
        position
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
    where $conversation::varchar is null or conversation = $conversation::varchar
)

select
    messages.conversation,
    messages.message,
    messages.turn,
    coalesce(
        min(messages.turn) over (
            partition by messages.conversation order by messages.message
            rows between current row and unbounded following
        ),
        max(messages.turn) over (partition by messages.conversation)
    ) as near_turn,
    messages.role,
    messages.seconds,
    messages.text,
    messages.retry,
    messages.comment
from stg_messages as messages
inner join chosen using (conversation)
where $conversation::varchar is null or messages.conversation = $conversation::varchar
order by chosen.position, messages.conversation, messages.message
