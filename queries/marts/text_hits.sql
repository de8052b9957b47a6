-- One row per text that is given: how often it holds what is sought.
-- key: n_hits
-- parameters: words, sought, match_case, whole_word
-- Compared as typed, never as a pattern; unless match_case, letters are alike when Unicode's simple case folding says so. Hits do
-- not overlap. A whole word has no letter, digit or underscore of any script on either side: \b knows the letters of ASCII alone,
-- serves where these are all that the hits hold and touch (long s and the Kelvin sign are alike to s and k), and is many times as
-- fast as doubling the separators, so that neighbouring hits may share one. Patterns are made of parameters, not of columns, so
-- that each is read once and not for every row.
select
    case
        when coalesce(sought::varchar, '') = '' or words is null then 0
        when not coalesce(whole_word::boolean, false) and coalesce(match_case::boolean, false)
            then len(string_split(words, sought::varchar)) - 1
        when not coalesce(whole_word::boolean, false)
            then len(regexp_extract_all(words, '(?i)' || regexp_escape(sought::varchar)))
        when
            regexp_full_match(sought::varchar, '(?s)[A-Za-z0-9_](?:.{0,}[A-Za-z0-9_])?')
            and (
                strlen(words) = length(words)
                or not regexp_matches(
                    words,
                    case when match_case::boolean then '' else '(?i)' end
                    || '[^\x00-\x7F]' || regexp_escape(sought::varchar)
                    || '|' || regexp_escape(sought::varchar) || '[^\x00-\x7F]|[\x{17F}\x{212A}]'
                )
            )
            then len(
                regexp_extract_all(
                    words,
                    case when match_case::boolean then '' else '(?i)' end || '\b' || regexp_escape(sought::varchar) || '\b'
                )
            )
        else len(
            regexp_extract_all(
                regexp_replace(words, '([^\pL\pN_])', '\1\1', 'g'),
                case when match_case::boolean then '' else '(?i)' end
                || '(?:^|[^\pL\pN_])'
                || regexp_escape(regexp_replace(sought::varchar, '([^\pL\pN_])', '\1\1', 'g'))
                || '(?:[^\pL\pN_]|$)'
            )
        )
    end as n_hits
