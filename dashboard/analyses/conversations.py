"""Which conversations are there, how did their ratings go, and where did they break down?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.breakdown_rows import BreakdownParameters, definition_of, read_breakdowns
from dashboard.analyses.findings import (
    Analysis,
    Findings,
    Selection,
    choose_outcome,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.analyses.kept import Kept
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, TooLittleData, format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

SOURCE_ORDER = "as in the source"
# Column and direction of each order; conversations without a value come last, ties stay as in the source.
ORDERS = {
    SOURCE_ORDER: None,
    "lowest rating": ("lowest", True),
    "deepest drop": ("drop", False),
    "most breakdowns": ("breakdowns", False),
    "longest": ("turns", False),
    "shortest": ("turns", True),
    "task": ("task", True),
    "model": ("model", True),
    "desired empathy": ("desired_empathy", True),
    "participant": ("participant", True),
}


_KEPT: Kept[tuple[Any, str, tuple[str, ...]]] = Kept(3)


@dataclass(frozen=True)
class ConversationParameters(BreakdownParameters):
    """Which conversations to list, and in which order."""

    order: str = parameter(
        SOURCE_ORDER,
        label="Order",
        choices=tuple(ORDERS),
        help="The list and the buttons for the next and the previous conversation follow it.",
    )
    broken_only: bool = parameter(False, label="With a breakdown", help="Keep conversations with a breakdown turn.")
    lowest_at_most: float | None = parameter(
        None, label="Lowest rating, at most", help="Keep conversations with a rating at or below this.", more=True
    )
    drop_at_least: float | None = parameter(
        None,
        label="Deepest drop, at least",
        help="Keep conversations in which a rating lies this far below the mean of the earlier ones.",
        more=True,
    )
    turns_at_least: int | None = parameter(
        None, label="Turns, at least", help="Keep conversations with so many turns, rated or not.", minimum=0, more=True
    )


def analyse(database: Database, selection: Selection, parameters: ConversationParameters) -> Findings:
    """List the conversations of a selection with how their ratings went.

    Raises
    ------
    TooLittleData
        When the filters leave no conversation.
    """
    counts = count_selection(database, selection)
    refuse_empty(counts)
    outcome, label = _outcome(database, parameters)
    chosen = selection.query_parameters() | {"outcome": outcome}
    asked = definition_of(parameters)
    listed, short, notes = _KEPT.find(database, (selection, asked), lambda: _listed(database, selection, chosen, asked))
    kept = _ordered(_kept(listed, parameters), parameters.order)
    if kept.empty:
        raise TooLittleData(
            f"None of {plural(len(listed), 'conversation')} is left by the filters of this list. Take one of them away."
        )
    return Findings(
        name="conversations",
        headline=_headline(listed, kept, label, short, describe_counts(counts)),
        tables={"conversations": kept.reset_index(drop=True)},
        notes=notes,
        counts=counts,
        queries={"conversations": chosen},
    )


def _listed(
    database: Database, selection: Selection, chosen: dict[str, Any], parameters: BreakdownParameters
) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Return all conversations of the selection; another order or filter of the list asks for the same."""
    listed = run_query(database, "conversations", **chosen)
    refuse_unrated(listed)
    return _with_breakdowns(listed, database, selection, parameters)


def refuse_unrated(listed: pd.DataFrame) -> None:
    """Refuse when no conversation has as many turns rated on this outcome as the filters ask for.

    Raises
    ------
    TooLittleData
        With what to do.
    """
    if listed.empty:
        raise TooLittleData(
            "No conversation has so many turns rated on this outcome. Take the filter away, or reset them all."
        )


def _outcome(database: Database, parameters: ConversationParameters) -> tuple[str | None, str]:
    """Return the outcome and its label; data without ratings has conversations all the same."""
    outcomes = run_query(database, "outcomes")
    if outcomes.empty and parameters.outcome is None:
        return None, ""
    outcome = choose_outcome(database, parameters.outcome)
    return outcome, str(outcomes.set_index("outcome").loc[outcome, "label"])


def _with_breakdowns(
    listed: pd.DataFrame, database: Database, selection: Selection, parameters: BreakdownParameters
) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Add how many breakdown turns there are, and which; none are known where nothing is rated."""
    import numpy as np

    try:
        found = read_breakdowns(database, selection, parameters)
    except (NotInThisData, TooLittleData) as reason:
        return listed.assign(breakdowns=float("nan"), breakdown_turns=None), "", (str(reason),)
    courses = found.courses
    counts = np.bincount(courses.conversation[courses.broken], minlength=len(listed))
    turns = np.array([str(turn) for turn in range(int(courses.turn.max()) + 1)], dtype=object)
    said = np.split(turns[courses.turn[courses.broken]], np.cumsum(counts)[:-1])
    written = listed.assign(breakdowns=counts, breakdown_turns=[", ".join(one) or None for one in said])
    return written, found.short, (f"{found.words}.",)


def _kept(listed: pd.DataFrame, parameters: ConversationParameters) -> pd.DataFrame:
    keep = listed["turns"] >= (parameters.turns_at_least or 0)
    if parameters.broken_only:
        keep &= listed["breakdowns"] > 0
    if parameters.lowest_at_most is not None:
        keep &= listed["lowest"] <= parameters.lowest_at_most
    if parameters.drop_at_least is not None:
        keep &= listed["drop"] >= parameters.drop_at_least
    return listed[keep]


def _ordered(listed: pd.DataFrame, order: str) -> pd.DataFrame:
    by = ORDERS[order]
    if by is None:
        return listed
    return listed.sort_values(by[0], ascending=by[1], kind="stable", na_position="last")


def _headline(listed: pd.DataFrame, kept: pd.DataFrame, label: str, short: str, counted: str) -> str:
    part = "" if len(kept) == len(listed) else f"{len(kept):,} of "
    if not short:
        return f"{part}{plural(len(listed), 'conversation')} without ratings; {counted}."
    rated = kept[kept["n_rated"] > 0]
    if rated.empty:
        return f"{part}{plural(len(listed), 'conversation')}, none with a turn rated on {label}; {counted}."
    n_broken = int((rated["breakdowns"] > 0).sum())
    return (
        f"{part}{plural(len(listed), 'conversation')}; {n_broken:,} of {len(rated):,} with a rated turn "
        f"({format_percent(n_broken / len(rated))}) have a breakdown ({short}). Selected: {counted}."
    )


ANALYSIS = Analysis(
    name="conversations",
    page="Conversations",
    position=1,
    question="Which conversations are there?",
    analyse=analyse,
    parameters=ConversationParameters,
    tables={"conversations": "Conversations: their ratings, deepest drop and breakdown turns"},
    method=(
        "One row per conversation. *Lowest* is the lowest rating of the outcome, *drop* how far a rating lies below the mean of "
        "the conversation's earlier ratings, at its deepest (negative where ratings only rise; unknown with fewer than two). "
        "*Turns* counts replies, rated or not; unrated ones enter no mean. Breakdown turns follow the definition at the top of "
        "the page. A conversation is listed even if nothing in it is rated."
    ),
)
