-- One row per outcome and conversation with a rating, its ids as numbers: how many ratings, their sum and sum of squares.
-- key: outcome_number, conversation_number
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- outcome null means every outcome. All that a model with intercepts of participant and conversation needs of the turns.
-- Numbers count from 0: outcomes as the report "outcomes" lists them, conversations in the order of the source, participants,
-- tasks and models of the selection in the order of their names; null where the source knows none.
with chosen as materialized (
    select
        conversation,
        row_number() over (order by position, conversation) - 1 as conversation_number,
        case when participant is not null then dense_rank() over (order by participant nulls last) - 1 end as participant_number,
        case when task is not null then dense_rank() over (order by task nulls last) - 1 end as task_number,
        case when model is not null then dense_rank() over (order by model nulls last) - 1 end as model_number
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
),

numbered as (
    select measure, row_number() over (order by position, measure) - 1 as outcome_number
    from stg_scales
    where kind = 'rating'
)

select
    numbered.outcome_number,
    chosen.conversation_number,
    chosen.participant_number,
    chosen.task_number,
    chosen.model_number,
    moments.n,
    moments.sum_y as total,
    moments.sum_y2 as sum_squares,
    -- Equal ratings have a spread of 0, whatever the last bit of their sums says.
    case
        when moments.n < 2 then null
        when moments.sum_y2 - moments.sum_y ** 2 / moments.n <= 1e-12 * moments.sum_y2 then 0.0
        else sqrt((moments.sum_y2 - moments.sum_y ** 2 / moments.n) / (moments.n - 1))
    end as std_dev
from conversation_moments as moments
inner join numbered on moments.outcome = numbered.measure
inner join chosen using (conversation)
where moments.n > 0 and ($outcome::varchar is null or moments.outcome = $outcome::varchar)
order by numbered.outcome_number, chosen.participant_number, chosen.conversation_number
