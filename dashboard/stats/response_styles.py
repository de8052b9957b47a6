"""Indices of how a person uses a rating scale, for any grouping of turns, and how reliable such indices are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.stats.bootstrap import N_BOOT, percentile_interval, resample_sums

INDICES = ("mean", "std_dev", "relative_std_dev", "entropy", "share_extreme", "rmssd", "inertia")
# Fewer people than this with both halves give no reliability.
_LEAST = 3


@dataclass(frozen=True)
class Turns:
    """Rated turns of one outcome, sorted by conversation and turn.

    Attributes
    ----------
    unit, conversation
        Codes from 0, shape (n,).
    turn
        Position in the conversation, shape (n,).
    value
        Ratings, shape (n,).
    minimum, maximum, n_levels
        The scale; ``n_levels`` is NaN for a continuous outcome.
    """

    unit: np.ndarray
    conversation: np.ndarray
    turn: np.ndarray
    value: np.ndarray
    minimum: float
    maximum: float
    n_levels: float

    @property
    def pairs(self) -> np.ndarray:
        """Positions i whose successor i + 1 is the next turn of the same conversation, both rated."""
        follows = (self.conversation[1:] == self.conversation[:-1]) & (self.turn[1:] == self.turn[:-1] + 1)
        return np.flatnonzero(follows)


def largest_std_dev(total: np.ndarray, n: np.ndarray, minimum: float, maximum: float) -> np.ndarray:
    """Return the largest SD (n − 1) that n ratings with this sum can have on a scale; NaN for n < 2.

    As many ratings as fit stand at the top, one between, the others at the bottom (Mestdagh et al. 2018).
    """
    total, n = np.asarray(total, dtype=float), np.asarray(n, dtype=float)
    # Sums of whole numbers divide exactly; rounding keeps a last bit from losing a rating at the top.
    top = np.floor(np.round((total - n * minimum) / (maximum - minimum), 9))
    between = total - (n - 1 - top) * minimum - top * maximum
    mean = total / n
    squares = (n - 1 - top) * (minimum - mean) ** 2 + top * (maximum - mean) ** 2 + (between - mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n >= 2, np.sqrt(np.maximum(squares, 0) / (n - 1)), math.nan)


def style_indices(turns: Turns, groups: np.ndarray, n_groups: int) -> pd.DataFrame:
    """Return one row per group of turns: n_turns and the ``INDICES``; NaN where undefined.

    Parameters
    ----------
    turns
        The rated turns.
    groups
        Group of each turn, codes from 0, shape (n,); a conversation lies within one group.
    n_groups
        Number of groups; those without a turn have a row of NaN.

    Notes
    -----
    SD has n − 1 and is undefined for one turn; relative SD also for a mean at an end of the scale; RMSSD without a
    pair of successive turns; inertia with fewer than three pairs or where either side does not vary.
    """
    n = np.bincount(groups, minlength=n_groups).astype(float)
    total = np.bincount(groups, turns.value, n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        squares = np.bincount(groups, (turns.value - mean[groups]) ** 2, n_groups)
        std_dev = np.where(n >= 2, np.sqrt(squares / (n - 1)), math.nan)
        largest = largest_std_dev(total, n, turns.minimum, turns.maximum)
        inside = (mean > turns.minimum) & (mean < turns.maximum)
        relative = np.where(inside, std_dev / largest, math.nan)
    frame = pd.DataFrame({"n_turns": n.astype(int), "mean": mean, "std_dev": std_dev, "relative_std_dev": relative})
    entropy, extreme = _level_use(turns, groups, n)
    frame["entropy"], frame["share_extreme"] = entropy, extreme
    frame["rmssd"], frame["inertia"], frame["n_pairs"] = _successive(turns, groups, n_groups)
    return frame


def level_counts(turns: Turns, groups: np.ndarray, n_groups: int) -> np.ndarray:
    """Return how often each group used each level, shape (n_groups, n_levels); zero columns for a continuous outcome."""
    if math.isnan(turns.n_levels):
        return np.zeros((n_groups, 0))
    k = int(turns.n_levels)
    level = np.rint((turns.value - turns.minimum) / (turns.maximum - turns.minimum) * (k - 1)).astype(int)
    return np.bincount(groups * k + level, minlength=n_groups * k).reshape(n_groups, k).astype(float)


def _level_use(turns: Turns, groups: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    counts = level_counts(turns, groups, len(n))
    if not counts.shape[1]:
        unknown = np.full(len(n), math.nan)
        return unknown, unknown
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / n[:, None]
        parts = np.where(shares > 0, shares * np.log(shares), 0.0)
        entropy = np.abs(parts.sum(axis=1)) / math.log(turns.n_levels)
    entropy[n == 0] = math.nan
    return entropy, shares[:, 0] + shares[:, -1]


def _successive(turns: Turns, groups: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs = turns.pairs
    group, now, after = groups[pairs], turns.value[pairs], turns.value[pairs + 1]
    n = np.bincount(group, minlength=n_groups).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        rmssd = np.sqrt(np.bincount(group, (after - now) ** 2, n_groups) / n)
        one = now - (np.bincount(group, now, n_groups) / n)[group]
        two = after - (np.bincount(group, after, n_groups) / n)[group]
        spread_one, spread_two = np.bincount(group, one**2, n_groups), np.bincount(group, two**2, n_groups)
        varies = (n >= 3) & (spread_one > 1e-12) & (spread_two > 1e-12)
        inertia = np.where(varies, np.bincount(group, one * two, n_groups) / np.sqrt(spread_one * spread_two), math.nan)
    return rmssd, np.clip(inertia, -1, 1), n.astype(int)


def halves_of(turns: Turns) -> np.ndarray:
    """Return 0 or 1 for each turn: whether its conversation is an odd or an even one of its unit's rated conversations."""
    first = np.r_[True, turns.conversation[1:] != turns.conversation[:-1]] if len(turns.value) else np.zeros(0, bool)
    starts = np.flatnonzero(first)
    owner = turns.unit[starts]
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    parity = np.empty(len(owner), dtype=int)
    parity[order] = place % 2
    return parity[np.cumsum(first) - 1] if len(starts) else np.zeros(0, dtype=int)


