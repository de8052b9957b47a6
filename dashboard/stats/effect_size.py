"""Standardised differences between two groups of conversations, with intervals from whole participants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dashboard.stats.bootstrap import N_BOOT, SEED, percentile_interval, resample_sums


@dataclass(frozen=True)
class EffectSize:
    """A standardised difference, without minus with; NaN where a group has fewer than two values or nothing varies.

    Attributes
    ----------
    estimate, hedges_g
        Cohen's d, and g = d · (1 − 3/(4(n₁ + n₂ − 2) − 1)).
    conf_low, conf_high
        Percentile interval of d over resampled participants.
    mean_with, mean_without, pooled_std_dev
        In the unit of the values.
    n_with, n_without, n_groups
        Values in each group, and participants.
    """

    estimate: float
    hedges_g: float
    conf_low: float
    conf_high: float
    mean_with: float
    mean_without: float
    pooled_std_dev: float
    n_with: int
    n_without: int
    n_groups: int


def effect_size(
    values: np.ndarray, has_event: np.ndarray, unit: np.ndarray, *, n_boot: int = N_BOOT, seed: int = SEED
) -> EffectSize:
    """Return Cohen's d and Hedges' g of values without against with an event; positive means that the event costs.

    Parameters
    ----------
    values
        Shape (n,); NaN is left out.
    has_event
        Whether the value is of the group with an event, shape (n,).
    unit
        Code of the participant, shape (n,); participants are resampled whole, one drawn twice counts as two.

    References
    ----------
    Hedges (1981), Journal of Educational Statistics 6. Checked against R's effectsize 0.8.3 and Borenstein et al. (2009),
    pp. 26–27.
    """
    known = ~np.isnan(values)
    y, with_it = np.asarray(values, dtype=float)[known], np.asarray(has_event, dtype=bool)[known]
    codes = np.unique(unit[known], return_inverse=True)[1]
    centre = float(y.mean()) if len(y) else 0.0
    # Centred, so that sums of squares lose no digits; a difference of means does not change.
    columns = [w * part for w in (with_it, ~with_it) for part in (np.ones(len(y)), y - centre, (y - centre) ** 2)]
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=1) for column in columns])
    totals = sums.sum(axis=0)
    d = float(_cohens_d(totals[None, :])[0])
    n1, n0 = int(totals[0]), int(totals[3])
    df = n1 + n0 - 2
    n_groups = len(np.unique(codes))
    low, high = math.nan, math.nan
    if d == d:
        low, high = percentile_interval(_cohens_d(resample_sums(sums, n_boot=n_boot, seed=seed)), n_groups=n_groups)
    return EffectSize(
        estimate=d,
        hedges_g=d * correction(df),
        conf_low=low,
        conf_high=high,
        mean_with=float(centre + totals[1] / n1) if n1 else math.nan,
        mean_without=float(centre + totals[4] / n0) if n0 else math.nan,
        pooled_std_dev=float(_pooled(totals[None, :])[0]),
        n_with=n1,
        n_without=n0,
        n_groups=n_groups,
    )


def correction(df: int) -> float:
    """Return Hedges' approximate correction for small samples, 1 − 3/(4 df − 1)."""
    return 1 - 3 / (4 * df - 1) if df > 0 else math.nan


def _pooled(sums: np.ndarray) -> np.ndarray:
    n1, s1, q1, n0, s0, q0 = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (q1 - s1**2 / n1) + (q0 - s0**2 / n0)
        # What rounding leaves of equal values is no variance.
        squares = np.where(squares < 1e-12 * np.maximum(q1 + q0, 1e-300), 0.0, squares)
        pooled = np.sqrt(squares / (n1 + n0 - 2))
    return np.where((n1 >= 2) & (n0 >= 2), pooled, np.nan)


def _cohens_d(sums: np.ndarray) -> np.ndarray:
    n1, s1, _, n0, s0, _ = sums.T
    pooled = _pooled(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        d = (s0 / n0 - s1 / n1) / pooled
    return np.where(pooled > 0, d, np.nan)
