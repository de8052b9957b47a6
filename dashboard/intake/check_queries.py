"""The checks of a folder's tables: each a statement that returns one row, `example`, per case found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A check.

    Attributes
    ----------
    name
        Its name.
    severity
        ``error`` or ``warning``, if there is a case.
    detail
        What a case is, in the plural.
    sql
        One row per case with the column `example`, in the order to show them.
    """

    name: str
    severity: str
    detail: str
    sql: str


_KEYS = """
select table_name || ': ' || key as example
from (
    select 'conversations' as table_name, conversation as key, conversation is null as incomplete from raw.conversations
    union all
    select 'messages', concat_ws(', ', conversation, message), conversation is null or message is null from raw.messages
    union all
    select
        'ratings',
        concat_ws(', ', outcome, conversation, turn),
        outcome is null or conversation is null or turn is null
    from raw.ratings
    union all
    select 'survey', concat_ws(', ', conversation, item), conversation is null or item is null from raw.survey
    union all
    select 'participants', participant, participant is null from raw.participants
    union all
    select 'scales', measure, measure is null from raw.scales
)
group by table_name, key
having count(*) > 1 or bool_or(incomplete)
order by example
"""

_ORPHANS = """
select example
from (
    select 'messages: conversation ' || conversation as example
    from (select distinct conversation from raw.messages)
    anti join raw.conversations using (conversation)
    union all
    select 'ratings: conversation ' || conversation
    from (select distinct conversation from raw.ratings)
    anti join raw.conversations using (conversation)
    union all
    select 'survey: conversation ' || conversation
    from (select distinct conversation from raw.survey)
    anti join raw.conversations using (conversation)
    union all
    select 'conversations: participant ' || participant
    from (select distinct participant from raw.conversations where participant is not null)
    anti join raw.participants using (participant)
    union all
    select 'participants: ' || participant || ' has no conversation'
    from raw.participants
    anti join raw.conversations using (participant)
    union all
    select 'ratings: outcome ' || outcome
    from (select distinct outcome from raw.ratings) as ratings
    anti join raw.scales as scales on ratings.outcome = scales.measure and scales.kind = 'rating'
    union all
    select 'survey: item ' || item
    from (select distinct item, phase from raw.survey) as survey
    anti join raw.scales as scales on survey.item = scales.measure and survey.phase = scales.kind
    union all
    select 'ratings: ' || concat_ws(', ', conversation, 'message ' || message, 'turn ' || turn)
    from (select distinct conversation, message, turn from raw.ratings)
    anti join raw.messages using (conversation, message, turn)
)
order by example
"""

_ANSWERS = """
select example
from (
    select concat_ws(', ', outcome, conversation, 'turn ' || turn, answer, value) as example, answer, value from raw.ratings
    union all
    select concat_ws(', ', item, conversation, answer, value), answer, value from raw.survey
)
where
    answer is null
    or answer not in ('rated', 'not_applicable', 'missing')
    or (answer = 'rated') != (value is not null)
    or not isfinite(coalesce(value, 0))
order by example
"""

_RANGES = """
with answers as (
    select outcome as measure, concat_ws(', ', outcome, conversation, 'turn ' || turn, value) as example, value
    from raw.ratings
    union all
    select item, concat_ws(', ', item, conversation, value), value from raw.survey
)

select answers.example
from answers
inner join raw.scales as scales using (measure)
where
    answers.value not between scales.minimum and scales.maximum
    or abs(
        (answers.value - scales.minimum) / scales.step - round((answers.value - scales.minimum) / scales.step)
    ) > 1e-9
order by answers.example
"""

_SCALES = """
select measure as example
from raw.scales
where
    minimum is null or maximum is null or minimum >= maximum or step <= 0
    or kind not in ('rating', 'pre', 'post') or kind is null
    or (kind = 'rating') != (rated_role is not null)
order by measure
"""

_TURNS = """
with numbered as (
    select
        conversation,
        message,
        turn,
        row_number() over (partition by conversation order by message) as place,
        case when turn is not null
            then row_number() over (partition by conversation, turn is not null order by message)
        end as counted
    from raw.messages
)

select concat_ws(', ', conversation, 'message ' || message, 'turn ' || turn) as example
from numbered
where message != place or turn is distinct from counted
order by example
"""

_COMPLETE = """
with outcomes as (select measure as outcome from raw.scales where kind = 'rating'),

turns as (select conversation, turn from raw.messages where turn is not null)

select concat_ws(', ', outcomes.outcome, turns.conversation, 'turn ' || turns.turn) as example
from turns
cross join outcomes
anti join raw.ratings as ratings using (conversation, turn, outcome)
order by example
"""

