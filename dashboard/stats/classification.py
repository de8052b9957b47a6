"""Agreement of predicted levels with a ground truth: the official metrics, and what we add from the same table."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

LEVELS = (1, 2, 3, 4, 5)
METRICS = ("accuracy", "macro_f1", "within_1", "mae", "spearman")
KAPPAS = ("kappa", "kappa_linear", "kappa_quadratic")
_CELLS = 4_000_000


@dataclass(frozen=True)
class Metrics:
    """The official metrics of one file; NaN where one is undefined.

    Attributes
    ----------
    n
        Rows with both numbers.
    accuracy, macro_f1, within_1
        Of levels, i.e. of values rounded half to even and clipped to 1–5.
    mae, spearman
        Of the values as they are.
    spearman_p
        Two-sided p of Spearman's rho by the t approximation, which takes rows as independent.
    """

    n: int
    accuracy: float
    macro_f1: float
    within_1: float
    mae: float
    spearman: float
    spearman_p: float


def to_levels(values: np.ndarray) -> np.ndarray:
    """Return values (n,) as levels 1–5: rounded half to even, then clipped."""
    return np.clip(np.rint(np.asarray(values, dtype=float)), LEVELS[0], LEVELS[-1]).astype(np.int64)


def official_metrics(predicted: np.ndarray, truth: np.ndarray) -> Metrics:
    """Return the metrics that the release's own evaluation computes.

    Parameters
    ----------
    predicted, truth
        Finite numbers, shape (n,).

    Returns
    -------
    Metrics
        Macro-F1 averages over the classes seen in either column; a class without a hit has F1 0. Spearman is NaN for
        fewer than two rows and where either column is constant. All NaN for n = 0.

    Notes
    -----
    Checked against scikit-learn (``f1_score(average="macro", zero_division=0)``), ``scipy.stats.spearmanr`` and an
    independent implementation in the tests.
    """
    predicted, truth = np.asarray(predicted, dtype=float), np.asarray(truth, dtype=float)
    n = len(predicted)
    if n == 0:
        return Metrics(0, *[math.nan] * 6)
    shares = table_metrics(confusion(predicted, truth))
    rho, p_value = spearman(predicted, truth)
    return Metrics(
        n=n,
        accuracy=float(shares["accuracy"]),
        macro_f1=float(shares["macro_f1"]),
        within_1=float(shares["within_1"]),
        mae=float(np.mean(np.abs(predicted - truth))),
        spearman=rho,
        spearman_p=p_value,
    )


def spearman(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Return Spearman's rho and its two-sided p (t approximation); NaN for n < 2 or a constant column, p for n = 2."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan, math.nan
    from scipy.stats import spearmanr

    with warnings.catch_warnings():
        # rho = ±1 divides by zero on the way to p = 0.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = spearmanr(first, second)
    return float(found.statistic), float(found.pvalue)


def confusion(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Count rows by level: shape (5, 5), the true level first."""
    k = len(LEVELS)
    codes = (to_levels(truth) - 1) * k + to_levels(predicted) - 1
    return np.bincount(codes, minlength=k * k).reshape(k, k).astype(float)


def table_metrics(table: np.ndarray) -> dict[str, np.ndarray]:
    """Return accuracy, within_1, macro_f1 and Cohen's kappas of confusion tables.

    Parameters
    ----------
    table
        Counts (or weights), shape (…, 5, 5), the true level in the last but one axis.

    Returns
    -------
    dict
        Name → shape (…). Kappa's weights are none, linear and quadratic over all five levels, whichever occur; it is
        NaN where both sides hold one and the same level only.
    """
    table = np.asarray(table, dtype=float)
    distance = np.abs(np.subtract.outer(np.arange(len(LEVELS)), np.arange(len(LEVELS))))
    total = table.sum((-2, -1))
    rows, columns = table.sum(-1), table.sum(-2)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = (rows + columns) > 0
        f1 = np.where(seen, 2 * hits / np.where(seen, rows + columns, 1), 0.0)
        found = {
            "accuracy": hits.sum(-1) / total,
            "within_1": (table * (distance <= 1)).sum((-2, -1)) / total,
            "macro_f1": f1.sum(-1) / seen.sum(-1),
        }
        expected = rows[..., :, None] * columns[..., None, :] / total[..., None, None]
        for name, cost in zip(KAPPAS, ((distance > 0).astype(float), distance, distance**2), strict=True):
            chance = (expected * cost).sum((-2, -1))
            found[name] = np.where(chance > 0, 1 - (table * cost).sum((-2, -1)) / chance, math.nan)
    return found


def class_metrics(table: np.ndarray) -> dict[str, np.ndarray]:
    """Return sensitivity, specificity, precision and F1 per level, one against the rest.

    Parameters
    ----------
    table
        Counts, shape (…, 5, 5), the true level in the last but one axis.

    Returns
    -------
    dict
        Name → shape (…, 5). NaN where undefined: sensitivity of a level that is never true, precision of one never
        predicted, F1 of one that is neither.
    """
    table = np.asarray(table, dtype=float)
    total = table.sum((-2, -1))[..., None]
    rows, columns = table.sum(-1), table.sum(-2)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "sensitivity": hits / rows,
            "specificity": (total - rows - columns + hits) / (total - rows),
            "precision": hits / columns,
            "f1": 2 * hits / (rows + columns),
        }


def weighted_spearman(weights: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Spearman's rho for many weightings of the same rows: a row of weight 2 counts as two rows.

    Parameters
    ----------
    weights
        Shape (b, n), not negative.
    first, second
        Values, shape (n,).

    Returns
    -------
    numpy.ndarray
        Shape (b,); NaN where a side is constant among the rows that have weight.
    """
    weights = np.asarray(weights, dtype=float)
    sides = [np.unique(values, return_inverse=True) for values in (first, second)]
    out = np.empty(len(weights))
    step = max(1, _CELLS // max(1, len(first)))
    for start in range(0, len(weights), step):
        out[start : start + step] = _rank_correlations(weights[start : start + step], [codes for _, codes in sides])
    return out


def _rank_correlations(weights: np.ndarray, sides: list[np.ndarray]) -> np.ndarray:
    """Correlate mid-ranks; they always average half the total weight, whatever ties there are."""
    half = weights.sum(1, keepdims=True) / 2
    ranks, spreads = [], []
    for codes in sides:
        mass = _mass(weights, codes)
        middle = np.cumsum(mass, axis=1) - mass / 2 - half
        ranks.append(middle[:, codes])
        spreads.append(np.einsum("bk,bk,bk->b", mass, middle, middle))
    across = np.einsum("bi,bi,bi->b", weights, *ranks)
    spread = spreads[0] * spreads[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-9, across / np.sqrt(spread), math.nan)


def _mass(weights: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the weight at each distinct value, shape (b, k), for codes 0 … k − 1 of the rows (n,)."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1))
    return np.add.reduceat(weights[:, order], starts, axis=1)
