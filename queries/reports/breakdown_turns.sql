-- One row per turn of the selection with one outcome, rated or not; its conversation as a number.
-- key: conversation_number, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome, definition, threshold
-- conversation_number counts the selected conversations in the order of the source, from 0. has_low_dimension (definition
-- 'low dimension' only): a dimension lies at or below threshold, a percentage of its scale (25 when null). was_disrupted
-- (definition 'error or retry' only): an error row or a retry stands between the turn before and this one, this one's mark
-- included. Both are false where they are not asked for.
with chosen as (
    select
        conversation,
        row_number() over (order by position, conversation) - 1 as conversation_number
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
),

low as (
    select distinct
        ratings.conversation,
        ratings.turn
    from stg_ratings as ratings
    inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    where
        $definition::varchar = 'low dimension'
        and ratings.value
        <= scales.minimum + (scales.maximum - scales.minimum) * coalesce($threshold::double, 25) / 100 + 1e-9
),

marked as (
    select
        conversation,
        turn,
        message,
        role = 'error' or lower(trim(coalesce(retry, '0'))) not in ('', '0', '0.0', 'false', 'no', 'none') as is_mark
    from stg_messages
    where $definition::varchar = 'error or retry'
),

numbered as (
    select
        conversation,
        is_mark,
        min(turn) over (
            partition by conversation order by message rows between current row and unbounded following
        ) as turn
    from marked
),

disrupted as (
    select distinct
        conversation,
        turn
    from numbered
    where is_mark and turn is not null
)

select
    chosen.conversation_number,
    ratings.turn,
    ratings.value,
    low.turn is not null as has_low_dimension,
    disrupted.turn is not null as was_disrupted
from stg_ratings as ratings
inner join chosen using (conversation)
left join low on ratings.conversation = low.conversation and ratings.turn = low.turn
left join disrupted on ratings.conversation = disrupted.conversation and ratings.turn = disrupted.turn
where ratings.outcome = coalesce($outcome::varchar, 'overall')
order by chosen.conversation_number, ratings.turn