def split_half(turns: Turns, n_units: int, *, n_boot: int = N_BOOT) -> pd.DataFrame:
    """Return how reliable each index is: odd against even conversations of a person, stepped up to all of them.

    Returns
    -------
    pandas.DataFrame
        One row per index: index, estimate (Spearman–Brown 2r/(1 + r)), r_half, conf_low, conf_high (participant
        bootstrap, percentile), n_groups (people with the index in both halves). NaN for fewer than three people.

    Notes
    -----
    An index that is a variance needs more ratings than one that is a mean, and each half has half of them: this is a
    reliability of the index at the lengths of this data. Checked against an independent pandas computation.
    """
    indices = style_indices(turns, turns.unit * 2 + halves_of(turns), 2 * n_units)
    sums, known = [], []
    for name in INDICES:
        halves = indices[name].to_numpy().reshape(n_units, 2)
        both = np.isfinite(halves).all(axis=1)
        centre = halves[both].mean() if both.any() else 0.0
        one, two = np.where(both[:, None], halves - centre, 0.0).T
        sums += [both.astype(float), one, two, one * one, two * two, one * two]
        known.append(int(both.sum()))
    stacked = np.column_stack(sums)
    draws = resample_sums(stacked, n_boot=n_boot) if n_boot else np.empty((0, stacked.shape[1]))
    rows = []
    for place, (name, n_groups) in enumerate(zip(INDICES, known, strict=True)):
        columns = slice(6 * place, 6 * place + 6)
        r_half = float(_correlation(stacked[:, columns].sum(axis=0)[None])[0]) if n_groups >= _LEAST else math.nan
        drawn = _correlation(draws[:, columns])
        low, high = percentile_interval(spearman_brown(drawn), n_groups=n_groups)
        rows.append((name, float(spearman_brown(np.array(r_half))), r_half, low, high, n_groups))
    return pd.DataFrame(rows, columns=["index", "estimate", "r_half", "conf_low", "conf_high", "n_groups"])


def spearman_brown(r: np.ndarray) -> np.ndarray:
    """Return the reliability of twice the length, 2r/(1 + r); NaN at r = −1, where it has no bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(r > -1 + 1e-12, 2 * r / (1 + r), math.nan)


def _correlation(sums: np.ndarray) -> np.ndarray:
    """Return Pearson's r from rows of n, Σx, Σy, Σx², Σy², Σxy; NaN where either does not vary."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        r = np.where(spread > 1e-18, (xy - x * y / n) / np.sqrt(np.maximum(spread, 1e-300)), math.nan)
    return np.clip(r, -1.0, 1.0)
