-- One row per task, dimension after the task, and independent unit: answers, their sum, and how many of each kind.
-- key: task, item, cluster
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- total sums the n_rated answers, so that means can average over conversations with the participant as the unit.
select
    selected.task,
    survey.item,
    selected.cluster,
    count(*) filter (where survey.answer = 'rated') as n_rated,
    count(*) filter (where survey.answer = 'not_applicable') as n_not_applicable,
    count(*) filter (where survey.answer = 'missing') as n_missing,
    coalesce(sum(survey.value) filter (where survey.answer = 'rated'), 0) as total
from stg_survey as survey
inner join stg_scales as scales on survey.item = scales.measure and scales.score = 'experienced_empathy'
inner join
    selected_conversations(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
    ) as selected
    using (conversation)
where selected.task is not null
group by selected.task, scales.position, survey.item, selected.cluster
order by selected.task, scales.position, survey.item, selected.cluster
