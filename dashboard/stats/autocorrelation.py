"""How far a rating carries over to the next turn: AR(1) within conversations, for the whole group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.stats.nested_intercepts import NestedIntercepts
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
    curve = _curve(unit, np.cumsum(~follows) - 1, value, follows, gap)
    from scipy.optimize import minimize_scalar
    from scipy.special import chdtrc

    found = minimize_scalar(curve, bounds=(-_LIMIT, _LIMIT), method="bounded", options={"xatol": 1e-7})
    if not math.isfinite(found.fun):
        return _none(n_pairs, "The autocorrelation could not be estimated here.")
    phi, deviance, without = float(found.x), float(found.fun), curve(0.0)
    low, high = (_end(curve, phi, limit, deviance + _CHI2_95) for limit in (-_LIMIT, _LIMIT))
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


def _curve(
    unit: np.ndarray, conversation: np.ndarray, value: np.ndarray, follows: np.ndarray, gap: np.ndarray
) -> Callable[[float], float]:
    """Return the deviance as a function of φ, minimised over the variances."""
    n_conversations = int(conversation[-1]) + 1
    owner = np.unique(unit[~follows], return_inverse=True)[1]
    previous = np.r_[0.0, value[:-1]]
    ones = np.ones((n_conversations, 1))

    def curve(phi: float) -> float:
        carried = np.where(follows, np.sign(phi) ** gap * np.abs(phi) ** gap, 0.0)
        spread = np.sqrt(1 - carried**2)
        one, whitened = (1 - carried) / spread, (value - carried * previous) / spread
        n, total, squares = (
            np.bincount(conversation, part, n_conversations) for part in (one**2, one * whitened, whitened**2)
        )
        found = NestedIntercepts(owner, n, total, squares, ones, n_rows=len(value)).minimise()
        return found.deviance + 2 * float(np.log(spread).sum())

    return curve


def _end(curve: Callable[[float], float], best: float, limit: float, target: float) -> float:
    from scipy.optimize import brentq

    if curve(limit) < target:
        return limit
    return float(brentq(lambda phi: curve(phi) - target, *sorted((best, limit)), xtol=1e-5))
