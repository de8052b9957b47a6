"""Satterthwaite degrees of freedom for contrasts of fixed effects, as lmerTest defines them.

Kuznetsova, Brockhoff & Christensen (2017), Journal of Statistical Software 82(13). The parameters are the free
entries of theta and sigma; at a boundary they are those of the reduced model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from dashboard.stats.linear_mixed_curvature import Curvature, solve_fixed
from dashboard.stats.linear_mixed_deviance import Deviance
from dashboard.stats.linear_mixed_estimation import Estimate
from dashboard.stats.threads import one_thread

Array = np.ndarray


@dataclass(frozen=True)
class Satterthwaite:
    """Derivatives of the coefficients' covariance and the parameters' own covariance.

    Attributes
    ----------
    derivatives
        (d + 1, p, p): by each free entry of theta, then by sigma, on the user's scale.
    parameter_covariance
        (d + 1, d + 1): twice the inverse Hessian of the deviance.
    covariance
        (p, p) of the coefficients.
    """

    derivatives: Array
    parameter_covariance: Array
    covariance: Array

    @classmethod
    def of(cls, found: Estimate, *, step: float = 1e-4) -> Satterthwaite:
        """Compute both by central differences of exact gradients and exact covariances."""
        with one_thread():
            return cls._of(found, step)

    @classmethod
    def _of(cls, found: Estimate, step: float) -> Satterthwaite:
        function = found.deviance_function
        assert found.solution is not None
        sigma2 = found.solution.rss / function.nu
        if found.curvature is not None:
            return cls._exact(found, found.curvature, sigma2)
        T = function.moments.scaling.transform()
        free = np.flatnonzero(found.free)
        H = np.empty((len(free) + 1, len(free) + 1))
        derivatives = np.empty((len(free) + 1, function.moments.p, function.moments.p))
        for i, index in enumerate(free):
            h = step * max(1.0, abs(found.theta[index]))
            (up_C, up_gradient, up_rss), (down_C, down_gradient, down_rss) = (
                _at(function, found.theta, int(index), sign * h, sigma2) for sign in (1, -1)
            )
            derivatives[i] = sigma2 * (up_C - down_C) / (2 * h)
            H[i, :-1] = (up_gradient - down_gradient)[free] / (2 * h)
            H[i, -1] = H[-1, i] = -2 * (up_rss - down_rss) / (2 * h) / sigma2**1.5
        H[-1, -1] = 4 * function.nu / sigma2
        H[:-1, :-1] = 0.5 * (H[:-1, :-1] + H[:-1, :-1].T)
        centre = _fixed_inverse(function, found)
        derivatives[-1] = 2 * np.sqrt(sigma2) * centre
        turned = np.einsum("ij,djk,lk->dil", T, derivatives, T)
        return cls(turned, 2 * _positive_inverse(H), sigma2 * T @ centre @ T.T)

    @classmethod
    def _exact(cls, found: Estimate, curvature: Curvature, sigma2: float) -> Satterthwaite:
        """Use the derivatives that the fit ended with."""
        function = found.deviance_function
        s = solve_fixed(curvature, reml=function.reml)
        H = np.empty((3, 3))
        H[:2, :2] = s.dd_log_det + s.dd_rss / sigma2
        H[:2, 2] = H[2, :2] = -2 * s.d_rss / sigma2**1.5
        H[2, 2] = 4 * function.nu / sigma2
        derivatives = np.concatenate([sigma2 * s.d_inverse, 2 * np.sqrt(sigma2) * s.inverse[None]])
        T = function.moments.scaling.transform()
        turned = np.einsum("ij,djk,lk->dil", T, derivatives, T)
        return cls(turned, 2 * _positive_inverse(H), sigma2 * T @ s.inverse @ T.T)

    def variance_gradient(self, L: Array) -> Array:
        """Return the gradient (r, d + 1) of the variance of each contrast L (r, p)."""
        return np.einsum("ri,dij,rj->rd", L, self.derivatives, L)

    def df(self, L: Array) -> Array:
        """Return degrees of freedom (r,) of contrasts L (r, p)."""
        gradient = self.variance_gradient(L)
        variance = np.einsum("ri,ij,rj->r", L, self.covariance, L)
        spread = np.einsum("rd,de,re->r", gradient, self.parameter_covariance, gradient)
        return 2 * variance**2 / spread


def _at(function: Deviance, theta: Array, index: int, change: float, sigma2: float) -> tuple[Array, Array, float]:
    moved = theta.copy()
    moved[index] += change
    solution = function.solve(moved)
    q = function.moments.q
    inverse = np.linalg.inv(solution.cholesky[q:, q:])
    return inverse.T @ inverse, function.gradient(solution, precision=1 / sigma2), solution.rss


def _fixed_inverse(function: Deviance, found: Estimate) -> Array:
    assert found.solution is not None
    q = function.moments.q
    inverse = np.linalg.inv(found.solution.cholesky[q:, q:])
    return inverse.T @ inverse


def _positive_inverse(H: Array) -> Array:
    """Invert on the directions of positive curvature, as lmerTest does."""
    scale = np.sqrt(np.abs(np.diag(H)))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    keep = values > 1e-8
    return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T / np.outer(scale, scale)


def t_table(
    coefficients: Array, covariance: Array, satterthwaite: Satterthwaite, L: Array, *, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return estimate, std_error, df, statistic, p_value, conf_low, conf_high of contrasts L (r, p)."""
    estimate = L @ coefficients
    std_error = np.sqrt(np.einsum("ri,ij,rj->r", L, covariance, L))
    df = satterthwaite.df(L)
    statistic = estimate / std_error
    margin = t_distribution.ppf(0.5 + conf_level / 2, df) * std_error
    return pd.DataFrame(
        {
            "estimate": estimate,
            "std_error": std_error,
            "df": df,
            "statistic": statistic,
            "p_value": 2 * t_distribution.sf(np.abs(statistic), df),
            "conf_low": estimate - margin,
            "conf_high": estimate + margin,
        }
    )


def f_test(coefficients: Array, satterthwaite: Satterthwaite, L: Array) -> tuple[float, int, float, float]:
    """Test L β = 0 jointly; returns F, its df, Satterthwaite's denominator df and p.

    Orthogonal contrasts by the eigenvectors of L Var(β) L', each with its own df, as lmerTest's contestMD.
    """
    values, vectors = np.linalg.eigh(L @ satterthwaite.covariance @ L.T)
    keep = values > max(values.max(initial=0.0) * 1e-8, 0.0)
    q = int(keep.sum())
    if q == 0:
        return np.nan, 0, np.nan, np.nan
    P = vectors[:, keep].T @ L
    t2 = (P @ coefficients) ** 2 / values[keep]
    statistic = float(t2.sum() / q)
    df = combined_df(satterthwaite.df(P))
    return statistic, q, df, float(f_distribution.sf(statistic, q, df))


def combined_df(each: Array) -> float:
    """Return the denominator df of an F test from those of its orthogonal contrasts."""
    if len(each) == 1:
        return float(each[0])
    if np.all(np.abs(np.diff(each)) < 1e-8):
        return float(each.mean())
    if np.any(each <= 2):
        return 2.0
    total = float(np.sum(each / (each - 2)))
    return 2 * total / (total - len(each))


__all__ = ["Satterthwaite", "combined_df", "f_test", "t_table"]
