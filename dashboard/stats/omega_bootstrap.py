"""Omega of many covariance matrices at once: what a bootstrap of omega needs."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.threads import one_thread

# A residual variance below this share is at the boundary.
_LEAST = math.log(1e-3)


def omegas(covariances: np.ndarray) -> np.ndarray:
    """Return omega of one factor for each of many covariance matrices, shape (B, k, k) → (B,).

    Notes
    -----
    The fit of :func:`~dashboard.stats.reliability.omega` (maximum likelihood), by Newton's steps in the logarithms of the
    residual variances with Lawley's approximation of the second derivatives, all matrices side by side. NaN for fewer than
    three dimensions and for a matrix that is not positive definite. Checked against ``omega`` itself.
    """
    covariances = np.asarray(covariances, dtype=float)
    found = np.full(len(covariances), math.nan)
    if not len(covariances) or covariances.shape[-1] < 3:
        return found
    known = np.isfinite(covariances).all(axis=(1, 2))
    smallest = np.full(len(covariances), -math.inf)
    values = np.linalg.eigvalsh(covariances[known])
    smallest[known] = values[:, 0] - 1e-10 * np.maximum(values[:, -1], 1e-300)
    used = smallest > 0
    if used.any():
        with one_thread():
            found[used] = _omegas(covariances[used])
    return found


def _omegas(covariances: np.ndarray) -> np.ndarray:
    scales = np.sqrt(np.einsum("bii->bi", covariances))
    correlations = covariances / (scales[:, :, None] * scales[:, None, :])
    logs = _uniquenesses(correlations)
    loadings = _factor(correlations, logs)[0] * scales
    residual = np.sum(np.exp(logs) * scales**2, axis=1)
    alike = (loadings >= 0).all(axis=1) | (loadings <= 0).all(axis=1)
    common = np.where(alike, np.abs(loadings).sum(axis=1), np.abs(loadings.sum(axis=1))) ** 2
    return np.asarray(common / (common + residual))


def _uniquenesses(correlations: np.ndarray) -> np.ndarray:
    """Return the logarithms of the residual variances of largest likelihood, shape (B, k)."""
    k = correlations.shape[-1]
    start = (1 - 0.5 / k) / np.einsum("bii->bi", np.linalg.inv(correlations))
    logs = np.clip(np.log(start), _LEAST, 0.0)
    # A few matrices near a boundary take long: the others are done with by then.
    open_ = np.arange(len(logs))
    for _ in range(30):
        after = _newton(correlations[open_], logs[open_])
        moved = np.abs(after - logs[open_]).max(axis=1)
        logs[open_] = after
        open_ = open_[moved > 1e-7]
        if not len(open_):
            break
    return logs


def _newton(correlations: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the logarithms of the residual variances after one step."""
    k = correlations.shape[-1]
    loadings, others = _factor(correlations, logs)
    slope = (loadings**2 + np.exp(logs) - 1) / np.exp(logs)
    bend = (others @ others.transpose(0, 2, 1)) ** 2
    held = (logs <= _LEAST) & (slope > 0)
    bend = np.where(held[:, :, None] | held[:, None, :], np.eye(k), bend + 1e-10 * np.eye(k))
    step = np.linalg.solve(bend, np.where(held, 0.0, slope)[:, :, None])[:, :, 0]
    return np.clip(logs - np.clip(step, -1.5, 1.5), _LEAST, 0.0)


def _factor(correlations: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings at given residual variances, shape (B, k), and the directions that they leave, (B, k, k − 1)."""
    root = np.exp(logs / 2)
    values, vectors = np.linalg.eigh(correlations / (root[:, :, None] * root[:, None, :]))
    strength = np.sqrt(np.maximum(values[:, -1] - 1, 0.0))
    return root * vectors[:, :, -1] * strength[:, None], vectors[:, :, :-1]
