"""How many turns after a breakdown ratings take to recover, by two definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.breakdowns import TOLERANCE, Courses

if TYPE_CHECKING:
    import pandas as pd

ABOVE, BACK = "above the threshold", "back to its earlier mean"
SLACK = 0.5


def recovery_times(courses: Courses, time: np.ndarray, *, low_at: float, slack: float = SLACK) -> pd.DataFrame:
    """Return when ratings recover after each first breakdown.

    Parameters
    ----------
    courses
        The turns.
    time
        Turn of the first breakdown per conversation, 0 for none, shape (n,).
    low_at
        The threshold of low ratings: above it is recovered by the first definition.
    slack
        How far below the mean of the ratings before the breakdown the second definition still takes as back.

    Returns
    -------
    pandas.DataFrame
        One row per definition and conversation with a breakdown: recovery, conversation, unit, time (turns after the
        breakdown, until recovery or the last rated turn; 0 where undefined), event, reason (empty, ``no later``: no later
        rated turn, ``no earlier``: no rated turn before it, which the second definition needs).
    """
    import pandas as pd

    events = np.flatnonzero(time > 0)
    n = courses.n_conversations
    rated = courses.rated & (time[courses.conversation] > 0)
    codes, turn, value = courses.conversation[rated], courses.turn[rated], courses.value[rated]
    after = turn - time[codes]
    before = after < 0
    count = np.bincount(codes[before], minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        base = np.bincount(codes[before], weights=value[before], minlength=n) / count
    later = after > 0
    last = np.zeros(n, dtype=int)
    last[codes[later]] = after[later]
    parts = []
    for recovery, hit in ((ABOVE, value > low_at + TOLERANCE), (BACK, value >= base[codes] - slack - TOLERANCE)):
        good = np.flatnonzero(later & hit)[::-1]
        first = np.zeros(n, dtype=int)
        first[codes[good]] = after[good]
        reason = np.where(
            last[events] == 0, "no later", np.where((recovery == BACK) & (count[events] == 0), "no earlier", "")
        )
        usable = reason == ""
        event = (first[events] > 0) & usable
        parts.append(
            pd.DataFrame(
                {
                    "recovery": recovery,
                    "conversation": events,
                    "unit": courses.unit[events],
                    "time": np.where(usable, np.where(event, first[events], last[events]), 0),
                    "event": event,
                    "reason": reason.astype(object),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
