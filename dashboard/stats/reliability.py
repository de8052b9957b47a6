"""Internal consistency of several ratings of one turn: alpha and omega from covariances, at each level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CrossProducts:
    """Sums over turns per participant, from which any covariance matrix of the dimensions follows.

    Attributes
    ----------
    counts
        Number of turns, shape (G,).
    totals
        Sums of each dimension, shape (G, k).
    products
        Sums of products of each pair of dimensions, shape (G, k, k).
    """

    counts: np.ndarray
    totals: np.ndarray
    products: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        """One row per participant: count, totals, products; what a bootstrap of participants resamples."""
        return np.column_stack([self.counts, self.totals, self.products.reshape(len(self.counts), -1)])


def cross_products(values: np.ndarray, groups: np.ndarray, n_groups: int) -> CrossProducts:
    """Sum values (n, k), without missing ones, by group codes (n,)."""
    k = values.shape[1]
    counts = np.bincount(groups, minlength=n_groups).astype(float)
    totals = np.column_stack([np.bincount(groups, values[:, i], n_groups) for i in range(k)])
    products = np.empty((n_groups, k, k))
    for i in range(k):
        for j in range(i + 1):
            products[:, i, j] = products[:, j, i] = np.bincount(groups, values[:, i] * values[:, j], n_groups)
    return CrossProducts(counts, totals, products)


def alpha(covariance: np.ndarray) -> np.ndarray | float:
    """Return Cronbach's alpha, k/(k − 1)·(1 − Σ variances / Σ all), of matrices (…, k, k); NaN without variance.

    Notes
    -----
    Checked against ``psych::alpha``.
    """
    covariance = np.asarray(covariance, dtype=float)
    k = covariance.shape[-1]
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    total = covariance.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where((total > 0) & (trace > 1e-12), k / (k - 1) * (1 - trace / total), math.nan)
    return found if found.ndim else float(found)


def is_positive_definite(covariance: np.ndarray) -> bool:
    """Return whether a covariance matrix has only positive eigenvalues, relative to its size."""
    if not np.isfinite(covariance).all():
        return False
    values = np.linalg.eigvalsh(covariance)
    return bool(values[0] > 1e-10 * max(values[-1], 1e-300))


def omega(covariance: np.ndarray) -> tuple[float, bool]:
    """Return omega of a one-factor model and whether a residual variance is at its boundary.

    (Σλ)²/((Σλ)² + Σψ) with loadings λ and residual variances ψ by maximum likelihood on the covariances.

    Returns
    -------
    tuple
        NaN for fewer than three dimensions or a matrix that is not positive definite.

    Notes
    -----
    Maximum likelihood is scale-equivariant: the correlations are fitted, and rescaled. Jöreskog (1967). Checked against
    R's ``factanal``, ``psych::omega`` and ``lavaan``.
    """
    k = len(covariance)
    if k < 3 or not is_positive_definite(covariance):
        return math.nan, False
    scales = np.sqrt(np.diag(covariance))
    unique = _uniquenesses(covariance / np.outer(scales, scales))
    loadings = _loadings(covariance / np.outer(scales, scales), unique) * scales
    residual = float(np.sum(unique * scales**2))
    common = (
        float(np.abs(loadings).sum() if (loadings >= 0).all() or (loadings <= 0).all() else abs(loadings.sum())) ** 2
    )
    return common / (common + residual), bool((unique < 1.01e-3).any())


def _loadings(correlation: np.ndarray, unique: np.ndarray) -> np.ndarray:
    root = np.sqrt(unique)
    values, vectors = np.linalg.eigh(correlation / np.outer(root, root))
    return root * vectors[:, -1] * math.sqrt(max(values[-1] - 1, 0.0))


def _uniquenesses(correlation: np.ndarray) -> np.ndarray:
    """Minimise the concentrated likelihood in the residual variances (one factor)."""
    from scipy.optimize import minimize

    def objective(logs: np.ndarray) -> tuple[float, np.ndarray]:
        unique = np.exp(logs)
        root = np.sqrt(unique)
        values, vectors = np.linalg.eigh(correlation / np.outer(root, root))
        rest = values[:-1]
        value = -float(np.sum(np.log(rest) - rest)) - len(rest)
        loadings = root * vectors[:, -1] * math.sqrt(max(values[-1] - 1, 0.0))
        difference = np.outer(loadings, loadings) + np.diag(unique) - correlation
        return value, np.diag(difference) / unique

    start = np.log((1 - 0.5 / len(correlation)) / np.diag(np.linalg.inv(correlation)))
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(math.log(1e-3), 0.0)] * len(correlation),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    return np.exp(found.x)


def total_covariance(n: np.ndarray, totals: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return covariances (…, k, k) from n (…), totals (…, k) and products (…, k, k)."""
    n = np.asarray(n, dtype=float)[..., None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return (products - totals[..., :, None] * totals[..., None, :] / n) / (n - 1)


def within_covariance(sums: CrossProducts) -> np.ndarray:
    """Return the pooled covariance within groups; NaN where no group has two turns."""
    used = sums.counts > 0
    counts, totals, products = sums.counts[used], sums.totals[used], sums.products[used]
    df = float(counts.sum()) - len(counts)
    inside = products.sum(axis=0) - np.einsum("gi,gj->ij", totals / counts[:, None], totals)
    return inside / df if df > 0 else np.full(inside.shape, math.nan)


def between_covariance(sums: CrossProducts) -> np.ndarray:
    """Return the component between groups, (S_B − S_W)/n0; it need not be positive definite."""
    used = sums.counts > 0
    counts, totals = sums.counts[used], sums.totals[used]
    n, k = float(counts.sum()), len(counts)
    if k < 2:
        return np.full((totals.shape[1],) * 2, math.nan)
    means = totals / counts[:, None] - totals.sum(axis=0) / n
    between = np.einsum("g,gi,gj->ij", counts, means, means) / (k - 1)
    size = (n - float(np.sum(counts**2)) / n) / (k - 1)
    return (between - within_covariance(sums)) / size


def pairwise_covariance(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the covariance of each pair of columns over the rows that have both, and the smallest such number.

    Each entry takes its own rows' means (as R's ``cov(use = "pairwise")``); variances take all rows of the column.
    """
    known = np.isfinite(values)
    filled = np.where(known, values - np.nanmean(values, axis=0), 0.0)
    ones = known.astype(float)
    n = ones.T @ ones
    with np.errstate(divide="ignore", invalid="ignore"):
        first = filled.T @ ones
        covariance = (filled.T @ filled - first * first.T / n) / (n - 1)
    return covariance, int(n.min())


def feldt_interval(estimate: float, n: int, k: int, *, conf_level: float = 0.95) -> tuple[float, float]:
    """Return Feldt's interval of alpha, which takes the n turns as independent.

    Feldt, Woodruff & Salih (1987), Applied Psychological Measurement 11. Checked against ``psych::alpha.ci``.
    """
    if math.isnan(estimate) or n < 2 or k < 2:
        return math.nan, math.nan
    from scipy.special import fdtri

    df1, df2 = n - 1, (n - 1) * (k - 1)
    tail = (1 - conf_level) / 2
    return (
        1 - (1 - estimate) * float(fdtri(df1, df2, 1 - tail)),
        1 - (1 - estimate) * float(fdtri(df1, df2, tail)),
    )
