-- One row per reference to a row that does not exist.
-- key: example
select example
from (
    select 'messages: conversation ' || conversation as example
    from (select distinct conversation from raw.messages)
    anti join raw.conversations using (conversation)
    union all
    select 'ratings: conversation ' || conversation
    from (select distinct conversation from raw.ratings)
    anti join raw.conversations using (conversation)
    union all
    select 'survey: conversation ' || conversation
    from (select distinct conversation from raw.survey)
    anti join raw.conversations using (conversation)
    union all
    select 'conversations: participant ' || participant
    from (select distinct participant from raw.conversations where participant is not null)
    anti join raw.participants using (participant)
    union all
    select 'participants: ' || participant || ' has no conversation'
    from raw.participants
    anti join raw.conversations using (participant)
    union all
    select 'ratings: outcome ' || outcome
    from (select distinct outcome from raw.ratings) as ratings
    anti join raw.scales as scales on ratings.outcome = scales.measure and scales.kind = 'rating'
    union all
    select 'survey: item ' || item
    from (select distinct item, phase from raw.survey) as survey
    anti join raw.scales as scales on survey.item = scales.measure and survey.phase = scales.kind
    union all
    select 'ratings: ' || concat_ws(', ', conversation, 'message ' || message, 'turn ' || turn)
    from (select distinct conversation, message, turn from raw.ratings)
    anti join raw.messages using (conversation, message, turn)
)
order by example
