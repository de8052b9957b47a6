-- One row per outcome and conversation of the selection with a rating: how many, their sum and sum of squares.
-- key: outcome, conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- outcome null means every outcome. All that a model with intercepts of participant and conversation needs of the turns.
select
    ratings.outcome,
    ratings.conversation,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.model,
    selected.position,
    count(*) as n,
    sum(ratings.value) as total,
    sum(ratings.value * ratings.value) as sum_squares,
    case when min(ratings.value) = max(ratings.value) and count(*) > 1 then 0.0 else stddev_samp(ratings.value) end as std_dev
from stg_ratings as ratings
inner join
    selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    ) as selected
    using (conversation)
where ratings.answer = 'rated' and ($outcome::varchar is null or ratings.outcome = $outcome::varchar)
group by all
order by ratings.outcome, selected.position, ratings.conversation
