"""The profiled deviance of a linear mixed model and its gradient, from sufficient statistics.

theta holds the relative Cholesky factors of the random effects, as in lme4 (Bates, Mächler, Bolker & Walker 2015,
Journal of Statistical Software 67(1)). Inner groups are eliminated first, then outer groups, then the crossed block
and the fixed columns by one Cholesky factorisation. The gradient is the exact adjoint of that computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from dashboard.stats.linear_mixed_algebra import (
    cholesky_gradient,
    cross,
    eliminate,
    inner_adjoint,
    inverse_from_cholesky,
    row_dot,
    scale_rows,
    solve_lower,
    subtract,
    total_product,
)
from dashboard.stats.linear_mixed_moments import MAX_DISTINCT, Level, Moments, Products

Array = np.ndarray


class NotPositiveDefinite(ArithmeticError):
    """The fixed columns' cross-products cannot be factorised at this theta."""


@dataclass(frozen=True)
class Solution:
    """What one evaluation yields, on standardised columns.

    Attributes
    ----------
    log_det
        log |Λ'Z'ZΛ + I|.
    cholesky
        (q + p, q + p) lower factor of the penalised crossed and fixed system.
    coefficients
        (q + p,): spherical crossed effects, then fixed coefficients.
    rss
        Penalised residual sum of squares.
    """

    theta: Array
    log_det: float
    log_det_fixed: float
    cholesky: Array
    coefficients: Array
    rss: float
    R: Array
    state: dict[str, Any]


def _distinct(sizes: Array) -> tuple[Array, Array]:
    """Return the distinct group sizes and each group's position among them; fast for whole numbers."""
    whole = sizes.astype(np.int64)
    if whole.max() < 10_000 and np.array_equal(whole, sizes):
        present = np.flatnonzero(np.bincount(whole))
        rank = np.zeros(present[-1] + 1, dtype=np.int64)
        rank[present] = np.arange(len(present))
        return present.astype(float), rank[whole]
    return np.unique(sizes, return_inverse=True)


