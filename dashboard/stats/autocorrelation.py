"""How far a rating carries over to the next turn: AR(1) within conversations, for the whole group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.stats.nested_intercepts import NestedIntercepts, Optimum
from dashboard.stats.progress import tell
from dashboard.stats.response_styles import Turns

_LIMIT = 0.98
_CHI2_95 = 3.841458820694124


@dataclass(frozen=True)
class Autocorrelation:
    """AR(1) of what remains of a rating after intercepts of participant and conversation.

    Attributes
    ----------
    phi, conf_low, conf_high
        The correlation of successive turns, and its profile interval.
    log_likelihood, log_likelihood_without
        Restricted, with it and without.
    p_value
        Of the likelihood-ratio test, 1 df.
    n_pairs
        Pairs of rated turns that follow one another in a conversation, gaps included.
    problem
        Why there are no numbers; empty when there are.
    """

    phi: float
    conf_low: float
    conf_high: float
    log_likelihood: float
    log_likelihood_without: float
    p_value: float
    n_pairs: int
    problem: str = ""


def fit_autocorrelation(turns: Turns) -> Autocorrelation:
    """Fit ``y ~ 1 + (1 | participant/conversation)`` with AR(1) errors in the turn number, by REML.

    Notes
    -----
    The correlation of turns g apart is φ^g, unrated turns between them included. Checked against
    ``nlme::lme(correlation = corAR1(form = ~ turn | participant/conversation))``.
    """
    order = np.lexsort((turns.turn, turns.conversation, turns.unit))
    unit, conversation = turns.unit[order], turns.conversation[order]
    value, turn = turns.value[order], turns.turn[order].astype(float)
    follows = np.r_[False, conversation[1:] == conversation[:-1]] if len(value) else np.zeros(0, bool)
    gap = np.where(follows, np.r_[0.0, np.diff(turn)], 1.0) if len(value) else np.zeros(0)
    n_pairs = int(follows.sum())
    problem = _problem(unit, conversation, value, n_pairs)
    if problem:
        return _none(n_pairs, problem)
    curve = _Curve(unit, np.cumsum(~follows) - 1, value, follows, gap)
    from scipy.optimize import minimize_scalar
    from scipy.special import chdtrc

    without = curve(0.0)
    found = minimize_scalar(curve, bounds=(-_LIMIT, _LIMIT), method="bounded", options={"xatol": 1e-6})
    if not math.isfinite(found.fun):
        return _none(n_pairs, "The autocorrelation could not be estimated here.")
    phi, deviance = float(found.x), float(found.fun)
    low, high = (_end(curve, phi, limit, deviance) for limit in (-_LIMIT, _LIMIT))
    p_value = float(chdtrc(1, max(without - deviance, 0.0)))
    return Autocorrelation(phi, low, high, -deviance / 2, -without / 2, p_value, n_pairs)


def _none(n_pairs: int, problem: str) -> Autocorrelation:
    nan = math.nan
    return Autocorrelation(nan, nan, nan, nan, nan, nan, n_pairs, problem)


def _problem(unit: np.ndarray, conversation: np.ndarray, value: np.ndarray, n_pairs: int) -> str:
    n_units, n_conversations = len(np.unique(unit)), len(np.unique(conversation))
    if n_units < 2 or n_conversations <= n_units:
        return "It takes two participants, and one of them with two rated conversations."
    if n_pairs < 10:
        return f"Only {n_pairs} pairs of rated turns follow one another; it takes ten."
    if np.ptp(value) == 0:
        return "All ratings are equal."
    return ""


class _Curve:
    """The deviance as a function of φ, minimised over the variances.

    What φ whitens are sums over the turns of a conversation that lie one gap behind the turn before: they are summed once,
    and each φ costs a few operations per conversation, however many turns there are.
    """

    def __init__(
        self, unit: np.ndarray, conversation: np.ndarray, value: np.ndarray, follows: np.ndarray, gap: np.ndarray
    ) -> None:
        value = value - value.mean()
        before = np.where(follows, np.r_[0.0, value[:-1]], 0.0)
        self._gaps, place = np.unique(np.where(follows, gap, 0.0), return_inverse=True)
        keys, row = np.unique(conversation * len(self._gaps) + place, return_inverse=True)
        parts = (np.ones(len(value)), value, before, value**2, value * before, before**2)
        self._sums = np.vstack([np.bincount(row, part, len(keys)) for part in parts])
        self._gap = keys % len(self._gaps)
        owner = keys // len(self._gaps)
        self._starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
        self._owner = np.unique(unit[~follows], return_inverse=True)[1]
        self._n = len(value)
        self._last: Optimum | None = None

    def __call__(self, phi: float) -> float:
        tell("autocorrelation")
        # The first turn of a conversation follows nothing: gap 0 carries nothing over.
        power = np.where(self._gaps > 0, np.sign(phi) ** self._gaps * np.abs(phi) ** self._gaps, 0.0)
        carried = power[self._gap]
        n, y, x, yy, xy, xx = self._sums
        own = np.vstack(
            [
                n * (1 - carried) / (1 + carried),
                (y - carried * x) / (1 + carried),
                (yy - 2 * carried * xy + carried**2 * xx) / (1 - carried**2),
            ]
        )
        n_own, total, squares = np.add.reduceat(own, self._starts, axis=1)
        ones = np.ones((len(self._owner), 1))
        found = NestedIntercepts(self._owner, n_own, total, squares, ones, n_rows=self._n).minimise(near=self._last)
        self._last = found
        return found.deviance + float(n @ np.log(1 - carried**2))


def _end(curve: Callable[[float], float], best: float, limit: float, deviance: float) -> float:
    """Return where, towards a limit, the deviance has risen by 3.84; the limit where it never does."""
    from scipy.optimize import brentq

    def rise(phi: float) -> float:
        return math.sqrt(max(curve(phi) - deviance, 0.0)) - math.sqrt(_CHI2_95)

    near, step = best, math.copysign(0.02, limit - best)
    while True:
        far = near + step
        if abs(far) >= _LIMIT:
            far = limit
        if rise(far) > 0:
            break
        if far == limit:
            return limit
        near, step = far, 2 * step
    # The root of the rise is all but linear.
    return float(brentq(rise, *sorted((near, far)), xtol=1e-5))
