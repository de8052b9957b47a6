-- One row per selection: how many participants, conversations and turns of the rated role remain.
-- key: n_conversations
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged
select
    count(*) as n_conversations,
    count(distinct participant) as n_participants,
    coalesce(sum(n_assistant_turns), 0)::bigint as n_turns
from selected_conversations(
    $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null
)
order by n_conversations
