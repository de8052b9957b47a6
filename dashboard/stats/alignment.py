"""Ratings around the first breakdown, beside what conversations still unbroken show, and what mere order would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.breakdowns import Courses
from dashboard.stats.clustered import clustered_mean

if TYPE_CHECKING:
    import pandas as pd

OFFSETS = tuple(range(-3, 6))
N_SHUFFLES = 1000
SEED = 20250919
_SHUFFLED_CELLS = 40_000_000
_DENSE_CELLS = 4_000_000


def align_events(courses: Courses, time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values at the offsets around each event.

    Parameters
    ----------
    courses
        The turns.
    time
        Turn of the event per conversation, 0 for none, shape (n,).
    values
        What to look at, one per turn of ``courses``; NaN where unknown, shape (N,).

    Returns
    -------
    numpy.ndarray
        Shape (events, offsets), events in the order of conversations; NaN where there is no such turn or no value.
    """
    events = np.flatnonzero(time > 0)
    key = courses.conversation * _span(courses) + courses.turn
    out = np.full((len(events), len(OFFSETS)), np.nan)
    for column, offset in enumerate(OFFSETS):
        turn = time[events] + offset
        wanted = events * _span(courses) + turn
        place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
        found = (
            (turn >= 1) & (turn < _span(courses)) & (key[place] == wanted) if len(key) else np.zeros(len(events), bool)
        )
        out[found, column] = values[place[found]]
    return out


