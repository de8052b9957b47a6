"""How well anything could predict a ground truth that is itself a mean of few ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dashboard.stats.bootstrap import N_BOOT, percentile_interval, resample_sums
from dashboard.stats.classification import spearman, to_levels


@dataclass(frozen=True)
class Interval:
    """An estimate with its participant-bootstrap interval."""

    estimate: float
    conf_low: float
    conf_high: float


def conversation_sums(values: np.ndarray, conversations: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the additive parts of a one-way analysis of variance between conversations, per participant.

    Parameters
    ----------
    values
        Turn values, shape (n,).
    conversations
        Code from 0 of each turn's conversation, shape (n,).
    codes
        Code from 0 of each conversation's participant.
    n_groups
        Number of participants.

    Returns
    -------
    numpy.ndarray
        Shape (n_groups, 5): conversations, turns, sum, sum of squares, sum of (conversation total)²/turns.
    """
    n_turns = np.bincount(conversations, minlength=len(codes)).astype(float)
    totals = np.bincount(conversations, values, minlength=len(codes))
    squares = np.bincount(conversations, values**2, minlength=len(codes))
    parts = np.column_stack([np.ones(len(codes)), n_turns, totals, squares, totals**2 / n_turns])
    sums = np.zeros((n_groups, parts.shape[1]))
    np.add.at(sums, codes, parts)
    return sums


def mean_reliability(sums: np.ndarray) -> np.ndarray:
    """Return (MSB − MSW)/MSB of sums (…, 5): the reliability of a conversation's mean over its turns.

    NaN where no conversation has two turns, or all means are equal.
    """
    k, n, total, squares, between = np.moveaxis(np.asarray(sums, dtype=float), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_square_between = (between - total**2 / n) / (k - 1)
        mean_square_within = (squares - between) / (n - k)
        found = 1 - mean_square_within / mean_square_between
        return np.where((k > 1) & (n > k) & (mean_square_between > 1e-12), found, math.nan)


def reliability_ceiling(
    values: np.ndarray, conversations: np.ndarray, codes: np.ndarray, *, n_boot: int = N_BOOT
) -> tuple[Interval, Interval]:
    """Return the reliability of the ground truth, and its root: the largest correlation that error in it leaves.

    Parameters
    ----------
    values, conversations, codes
        See :func:`conversation_sums`.

    Returns
    -------
    tuple of Interval
        Reliability, and √reliability (0 where the reliability is negative).

    Notes
    -----
    The turns of a conversation count as exchangeable measurements of one value; if empathy truly changes within
    conversations, the reliability is understated. The correlation with a fallible criterion is bounded by the root of its
    reliability (Lord & Novick 1968).
    """
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    sums = conversation_sums(values - (values.mean() if len(values) else 0.0), conversations, codes, n_groups)
    estimate = float(mean_reliability(sums.sum(0)))
    draws = mean_reliability(resample_sums(sums, n_boot=n_boot))
    low, high = percentile_interval(draws, n_groups=n_groups)
    root = [math.sqrt(max(0.0, one)) if one == one else math.nan for one in (estimate, low, high)]
    return Interval(estimate, low, high), Interval(*root)


def whole_level_ceiling(truth: np.ndarray) -> float:
    """Return Spearman's rho of the ground truth with its own rounded level: what a flawless five-level answer reaches."""
    return spearman(to_levels(truth).astype(float), truth)[0]


def accuracy_ceiling(truth: np.ndarray, n_turns: np.ndarray, within_std_dev: float, *, reliability: float) -> float:
    """Return the expected accuracy of whoever knows every conversation's true value, error-free.

    The true values are taken as normal around the shrunken means, given what was observed; the observed level is then
    right with the probability that the error of a mean of ``n_turns`` turns leaves it in place.

    Parameters
    ----------
    truth
        Observed ground truths, shape (n,).
    n_turns
        Turns behind each, shape (n,).
    within_std_dev
        SD of turns within conversations.
    reliability
        Reliability of the observed ground truths, which says how far true values scatter less than observed ones.
    """
    from scipy.special import ndtr

    if len(truth) == 0 or not math.isfinite(reliability) or not math.isfinite(within_std_dev):
        return math.nan
    mean = float(truth.mean())
    true = mean + math.sqrt(max(0.0, reliability)) * (truth - mean)
    level = to_levels(true)
    error = np.maximum(within_std_dev / np.sqrt(n_turns), 1e-12)
    low = np.where(level == 1, -np.inf, level - 0.5)
    high = np.where(level == 5, np.inf, level + 0.5)
    return float(np.mean(ndtr((high - true) / error) - ndtr((low - true) / error)))
