-- One row per role: how many messages of the selection it has, how many hold what is sought, and how often in all.
-- key: role
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, text, match_case, whole_word, role
-- Text null or empty: no message holds it. n_conversations counts conversations with a hit in a message of this role. A role given
-- leaves that one.
with chosen as (
    select conversation
    from selected_ids($task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, null)
    where
        $task::varchar[] is not null or $model::varchar[] is not null or $participant::varchar[] is not null
        or $desired_empathy::double[] is not null or $min_rated_turns::integer is not null
        or coalesce($exclude_flagged::boolean, false)
),

everything as (
    select
        role,
        count(*) as n_messages
    from stg_messages
    where
        ($role::varchar is null or role = $role::varchar)
        and (
            (
                $task::varchar[] is null and $model::varchar[] is null and $participant::varchar[] is null
                and $desired_empathy::double[] is null and $min_rated_turns::integer is null
                and not coalesce($exclude_flagged::boolean, false)
            )
            or conversation in (select conversation from chosen)
        )
    group by role
),

found as (
    select
        messages.role,
        count(*) as n_with,
        sum(hits.n_hits) as n_hits,
        count(distinct messages.conversation) as n_conversations
    from found_messages($text, $match_case, $whole_word, $role) as messages
    cross join text_hits(messages.text, $text, $match_case, $whole_word) as hits
    where
        coalesce($text::varchar, '') <> ''
        and (
            (
                $task::varchar[] is null and $model::varchar[] is null and $participant::varchar[] is null
                and $desired_empathy::double[] is null and $min_rated_turns::integer is null
                and not coalesce($exclude_flagged::boolean, false)
            )
            or messages.conversation in (select conversation from chosen)
        )
    group by messages.role
)

select
    everything.role,
    everything.n_messages,
    coalesce(found.n_with, 0) as n_with,
    coalesce(found.n_hits, 0)::bigint as n_hits,
    coalesce(found.n_conversations, 0) as n_conversations
from everything
left join found using (role)
order by everything.role
