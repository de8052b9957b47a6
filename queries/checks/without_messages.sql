-- One row per conversation without a message.
-- key: example
select conversation as example
from raw.conversations
anti join raw.messages using (conversation)
order by position
