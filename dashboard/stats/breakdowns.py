"""Turns on which a rating breaks down, and the first of each conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# Means and thresholds of ratings are compared with this much tolerance: they tie, or meet, by their last bit only.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Courses:
    """The turns of conversations, rated or not, one after the other.

    Attributes
    ----------
    conversation
        Code of the conversation from 0, ascending, shape (N,).
    turn
        Turn number from 1, ascending within the conversation, shape (N,).
    value
        Rating; NaN where the turn has none, shape (N,).
    broken
        Whether the turn is a breakdown; never on unrated turns, shape (N,).
    unit
        Code of the independent unit from 0, per conversation, shape (n,).
    """

    conversation: np.ndarray
    turn: np.ndarray
    value: np.ndarray
    broken: np.ndarray
    unit: np.ndarray

    @property
    def n_conversations(self) -> int:
        """Conversations, unrated ones included."""
        return len(self.unit)

    @property
    def rated(self) -> np.ndarray:
        """Which turns carry a rating, shape (N,)."""
        return ~np.isnan(self.value)


def low_turns(value: np.ndarray, at: float) -> np.ndarray:
    """Return which ratings lie at or below ``at``; unrated turns do not."""
    return np.asarray(value, dtype=float) <= at + TOLERANCE


def dropped_turns(conversation: np.ndarray, value: np.ndarray, by: float) -> np.ndarray:
    """Return which ratings lie ``by`` or more below the mean of the conversation's earlier ratings.

    Parameters
    ----------
    conversation, value
        As in :class:`Courses`. The first rating of a conversation has none before it and never drops.
    """
    value = np.asarray(value, dtype=float)
    rated = np.flatnonzero(~np.isnan(value))
    codes, kept = conversation[rated], value[rated]
    out = np.zeros(len(value), dtype=bool)
    if not len(rated):
        return out
    starts = np.r_[True, codes[1:] != codes[:-1]]
    first = np.maximum.accumulate(np.where(starts, np.arange(len(kept)), 0))
    before = np.arange(len(kept)) - first
    sums = np.cumsum(kept) - kept
    earlier = sums - sums[first]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = earlier / before
    out[rated] = (before > 0) & (kept <= mean - by + TOLERANCE)
    return out


def first_breakdowns(courses: Courses) -> pd.DataFrame:
    """Return when each conversation first broke down, or until when it was seen not to.

    Returns
    -------
    pandas.DataFrame
        One row per conversation in the order of its code: conversation, unit, last_turn (of all turns), n_rated,
        n_breakdowns, time, event. ``time`` is the turn of the first breakdown, else the last *rated* turn, so that unrated
        turns at the end are not taken as survived; 0 where no turn is rated.

    Notes
    -----
    Checked against the same rule in R (survival 3.5-3) on 672 conversations.
    """
    import pandas as pd

    n = courses.n_conversations
    rated, codes = courses.rated, courses.conversation
    last, last_rated, first = np.zeros(n, dtype=int), np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    # Turns ascend within a conversation, so that the last one written stays; for the first, they are written backwards.
    last[codes] = courses.turn
    last_rated[codes[rated]] = courses.turn[rated]
    broken = courses.broken & rated
    first[codes[broken][::-1]] = courses.turn[broken][::-1]
    return pd.DataFrame(
        {
            "conversation": np.arange(n),
            "unit": courses.unit,
            "last_turn": last,
            "n_rated": np.bincount(codes[rated], minlength=n),
            "n_breakdowns": np.bincount(codes[broken], minlength=n),
            "time": np.where(first > 0, first, last_rated),
            "event": first > 0,
        }
    )
