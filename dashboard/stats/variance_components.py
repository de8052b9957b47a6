"""How much of a rating is the person, the conversation, the turn: components and shrunken means.

Everything is computed from one row per conversation (number, sum and sum of squares of its ratings), which is all that
a model with intercepts of participant and conversation needs to know of the turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import pandas as pd

from dashboard.stats.nested_intercepts import NestedIntercepts, Optimum

COMPONENTS = ("participant", "conversation", "turn")


@dataclass(frozen=True)
class ConversationSums:
    """Ratings of one outcome, summed by conversation; conversations are sorted by participant.

    Attributes
    ----------
    participant
        Code of each conversation's participant, shape (C,), from 0 without gaps, ascending.
    n, total, squares
        Number, sum and sum of squares of its ratings, shape (C,); n ≥ 1.
    covariates
        Columns that are constant within a conversation, shape (C, k); k may be 0.
    """

    participant: np.ndarray
    n: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    covariates: np.ndarray

    @property
    def n_participants(self) -> int:
        """How many participants there are."""
        return int(self.participant[-1]) + 1 if len(self.participant) else 0


@dataclass(frozen=True)
class Components:
    """Variance components of turns within conversations within participants, by REML.

    Attributes
    ----------
    participant, conversation, turn
        Variances; NaN where the fit failed.
    mean
        The intercept: the mean over participants as the model weighs them. NaN with covariates.
    problem
        Why there are no numbers; empty when there are.
    """

    participant: float
    conversation: float
    turn: float
    mean: float
    n_observations: int
    n_conversations: int
    n_participants: int
    problem: str = ""
    fit: Optimum | None = field(default=None, repr=False, compare=False)
    function: NestedIntercepts | None = field(default=None, repr=False, compare=False)

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.participant + self.conversation + self.turn

    def share(self, component: str) -> float:
        """Share of a component in the total."""
        return float(getattr(self, component) / self.total)


def conversation_sums(
    frame: pd.DataFrame, *, participant: str = "participant", factors: tuple[str, ...] = ()
) -> ConversationSums:
    """Arrange one row per conversation for :func:`fit_components`.

    Parameters
    ----------
    frame
        One row per conversation with ``participant``, n, total, sum_squares, and the ``factors``; rows with n = 0, or
        without a participant or a factor's level, are left out.
    factors
        Categorical columns to hold fixed, as dummies.
    """
    used = frame[(frame["n"] > 0) & frame[[participant, *factors]].notna().all(axis=1)]
    codes, _ = pd.factorize(used[participant], sort=True)
    order = np.argsort(codes, kind="stable")
    dummies = [
        pd.get_dummies(used[name], drop_first=True, dtype=float).to_numpy()[order] for name in factors if len(used)
    ]
    return ConversationSums(
        participant=codes[order],
        n=used["n"].to_numpy(dtype=float)[order],
        total=used["total"].to_numpy(dtype=float)[order],
        squares=used["sum_squares"].to_numpy(dtype=float)[order],
        covariates=np.hstack(dummies) if dummies else np.empty((len(used), 0)),
    )


def fit_components(sums: ConversationSums) -> Components:
    """Fit ``y ~ 1 + covariates + (1 | participant/conversation)`` by REML.

    Returns
    -------
    Components
        With ``problem`` set and NaN variances for fewer than two participants, no conversation with two ratings, no
        participant with two conversations, ratings that are all equal, or a fit that failed its checks.

    Notes
    -----
    Checked against ``lme4::lmer`` 1.1-31 on nine outcomes, with and without fixed factors.
    """
    n = int(sums.n.sum())
    size = (n, len(sums.n), sums.n_participants)
    problem = _problem(sums, n)
    if problem:
        return Components(math.nan, math.nan, math.nan, math.nan, *size, problem=problem)
    fixed = _orthonormal(np.column_stack([np.ones(len(sums.n)), sums.covariates]), sums.n)
    function = NestedIntercepts(sums.participant, sums.n, sums.total, sums.squares, fixed)
    found = function.minimise()
    if found.problem:
        return Components(math.nan, math.nan, math.nan, math.nan, *size, problem=found.problem)
    conversation, participant = (float(ratio) * found.variance for ratio in found.ratios)
    mean = math.nan if sums.covariates.shape[1] else float(found.coefficients[0])
    return Components(participant, conversation, found.variance, mean, *size, fit=found, function=function)


def _problem(sums: ConversationSums, n: int) -> str:
    if sums.n_participants < 2:
        return "It takes at least two participants."
    if len(sums.n) <= sums.n_participants:
        return "No participant has two rated conversations, so the person cannot be told from the conversation."
    if len(sums.n) >= n:
        return "No conversation has two rated turns, so the conversation cannot be told from the turn."
    mean = sums.total.sum() / n
    if not float(sums.squares.sum() - n * mean**2) > 1e-9 * max(1.0, float(sums.squares.sum())):
        return "All ratings are equal, so there is no variance to divide."
    return ""


def _orthonormal(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return columns with the same span, orthogonal over turns, of mean square 1; dependent ones drop out."""
    if columns.shape[1] == 1:
        return columns
    left, sizes, _ = np.linalg.svd(columns * np.sqrt(weights)[:, None], full_matrices=False)
    kept = left[:, sizes > 1e-9 * sizes[0]]
    return kept / np.sqrt(weights)[:, None] * math.sqrt(weights.sum())


