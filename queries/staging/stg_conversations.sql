-- One row per conversation.
-- key: conversation
-- cluster is the independent unit: the participant, or the conversation where the source knows no participants.
select
    conversation,
    participant,
    coalesce(participant, conversation) as cluster,
    task,
    model,
    position
from raw.conversations
