"""Do people differ in how much their ratings vary? ICC(1), Brown–Forsythe, and the ICC of conversation SDs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OneWay:
    """A one-way analysis of variance.

    Attributes
    ----------
    icc1
        ICC(1) for unequal group sizes; may be negative, NaN where undefined.
    statistic, df1, df2, p_value
        F test that all group means are equal; NaN where undefined.
    """

    icc1: float
    statistic: float
    df1: int
    df2: int
    p_value: float
    n_observations: int
    n_groups: int


def one_way(totals: np.ndarray, counts: np.ndarray, squares: np.ndarray) -> OneWay:
    """Analyse variance between and within groups from sums.

    Parameters
    ----------
    totals, counts, squares
        Sum, number, and sum of squares of each group's values, shape (k,); groups without a value are left out.

    Returns
    -------
    OneWay
        ICC(1) = (MSB − MSW)/(MSB + (n0 − 1)·MSW) with n0 = (N − Σn²/N)/(k − 1); all NaN for fewer than two groups or
        no group with two values.

    Notes
    -----
    Values of a group count as independent. Checked against R's ``anova(lm())`` and ``multilevel::ICC1``.
    """
    used = np.asarray(counts) > 0
    totals, counts, squares = (np.asarray(item, dtype=float)[used] for item in (totals, counts, squares))
    n, k = float(counts.sum()), len(counts)
    df1, df2 = k - 1, int(n) - k
    if df1 < 1 or df2 < 1:
        return OneWay(math.nan, math.nan, max(df1, 0), max(df2, 0), math.nan, int(n), k)
    mean = totals.sum() / n
    means = totals / counts
    between = float(np.sum(counts * (means - mean) ** 2)) / df1
    inside = float(np.sum(squares - counts * means**2))
    within = (0.0 if inside < 1e-9 * max(1.0, float(squares.sum())) else inside) / df2
    size = (n - float(np.sum(counts**2)) / n) / df1
    denominator = between + (size - 1) * within
    icc1 = (between - within) / denominator if denominator > 0 else math.nan
    if within == 0:
        return OneWay(icc1, math.nan, df1, df2, math.nan, int(n), k)
    from scipy.special import fdtrc

    statistic = between / within
    return OneWay(icc1, statistic, df1, df2, float(fdtrc(df1, df2, statistic)), int(n), k)


def one_way_of(values: np.ndarray, groups: np.ndarray) -> OneWay:
    """Analyse variance of ``values`` (n,) between ``groups`` (n,), codes from 0."""
    counts = np.bincount(groups)
    shift = float(values.mean()) if len(values) else 0.0
    centred = values - shift
    return one_way(np.bincount(groups, centred), counts, np.bincount(groups, centred**2))


def brown_forsythe(values: np.ndarray, groups: np.ndarray, *, least: int = 3) -> OneWay:
    """Test whether groups vary equally: one-way analysis of absolute deviations from the group's median.

    Parameters
    ----------
    values, groups
        Values (n,) and their group codes (n,), from 0.
    least
        Groups with fewer values are left out.

    Notes
    -----
    Brown & Forsythe (1974), JASA 69. It takes values as independent and depends on the mean where a scale is bounded,
    so it is descriptive here. Checked against ``car::leveneTest``.
    """
    counts = np.bincount(groups)
    kept = counts[groups] >= least
    values, codes = values[kept], np.unique(groups[kept], return_inverse=True)[1]
    if len(values) == 0:
        return OneWay(math.nan, math.nan, 0, 0, math.nan, 0, 0)
    return one_way_of(np.abs(values - _group_medians(values, codes)[codes]), codes)


def _group_medians(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    order = np.lexsort((values, codes))
    ordered = values[order]
    counts = np.bincount(codes)
    first = np.cumsum(counts) - counts
    return (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2
