"""Where is something said?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Findings,
    Parameters,
    Selection,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, plural

if TYPE_CHECKING:
    import pandas as pd

MOST = 200
ANY, OTHER = "any", "other"
_AROUND = 90


@dataclass(frozen=True)
class SearchParameters(Parameters):
    """What to look for in messages."""

    text: str = parameter("", label="Search in messages", help="Found as typed, anywhere in a message.")
    match_case: bool = parameter(False, label="Match case")
    whole_word: bool = parameter(
        False, label="Whole word", help="No letter, digit or underscore may stand on either side."
    )
    role: str = parameter(ANY, label="Said by", choices=(ANY, "user", "assistant", OTHER))


def analyse(database: Database, selection: Selection, parameters: SearchParameters) -> Findings:
    """Find a text in the messages of a selection and count its hits.

    Raises
    ------
    NotInThisData
        When the texts of messages are hidden or there are none.
    TooLittleData
        When the filters leave no conversation.
    """
    counts = count_selection(database, selection)
    refuse_empty(counts)
    if database.public:
        raise NotInThisData("what was said: texts are hidden here, so that they cannot be searched.")
    chosen = selection.query_parameters()
    asked = {"text": parameters.text, "match_case": parameters.match_case, "whole_word": parameters.whole_word}
    by_role = run_query(database, "message_search_counts", **chosen, **asked)
    by_role = by_role[by_role["role"].map(lambda role: _is_asked(role, parameters.role))].reset_index(drop=True)
    queries = {"message_search_counts": chosen | asked}
    tables = {"message_search": by_role}
    if parameters.text:
        asked |= {"role": None if parameters.role == ANY else parameters.role, "most": MOST}
        found = run_query(database, "message_search", **chosen, **asked)
        tables["message_search.hits"] = found.assign(text=_excerpts(found["text"], parameters))
        queries["message_search"] = chosen | asked
    return Findings(
        name="message_search",
        headline=_headline(by_role, parameters, describe_counts(counts)),
        tables=tables,
        counts=counts,
        queries=queries,
    )


def _is_asked(role: str, wanted: str) -> bool:
    return wanted == ANY or role == wanted or (wanted == OTHER and role not in ("user", "assistant"))


def _excerpts(texts: pd.Series, parameters: SearchParameters) -> list[str]:
    return [excerpt(text, find_hits(text, parameters)) for text in texts]


def _headline(by_role: pd.DataFrame, parameters: SearchParameters, counted: str) -> str:
    n_messages = int(by_role["n_messages"].sum())
    if not parameters.text:
        return f"{plural(n_messages, 'message')} can be searched; {counted}."
    n_with, n_hits = int(by_role["n_with"].sum()), int(by_role["n_hits"].sum())
    sought = f"“{parameters.text if len(parameters.text) <= 80 else parameters.text[:79] + '…'}”"
    if not n_with:
        return f"The search for {sought} finds nothing in {plural(n_messages, 'message')}; {counted}."
    listed = f" The first {MOST:,} are listed." if n_with > MOST else ""
    return (
        f"The search for {sought} finds {plural(n_hits, 'hit')} in {n_with:,} of {plural(n_messages, 'message')}; {counted}."
        f"{listed}"
    )


def find_hits(text: str, parameters: SearchParameters) -> list[tuple[int, int]]:
    """Return where the hits in a text begin and end, as the search itself counts them.

    Parameters
    ----------
    text
        The message.
    parameters
        What is sought; an empty text finds nothing.
    """
    sought = parameters.text
    if not sought or not isinstance(text, str):
        return []
    flags = re.NOFLAG
    if not parameters.match_case:
        lowered = text.lower()
        # A few letters grow in lower case; then places in one are not places in the other.
        if len(lowered) == len(text):
            text, sought = lowered, sought.lower()
        else:
            flags = re.IGNORECASE
    pattern = re.escape(sought)
    if parameters.whole_word:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, flags)]


def excerpt(text: str, hits: list[tuple[int, int]]) -> str:
    """Return the surroundings of the first hit on one line, with ellipses where it was cut."""
    start, end = hits[0] if hits else (0, 0)
    low, high = max(0, start - _AROUND), min(len(text), end + _AROUND)
    words = " ".join(text[low:high].split())
    return f"{'…' if low else ''}{words}{'…' if high < len(text) else ''}"


ANALYSIS = Analysis(
    name="message_search",
    page="Conversations",
    position=2,
    question="Where is something said?",
    analyse=analyse,
    parameters=SearchParameters,
    tables={
        "message_search": "Messages that hold what is sought, by role",
        "message_search.hits": "The first messages that hold it, with the words around",
    },
    method=(
        "Messages of the selected conversations are compared as typed, never as a pattern; in lower case unless *Match case*. "
        "Hits do not overlap. A *whole word* has no letter, digit or underscore of any script on either side; scripts without "
        f"blanks between words are better searched without it. All hits are counted, the first {MOST} messages are listed."
    ),
)
