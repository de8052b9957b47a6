-- One row per conversation without a rating.
-- key: example
select conversations.conversation as example
from raw.conversations as conversations
anti join (select distinct conversation from raw.ratings where answer = 'rated') as rated using (conversation)
where exists (select 1 from raw.ratings)
order by conversations.position
