-- One row per conversation and third of it: how many turns were rated in that third, and the mean of their ratings.
-- key: conversation, third
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- Thirds by turn number among all turns of the rated role; conversations of fewer than three turns have no thirds.
-- The mean averages rated turns within the third; thirds without a rated turn have no row.
with turns as (
    select
        ratings.conversation,
        ratings.position,
        ratings.cluster,
        ratings.task,
        ratings.desired_empathy,
        ratings.value,
        cast(ceil(3.0 * ratings.turn / max(ratings.turn) over (partition by ratings.conversation)) as integer) as third,
        max(ratings.turn) over (partition by ratings.conversation) as n_turns
    from selected_ratings(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    ) as ratings
)

select
    conversation,
    third,
    cluster,
    task,
    desired_empathy,
    count(value) as n_rated,
    avg(value) as mean
from turns
where n_turns >= 3 and desired_empathy is not null and value is not null
group by conversation, position, third, cluster, task, desired_empathy
order by position, conversation, third
