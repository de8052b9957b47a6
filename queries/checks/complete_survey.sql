-- One row per conversation and survey item without a row.
-- key: example
select concat_ws(', ', scales.measure, conversations.conversation) as example
from raw.conversations as conversations
cross join (select measure from raw.scales where kind in ('pre', 'post')) as scales
anti join raw.survey as survey
    on conversations.conversation = survey.conversation and scales.measure = survey.item
order by example