_SURVEY_COMPLETE = """
select concat_ws(', ', scales.measure, conversations.conversation) as example
from raw.conversations as conversations
cross join (select measure from raw.scales where kind in ('pre', 'post')) as scales
anti join raw.survey as survey
    on conversations.conversation = survey.conversation and scales.measure = survey.item
order by example
"""

_MEANS = """
with means as (
    select ratings.conversation, ratings.turn, avg(ratings.value) as mean
    from raw.ratings as ratings
    inner join raw.scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    where ratings.answer = 'rated'
    group by ratings.conversation, ratings.turn
)

select concat_ws(', ', ratings.conversation, 'turn ' || ratings.turn, ratings.value) as example
from raw.ratings as ratings
inner join raw.scales as scales on ratings.outcome = scales.measure and scales.score = 'turn_mean'
left join means using (conversation, turn)
where
    (ratings.value is null) != (means.mean is null)
    or abs(ratings.value - means.mean) > 1e-9
order by example
"""

_WITHOUT_MESSAGES = """
select conversation as example
from raw.conversations
anti join raw.messages using (conversation)
order by position
"""

_UNRATED = """
select conversations.conversation as example
from raw.conversations as conversations
anti join (select distinct conversation from raw.ratings where answer = 'rated') as rated using (conversation)
where exists (select 1 from raw.ratings)
order by conversations.position
"""

_STRAIGHT = """
select cluster || ' (' || round(100 * share_straight_lining)::integer || ' % of ' || n_turns || ' turns)' as example
from straight_lining
where flagged
order by cluster
"""

_SAME_TEXT = """
with texts as (
    select
        conversation,
        count(*) as n_messages,
        md5(string_agg(role || ':' || text, chr(31) order by message)) as content
    from raw.messages
    where text is not null
    group by conversation
    having count(*) >= 2 and count(distinct role) >= 2
)

select string_agg(conversation, ' = ' order by conversation) as example
from texts
group by content, n_messages
having count(*) > 1
order by example
"""

_SAME_RATINGS = """
with answers as (
    select
        ratings.conversation,
        count(distinct ratings.turn) as n_turns,
        md5(string_agg(concat_ws(':', turn, outcome, value, answer), chr(31) order by turn, outcome)) as content
    from raw.ratings as ratings
    inner join raw.scales as scales on ratings.outcome = scales.measure
    where scales.score is distinct from 'turn_mean'
    group by ratings.conversation
    having count(*) filter (ratings.answer = 'rated') >= 20 and count(distinct ratings.value) >= 3
)

select string_agg(conversation, ' = ' order by conversation) as example
from answers
group by content, n_turns
having count(*) > 1
order by example
"""

_TIME = """
with steps as (
    select
        conversation,
        seconds < lag(seconds) over (partition by conversation order by message) as is_backwards
    from raw.messages
    where seconds is not null
)

select conversation as example
from steps
where is_backwards
group by conversation
order by conversation
"""

CHECKS = (
    Check("keys", "error", "keys that are null or there twice", _KEYS),
    Check("orphans", "error", "rows that refer to a row that does not exist", _ORPHANS),
    Check("answers", "error", "answers that are unknown, or whose value does not go with them", _ANSWERS),
    Check("ranges", "error", "answers outside their scale or between its levels", _RANGES),
    Check("scales", "error", "measures with an impossible scale or kind", _SCALES),
    Check("turns", "error", "messages whose number or turn is not their place in the conversation", _TURNS),
    Check("complete_ratings", "error", "turns without a row for an outcome", _COMPLETE),
    Check("complete_survey", "error", "conversations without a row for a survey item", _SURVEY_COMPLETE),
    Check("means", "error", "turn means that are not the mean of the dimensions", _MEANS),
    Check("without_messages", "warning", "conversations without a message", _WITHOUT_MESSAGES),
    Check("unrated", "warning", "conversations without a rating", _UNRATED),
    Check(
        "straight_lining",
        "warning",
        "participants (conversations, where there are no ids) that gave all dimensions one rating on at least 90 % of "
        "five or more turns",
        _STRAIGHT,
    ),
    Check("same_text", "warning", "groups of conversations with the same texts", _SAME_TEXT),
    Check(
        "same_ratings",
        "warning",
        "groups of conversations with the same 20 or more ratings of at least three levels",
        _SAME_RATINGS,
    ),
    Check("time", "warning", "conversations in which a message is earlier than the one before it", _TIME),
)