class Distinct:
    """For intercept-only groups, S'S summed over groups of equal size: a weight by size then costs nothing."""

    def __init__(self, level: Level) -> None:
        self.usable = False
        first = level.ZD[0]
        if level.factor.k != 1 or not isinstance(first, np.ndarray):
            return
        self.sizes, self.code = _distinct(level.ZZ[0, 0])
        if len(self.sizes) > min(MAX_DISTINCT, max(len(self.code) // 4, 1)):
            return
        self.usable = True
        # small integers sort by radix
        order = np.argsort(self.code.astype(np.uint8), kind="stable")
        self.counts = np.bincount(self.code, minlength=len(self.sizes)).astype(float)
        bounds = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        pieces = (first[order[a:b]] for a, b in pairwise(bounds))
        self.products = np.stack([(piece.T @ piece).ravel() for piece in pieces])

    def weighted(self, weights: Array) -> Array:
        """Return Σ weight · S'S over the sizes, (m, m)."""
        m = int(np.sqrt(self.products.shape[1]))
        return (weights @ self.products).reshape(m, m)


class Deviance:
    """Deviance of a model as a function of theta; see `Solution` for what an evaluation holds."""

    def __init__(self, moments: Moments, *, reml: bool) -> None:
        self.moments = moments
        self.reml = reml
        self.factors = moments.factors
        self.sizes = [len(f.template) for f in self.factors]
        self.nu = moments.n - moments.p if reml else moments.n
        self.chain_level = moments.inner or moments.outer

    # What only some fits use is made when it is asked for: with millions of groups it takes seconds.
    @cached_property
    def distinct(self) -> Distinct:
        """Products of the finest groups by their size."""
        key = "distinct"
        if key not in self.moments.cache:
            self.moments.cache[key] = Distinct(self.chain_level)
        found: Distinct = self.moments.cache[key]
        return found

    @cached_property
    def adder(self) -> sparse.csr_array:
        """A sum of rows (C, m) by outer group (P, m), the weights to be filled in."""
        assert self.moments.inner is not None and self.moments.first_inner is not None
        C = self.moments.inner.factor.n_groups
        index = np.int32 if C < 2**31 else np.int64
        first = self.moments.first_inner.astype(index)
        return sparse.csr_array(
            (np.ones(C), np.arange(C, dtype=index), first), shape=(self.moments.outer.factor.n_groups, C)
        )

    @cached_property
    def starts(self) -> Array:
        """First inner group of each outer group."""
        assert self.moments.first_inner is not None
        return self.moments.first_inner[:-1]

    # ------------------------------------------------------------------------------------------ helpers
    @property
    def n_parameters(self) -> int:
        """Length of theta."""
        return sum(self.sizes)

    def split(self, theta: Array) -> list[Array]:
        """Return the relative Cholesky factors, factor by factor."""
        pieces = np.split(np.asarray(theta, dtype=float), np.cumsum(self.sizes)[:-1])
        return [f.cholesky(piece) for f, piece in zip(self.factors, pieces, strict=True)]

    def _sum_inner(self, values: Array) -> Array:
        """Sum a value per inner group (C,) by outer group (P,)."""
        return np.add.reduceat(values, self.starts)

    def _sum_rows(self, weights: Array, S: Products) -> Products:
        """Sum rows (C, m) times weights (C,) by outer group (P, m)."""
        self.adder.data = weights
        return self.adder @ S

    # --------------------------------------------------------------------------------------- evaluation
    def solve(self, theta: Array) -> Solution:
        """Evaluate at theta.

        Raises
        ------
        NotPositiveDefinite
            The system has no Cholesky factor.
        """
        lambdas = self.split(theta)
        state: dict[str, Any] = {}
        R = self.moments.DD.copy()
        log_det = 0.0
        ZZ: Array = self.moments.outer.ZZ
        T: Sequence[Products] = self.moments.outer.ZD
        if self.moments.inner is not None:
            log_det += self._solve_inner(lambdas[0], R, state)
            ZZ, T = self._outer_after_inner(state)
        L = lambdas[1 if self.moments.inner is not None else 0]
        log_det += self._solve_outer(L, ZZ, T, R, state)
        return self._finish(np.asarray(theta, dtype=float), lambdas, R, log_det, state)

    def solution(self, theta: Array, R: Array, log_det: float) -> Solution:
        """Return the solution of an eliminated system found elsewhere; it holds nothing about single groups."""
        return self._finish(theta, self.split(theta), R, log_det, {})

    def _solve_inner(self, L: Array, R: Array, state: dict[str, Any]) -> float:
        inner = self.moments.inner
        assert inner is not None
        if self.distinct.usable:
            inverse = 1 / (1 + L[0, 0] ** 2 * self.distinct.sizes)
            weight = L[0, 0] ** 2 * inverse
            R -= self.distinct.weighted(weight)
            state["inner_inverse"] = inverse[self.distinct.code][None, None]
            state["inner_W"] = weight[self.distinct.code][None, None]
            return float(-(self.distinct.counts @ np.log(inverse)))
        state["inner_inverse"], W, log_det = eliminate(L, inner.ZZ)
        state["inner_W"] = W
        subtract(R, W, inner.ZD)
        return log_det

    def _outer_after_inner(self, state: dict[str, Any]) -> tuple[Array, list[Products]]:
        """Return the outer factor's statistics with the inner groups eliminated."""
        moments, W = self.moments, state["inner_W"]
        assert moments.inner is not None and moments.inner_outer is not None
        B, S = moments.inner_outer, moments.inner.ZD
        k1, k2 = B.shape[:2]
        ZZ, T = moments.outer.ZZ.copy(), list(moments.outer.ZD)
        BW = np.einsum("aic,abc->ibc", B, W) if k1 > 1 or k2 > 1 else B * W
        state["BW"] = BW
        for i in range(k2):
            for j in range(i + 1):
                down = self._sum_inner(np.einsum("bc,bc->c", BW[i], B[:, j]) if k1 > 1 else BW[i, 0] * B[0, j])
                ZZ[i, j] -= down
                if i != j:
                    ZZ[j, i] -= down
            for b in range(k1):
                T[i] = T[i] - self._sum_rows(BW[i, b], S[b])
        return ZZ, T

    def _solve_outer(self, L: Array, ZZ: Array, T: Sequence[Products], R: Array, state: dict[str, Any]) -> float:
        if self.moments.inner is None and self.distinct.usable:
            inverse = 1 / (1 + L[0, 0] ** 2 * self.distinct.sizes)
            R -= self.distinct.weighted(L[0, 0] ** 2 * inverse)
            log_det = float(-(self.distinct.counts @ np.log(inverse)))
            state["outer_inverse"] = inverse[self.distinct.code][None, None]
            state["outer_W"] = L[0, 0] ** 2 * state["outer_inverse"]
        else:
            state["outer_inverse"], state["outer_W"], log_det = eliminate(L, ZZ)
            subtract(R, state["outer_W"], T)
        state["outer_ZZ"], state["outer_T"] = ZZ, T
        return log_det

    def scale_crossed(self, M: Array, lambdas: list[Array], *, rows: bool, transpose: bool = False) -> Array:
        """Multiply the crossed rows or columns of M by Λ (M Λ, or Λ' M for rows; Λ M with transpose)."""
        if not self.moments.crossed:
            return M
        out = M.copy()
        for crossed, L in zip(self.moments.crossed, lambdas[-len(self.moments.crossed) :], strict=True):
            k = crossed.factor.k
            for b in range(k):
                pieces = [
                    (M[crossed.columns(a)] if rows else M[:, crossed.columns(a)]) * (L[b, a] if transpose else L[a, b])
                    for a in range(k)
                ]
                if rows:
                    out[crossed.columns(b)] = sum(pieces)
                else:
                    out[:, crossed.columns(b)] = sum(pieces)
        return out

    def _finish(self, theta: Array, lambdas: list[Array], R: Array, log_det: float, state: dict[str, Any]) -> Solution:
        q, p = self.moments.q, self.moments.p
        N = self.scale_crossed(self.scale_crossed(R, lambdas, rows=True), lambdas, rows=False)
        if q:
            N[np.arange(q), np.arange(q)] += 1
        try:
            chol = np.linalg.cholesky(N[: q + p, : q + p])
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefinite(str(error)) from error
        half = solve_lower(chol, N[: q + p, -1])
        rss = float(N[-1, -1] - half @ half)
        if not rss > 0 or not np.isfinite(rss):
            raise NotPositiveDefinite("the residual sum of squares is not positive")
        coefficients = solve_lower(chol, half, transpose=True)
        logs = np.log(np.diag(chol))
        state["lambdas"] = lambdas
        return Solution(
            theta, log_det + 2 * float(logs[:q].sum()), 2 * float(logs[q:].sum()), chol, coefficients, rss, R, state
        )

    def value(self, solution: Solution) -> float:
        """Return the profiled deviance (−2 log-likelihood, restricted under REML) on the user's scale."""
        s = self.moments.scaling
        variance = solution.rss / self.nu * s.y_scale**2
        out = solution.log_det + self.nu * (1 + np.log(2 * np.pi * variance)) + self.moments.log_jacobian
        if self.reml:
            out += solution.log_det_fixed + 2 * float(np.log(s.x_scales).sum())
        return float(out)

    def evaluate(self, theta: Array) -> tuple[float, Array]:
        """Return deviance and gradient; infinite where the system cannot be factorised."""
        try:
            solution = self.solve(theta)
        except NotPositiveDefinite:
            return np.inf, np.full(len(theta), np.nan)
        return self.value(solution), self.gradient(solution)

    # ----------------------------------------------------------------------------------------- gradient
    def gradient(self, solution: Solution, *, precision: float | None = None, residual: Array | None = None) -> Array:
        """Return the derivative of the deviance by theta.

        Parameters
        ----------
        precision
            1/σ² on the standardised scale for the deviance at a fixed σ; the profiled deviance without.
        residual
            (m,): [−coefficients, 1] on unscaled crossed columns if some coefficient is held fixed.
        """
        q, p = self.moments.q, self.moments.p
        lambdas = solution.state["lambdas"]
        h = np.append(-solution.coefficients, 1.0) if residual is None else residual
        weight = self.nu / solution.rss if precision is None else precision
        N_bar = weight * np.outer(h, h)
        size = q + p if self.reml else q
        if size:
            N_bar[:size, :size] += inverse_from_cholesky(solution.cholesky[:size, :size])
        R_bar = self.scale_crossed(N_bar, lambdas, rows=False, transpose=True)
        pieces = [self._crossed_gradient(solution, R_bar_right=N_bar)] if q else []
        R_bar = self.scale_crossed(R_bar, lambdas, rows=True, transpose=True)
        return np.concatenate([*self._chain_gradient(solution, R_bar), *pieces])

    def _crossed_gradient(self, solution: Solution, R_bar_right: Array) -> Array:
        """Return 2 ⟨R Λ N̄, dΛ⟩ for the crossed factors."""
        lambdas = solution.state["lambdas"]
        scaled = self.scale_crossed(solution.R, lambdas, rows=False)
        out = []
        for crossed in self.moments.crossed:
            for row, column in crossed.factor.template:
                left, right = scaled[crossed.columns(row)], R_bar_right[crossed.columns(column)]
                out.append(2 * float(np.vdot(left, right)))
        return np.array(out)

    def _chain_gradient(self, solution: Solution, R_bar: Array) -> list[Array]:
        state, moments = solution.state, self.moments
        lambdas = state["lambdas"]
        L = lambdas[1 if moments.inner is not None else 0]
        T, V, ZZ = state["outer_T"], state["outer_W"], state["outer_ZZ"]
        k2 = L.shape[0]
        if moments.inner is None and self.distinct.usable:
            return [self._distinct_gradient(L[0, 0], R_bar)]
        if moments.inner is None and k2 == 1 and not moments.dense:
            inverse = state["outer_inverse"][0, 0]
            down = total_product(R_bar, cross(T[0], scale_rows(T[0], 2 * L[0, 0] * inverse**2)))
            return [np.array([2 * L[0, 0] * float(ZZ[0, 0] @ inverse) - down])]
        TR = [T[i] @ R_bar for i in range(k2)]
        V_bar = np.empty_like(V)
        for i in range(k2):
            for j in range(k2):
                V_bar[i, j] = -row_dot(TR[i], T[j])
        outer = cholesky_gradient(moments.outer.factor, L, ZZ, state["outer_inverse"], V, V_bar)
        if moments.inner is None:
            return [outer]
        A_bar = V - (V * V_bar * V if k2 == 1 else np.einsum("ijg,jkg,klg->ilg", V, V_bar, V))
        V2 = -2 * V
        T_bar = [sum((V2[i, j][:, None] * TR[j] for j in range(1, k2)), V2[i, 0][:, None] * TR[0]) for i in range(k2)]
        return [self._inner_gradient(solution, R_bar, A_bar, T_bar), outer]

    def _distinct_gradient(self, lam: float, R_bar: Array) -> Array:
        d = self.distinct
        inverse = 1 / (1 + lam**2 * d.sizes)
        down = (2 * lam * inverse**2) @ d.products
        return np.array([2 * lam * float(d.counts @ (d.sizes * inverse)) - float(R_bar.ravel() @ down)])

    def _inner_gradient(self, solution: Solution, R_bar: Array, A_bar: Array, T_bar: list[Array]) -> Array:
        moments, state = self.moments, solution.state
        assert moments.inner is not None and moments.inner_outer is not None and moments.first_inner is not None
        L, B, S = state["lambdas"][0], moments.inner_outer, moments.inner.ZD
        k1, k2 = B.shape[:2]
        if k1 > 1:
            parent = np.repeat(np.arange(len(self.starts)), np.diff(moments.first_inner))
            W_bar = inner_adjoint(S, B, R_bar, A_bar[:, :, parent], [t[parent] for t in T_bar])
            return cholesky_gradient(
                moments.inner.factor, L, moments.inner.ZZ, state["inner_inverse"], state["inner_W"], W_bar
            )
        lam, inverse = L[0, 0], state["inner_inverse"][0, 0]
        g = 2 * lam * inverse**2
        if self.distinct.usable:
            total = self._distinct_gradient(lam, R_bar)[0]
        else:
            total = 2 * lam * float(moments.inner.ZZ[0, 0] @ inverse) - total_product(
                R_bar, cross(S[0], scale_rows(S[0], g))
            )
        for i in range(k2):
            total -= total_product(T_bar[i], self._sum_rows(g * B[0, i], S[0]))
            for j in range(k2):
                total -= float(A_bar[i, j] @ self._sum_inner(g * B[0, i] * B[0, j]))
        return np.array([total])
