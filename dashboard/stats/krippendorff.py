"""Krippendorff's alpha: agreement among repeated judgements of the same units, whatever is missing."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.bootstrap import N_BOOT, percentile_interval, resample_sums

METRICS = ("nominal", "ordinal", "interval")


def coincidences(ratings: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return each unit's share of the coincidence matrix, shape (units, k, k); zero for fewer than two judgements.

    Parameters
    ----------
    ratings
        Shape (units, judgements), NaN where missing; other values are among ``levels``.
    levels
        The k values that occur, ascending.
    """
    counts = (np.asarray(ratings, dtype=float)[:, :, None] == levels).sum(1).astype(float)
    n_judged = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :]
    place = np.arange(len(levels))
    pairs[:, place, place] -= counts
    return pairs / np.maximum(n_judged - 1, 1)[:, None, None]


def alpha_of(table: np.ndarray, levels: np.ndarray, metric: str) -> np.ndarray:
    """Return alpha of coincidence matrices of shape (…, k, k); NaN where all judgements are equal or none is paired."""
    table = np.asarray(table, dtype=float)
    totals = table.sum(-1)
    n = totals.sum(-1)
    cost = _cost(totals, np.asarray(levels, dtype=float), metric)
    expected = (totals[..., :, None] * totals[..., None, :] * cost).sum((-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * (table * cost).sum((-2, -1)) / expected, math.nan)


def _cost(totals: np.ndarray, levels: np.ndarray, metric: str) -> np.ndarray:
    """Return the squared difference of each pair of values under a metric, shape (…, k, k) or (k, k)."""
    if metric == "nominal":
        return 1.0 - np.eye(len(levels))
    if metric == "interval":
        return np.subtract.outer(levels, levels) ** 2
    if metric == "ordinal":
        # The judgements between two values, both ends counted half.
        middle = np.cumsum(totals, axis=-1) - totals / 2
        return (middle[..., :, None] - middle[..., None, :]) ** 2
    raise ValueError(f"metric must be one of {', '.join(METRICS)}; came {metric!r}")


def krippendorff_alpha(
    ratings: np.ndarray, clusters: np.ndarray, *, metric: str, n_boot: int = N_BOOT
) -> tuple[float, float, float]:
    """Return alpha with its participant-bootstrap percentile interval.

    Parameters
    ----------
    ratings
        Shape (units, judgements), NaN where missing.
    clusters
        The participant of each unit, shape (units,).
    metric
        ``nominal``, ``ordinal`` or ``interval``.

    Returns
    -------
    tuple of float
        alpha, conf_low, conf_high. Units with fewer than two judgements do not count.

    Notes
    -----
    Krippendorff (2019), Content Analysis, 4th ed., chapter 12. Checked against his published example of four observers
    and twelve units: nominal .743, ordinal .815, interval .849.
    """
    ratings = np.asarray(ratings, dtype=float)
    levels = np.unique(ratings[np.isfinite(ratings)])
    if len(levels) == 0:
        return math.nan, math.nan, math.nan
    units = coincidences(ratings, levels)
    codes = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1]
    n_groups = int(codes.max()) + 1
    k = len(levels)
    sums = np.zeros((n_groups, k * k))
    np.add.at(sums, codes, units.reshape(len(units), -1))
    alpha = float(alpha_of(sums.sum(0).reshape(k, k), levels, metric))
    draws = alpha_of(resample_sums(sums, n_boot=n_boot).reshape(n_boot, k, k), levels, metric)
    paired = np.unique(codes[units.sum((1, 2)) > 0])
    low, high = percentile_interval(draws, n_groups=len(paired))
    return alpha, low, high
