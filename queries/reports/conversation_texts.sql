-- One row per conversation of the selection with what was said in it: what a judge or a model of words reads.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
-- transcript holds the messages of user and assistant that have text, in order; null where none has, or texts are hidden.
with said as (
    select
        conversation,
        string_agg(
            case when role = 'user' then 'User: ' when role = 'assistant' then 'Assistant: ' else upper(role[1]) || role[2:] || ': ' end
            || text,
            chr(10) || chr(10)
            order by message
        ) as transcript
    from stg_messages
    where text is not null and trim(text) <> '' and role not in ('error', 'system', 'tool')
    group by conversation
)

select
    selected.conversation,
    selected.participant,
    selected.cluster,
    selected.task,
    selected.ground_truth,
    said.transcript
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
left join said using (conversation)
order by selected.position, selected.conversation
