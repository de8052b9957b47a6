"""REML for intercepts of participant and conversation, from one row of sums per conversation.

The special case of the linear mixed model that is fitted most often: two ratios of variances, whatever is fixed within a
conversation. It needs no rows and takes milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_STARTS = ((0.4, 0.4), (0.02, 0.02))


@dataclass(frozen=True)
class Optimum:
    """Where the deviance is smallest.

    Attributes
    ----------
    ratios
        Variances of conversation and participant over that of the turn, shape (2,); exactly 0 at the boundary.
    deviance
        −2 restricted log-likelihood there.
    variance
        Variance of the turn.
    coefficients
        Of the fixed columns, shape (p,).
    problem
        Why the search failed its checks; empty when it passed.
    """

    ratios: np.ndarray
    deviance: float
    variance: float
    coefficients: np.ndarray
    problem: str = ""


class NestedIntercepts:
    """The profiled REML deviance as a function of two variance ratios.

    Parameters
    ----------
    participant
        Code of each conversation's participant, shape (C,), ascending from 0 without gaps.
    n, total, squares
        Number, sum and sum of squares of each conversation's values, shape (C,).
    columns
        Fixed columns, constant within a conversation, shape (C, p), of full rank; the intercept is one of them.
    n_rows
        Number of rows where it is not the sum of ``n``: for whitened rows ``n`` sums the squares of the ones, and
        ``total`` their products with the values.
    """

    def __init__(
        self,
        participant: np.ndarray,
        n: np.ndarray,
        total: np.ndarray,
        squares: np.ndarray,
        columns: np.ndarray,
        *,
        n_rows: int | None = None,
    ) -> None:
        self.n = n
        self.shift = float(total.sum() / n.sum())
        centred = total - n * self.shift
        self.sums = np.column_stack([columns * n[:, None], centred])
        self.p = columns.shape[1]
        self.nu = float(n.sum() if n_rows is None else n_rows) - self.p
        # Centred sums of squares: the raw ones lose digits where the mean is large against the spread.
        outcome = float(np.sum(squares - 2 * self.shift * total + n * self.shift**2))
        self.gram = np.empty((self.p + 1, self.p + 1))
        self.gram[: self.p, : self.p] = columns.T @ self.sums[:, : self.p]
        self.gram[self.p, : self.p] = self.gram[: self.p, self.p] = columns.T @ centred
        self.gram[self.p, self.p] = outcome
        counts = np.bincount(participant)
        self.starts = np.cumsum(counts) - counts

    def _solve(self, a: float, b: float) -> tuple[np.ndarray, ...]:
        weight = 1 / (1 + a * self.n)
        weighted = weight[:, None] * self.sums
        person = np.add.reduceat(weighted, self.starts, axis=0)
        known = np.add.reduceat(weight * self.n, self.starts)
        pull = 1 / (1 + b * known)
        product = self.gram - a * self.sums.T @ weighted - b * person.T @ (pull[:, None] * person)
        return weight, person, known, pull, product

    def _finish(self, product: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return coefficients, the inverse of the fixed block, and the residual sum of squares."""
        inverse = np.linalg.inv(product[: self.p, : self.p])
        coefficients = inverse @ product[: self.p, self.p]
        return coefficients, inverse, float(product[self.p, self.p] - product[: self.p, self.p] @ coefficients)

    def deviance(self, a: float, b: float) -> float:
        """Return −2 restricted log-likelihood at the ratios of conversation (a) and participant (b)."""
        weight, _, _, pull, product = self._solve(a, b)
        _, _, rss = self._finish(product)
        if not rss > 0:
            return math.inf
        fixed = float(np.linalg.slogdet(product[: self.p, : self.p])[1])
        return float(
            -np.log(weight).sum() - np.log(pull).sum() + fixed + self.nu * (1 + math.log(2 * math.pi * rss / self.nu))
        )

    def gradient(self, a: float, b: float) -> np.ndarray:
        """Return the derivatives of the deviance by both ratios, shape (2,)."""
        weight, person, known, pull, product = self._solve(a, b)
        coefficients, inverse, rss = self._finish(product)
        residual = np.append(-coefficients, 1.0)
        adjoint = self.nu / rss * np.outer(residual, residual)
        adjoint[: self.p, : self.p] += inverse
        squared = self.n * weight**2
        moved = -np.add.reduceat(squared[:, None] * self.sums, self.starts, axis=0)
        lost = -np.add.reduceat(squared * self.n, self.starts)
        own = np.einsum("gi,ij,gj->g", person, adjoint, person, optimize=True)
        crossed = np.einsum("gi,ij,gj->g", moved, adjoint, person, optimize=True)
        each = np.einsum("ci,ij,cj->c", self.sums, adjoint, self.sums, optimize=True)
        by_a = (
            float(np.sum(self.n * weight))
            + b * float(np.sum(lost * pull))
            - float(np.sum(weight**2 * each))
            - b * float(np.sum(2 * pull * crossed - b * pull**2 * lost * own))
        )
        by_b = float(np.sum(known * pull)) - float(np.sum(pull**2 * own))
        return np.array([by_a, by_b])

    def minimise(self) -> Optimum:
        """Find the smallest deviance: two starts, boundaries exact, Newton steps at the end, then checks."""
        from scipy.optimize import minimize

        found = [
            minimize(
                lambda x: self.deviance(*x),
                start,
                jac=lambda x: self.gradient(*x),
                method="L-BFGS-B",
                bounds=[(0.0, 1e6)] * 2,
                options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 200},
            )
            for start in _STARTS
        ]
        best = min(found, key=lambda one: float(one.fun))
        ratios = self._polish(np.asarray(best.x, dtype=float))
        _, _, _, _, product = self._solve(*ratios)
        coefficients, _, rss = self._finish(product)
        coefficients[0] += self.shift
        value = self.deviance(*ratios)
        agreed = abs(found[0].fun - found[1].fun) < 1e-3
        return Optimum(ratios, value, rss / self.nu, coefficients, self._problem(ratios, agreed=agreed))

    def _polish(self, x: np.ndarray) -> np.ndarray:
        """Settle on the boundary where the deviance rises from it, and take Newton steps in the free ratios."""
        for index in range(2):
            at_zero = np.where(np.arange(2) == index, 0.0, x)
            if 0 < x[index] < 1e-4 and self.gradient(*at_zero)[index] >= 0:
                x = at_zero
        free = x > 0
        for _ in range(4):
            if not free.any():
                break
            step = np.linalg.lstsq(self._hessian(x, free), self.gradient(*x)[free], rcond=1e-12)[0]
            moved = x.copy()
            moved[free] -= step
            if (moved[free] <= 0).any() or self.deviance(*moved) > self.deviance(*x) + 1e-9:
                break
            x = moved
            if np.abs(step).max() < 1e-12 * max(1.0, float(np.abs(x).max())):
                break
        return x

    def _hessian(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        columns = []
        for index in np.flatnonzero(free):
            h = 1e-4 * x[index]
            up, down = x.copy(), x.copy()
            up[index] += h
            down[index] -= h
            columns.append((self.gradient(*up) - self.gradient(*down))[free] / (2 * h))
        matrix = np.array(columns)
        return (matrix + matrix.T) / 2

    def _problem(self, x: np.ndarray, *, agreed: bool) -> str:
        gradient = self.gradient(*x)
        free = x > 0
        if not np.isfinite(gradient).all() or x.max() > 1e5:
            return "The residual variance is all but 0 beside the others, so their shares cannot be estimated."
        if not agreed:
            return "Two starting points led to different optima, so the components cannot be trusted."
        steep = np.abs(gradient[free] * np.maximum(x[free], 1e-3)).max(initial=0.0)
        if steep > 1e-4 * max(1.0, math.sqrt(self.nu)) or (gradient[~free] < -1e-6 * self.nu).any():
            return "The search for the components did not arrive at an optimum."
        return ""
