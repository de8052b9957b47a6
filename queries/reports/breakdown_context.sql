-- One row per turn of the selection: how long it took, how long it and the message before are, whether it was disrupted.
-- key: conversation_number, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- response_seconds: from the message before to this one; null where either has no time, where the time runs backwards, or
-- where there is no message before. Lengths are in characters, null without text (and where texts are hidden). has_error: an
-- error row between the turn before and this one; was_retried: a retry mark on those messages or this one.
with chosen as (
    select
        conversation,
        row_number() over (order by position, conversation) - 1 as conversation_number
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
),

spoken as (
    select
        chosen.conversation_number,
        messages.turn,
        messages.message,
        messages.role = 'error' as is_error,
        lower(trim(coalesce(messages.retry, '0'))) not in ('', '0', '0.0', 'false', 'no', 'none') as is_retry,
        messages.seconds - lag(messages.seconds) over before as seconds_since,
        length(messages.text) as n_characters,
        lag(length(messages.text)) over before as n_characters_before,
        lag(messages.turn) over before is null and lag(messages.message) over before is not null as follows_other_role,
        min(messages.turn) over (
            partition by messages.conversation order by messages.message rows between current row and unbounded following
        ) as leads_to
    from stg_messages as messages
    inner join chosen on messages.conversation = chosen.conversation
    window before as (partition by messages.conversation order by messages.message)
),

marks as (
    select
        conversation_number,
        leads_to as turn,
        bool_or(is_error) as has_error,
        bool_or(is_retry) as was_retried
    from spoken
    where leads_to is not null
    group by conversation_number, leads_to
)

select
    spoken.conversation_number,
    spoken.turn,
    case when spoken.seconds_since >= 0 then spoken.seconds_since end as response_seconds,
    spoken.n_characters as reply_characters,
    case when spoken.follows_other_role then spoken.n_characters_before end as prompt_characters,
    marks.has_error,
    marks.was_retried
from spoken
inner join marks on spoken.conversation_number = marks.conversation_number and spoken.turn = marks.turn
where spoken.turn is not null
order by spoken.conversation_number, spoken.turn
