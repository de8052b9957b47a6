"""Associations of dimensions within and between people, agreement with a reference rating, and relative importance."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.stats.bootstrap import percentile_interval, resample_sums
from dashboard.stats.progress import tell

LEAST_TURNS = 3
WEIGHTS = ("unweighted", "linear", "quadratic")


@dataclass(frozen=True)
class WithinCorrelation:
    """A repeated-measures correlation with its textbook interval, which takes turns as independent."""

    estimate: float
    df: int
    p_value: float
    conf_low: float
    conf_high: float
    n_observations: int
    n_groups: int


def repeated_measures_correlation(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> WithinCorrelation:
    """Correlate x and y within groups: one slope for all, an intercept for each (Bakdash & Marusich 2017).

    Parameters
    ----------
    x, y
        Values, shape (n,); rows with either missing are left out.
    groups
        Codes, shape (n,).

    Returns
    -------
    WithinCorrelation
        With N − groups − 1 degrees of freedom; NaN where either does not vary within any group, or df < 2.

    Notes
    -----
    Checked against R's rmcorr on its published examples.
    """
    both = np.isfinite(x) & np.isfinite(y)
    sums = _centred_sums(x[both], y[both], np.unique(groups[both], return_inverse=True)[1])
    r = float(_ratio(*sums[:, 1:].sum(axis=0)))
    n, k = int(both.sum()), len(sums)
    df = n - k - 1
    if math.isnan(r) or df < 2:
        return WithinCorrelation(r if df >= 1 else math.nan, max(df, 0), math.nan, math.nan, math.nan, n, k)
    from scipy.special import ndtri, stdtr

    statistic = abs(r) * math.sqrt(df / max(1 - r * r, 1e-300))
    reach = float(ndtri(0.975)) / math.sqrt(df - 1)
    z = math.atanh(min(max(r, -1 + 1e-15), 1 - 1e-15))
    return WithinCorrelation(r, df, 2 * float(stdtr(df, -statistic)), math.tanh(z - reach), math.tanh(z + reach), n, k)


def _centred_sums(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return per group n, Sxx, Syy, Sxy around the group's means, shape (G, 4)."""
    n = np.bincount(groups).astype(float) if len(groups) else np.zeros(0)
    size = len(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = x - (np.bincount(groups, x, size) / n)[groups]
        two = y - (np.bincount(groups, y, size) / n)[groups]
    return np.column_stack(
        [
            n,
            np.bincount(groups, one * one, size),
            np.bincount(groups, two * two, size),
            np.bincount(groups, one * two, size),
        ]
    )


def _ratio(xx: np.ndarray, yy: np.ndarray, xy: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx * yy
        return np.where(spread > 1e-16, np.clip(xy / np.sqrt(np.maximum(spread, 1e-300)), -1, 1), math.nan)


def correlation_rows(
    values: np.ndarray,
    names: tuple[str, ...],
    unit: np.ndarray,
    conversation: np.ndarray,
    n_units: int,
    *,
    n_boot: int,
    least: int = LEAST_TURNS,
) -> pd.DataFrame:
    """Return the correlation of every pair of columns at three levels, with people resampled.

    Parameters
    ----------
    values
        Ratings, shape (n, k), NaN where missing; each pair takes the rows that have both.
    names
        Of the k columns.
    unit, conversation
        Codes of each row.
    n_units
        Number of units.
    n_boot
        Samples of whole units; 0 for no intervals.
    least
        Turns with both that a person needs to count between people.

    Returns
    -------
    pandas.DataFrame
        x, y, level (within_participant, within_conversation, between_participants), estimate, conf_low, conf_high,
        n_observations, n_groups. Between people: Pearson of means over turns with both.
    """
    columns, rows = [], []
    pairs = list(itertools.combinations(range(len(names)), 2))
    for place, (i, j) in enumerate(pairs):
        tell("correlations", place, len(pairs))
        both = np.isfinite(values[:, i]) & np.isfinite(values[:, j])
        x, y, owner = values[both, i], values[both, j], unit[both]
        pair = {"x": names[i], "y": names[j]}
        person = np.zeros((n_units, 4))
        person[: int(owner.max()) + 1 if len(owner) else 0] = _centred_sums(x, y, owner)
        person = np.nan_to_num(person)
        rows.append(
            pair | {"level": "within_participant", "n_observations": len(x), "n_groups": int((person[:, 0] > 0).sum())}
        )
        columns.append(np.column_stack([np.zeros((n_units, 3)), person[:, 1:]]))
        columns.append(
            np.column_stack([np.zeros((n_units, 3)), _within_chats(x, y, owner, conversation[both], n_units)])
        )
        rows.append(pair | {"level": "within_conversation", "n_observations": len(x), "n_groups": rows[-1]["n_groups"]})
        means, n_known = _means(x, y, owner, person[:, 0] >= least)
        columns.append(means)
        rows.append(pair | {"level": "between_participants", "n_observations": len(x), "n_groups": n_known})
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    stacked = np.concatenate(columns, axis=1)
    frame.insert(3, "estimate", _from_sums(stacked.sum(axis=0).reshape(-1, 6)))
    short = frame["n_groups"].to_numpy() < LEAST_TURNS
    frame.loc[short & (frame["level"] == "between_participants"), "estimate"] = math.nan
    draws = _from_sums(resample_sums(stacked, n_boot=n_boot).reshape(n_boot, -1, 6)) if n_boot else None
    ends = [
        percentile_interval(draws[:, place], n_groups=n) if draws is not None else (math.nan, math.nan)
        for place, n in enumerate(frame["n_groups"])
    ]
    frame.insert(4, "conf_low", [low for low, _ in ends])
    frame.insert(5, "conf_high", [high for _, high in ends])
    return frame


def _within_chats(x: np.ndarray, y: np.ndarray, owner: np.ndarray, chat: np.ndarray, n_units: int) -> np.ndarray:
    chats, first, codes = np.unique(chat, return_index=True, return_inverse=True)
    sums = _centred_sums(x, y, codes)
    out = np.zeros((n_units, 3))
    if len(chats):
        np.add.at(out, owner[first], sums[:, 1:])
    return out


def _means(x: np.ndarray, y: np.ndarray, owner: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, int]:
    """Return per unit 1, x̄, ȳ, x̄², ȳ², x̄ȳ, or zeros for one that is not ``known``; and how many are."""
    n = np.bincount(owner, minlength=len(known))
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(known, np.bincount(owner, x, len(known)) / n, 0.0)
        two = np.where(known, np.bincount(owner, y, len(known)) / n, 0.0)
    centre = (one[known].mean(), two[known].mean()) if known.any() else (0.0, 0.0)
    one, two = np.where(known, one - centre[0], 0.0), np.where(known, two - centre[1], 0.0)
    return np.column_stack([known, one, two, one * one, two * two, one * two]), int(known.sum())


def _from_sums(sums: np.ndarray) -> np.ndarray:
    """Return r from n, Σx, Σy, Sxx, Syy, Sxy along the last axis; n = 0 where the sums are centred already."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    per = np.where(n > 0, n, 1.0)
    return _ratio(xx - x * x / per, yy - y * y / per, xy - x * y / per)


def kappa(table: np.ndarray, weights: str = "unweighted") -> np.ndarray | float:
    """Return Cohen's kappa of contingency tables (…, k, k): 1 − observed over expected disagreement.

    ``weights`` of disagreement: 0/1, linear or quadratic in the distance of levels (Cohen 1968). NaN where both raters
    use one and the same level only. Checked against ``psych::cohen.kappa`` and ``irr``'s data.
    """
    table = np.asarray(table, dtype=float)
    k = table.shape[-1]
    distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    cost = {"unweighted": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = table / table.sum(axis=(-2, -1), keepdims=True)
        expected = np.einsum("...i,...j->...ij", p.sum(axis=-1), p.sum(axis=-2))
        lost = (cost * expected).sum(axis=(-2, -1))
        found = np.where(lost > 1e-15, 1 - (cost * p).sum(axis=(-2, -1)) / lost, math.nan)
    return found if found.ndim else float(found)


def kappa_rows(
    levels: np.ndarray,
    reference: np.ndarray,
    names: tuple[str, ...],
    unit: np.ndarray,
    n_units: int,
    k: int,
    *,
    n_boot: int,
) -> pd.DataFrame:
    """Return how each column agrees with a reference, in three weightings, with people resampled.

    Parameters
    ----------
    levels
        Levels from 0 to k − 1, shape (n, m), NaN where missing.
    reference
        Levels of the reference, shape (n,).

    Returns
    -------
    pandas.DataFrame
        dimension, weights, estimate, conf_low, conf_high, share_equal, n_observations, n_groups.
    """
    rows = []
    for place, name in enumerate(names):
        both = np.isfinite(levels[:, place]) & np.isfinite(reference)
        cell = (reference[both] * k + levels[both, place]).astype(int)
        counts = np.bincount(unit[both] * k * k + cell, minlength=n_units * k * k).reshape(n_units, k * k).astype(float)
        table = counts.sum(axis=0).reshape(k, k)
        n, n_groups = int(table.sum()), int((counts.sum(axis=1) > 0).sum())
        used = counts[counts.sum(axis=1) > 0]
        draws = resample_sums(used, n_boot=n_boot).reshape(-1, k, k) if n_boot and n_groups else None
        for weights in WEIGHTS:
            drawn = np.asarray(kappa(draws, weights)) if draws is not None else np.array([math.nan])
            low, high = percentile_interval(drawn, n_groups=n_groups)
            estimate = float(kappa(table, weights)) if n else math.nan
            equal = float(np.trace(table) / n) if n else math.nan
            rows.append((name, weights, estimate, low, high, equal, n, n_groups))
    columns = ["dimension", "weights", "estimate", "conf_low", "conf_high", "share_equal", "n_observations", "n_groups"]
    return pd.DataFrame(rows, columns=columns)


def shapley_shares(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how R² divides among predictors, averaged over all orders of entering them (LMG), and R² itself.

    Parameters
    ----------
    products
        Centred cross-products, the outcome first, shape (…, k + 1, k + 1).

    Returns
    -------
    tuple
        Shares of R² that sum to 1, shape (…, k), and R², shape (…); NaN where the predictors are dependent or
        nothing varies.

    Notes
    -----
    Lindeman, Merenda & Gold (1980); Grömping (2006), Journal of Statistical Software 17(1). The same division as
    Shapley's value of R².
    """
    products = np.asarray(products, dtype=float)
    k = products.shape[-1] - 1
    lead = products.shape[:-2]
    total = products[..., 0, 0]
    r2 = np.zeros((2**k, *lead))
    for subset in range(1, 2**k):
        chosen = [i + 1 for i in range(k) if subset >> i & 1]
        gram = products[..., chosen, :][..., :, chosen]
        right = products[..., chosen, 0]
        # A trace of the diagonal keeps dependent columns of a bootstrap sample from stopping the others.
        ridge = 1e-12 * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] * np.eye(len(chosen))
        with np.errstate(divide="ignore", invalid="ignore"):
            solved = np.linalg.solve(gram + ridge + 1e-300 * np.eye(len(chosen)), right[..., None])[..., 0]
            r2[subset] = np.einsum("...i,...i->...", right, solved) / total
    shares = np.zeros((*lead, k))
    for i in range(k):
        for subset in range(2**k):
            if not subset >> i & 1:
                size = subset.bit_count()
                weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
                shares[..., i] += weight * (r2[subset | 1 << i] - r2[subset])
    full = r2[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        good = (full > 1e-12) & (full <= 1 + 1e-9)
        return np.where(good[..., None], shares / full[..., None], math.nan), np.where(good, full, math.nan)


def importance_rows(
    outcome: np.ndarray, predictors: np.ndarray, names: tuple[str, ...], unit: np.ndarray, *, n_boot: int
) -> tuple[pd.DataFrame, float]:
    """Return the share of each predictor in the within-person R² of an outcome, and that R².

    Parameters
    ----------
    outcome, predictors
        Complete ratings, shapes (n,) and (n, k).
    unit
        Codes; everything is centred on the unit's means.
    """
    codes = np.unique(unit, return_inverse=True)[1]
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    k = predictors.shape[1]
    columns = ["dimension", "share", "conf_low", "conf_high", "n_observations", "n_groups"]
    if n_groups < 1 or len(codes) - n_groups < k + 2:
        return pd.DataFrame(columns=columns), math.nan
    both = np.column_stack([outcome, predictors])
    counts = np.bincount(codes)
    means = np.column_stack([np.bincount(codes, both[:, i]) / counts for i in range(k + 1)])
    centred = both - means[codes]
    sums = np.column_stack(
        [np.bincount(codes, centred[:, i] * centred[:, j]) for i in range(k + 1) for j in range(k + 1)]
    )
    products = sums.sum(axis=0).reshape(k + 1, k + 1)
    if np.linalg.matrix_rank(products[1:, 1:], tol=1e-8 * max(1.0, float(np.trace(products)))) < k:
        return pd.DataFrame(columns=columns), math.nan
    shares, r2 = shapley_shares(products)
    drawn = (
        shapley_shares(resample_sums(sums, n_boot=n_boot).reshape(-1, k + 1, k + 1))[0]
        if n_boot
        else np.full((1, k), math.nan)
    )
    rows = []
    for place, name in enumerate(names):
        low, high = percentile_interval(drawn[:, place], n_groups=n_groups)
        rows.append((name, float(shares[place]), low, high, len(codes), n_groups))
    return pd.DataFrame(rows, columns=columns), float(r2)
