-- One row per message that holds what is sought, with how often; every message, with 0 hits, when that is null or empty.
-- key: conversation, message
-- parameters: sought, match_case, whole_word, spoken_by
-- Compared as typed, never as a pattern; in lower case unless match_case. Hits do not overlap. A whole word has no letter, digit
-- or underscore of any script on either side. spoken_by null means every role, 'other' every role but user and assistant.
with asked as (
    select
        conversation,
        message,
        turn,
        role,
        text,
        case when match_case::boolean then text else lower(text) end as hay,
        case when match_case::boolean then coalesce(sought::varchar, '') else lower(coalesce(sought::varchar, '')) end as needle
    from stg_messages
    where
        spoken_by::varchar is null
        or role = spoken_by::varchar
        or (spoken_by::varchar = 'other' and role not in ('user', 'assistant'))
),

-- \b knows the letters of ASCII alone: it serves where these are all that the hits touch, and is many times as fast as
-- doubling the separators, so that neighbouring hits may share one. Patterns are made of parameters, not of columns, so that
-- each is read once and not for every row.
holding as (
    select
        conversation,
        message,
        turn,
        role,
        text,
        hay,
        needle,
        regexp_full_match(needle, '(?s)[A-Za-z0-9_]|[A-Za-z0-9_].*[A-Za-z0-9_]')
        and not regexp_matches(
            hay,
            '[^\x00-\x7F]'
            || regexp_escape(case when match_case::boolean then sought::varchar else lower(sought::varchar) end)
            || '|'
            || regexp_escape(case when match_case::boolean then sought::varchar else lower(sought::varchar) end)
            || '[^\x00-\x7F]'
        ) as is_plain
    from asked
    where needle = '' or contains(hay, needle)
),

counted as (
    select
        conversation,
        message,
        turn,
        role,
        text,
        needle,
        case
            when needle = '' then 0
            when whole_word::boolean and is_plain
                then len(
                    regexp_extract_all(
                        hay,
                        '\b'
                        || regexp_escape(case when match_case::boolean then sought::varchar else lower(sought::varchar) end)
                        || '\b'
                    )
                )
            when whole_word::boolean
                then len(
                    regexp_extract_all(
                        regexp_replace(hay, '([^\pL\pN_])', '\1\1', 'g'),
                        '(?:^|[^\pL\pN_])'
                        || regexp_escape(
                            regexp_replace(
                                case when match_case::boolean then sought::varchar else lower(sought::varchar) end,
                                '([^\pL\pN_])', '\1\1', 'g'
                            )
                        )
                        || '(?:[^\pL\pN_]|$)'
                    )
                )
            else (length(hay) - length(replace(hay, needle, ''))) // length(needle)
        end as n_hits
    from holding
)

select
    conversation,
    message,
    turn,
    role,
    text,
    n_hits
from counted
where n_hits > 0 or needle = ''
