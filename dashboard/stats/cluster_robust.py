"""Cluster-robust standard errors of a mixed model's fixed effects."""

from __future__ import annotations

import numpy as np


def cr2_covariance(
    X: np.ndarray, residuals: np.ndarray, cluster: np.ndarray, *, intercept_variance: float, residual_variance: float
) -> np.ndarray:
    """Return the CR2 covariance of coefficients of a model with an intercept per cluster.

    Bell & McCaffrey's adjustment makes the sandwich unbiased if the model's own variances are right; unlike those, it stays
    consistent if they are not.

    Parameters
    ----------
    X
        Fixed columns, shape (n, p), of full rank.
    residuals
        y − X β, shape (n,), with β by generalised least squares.
    cluster
        Label of each row's cluster, shape (n,).
    intercept_variance, residual_variance
        The model's variances.

    Returns
    -------
    numpy.ndarray
        Shape (p, p).

    Notes
    -----
    Pustejovsky, J. E., & Tipton, E. (2018). Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. Journal of Business & Economic Statistics, 36. Checked against R's clubSandwich 0.5.8,
    ``vcovCR(lmer, type = "CR2")``.
    """
    X, residuals = np.asarray(X, dtype=float), np.asarray(residuals, dtype=float)
    _, codes = np.unique(np.asarray(cluster, dtype=object).astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    ratio = intercept_variance / residual_variance
    weighted = [_inverse_times(X[rows], ratio, residual_variance) for rows in blocks]
    bread = np.linalg.inv(sum(X[rows].T @ W for rows, W in zip(blocks, weighted, strict=True)))
    meat = np.zeros_like(bread)
    for rows, W in zip(blocks, weighted, strict=True):
        score = W.T @ (_adjustment(X[rows], bread, ratio, residual_variance) @ residuals[rows])
        meat += np.outer(score, score)
    return bread @ meat @ bread


def _inverse_times(X: np.ndarray, ratio: float, residual_variance: float) -> np.ndarray:
    """Return V⁻¹ X for V = residual_variance · (I + ratio · 11ᵀ)."""
    n = len(X)
    return (X - ratio / (1 + n * ratio) * X.sum(axis=0)) / residual_variance


def _adjustment(X: np.ndarray, bread: np.ndarray, ratio: float, residual_variance: float) -> np.ndarray:
    """Return A = Dᵀ B^(−1/2) D with DᵀD = V and B = D (V − X M Xᵀ) Dᵀ, M the covariance of the coefficients."""
    V = residual_variance * (np.eye(len(X)) + ratio)
    D = np.linalg.cholesky(V).T
    values, vectors = np.linalg.eigh(D @ (V - X @ bread @ X.T) @ D.T)
    kept = values > 1e-10 * values.max(initial=1e-300)
    root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return D.T @ root @ D
