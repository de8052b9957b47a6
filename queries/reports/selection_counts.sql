-- One row per selection: how many participants, conversations and turns of the rated role remain.
-- key: n_conversations
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
with lengths as (
    select conversation, count(turn) as n_turns
    from stg_messages
    group by conversation
)

select
    count(*) as n_conversations,
    count(distinct selected.participant) as n_participants,
    coalesce(sum(lengths.n_turns), 0)::bigint as n_turns
from selected_ids(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
) as selected
left join lengths using (conversation)
order by n_conversations
