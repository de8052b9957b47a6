-- One row per rated turn of the selection and dimension that carries a number on it: whether it is low.
-- key: dimension_number, conversation_number, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome, threshold
-- Turns whose outcome carries a number. Low: at or below threshold, a percentage of the dimension's scale (25 when null).
-- conversation_number as in the report "breakdown_turns"; dimension_number counts dimensions in the order of display.
with chosen as (
    select
        conversation,
        row_number() over (order by position, conversation) - 1 as conversation_number
    from selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
),

dimensions as (
    select
        measure,
        row_number() over (order by position, measure) - 1 as dimension_number,
        minimum + (maximum - minimum) * coalesce($threshold::double, 25) / 100 + 1e-9 as low_at
    from stg_scales
    where kind = 'rating' and score = 'dimension'
),

rated as (
    select conversation, turn
    from stg_ratings
    where outcome = coalesce($outcome::varchar, 'overall') and value is not null
)

select
    dimensions.dimension_number,
    chosen.conversation_number,
    ratings.turn,
    ratings.value <= dimensions.low_at as is_low
from stg_ratings as ratings
inner join dimensions on ratings.outcome = dimensions.measure
inner join chosen using (conversation)
inner join rated on ratings.conversation = rated.conversation and ratings.turn = rated.turn
where ratings.value is not null
order by dimensions.dimension_number, chosen.conversation_number, ratings.turn
