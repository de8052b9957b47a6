-- One row per conversation with an answered survey item: what was wanted before, and the means of what was answered after.
-- key: conversation
-- experienced_empathy and satisfaction average the conversation's answered items.
select
    survey.conversation,
    max(survey.value) filter (where scales.score = 'importance') as importance,
    max(survey.value) filter (where scales.score = 'desired_empathy') as desired_empathy,
    avg(survey.value) filter (where scales.score = 'experienced_empathy') as experienced_empathy,
    avg(survey.value) filter (where scales.score = 'satisfaction') as satisfaction
from stg_survey as survey
inner join stg_scales as scales on survey.item = scales.measure
where survey.answer = 'rated'
group by survey.conversation
