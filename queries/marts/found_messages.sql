-- One row per message that holds what is sought; every message when that is null or empty.
-- key: conversation, message
-- parameters: sought, match_case, whole_word, spoken_by
-- What holds and what does not is said by text_hits; here nothing is counted, and a text without the letters is passed over before
-- it is looked at for whole words. spoken_by null means every role. The rows come as they are stored: conversations in the order of
-- the source, messages in theirs.
select
    conversation,
    message,
    turn,
    role,
    text
from stg_messages
where
    (spoken_by::varchar is null or role = spoken_by::varchar)
    and (
        coalesce(sought::varchar, '') = ''
        or not coalesce(match_case::boolean, false)
        or contains(text, sought::varchar)
    )
    and (
        coalesce(sought::varchar, '') = ''
        or coalesce(match_case::boolean, false)
        or regexp_matches(text, '(?i)' || regexp_escape(sought::varchar))
    )
    and (
        coalesce(sought::varchar, '') = ''
        or not coalesce(whole_word::boolean, false)
        or regexp_matches(
            text,
            case when match_case::boolean then '' else '(?i)' end
            || '(?:^|[^\pL\pN_])' || regexp_escape(sought::varchar) || '(?:[^\pL\pN_]|$)'
        )
    )