def match_events(courses: Courses, time: np.ndarray, values: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """Return, per event and offset, the mean over the risk set of the event.

    The risk set of an event at turn t are conversations of the same stratum whose turn t is rated and that are still without
    a breakdown up to and including it; they may break down later. Only offsets at which the event itself has a value
    are filled.

    Parameters
    ----------
    courses, time, values
        As for :func:`align_events`.
    stratum
        Code of the stratum (the task) per conversation, shape (n,).

    Returns
    -------
    numpy.ndarray
        Shape (events, offsets); NaN where the risk set is empty or has no value at that offset.
    """
    events = np.flatnonzero(time > 0)
    out = np.full((len(events), len(OFFSETS)), np.nan)
    own = align_events(courses, time, values)
    for one in np.unique(stratum[events]):
        mine = stratum[events] == one
        sums, counts = _risk_set_sums(courses, time, values, stratum == one)
        at = time[events[mine]]
        for column, offset in enumerate(OFFSETS):
            turn = at + offset
            inside = (turn >= 1) & (turn < _span(courses))
            rows = np.flatnonzero(mine)[inside]
            n = counts[at[inside], turn[inside]]
            with np.errstate(invalid="ignore", divide="ignore"):
                out[rows, column] = np.where(n > 0, sums[at[inside], turn[inside]] / n, np.nan)
    out[np.isnan(own)] = np.nan
    return out


def _risk_set_sums(
    courses: Courses, time: np.ndarray, values: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums and counts over the risk set of turn t (rows) of the values at turn u (columns)."""
    span = _span(courses)
    sums, counts = np.zeros((span, span)), np.zeros((span, span))
    chosen = np.flatnonzero(member)
    step = max(1, _DENSE_CELLS // span)
    rank = np.full(courses.n_conversations, -1)
    for begin in range(0, len(chosen), step):
        part = chosen[begin : begin + step]
        rank[:] = -1
        rank[part] = np.arange(len(part))
        rows = np.flatnonzero(rank[courses.conversation] >= 0)
        where = (rank[courses.conversation[rows]], courses.turn[rows])
        dense, at_risk = np.full((len(part), span), np.nan), np.zeros((len(part), span))
        dense[where] = values[rows]
        unbroken = (time[part] == 0)[where[0]] | (time[part][where[0]] > courses.turn[rows])
        at_risk[where] = unbroken & courses.rated[rows]
        known = ~np.isnan(dense)
        sums += at_risk.T @ np.where(known, dense, 0.0)
        counts += at_risk.T @ known
    return sums, counts


def _span(courses: Courses) -> int:
    return int(courses.turn.max()) + 1 if len(courses.turn) else 1


def offset_means(aligned: np.ndarray, unit: np.ndarray) -> pd.DataFrame:
    """Return the mean over events at each offset, with the interval clustered by the events' participants.

    Parameters
    ----------
    aligned
        Values, shape (events, offsets).
    unit
        Code of the unit per event, shape (events,).

    Returns
    -------
    pandas.DataFrame
        offset, mean, conf_low, conf_high, n_conversations.
    """
    import pandas as pd

    codes = np.unique(unit, return_inverse=True)[1]
    rows = []
    for column, offset in enumerate(OFFSETS):
        known = ~np.isnan(aligned[:, column])
        totals = np.bincount(codes[known], weights=aligned[known, column], minlength=1)
        mean = clustered_mean(totals, np.bincount(codes[known], minlength=1))
        rows.append((offset, mean.estimate, mean.conf_low, mean.conf_high, mean.n_observations))
    return pd.DataFrame(rows, columns=["offset", "mean", "conf_low", "conf_high", "n_conversations"])


def shuffled_means(
    courses: Courses,
    breaks: Callable[[np.ndarray, np.ndarray], np.ndarray] | None,
    *,
    n_shuffles: int = N_SHUFFLES,
    seed: int = SEED,
) -> tuple[np.ndarray, int]:
    """Return the mean at each offset after shuffling every conversation's rated turns among their places.

    What is left when order means nothing: the event is chosen for being low, and the turns around it return to the mean.

    Parameters
    ----------
    courses
        The turns.
    breaks
        ``breaks(conversation, value)`` finds breakdowns in shuffled ratings; None shuffles the marks of
        ``courses.broken`` with their turns.
    n_shuffles, seed
        How often at most, and the seed. Large data are shuffled less often, at least 100 times.

    Returns
    -------
    means : numpy.ndarray
        Shape (shuffles, offsets); NaN where no event has a rated turn.
    n_shuffles : int
        How often the order was drawn.
    """
    courses = _that_can_break(courses, breaks is None)
    rated = np.flatnonzero(courses.rated)
    codes, turn, value = courses.conversation[rated], courses.turn[rated], courses.value[rated]
    mark = courses.broken[rated]
    times = int(np.clip(_SHUFFLED_CELLS // max(1, len(rated)), min(100, n_shuffles), n_shuffles))
    means = np.full((times, len(OFFSETS)), np.nan)
    if not len(rated):
        return means, times
    span = _span(courses)
    slot = np.full((courses.n_conversations, span + 2 * max(abs(one) for one in OFFSETS)), -1, dtype=np.int32)
    pad = max(abs(one) for one in OFFSETS)
    slot[codes, turn + pad] = np.arange(len(rated))
    generator = np.random.default_rng(seed)
    for draw in range(times):
        order = np.argsort(codes + generator.random(len(codes)))
        mixed = value[order]
        low = mark[order] if breaks is None else breaks(codes, mixed)
        hits = np.flatnonzero(low)
        if not len(hits):
            continue
        first = hits[np.r_[True, codes[hits][1:] != codes[hits][:-1]]]
        for column, offset in enumerate(OFFSETS):
            there = slot[codes[first], turn[first] + offset + pad]
            there = there[there >= 0]
            if len(there):
                means[draw, column] = mixed[there].mean()
    return means, times


def _that_can_break(courses: Courses, marked: bool) -> Courses:
    """Keep the conversations that can give an event: shuffling marks moves none into a conversation without any."""
    if not marked:
        return courses
    has = np.zeros(courses.n_conversations, dtype=bool)
    has[courses.conversation[courses.broken & courses.rated]] = True
    kept = has[courses.conversation]
    code = np.cumsum(has) - 1
    return Courses(
        code[courses.conversation[kept]],
        courses.turn[kept],
        courses.value[kept],
        courses.broken[kept],
        courses.unit[has],
    )


def order_band(means: np.ndarray, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return mean and band of shuffled means per offset: offset, mean, conf_low, conf_high."""
    import pandas as pd

    tail = (1 - conf_level) / 2
    rows = []
    for column, offset in enumerate(OFFSETS):
        known = means[:, column][~np.isnan(means[:, column])]
        if not len(known):
            rows.append((offset, np.nan, np.nan, np.nan))
            continue
        low, high = np.quantile(known, [tail, 1 - tail])
        rows.append((offset, float(known.mean()), float(low), float(high)))
    return pd.DataFrame(rows, columns=["offset", "mean", "conf_low", "conf_high"])
