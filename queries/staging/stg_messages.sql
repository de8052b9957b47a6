-- One row per message.
-- key: conversation, message
select
    conversation,
    message,
    message_id,
    turn,
    role,
    seconds,
    text,
    retry,
    comment,
    source_row
from raw.messages
