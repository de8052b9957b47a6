"""Rated turns as arrays: what the analyses of single participants, of dimensions and of models read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.stats.response_styles import Turns

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def read_turns(database: Database, chosen: dict[str, Any], scale: pd.Series) -> tuple[Turns, pd.DataFrame]:
    """Return the rated turns of one outcome, and the independent units by their number.

    Parameters
    ----------
    chosen
        The selection's query parameters, with the outcome.
    scale
        The outcome's row of the report ``outcomes``.
    """
    rows = run_query(database, "rated_turns", **chosen)
    units = run_query(database, "selected_units", **chosen)
    turns = Turns(
        unit=rows["cluster_number"].to_numpy(),
        conversation=rows["conversation_number"].to_numpy(),
        turn=rows["turn"].to_numpy(),
        value=rows["value"].to_numpy(dtype=float),
        minimum=float(scale["minimum"]),
        maximum=float(scale["maximum"]),
        n_levels=float(scale["n_levels"]),
    )
    return turns, units


def outcome_sums(sums: pd.DataFrame, outcomes: pd.DataFrame, first: str) -> dict[str, pd.DataFrame]:
    """Divide the report ``rating_sums`` by outcome: one row per conversation of a known participant.

    Parameters
    ----------
    outcomes
        The report ``outcomes``.
    first
        The outcome to stand first; the others follow in display order. Those without a rating are left out.
    """
    known = sums[sums["participant_number"].notna()]
    names = outcomes["outcome"].tolist()
    parts = {names[int(number)]: part for number, part in known.groupby("outcome_number", sort=True)}
    return {name: parts[name] for name in (first, *(one for one in names if one != first)) if name in parts}


@dataclass(frozen=True)
class RatingMatrix:
    """All outcomes of each turn side by side.

    Attributes
    ----------
    values
        Ratings, shape (n, k); NaN where a turn has none. Turns without any are not there.
    outcomes
        Names of the k columns.
    unit, conversation, turn
        Unit and conversation as codes from 0, and the turn's position, shape (n,).
    n_units
        How many units the selection has, rated or not.
    """

    values: np.ndarray
    outcomes: tuple[str, ...]
    unit: np.ndarray
    conversation: np.ndarray
    turn: np.ndarray
    n_units: int

    def columns(self, names: list[str] | tuple[str, ...]) -> np.ndarray:
        """Return the columns of some outcomes, shape (n, len(names))."""
        return self.values[:, [self.outcomes.index(name) for name in names]]


def read_matrix(database: Database, chosen: dict[str, Any], outcomes: pd.DataFrame) -> RatingMatrix:
    """Return every outcome of every rated turn of a selection.

    Parameters
    ----------
    outcomes
        The report ``outcomes``.
    """
    import numpy as np

    rows = run_query(database, "rated_turns", **chosen, outcome=None)
    units = run_query(database, "selected_units", **chosen, outcome=None)
    conversation = rows["conversation_number"].to_numpy()
    turn = rows["turn"].to_numpy()
    longest = int(turn.max()) + 1 if len(turn) else 1
    # A place for every turn that a conversation could have: those that are taken, in their order, are the rows.
    cell = conversation * longest + turn
    taken = np.zeros(int(cell.max()) + 1 if len(cell) else 0, dtype=bool)
    taken[cell] = True
    key = np.flatnonzero(taken)
    place = (np.cumsum(taken) - 1)[cell]
    values = np.full((len(key), len(outcomes)), np.nan)
    values[place, rows["outcome_number"].to_numpy()] = rows["value"].to_numpy(dtype=float)
    unit = np.zeros(len(key), dtype=np.int64)
    unit[place] = rows["cluster_number"].to_numpy()
    return RatingMatrix(values, tuple(outcomes["outcome"]), unit, key // longest, key % longest, len(units))
