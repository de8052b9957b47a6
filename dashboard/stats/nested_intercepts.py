"""REML for intercepts of participant and conversation, from one row of sums per conversation.

The special case of the linear mixed model that is fitted most often: two ratios of variances, whatever is fixed within a
conversation. It needs no rows and takes milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dashboard.stats.threads import one_thread

_STARTS = ((0.4, 0.4), (0.02, 0.02))
# Two searches that end this close have the same optimum.
_CLOSE = 1e-5
# More people than this are searched from where so many evenly spaced ones have their optimum.
_PEOPLE = 500


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
    curvature
        Second derivatives of the deviance by the ratios, about there, shape (2, 2); 0 for a ratio of 0.
    """

    ratios: np.ndarray
    deviance: float
    variance: float
    coefficients: np.ndarray
    problem: str = ""
    curvature: np.ndarray | None = None


def _newton(slope: np.ndarray, bend: np.ndarray, free: np.ndarray, farthest: float) -> np.ndarray:
    """Return a step downhill: Newton's, as if the deviance bent upwards everywhere, no farther than allowed."""
    step = np.zeros(len(slope))
    values, vectors = np.linalg.eigh(bend[np.ix_(free, free)])
    strength = np.maximum(np.abs(values), 1e-10 * max(1.0, float(np.abs(values).max(initial=0.0))))
    step[free] = -vectors @ ((vectors.T @ slope[free]) / strength)
    reach = float(np.abs(step).max(initial=0.0))
    return step * (farthest / reach) if reach > farthest else step


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
        self.n = np.ascontiguousarray(n, dtype=float)
        self.shift = float(total.sum() / n.sum())
        centred = total - n * self.shift
        self.p = columns.shape[1]
        # With the intercept alone, its sums are the numbers of ratings.
        self.plain = self.p == 1 and bool((columns == 1).all())
        # One line per fixed column, and the outcome's: sums over each conversation, so that a line is read in one go.
        self.sums = np.vstack([(columns * n[:, None]).T, centred])
        self.nu = float(n.sum() if n_rows is None else n_rows) - self.p
        # Centred sums of squares: the raw ones lose digits where the mean is large against the spread.
        outcome = float(np.sum(squares - 2 * self.shift * total + n * self.shift**2))
        self.gram = np.empty((self.p + 1, self.p + 1))
        self.gram[: self.p] = (self.sums @ columns).T
        self.gram[self.p, : self.p] = self.gram[: self.p, self.p]
        self.gram[self.p, self.p] = outcome
        # Logarithms cost the most: conversations of one length share theirs.
        self.lengths, self.times = self.n, np.ones(len(self.n))
        if (self.n == np.rint(self.n)).all() and self.n.max() < len(self.n):
            times = np.bincount(self.n.astype(int))
            self.lengths = np.flatnonzero(times).astype(float)
            self.times = times[times > 0].astype(float)
        counts = np.bincount(participant)
        self.starts = np.cumsum(counts) - counts
        self._given = (participant, n, total, squares)

    def _by_person(self, lines: np.ndarray) -> np.ndarray:
        """Sum lines over conversations, shape (…, C), by person, shape (…, G)."""
        return np.add.reduceat(lines, self.starts, axis=-1)

    def _solve(self, a: float, b: float) -> tuple[np.ndarray, ...]:
        weight = 1 / (1 + a * self.n)
        weighted = weight * self.sums
        person = self._by_person(weighted)
        known = person[0] if self.plain else self._by_person(weight * self.n)
        pull = 1 / (1 + b * known)
        product = self.gram - a * self.sums @ weighted.T - b * person @ (pull * person).T
        return weight, person, known, pull, product

    def _finish(self, product: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return coefficients, the inverse of the fixed block, and the residual sum of squares."""
        fixed = product[: self.p, : self.p]
        inverse = 1 / fixed if self.p == 1 else np.linalg.inv(fixed)
        coefficients = inverse @ product[: self.p, self.p]
        return coefficients, inverse, float(product[self.p, self.p] - product[: self.p, self.p] @ coefficients)

    def _value(self, a: float, pull: np.ndarray, product: np.ndarray, rss: float) -> float:
        fixed = math.log(product[0, 0]) if self.p == 1 else float(np.linalg.slogdet(product[: self.p, : self.p])[1])
        spread = float(self.times @ np.log1p(a * self.lengths)) - float(np.log(pull).sum())
        return float(spread + fixed + self.nu * (1 + math.log(2 * math.pi * rss / self.nu)))

    def deviance(self, a: float, b: float) -> float:
        """Return −2 restricted log-likelihood at the ratios of conversation (a) and participant (b)."""
        _, _, _, pull, product = self._solve(a, b)
        # Rounding alone is left where the turn's variance is all but 0 beside the others.
        rss = self._finish(product)[2] if product[0, 0] > 0 else 0.0
        return self._value(a, pull, product, rss) if rss > 0 else math.inf

    def gradient(self, a: float, b: float) -> np.ndarray:
        """Return the derivatives of the deviance by both ratios, shape (2,)."""
        return self.deviance_and_gradient(a, b)[1]

    def deviance_and_gradient(self, a: float, b: float) -> tuple[float, np.ndarray]:
        """Return both at once, for little more than either costs."""
        weight, person, known, pull, product = self._solve(a, b)
        if not product[0, 0] > 0:
            return math.inf, np.full(2, math.nan)
        coefficients, inverse, rss = self._finish(product)
        if not rss > 0:
            return math.inf, np.full(2, math.nan)
        residual = np.append(-coefficients, 1.0)
        adjoint = self.nu / rss * np.outer(residual, residual)
        adjoint[: self.p, : self.p] += inverse
        squared = weight**2
        moved = self._by_person(self.n * squared * self.sums)
        lost = moved[0] if self.plain else self._by_person(squared * self.n**2)
        turned = adjoint @ person
        own, crossed = np.einsum("ig,ig->g", turned, person), np.einsum("ig,ig->g", turned, moved)
        each = np.einsum("ic,ic->c", adjoint @ self.sums, self.sums)
        by_a = (
            float(self.n @ weight)
            - b * float(lost @ pull)
            - float(squared @ each)
            + b * float(np.sum(2 * pull * crossed - b * pull**2 * lost * own))
        )
        by_b = float(known @ pull) - float(pull**2 @ own)
        return self._value(a, pull, product, rss), np.array([by_a, by_b])

    def minimise(self, *, near: Optimum | None = None) -> Optimum:
        """Find the smallest deviance: two starts, boundaries exact, Newton steps at the end, then checks.

        Parameters
        ----------
        near
            The optimum of much the same data, where it is known: Newton's steps from there, and the whole search only
            where they do not arrive.
        """
        with one_thread():
            if near is not None and near.curvature is not None and not near.problem:
                found = self._optimum(*self._polish(near.ratios, near.curvature), agreed=True)
                if not found.problem:
                    return found
            starts: tuple[tuple[float, ...], ...] = _STARTS
            if len(self.starts) > 4 * _PEOPLE:
                part = self._some_people().minimise()
                starts = _STARTS if part.problem else (tuple(part.ratios),)
            ends = [self._polish(np.array(start)) for start in starts]
            values = [self.deviance(*ratios) for ratios, _ in ends]
            first = self._optimum(*ends[int(np.argmin(values))], agreed=max(values) - min(values) < 1e-3)
            return first if not first.problem else self._from_afar()

    def _from_afar(self) -> Optimum:
        """Find the optimum by a search that is slower to start and harder to mislead."""
        ends = [self._search(start) for start in _STARTS]
        found = [self._polish(ratios) for _, ratios in ends[: 1 if abs(ends[0][0] - ends[-1][0]) < _CLOSE else 2]]
        values = [self.deviance(*ratios) for ratios, _ in found]
        return self._optimum(*found[int(np.argmin(values))], agreed=max(values) - min(values) < 1e-3)

    def _optimum(self, ratios: np.ndarray, curvature: np.ndarray, *, agreed: bool) -> Optimum:
        _, _, _, _, product = self._solve(*ratios)
        coefficients, _, rss = self._finish(product)
        coefficients[0] += self.shift
        problem = self._problem(ratios, agreed=agreed)
        return Optimum(ratios, self.deviance(*ratios), rss / self.nu, coefficients, problem, curvature)

    def _some_people(self) -> NestedIntercepts:
        """Return the same for some evenly spaced people, without what is fixed but the intercept."""
        participant, n, total, squares = self._given
        chosen = np.linspace(0, len(self.starts) - 1, _PEOPLE).round().astype(int)
        kept = np.isin(participant, chosen)
        codes = np.searchsorted(chosen, participant[kept])
        return NestedIntercepts(codes, n[kept], total[kept], squares[kept], np.ones((int(kept.sum()), 1)))

    def _search(self, start: tuple[float, ...]) -> tuple[float, np.ndarray]:
        from scipy.optimize import minimize

        found = minimize(
            lambda x: self.deviance_and_gradient(*x),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1e6)] * 2,
            options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 200},
        )
        return float(found.fun), np.asarray(found.x, dtype=float)

    def _polish(self, x: np.ndarray, curvature: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Take Newton's steps from ratios x, and settle on the boundary where the deviance rises from it.

        Returns
        -------
        tuple
            The ratios, and the second derivatives about there, as in :class:`Optimum`.
        """
        x = self._settle(np.asarray(x, dtype=float))
        value, gradient = self.deviance_and_gradient(*x)
        if not (x > 0).any() or not math.isfinite(value):
            return x, np.zeros((2, 2))
        # In logarithms the deviance is closer to a quadratic, and no step leaves the range.
        bend = (self.hessian(x) if curvature is None else curvature) * np.outer(x, x) + np.diag(
            gradient * x if curvature is None else np.zeros(2)
        )
        farthest = 1.5
        for _ in range(40):
            step = _newton(gradient * x, bend, x > 0, farthest)
            if np.abs(step).max() < 1e-10 or x.max() > 1e6:
                break
            moved = x * np.exp(step)
            after, after_gradient = self.deviance_and_gradient(*moved)
            if not math.isfinite(after):
                farthest = 0.3 * float(np.abs(step).max())
                continue
            # What the slope did corrects the curvature (symmetric rank one), so that it need not be computed anew.
            missed = after_gradient * moved - gradient * x - bend @ step
            along = float(missed @ step)
            if abs(along) > 1e-8 * float(np.linalg.norm(missed) * np.linalg.norm(step)):
                bend = bend + np.outer(missed, missed) / along
            if not after <= value + 1e-12 * abs(value):
                farthest = 0.3 * float(np.abs(step).max())
                continue
            farthest = 1.5
            x, value, gradient = moved, after, after_gradient
            settled = self._settle(x)
            if (settled != x).any():
                x = settled
                value, gradient = self.deviance_and_gradient(*x)
        positive = np.where(x > 0, x, 1.0)
        return x, np.where(np.outer(x > 0, x > 0), bend / np.outer(positive, positive), 0.0)

    def _settle(self, x: np.ndarray) -> np.ndarray:
        """Return the ratios with those at 0 that are next to it and from where the deviance rises."""
        for index in range(2):
            at_zero = np.where(np.arange(2) == index, 0.0, x)
            if 0 < x[index] < 1e-4 and self.gradient(*at_zero)[index] >= 0:
                x = at_zero
        return x

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the deviance at two ratios, shape (2, 2); 0 for a ratio of 0."""
        matrix = np.zeros((2, 2))
        for index in np.flatnonzero(x > 0):
            h = 1e-4 * x[index]
            up, down = x.copy(), x.copy()
            up[index] += h
            down[index] -= h
            matrix[index] = (self.gradient(*up) - self.gradient(*down)) / (2 * h)
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
