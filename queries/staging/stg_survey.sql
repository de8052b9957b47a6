-- One row per conversation and survey item.
-- key: conversation, item
select
    conversation,
    phase,
    item,
    value,
    answer
from raw.survey
