"""Where is something said?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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
from dashboard.analyses.kept import Kept
from dashboard.database import Database
from dashboard.queries import run_query, run_watched
from dashboard.vocabulary import NotInThisData, plural, unknown_name

if TYPE_CHECKING:
    import pandas as pd

MOST = 200
ANY = "any"
_AROUND = 90
# Letters that Python takes for alike without regard to case, and Unicode's simple case folding does not.
_OWN_CASE = {"i": "(?-i:[iI])", "I": "(?-i:[iI])"} | {letter: f"(?-i:{letter})" for letter in "İıΐΰΐΰﬅﬆ"}


@dataclass(frozen=True)
class SearchParameters(Parameters):
    """What to look for in messages."""

    text: str = parameter("", label="Search in messages", help="Found as typed, anywhere in a message.")
    match_case: bool = parameter(False, label="Match case")
    whole_word: bool = parameter(
        False, label="Whole word", help="No letter, digit or underscore may stand on either side."
    )
    role: str = parameter(ANY, label="Said by", help="A role of this data, or any.")


@dataclass(frozen=True)
class Searched:
    """What a search found.

    Attributes
    ----------
    by_role
        Messages, those with hits, hits and conversations by role; the report ``message_search_counts``.
    hits
        The first messages with hits, their text cut to what stands around; None when nothing is sought.
    queries
        What was asked.
    """

    by_role: pd.DataFrame
    hits: pd.DataFrame | None
    queries: dict[str, dict[str, Any]]


_KEPT: Kept[Searched] = Kept(16)


@dataclass(frozen=True)
class Listener:
    """Whom a search that takes long tells what it does.

    Attributes
    ----------
    searching, counting
        Called with the share done, while the first hits are sought and while all are counted.
    found
        Called with the first messages with hits as soon as they are known.
    """

    searching: Callable[[float], None]
    found: Callable[[pd.DataFrame], None]
    counting: Callable[[float], None]


def analyse(database: Database, selection: Selection, parameters: SearchParameters) -> Findings:
    """Find a text in the messages of a selection and count its hits.

    Raises
    ------
    NotInThisData
        When the texts of messages are hidden.
    Refused
        For a role that no message of the data has.
    TooLittleData
        When the filters leave no conversation.
    """
    counts = count_selection(database, selection)
    refuse_empty(counts)
    found = search(database, selection, parameters)
    tables = {"message_search": found.by_role}
    if found.hits is not None:
        tables["message_search.hits"] = found.hits
    return Findings(
        name="message_search",
        headline=_headline(found.by_role, parameters, describe_counts(counts)),
        tables=tables,
        counts=counts,
        queries=found.queries,
    )


def search(
    database: Database, selection: Selection, parameters: SearchParameters, listener: Listener | None = None
) -> Searched:
    """Look for the first hits, then count all; the last searches are remembered.

    With ``listener``, whatever it raises stops the search.

    Raises
    ------
    NotInThisData
        When the texts of messages are hidden.
    Refused
        For a role that no message of the data has.
    """
    if database.public:
        raise NotInThisData("what was said: texts are hidden here, so that they cannot be searched.")
    if parameters.role != ANY and parameters.role not in (roles := roles_of(database)):
        raise unknown_name("role", parameters.role, (ANY, *roles))
    known = _KEPT.get(database, (selection, parameters))
    if known and listener and known.hits is not None:
        listener.found(known.hits)
    return known or _KEPT.find(
        database, (selection, parameters), lambda: _search(database, selection, parameters, listener)
    )


def _search(
    database: Database, selection: Selection, parameters: SearchParameters, listener: Listener | None
) -> Searched:
    chosen = selection.query_parameters() | {"role": None if parameters.role == ANY else parameters.role}
    asked = {"text": parameters.text, "match_case": parameters.match_case, "whole_word": parameters.whole_word}
    counting = {"message_search_counts": chosen | asked}
    if not parameters.text:
        return Searched(run_query(database, "message_search_counts", **chosen), None, counting)
    searching = {"message_search": chosen | asked | {"most": MOST}}
    hits = _run(database, "message_search", searching, listener.searching if listener else None)
    complete = len(hits) < MOST
    by_role = _counted(database, chosen, hits) if complete else None
    hits = hits.assign(text=[excerpt(text, find_hits(text, parameters)) for text in hits["text"]])
    if listener:
        listener.found(hits)
    if by_role is None:
        by_role = _run(database, "message_search_counts", counting, listener.counting if listener else None)
    return Searched(by_role, hits, counting | searching)


def _run(
    database: Database, name: str, asked: dict[str, dict[str, Any]], watch: Callable[[float], None] | None
) -> pd.DataFrame:
    run = partial(run_watched, watch=watch) if watch else run_query
    return run(database, name, **asked[name])


def _counted(database: Database, chosen: dict[str, Any], hits: pd.DataFrame) -> pd.DataFrame:
    """Return the counts by role where all messages with hits are at hand: nothing is searched a second time."""
    by_role = run_query(database, "message_search_counts", **chosen).set_index("role")
    groups = hits.groupby("role")
    counted = {
        "n_with": groups.size(),
        "n_hits": groups["n_hits"].sum(),
        "n_conversations": groups["conversation"].nunique(),
    }
    for name, counts in counted.items():
        by_role[name] = counts.reindex(by_role.index).fillna(0).astype("int64")
    return by_role.reset_index()


def roles_of(database: Database) -> list[str]:
    """Return the roles of the data's messages, in alphabetical order."""
    return [str(role) for role in run_query(database, "message_search_counts")["role"]]


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
    if parameters.match_case:
        pattern, flags = re.escape(sought), re.NOFLAG
    else:
        pattern, flags = "".join(_OWN_CASE.get(letter) or re.escape(letter) for letter in sought), re.IGNORECASE
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
        "Messages of the selected conversations are compared as typed, never as a pattern; unless *Match case*, letters are alike "
        "when Unicode's simple case folding says so. "
        "Hits do not overlap. A *whole word* has no letter, digit or underscore of any script on either side; scripts without "
        f"blanks between words are better searched without it. All hits are counted, the first {MOST} messages are listed."
    ),
)
