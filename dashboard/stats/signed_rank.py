"""Wilcoxon's signed-rank test of one value per independent unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dashboard.stats.pomp import DECIMALS

MINIMUM_NON_ZERO = 6
EXACT_UP_TO = 25


@dataclass(frozen=True)
class SignedRank:
    """A signed-rank test.

    Attributes
    ----------
    n, n_zero
        Values, and those that are zero and were dropped.
    positive, negative
        Sums of the mid-ranks of positive and of negative values, W₊ and W₋.
    rank_biserial
        (W₊ − W₋)/(W₊ + W₋); NaN without a value other than zero.
    p_value
        Two-sided; NaN where no test is made.
    method
        ``exact``, ``normal approximation``, or why there is no test.
    """

    n: int
    n_zero: int
    positive: float
    negative: float
    rank_biserial: float
    p_value: float
    method: str


def signed_rank(values: np.ndarray) -> SignedRank:
    """Test whether values lie symmetrically around zero.

    Values are rounded to 9 decimals, zeros dropped and counted, ties given mid-ranks. Exact for up to 25 values without
    ties or zeros, else the normal approximation with tie correction and without continuity correction. Fewer than six
    values other than zero: no test.

    Parameters
    ----------
    values
        One per independent unit, shape (n,); no missing values.

    Notes
    -----
    Checked against R 4.2 ``wilcox.test`` (``exact=FALSE, correct=FALSE``), the documented example of Hollander & Wolfe
    (V = 40, p = .0390625), and full enumeration of signs.

    References
    ----------
    Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1. Kerby, D. S. (2014). The
    simple difference formula. Comprehensive Psychology, 3, for the rank-biserial correlation.
    """
    from scipy.stats import rankdata, wilcoxon

    rounded = np.round(np.asarray(values, dtype=float), DECIMALS)
    used = rounded[rounded != 0]
    n_zero = len(rounded) - len(used)
    ranks = rankdata(np.abs(used)) if len(used) else used
    positive, negative = float(ranks[used > 0].sum()), float(ranks[used < 0].sum())
    total = positive + negative
    biserial = (positive - negative) / total if total else math.nan
    if len(used) < MINIMUM_NON_ZERO:
        method = f"no test: {len(used)} of {len(rounded)} differ from zero, fewer than {MINIMUM_NON_ZERO}"
        return SignedRank(len(rounded), n_zero, positive, negative, biserial, math.nan, method)
    untied = len(np.unique(np.abs(used))) == len(used)
    exact = len(used) <= EXACT_UP_TO and untied and n_zero == 0
    found = wilcoxon(used, zero_method="wilcox", correction=False, method="exact" if exact else "asymptotic")
    method = "exact" if exact else "normal approximation"
    return SignedRank(len(rounded), n_zero, positive, negative, biserial, float(found.pvalue), method)
