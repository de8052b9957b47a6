"""Two nested random intercepts: the deviance with its exact first and second derivatives from one pass over the groups.

With millions of groups a pass over their sums is what costs; Newton's method with exact second derivatives needs three
or four of them where a quasi-Newton method needs twenty. With a, b the squared relative standard deviations of inner and
outer groups, n the rows of an inner group, S its sums, g = 1/(1 + a n), and per outer group z = Σ n g, T = Σ g S,
V = b/(1 + b z), the fixed system is R = D'D − Σ a g SS' − Σ V TT', and log |Λ'Z'ZΛ + I| = Σ log (1 + a n) + Σ log (1 + b z).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from dashboard.stats.linear_mixed_deviance import Deviance, NotPositiveDefinite
from dashboard.stats.linear_mixed_moments import Moments
from dashboard.stats.linear_mixed_optimise import Optimum

Array = np.ndarray
# Outer groups whose sums are worked on at a time: they stay in the processor's cache.
CHUNK = 4_096
N_THREADS = 2
MAX_STEPS = 12


@dataclass(frozen=True)
class Curvature:
    """Fixed system and log determinant at theta (2,), with derivatives by theta.

    Attributes
    ----------
    R, R_first, R_second
        (m, m), (2, m, m), (2, 2, m, m).
    log_det, d_log_det, dd_log_det
        A number, (2,), (2, 2).
    """

    theta: Array
    R: Array
    R_first: Array
    R_second: Array
    log_det: float
    d_log_det: Array
    dd_log_det: Array


def is_nested_intercepts(moments: Moments) -> bool:
    """Tell whether the random part is two nested intercepts and nothing else."""
    return (
        moments.inner is not None
        and moments.q == 0
        and moments.dense
        and moments.inner.factor.effects == moments.outer.factor.effects == ("(Intercept)",)
    )


def curvature(moments: Moments, theta: Array) -> Curvature:
    """Evaluate at theta (inner, outer relative standard deviation), in one pass over the groups."""
    a, b = float(theta[0]) ** 2, float(theta[1]) ** 2
    assert moments.first_inner is not None
    edges = np.linspace(0, moments.outer.factor.n_groups, N_THREADS + 1).astype(int)
    with ThreadPoolExecutor(N_THREADS) as pool:
        parts = list(pool.map(lambda i: _sums(moments, a, b, int(edges[i]), int(edges[i + 1])), range(N_THREADS)))
    matrices, numbers = (sum(part[i] for part in parts) for i in range(2))
    return _by_theta(theta, a, b, moments.DD, np.asarray(matrices), np.asarray(numbers))


def _chunks(first: int, last: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last, CHUNK):
        yield start, min(start + CHUNK, last)


def _sums(moments: Moments, a: float, b: float, first: int, last: int) -> tuple[Array, Array]:
    """Return sums over a stretch of outer groups: of R and its derivatives by a, b (6, m, m), and of log |…| (6,).

    Order: value, a, b, aa, ab, bb.
    """
    inner, bounds = moments.inner, moments.first_inner
    assert inner is not None and bounds is not None
    m = moments.m
    matrices, numbers = np.zeros((6, m, m)), np.zeros(6)
    for start, stop in _chunks(first, last):
        rows = slice(int(bounds[start]), int(bounds[stop]))
        n, S = inner.ZZ[0, 0, rows], inner.ZD[0][rows]
        g = 1 / (1 + a * n)
        weights = np.stack([g, -n * g**2, 2 * n**2 * g**3])
        z = np.add.reduceat(weights * n, bounds[start:stop] - bounds[start], axis=1)
        T = _weighted_sums(weights, bounds[start : stop + 1] - bounds[start], S)
        _add_inner(matrices, numbers, a, n, g, S)
        _add_outer(matrices, numbers, b, z, T)
    return matrices, numbers


def _weighted_sums(weights: Array, bounds: Array, S: Array) -> Array:
    """Return Σ weight · S by outer group for each row of weights, (3, P, m)."""
    k, C = weights.shape
    index = np.concatenate([[0], *(bounds[1:] + i * C for i in range(k))]).astype(np.int32)
    columns = np.tile(np.arange(C, dtype=np.int32), k)
    adder = sparse.csr_array((weights.ravel(), columns, index), shape=(k * (len(bounds) - 1), C))
    return np.asarray(adder @ S).reshape(k, len(bounds) - 1, S.shape[1])


def _add_inner(matrices: Array, numbers: Array, a: float, n: Array, g: Array, S: Array) -> None:
    # R holds −a g SS'; its derivatives by a are −g² SS' and 2 n g³ SS'.
    for place, weight in ((0, -a * g), (1, -(g**2)), (3, 2 * n * g**3)):
        matrices[place] += (S * weight[:, None]).T @ S
    numbers[0] -= np.log(g).sum()
    numbers[1] += (n * g).sum()
    numbers[3] -= ((n * g) ** 2).sum()


def _add_outer(matrices: Array, numbers: Array, b: float, z: Array, T: Array) -> None:
    z0, z1, z2 = z
    T0, T1, T2 = T
    u = 1 / (1 + b * z0)
    V = b * u
    by_z = -(V**2)

    def add(place: int, left: Array, weight: Array, right: Array) -> None:
        product = (left * weight[:, None]).T @ right
        matrices[place] -= product if left is right else product + product.T

    add(0, T0, V, T0)
    add(1, T0, by_z * z1, T0)
    add(1, T0, V, T1)
    add(2, T0, u**2, T0)
    add(3, T0, 2 * V**3 * z1**2 + by_z * z2, T0)
    add(3, T0, 2 * by_z * z1, T1)
    add(3, T0, V, T2)
    add(3, T1, 2 * V, T1)
    add(4, T0, -2 * V * u**2 * z1, T0)
    add(4, T0, u**2, T1)
    add(5, T0, -2 * z0 * u**3, T0)
    numbers += [
        -np.log(u).sum(),
        (V * z1).sum(),
        (u * z0).sum(),
        (V * z2 + by_z * z1**2).sum(),
        (u**2 * z1).sum(),
        -((u * z0) ** 2).sum(),
    ]


def _by_theta(theta: Array, a: float, b: float, DD: Array, matrices: Array, numbers: Array) -> Curvature:
    """Turn derivatives by a = theta₀², b = theta₁² into those by theta."""
    s, t = float(theta[0]), float(theta[1])

    def turned(x: Array) -> tuple[Array, Array]:
        first = np.stack([2 * s * x[1], 2 * t * x[2]])
        cross = 4 * s * t * x[4]
        second = np.stack(
            [
                np.stack([4 * a * x[3] + 2 * x[1], cross]),
                np.stack([cross, 4 * b * x[5] + 2 * x[2]]),
            ]
        )
        return first, second

    return Curvature(np.asarray(theta, dtype=float), DD + matrices[0], *turned(matrices), float(numbers[0]), *turned(numbers))  # fmt: skip


# -------------------------------------------------------------------------------------------- deviance
@dataclass(frozen=True)
class FixedSystem:
    """The fixed part's system solved, with derivatives by theta.

    Attributes
    ----------
    inverse, d_inverse
        (p, p) and (2, p, p): of the coefficients' covariance over σ².
    rss, d_rss, dd_rss
        Penalised residual sum of squares.
    log_det, d_log_det, dd_log_det
        Of what the deviance takes the logarithm of; with the fixed block under REML.
    """

    inverse: Array
    d_inverse: Array
    rss: float
    d_rss: Array
    dd_rss: Array
    log_det: float
    d_log_det: Array
    dd_log_det: Array


def solve_fixed(found: Curvature, *, reml: bool) -> FixedSystem:
    """Solve the fixed part's system.

    Raises
    ------
    NotPositiveDefinite
        The system has no Cholesky factor.
    """
    R, R_first, R_second = found.R, found.R_first, found.R_second
    p = len(R) - 1
    try:
        factor = cho_factor(R[:p, :p], lower=True)
    except np.linalg.LinAlgError as error:
        raise NotPositiveDefinite(str(error)) from error
    A = cho_solve(factor, np.eye(p))
    h = np.append(-A @ R[:p, -1], 1.0)
    rss = float(h @ R @ h)
    if not rss > 0:
        raise NotPositiveDefinite("the residual sum of squares is not positive")
    right = R_first @ h
    dd_rss = np.einsum("i,klij,j->kl", h, R_second, h) - 2 * right[:, :p] @ A @ right[:, :p].T
    log_det, first, second = found.log_det, found.d_log_det, found.dd_log_det
    A_first = A @ R_first[:, :p, :p]
    if reml:
        log_det = log_det + 2 * float(np.log(np.diag(factor[0])).sum())
        first = first + np.einsum("kii->k", A_first)
        second = (
            second + np.einsum("ij,klji->kl", A, R_second[:, :, :p, :p]) - np.einsum("kij,lji->kl", A_first, A_first)
        )
    return FixedSystem(A, -A_first @ A, rss, right @ h, dd_rss, log_det, first, second)


def profiled(function: Deviance, theta: Array) -> tuple[float, Array, Array, Curvature]:
    """Return deviance, gradient (2,) and Hessian (2, 2) by theta, and what they come from."""
    found = curvature(function.moments, theta)
    s = solve_fixed(found, reml=function.reml)
    nu, scaling = function.nu, function.moments.scaling
    value = s.log_det + nu * (1 + np.log(2 * np.pi * s.rss / nu * scaling.y_scale**2)) + function.moments.log_jacobian
    value += 2 * float(np.log(scaling.x_scales).sum()) * function.reml
    gradient = s.d_log_det + nu * s.d_rss / s.rss
    hessian = s.dd_log_det + nu * (s.dd_rss / s.rss - np.outer(s.d_rss, s.d_rss) / s.rss**2)
    return float(value), gradient, hessian, found


def newton(function: Deviance, start: Array, *, tolerance: float = 1e-13) -> tuple[Optimum, Curvature] | None:
    """Minimise by Newton's method from a start close by; None where it does not lead to a minimum off the boundary."""
    x = np.asarray(start, dtype=float)
    last = np.inf
    for _ in range(MAX_STEPS):
        try:
            value, gradient, hessian, found = profiled(function, x)
        except NotPositiveDefinite:
            return None
        if np.linalg.eigvalsh(hessian)[0] <= 0 or value > last + 1e-12 * abs(value):
            return None
        step = -np.linalg.solve(hessian, gradient)
        expected = float(-0.5 * gradient @ step)
        if expected < max(tolerance, 1e-15 * abs(value)):
            return Optimum(x, value, gradient, hessian, expected), found
        x, last = x + step, value
        if x.min() <= 0:
            return None
    return None
