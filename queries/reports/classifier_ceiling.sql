-- One row per rated turn of the selection with the mean of its dimensions: what the ground truth averages.
-- key: conversation, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- turn_mean is the mean of the dimensions that carry a number. cluster is the participant, or the conversation where the
-- source knows no participants.
select
    ratings.conversation,
    ratings.turn,
    any_value(selected.cluster) as cluster,
    avg(ratings.value) as turn_mean
from stg_ratings as ratings
inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    ) as selected
    using (conversation)
where ratings.answer = 'rated'
group by ratings.conversation, ratings.turn
order by ratings.conversation, ratings.turn
