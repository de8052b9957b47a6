-- One row per independent unit of the selection, with the number that the report "rated_turns" gives it.
-- key: cluster_number
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
with chosen as (
    select distinct cluster, participant
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
)

select
    dense_rank() over (order by cluster) - 1 as cluster_number,
    cluster,
    participant
from chosen
order by cluster_number