def shrunken_means(components: Components, sums: ConversationSums, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Predict each participant's mean: μ + u, pulled towards everyone's by how little is known of the person.

    Parameters
    ----------
    components
        From :func:`fit_components` without covariates.
    sums
        What it was fitted to.

    Returns
    -------
    pandas.DataFrame
        One row per participant code: shrunken_mean, std_error, conf_low, conf_high. The interval comes from the
        prediction error of μ + u, μ's own uncertainty included (Henderson 1975), with normal quantiles.

    Notes
    -----
    With variances v of participant (p), conversation (c), turn (t) and w_c = 1/(v_c + v_t/n_c):
    W = Σ w_c, ū = Σ w_c ȳ_c / W, k = v_p W/(1 + v_p W); the prediction is μ + k(ū − μ), its error
    v_p/(1 + v_p W) + (1 − k)² Var(μ), 1/Var(μ) = Σ W/(1 + v_p W). Checked against lme4 and Henderson's equations in R.
    """
    people = sums.n_participants
    if components.fit is None:
        unknown = np.full(people, math.nan)
        return pd.DataFrame(dict.fromkeys(("shrunken_mean", "std_error", "conf_low", "conf_high"), unknown))
    weight = 1 / (components.conversation + components.turn / sums.n)
    known = np.bincount(sums.participant, weight, people)
    own = np.bincount(sums.participant, weight * sums.total / sums.n, people) / known
    pull = components.participant * known / (1 + components.participant * known)
    precision = known / (1 + components.participant * known)
    mean = float(np.sum(precision * own) / np.sum(precision))
    predicted = mean + pull * (own - mean)
    error = components.participant / (1 + components.participant * known) + (1 - pull) ** 2 / np.sum(precision)
    std_error = np.sqrt(error)
    reach = NormalDist().inv_cdf(0.5 + conf_level / 2) * std_error
    return pd.DataFrame(
        {
            "shrunken_mean": predicted,
            "std_error": std_error,
            "conf_low": predicted - reach,
            "conf_high": predicted + reach,
        }
    )


def dependability(components: Components, conversations: np.ndarray | float, turns: float) -> np.ndarray:
    """Return how dependable a person's mean over ``conversations`` of ``turns`` each is: V_p/(V_p + V_c/c + V_t/(c·t))."""
    c = np.asarray(conversations, dtype=float)
    error = components.conversation / c + components.turn / (c * turns)
    total = components.participant + error
    return np.where(total > 0, components.participant / total, math.nan)


def conversations_needed(components: Components, reliability: float, turns: float) -> float:
    """Return how many conversations of ``turns`` turns make a person's mean as dependable as asked; ∞ at V_p = 0."""
    if components.participant <= 0:
        return math.inf if components.participant == 0 else math.nan
    ratio = (components.conversation + components.turn / turns) / components.participant
    # A whole number that comes out a rounding error too high is that whole number.
    return float(max(1.0, math.ceil(round(reliability / (1 - reliability) * ratio, 9))))
