-- One row per measure of the selected data: how much there is.
-- key: measure
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- participants is null where the source knows none; rated_turns and overall_mean are null where no overall rating exists.
-- ground_truth_mean averages conversations, overall_mean averages rated turns.
with chosen as (
    select *
    from selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    )
),

overall as (
    select ratings.value, ratings.conversation, ratings.turn
    from stg_ratings as ratings
    semi join chosen using (conversation)
    where ratings.outcome = 'overall' and ratings.answer = 'rated'
),

has_overall as (
    select count(*) > 0 as yes from stg_scales where measure = 'overall' and kind = 'rating'
),

measures as (
    select 1 as position, 'participants' as measure, nullif(count(distinct participant), 0)::double as value from chosen
    union all
    select 2, 'conversations', count(*) from chosen
    union all
    select 3, 'messages', coalesce(sum(n_messages), 0) from chosen
    union all
    select 4, 'assistant_turns', coalesce(sum(n_assistant_turns), 0) from chosen
    union all
    select 5, 'rated_turns', case when (select yes from has_overall) then (select count(*) from overall) end
    union all
    select 6, 'ground_truth_mean', avg(ground_truth order by conversation) from chosen
    union all
    select 7, 'overall_mean', (select avg(value order by conversation, turn) from overall)
    union all
    select 8, 'conversations_with_ground_truth', count(ground_truth) from chosen
    union all
    select 9, 'conversations_without_messages', count(*) filter (where n_messages = 0) from chosen
)

select
    measure,
    value
from measures
order by position, measure
