"""What the analyses of breakdowns read: the turns, which of them are breakdowns, and each conversation's first."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Counts,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.analyses.kept import Kept
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, TooLittleData, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pandas as pd

    from dashboard.stats.breakdowns import Courses

LOW, DIMENSION, DROP, DISRUPTED = "low rating", "low dimension", "drop", "error or retry"
DEFINITIONS = (LOW, DIMENSION, DROP, DISRUPTED)
GROUPS = {"task": "Task", "model": "Assistant model", "desired_empathy": "Desired empathy"}


@dataclass(frozen=True)
class BreakdownParameters(OutcomeParameters):
    """What counts as a breakdown: one definition for the whole page."""

    definition: str = parameter(
        LOW,
        label="A breakdown is a rated turn with",
        choices=DEFINITIONS,
        help="A low rating of the outcome; any dimension rated low; a drop below the conversation's earlier ratings; an "
        "error or a retry just before.",
        shared=True,
    )
    threshold: float = parameter(
        25.0,
        label="Low, % of the scale",
        minimum=0,
        maximum=99,
        help="A rating is low at or below this percentage of its scale: 25 is 2 on a scale of 1 to 5, 0 is 1, 50 is 3.",
        shared=True,
    )
    drop: float = parameter(
        1.0,
        label="Drop, points",
        minimum=0.1,
        help="How many points below the mean of the conversation's earlier ratings make a drop.",
        shared=True,
    )


@dataclass(frozen=True)
class Breakdowns:
    """Turns and conversations of a selection, with the breakdowns marked.

    Attributes
    ----------
    courses
        Turns as arrays.
    conversations
        One row per conversation in the order of its code: ids, task, model, desired_empathy, experienced_empathy,
        satisfaction, and the columns of :func:`dashboard.stats.breakdowns.first_breakdowns`.
    outcome, label, scale
        The outcome, its label, and its row of the report ``outcomes``.
    low_at
        The rating at or below which the outcome is low.
    short, words
        The definition for figures (``Overall ≤ 2``) and as a sentence.
    parameters, chosen, counts
        What was asked.
    """

    courses: Courses
    conversations: pd.DataFrame
    outcome: str
    label: str
    scale: pd.Series
    low_at: float
    short: str
    words: str
    parameters: BreakdownParameters
    chosen: dict[str, Any]
    counts: Counts

    @property
    def rated(self) -> pd.DataFrame:
        """The conversations with a rated turn."""
        return self.conversations[self.conversations["n_rated"] > 0]

    @property
    def n_unrated(self) -> int:
        """Conversations without a rated turn, which are left out."""
        return int((self.conversations["n_rated"] == 0).sum())

    @property
    def event_time(self) -> np.ndarray:
        """Turn of the first breakdown per conversation, 0 for none."""
        return self.conversations["time"].where(self.conversations["event"], 0).to_numpy(dtype=int)

    def finder(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
        """Return how breakdowns are found in shuffled ratings; None where marks move with their turns."""
        from dashboard.stats.breakdowns import dropped_turns

        if self.parameters.definition != DROP:
            return None
        by = self.parameters.drop
        return lambda conversation, value: dropped_turns(conversation, value, by)


_KEPT: Kept[Breakdowns] = Kept(3)


def read_breakdowns(database: Database, selection: Selection, parameters: BreakdownParameters) -> Breakdowns:
    """Read the turns of a selection and mark the breakdowns among them; the last few are kept.

    The questions of one page ask for the same turns one after the other; what they get is shared and must not be changed.

    Raises
    ------
    NotInThisData
        When the data has no such ratings.
    TooLittleData
        When the selection leaves no conversation, or none with a rated turn.
    """
    asked = definition_of(parameters)
    return _KEPT.find(database, (selection, asked), lambda: _read(database, selection, asked))


def definition_of(parameters: BreakdownParameters) -> BreakdownParameters:
    """Return the outcome and what counts as a breakdown, without what a question asks besides."""
    return BreakdownParameters(*(getattr(parameters, item.name) for item in dataclasses.fields(BreakdownParameters)))


def _read(database: Database, selection: Selection, parameters: BreakdownParameters) -> Breakdowns:
    from dashboard.stats.breakdowns import Courses, first_breakdowns

    outcome = choose_outcome(database, parameters.outcome)
    outcomes = run_query(database, "outcomes").set_index("outcome")
    scale = outcomes.loc[outcome]
    if parameters.definition == DIMENSION and not (outcomes["score"] == "dimension").any():
        raise NotInThisData("dimensions of the turn rating.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    asked = {"definition": parameters.definition, "threshold": parameters.threshold}
    turns = run_query(database, "breakdown_turns", **chosen, **asked)
    conversations = run_query(database, "breakdown_conversations", **chosen)
    if turns.empty or turns["value"].isna().all():
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    low_at = float(scale["minimum"] + (scale["maximum"] - scale["minimum"]) * parameters.threshold / 100)
    courses = Courses(
        conversation=turns["conversation_number"].to_numpy(),
        turn=turns["turn"].to_numpy(),
        value=turns["value"].to_numpy(dtype=float),
        broken=_broken(turns, parameters, low_at),
        unit=conversations["cluster_number"].to_numpy(),
    )
    firsts = first_breakdowns(courses).drop(columns=["conversation", "unit"])
    short, words = _say(parameters, str(scale["label"]), low_at)
    return Breakdowns(
        courses=courses,
        conversations=conversations.join(firsts),
        outcome=outcome,
        label=str(scale["label"]),
        scale=scale,
        low_at=low_at,
        short=short,
        words=words,
        parameters=parameters,
        chosen=chosen | asked,
        counts=counts,
    )


def _broken(turns: pd.DataFrame, parameters: BreakdownParameters, low_at: float) -> np.ndarray:
    from dashboard.stats.breakdowns import dropped_turns, low_turns

    value = turns["value"].to_numpy(dtype=float)
    if parameters.definition == LOW:
        return low_turns(value, low_at)
    if parameters.definition == DROP:
        return dropped_turns(turns["conversation_number"].to_numpy(), value, parameters.drop)
    column = "has_low_dimension" if parameters.definition == DIMENSION else "was_disrupted"
    return turns[column].to_numpy(dtype=bool) & turns["value"].notna().to_numpy()


def _say(parameters: BreakdownParameters, label: str, low_at: float) -> tuple[str, str]:
    if parameters.definition == LOW:
        return f"{label} ≤ {low_at:g}", f"A breakdown is a turn on which {label} is rated {low_at:g} or lower"
    if parameters.definition == DIMENSION:
        share = f"{parameters.threshold:g} %"
        return (
            f"any dimension ≤ {share} of its scale",
            f"A breakdown is a turn with a rating of {label} on which any dimension lies at or below {share} of its scale",
        )
    if parameters.definition == DROP:
        points = f"{parameters.drop:g} {'point' if parameters.drop == 1 else 'points'}"
        return (
            f"{label} drops by ≥ {points}",
            f"A breakdown is a turn on which {label} lies {points} or more below the mean of the conversation's earlier ratings",
        )
    return "error or retry before", "A breakdown is a rated turn that follows an error or was retried"


def refuse_without_breakdown(found: Breakdowns) -> None:
    """Refuse what asks about breakdowns when there is none.

    Raises
    ------
    TooLittleData
        With what to change.
    """
    if not found.rated["event"].any():
        raise TooLittleData(
            f"None of {plural(len(found.rated), 'conversation')} has a breakdown ({found.short}). Take a filter away, or choose "
            "another definition at the top of the page."
        )


def levels_of(database: Database) -> dict[str, list[str]]:
    """Return the levels of task, model and desired empathy that the whole data has, as text, in their fixed order."""
    rows = run_query(database, "breakdown_levels")
    return {name: rows.loc[rows["filter"] == name, "level"].tolist() for name in GROUPS}


def level_names(conversations: pd.DataFrame, group: str) -> pd.Series:
    """Return a property of conversations as text: numbers without needless decimals, unknown stays null."""
    column = conversations[group]
    if group == "desired_empathy":
        return column.map(lambda value: f"{value:g}" if value == value else None)
    return column


def stand_behind(found: Breakdowns) -> str:
    """Return ``660 conversations with a rated turn, 109 participants``."""
    rated = found.rated
    parts = [plural(len(rated), "conversation") + " with a rated turn"]
    if found.counts.participants is not None:
        parts.append(plural(int(rated["cluster_number"].nunique()), "participant"))
    return ", ".join(parts)


def left_out(found: Breakdowns) -> tuple[str, ...]:
    """Return the sentence on conversations without a rated turn, where there are any."""
    if not found.n_unrated:
        return ()
    return (
        f"{plural(found.n_unrated, 'conversation')} without a rated turn {'is' if found.n_unrated == 1 else 'are'} left out.",
    )


def few_participants(found: Breakdowns) -> tuple[str, ...]:
    """Return the warning that fewer than five participants give no interval, where so."""
    n = int(found.rated["cluster_number"].nunique())
    noun = "participant" if found.counts.participants is not None else "conversation"
    return () if n >= 5 else (f"Only {plural(n, noun)}: fewer than five give no interval.",)
