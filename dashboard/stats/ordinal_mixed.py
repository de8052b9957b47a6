"""Cumulative-logit mixed models (ordinal ratings) with intercepts of participant and conversation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm

from dashboard.stats import ordinal_mixed_notes as notes
from dashboard.stats.ordinal_mixed_blocks import Floats
from dashboard.stats.ordinal_mixed_input import Prepared, prepare
from dashboard.stats.ordinal_mixed_optimise import LARGEST_SD, Optimum, maximise, separating_columns

MIN_CLUSTERS = 5
"""Below this many participants no clustered interval is given."""
TERM_COLUMNS = ("term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high")
VARIANCE_COLUMNS = ("group", "term", "variance", "std_dev", "correlation")
LOGISTIC_VARIANCE = np.pi**2 / 3


@dataclass(frozen=True)
class OrdinalMixedFit:
    """A fitted cumulative-logit mixed model; after a failed fit the tables are empty and the numbers NaN.

    Positive estimates go with higher ratings: logit P(y ≤ k) = threshold_k − x·estimate − intercepts.
    """

    method: str
    levels: tuple[Any, ...]
    """Observed levels, lowest first."""
    terms: pd.DataFrame
    """term, estimate, std_error, df (NaN: z tests), statistic, p_value, conf_low, conf_high; a participant-only
    fit has participant-clustered errors here and the model's own in std_error_model."""
    thresholds: pd.DataFrame
    """The same columns; terms are written lower|upper."""
    variances: pd.DataFrame
    """group, term, variance, std_dev, correlation (NaN)."""
    log_likelihood: float
    deviance: float
    aic: float
    bic: float
    n_observations: int
    n_groups: dict[str, int]
    icc: dict[str, float]
    """Shares of the latent variance, whose residual part is π²/3."""
    converged: bool
    notes: tuple[str, ...]
    fit_seconds: float
    conf_level: float = 0.95
    dropped_columns: tuple[str, ...] = ()
    covariance: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Of thresholds and terms, the one std_error comes from: for joint tests and contrasts."""
    formula: str = ""
    n_dropped: int = 0
    r2_marginal: None = None
    r2_conditional: None = None


def fit_cumulative_logit(
    y: ArrayLike,
    X: ArrayLike,
    *,
    participant: ArrayLike,
    conversation: ArrayLike | None = None,
    term_names: Sequence[str],
    scale_levels: Sequence[Any] | None = None,
    n_quadrature: int = 7,
    conf_level: float = 0.95,
    group_names: tuple[str, str] = ("participant", "participant:conversation"),
    try_second_start: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> OrdinalMixedFit:
    """Fit logit P(y ≤ k) = threshold_k − x·beta − u_participant − b_conversation by maximum likelihood.

    Parameters
    ----------
    y
        (n,) ratings: numbers, or an ordered categorical. The levels observed are the categories; two levels make
        it a mixed logit for the higher one, whose threshold is minus the usual intercept.
    X
        (n, p) numeric columns without an intercept; the thresholds take its place.
    participant, conversation
        (n,) labels; conversations count as nested within participants, whatever their labels. Without
        ``conversation`` the model has the participant's intercept alone.
    term_names
        p names of the columns.
    scale_levels
        Levels that the scale offers: those never used are named in the notes.
    n_quadrature
        Adaptive Gauss–Hermite points for each intercept, 1–50; 1 is Laplace's approximation.
    conf_level
        Of the Wald intervals.
    group_names
        How the two intercepts are called in the result.
    try_second_start
        Whether to climb again from far away and compare.
    clock
        Seconds, for ``fit_seconds``.

    Returns
    -------
    OrdinalMixedFit
        With ``converged`` False, empty tables and a note on what to do where the fit cannot be trusted:
        separation, a variance without bound, a search that did not arrive.

    Raises
    ------
    Refused
        Missing or non-finite values, lengths that differ, more than 20 levels.
    TooLittleData
        One rating level only, one participant, groups that cannot be told apart, fewer rows than parameters.

    Notes
    -----
    Errors come from the observed information (central differences of the analytic gradient). A participant-only
    fit shows participant-clustered sandwich errors, times G/(G − 1), since its own ignore that turns of a
    conversation are alike. Columns are standardised inside; dependent ones are dropped and named. Missing values:
    none allowed, drop incomplete rows first.

    Checked against ordinal::clmm (wine and simulated ratings; Laplace and quadrature), lme4::glmer (two levels),
    brute-force integration, and statsmodels' OrderedModel where the variance is zero.

    References
    ----------
    Liu & Pierce (1994), Biometrika 81, 624–629 (adaptive quadrature); Rabe-Hesketh, Skrondal & Pickles (2005),
    Journal of Econometrics 128, 301–323 (nested); Hedeker & Gibbons (1994), Biometrics 50, 933–944 (ordinal).
    """
    begun = clock()
    prepared = prepare(
        y,
        X,
        participant=participant,
        conversation=conversation,
        term_names=term_names,
        scale_levels=scale_levels,
        n_quadrature=n_quadrature,
        group_names=group_names,
    )
    search = maximise(prepared.problem, try_second_start=try_second_start)
    optimum = search.optimum
    said = notes.about_data(prepared)
    failure = _failure(prepared, optimum)
    if failure:
        return _failed(prepared, notes=(failure, *said), seconds=clock() - begun)
    said = (
        *notes.about_search(search),
        *notes.about_quadrature(search, prepared),
        *notes.about_boundary(prepared, optimum),
        *notes.about_errors(prepared, min_clusters=MIN_CLUSTERS),
        *said,
    )
    return _fitted(prepared, optimum, conf_level=conf_level, notes=said, seconds=lambda: clock() - begun)


def _failure(prepared: Prepared, optimum: Optimum) -> str:
    """Return why the fit cannot be shown, or an empty text."""
    largest = float(np.abs(optimum.position[-2:]).max())
    if not optimum.is_maximum or largest > LARGEST_SD or _is_flat(prepared, optimum):
        columns = separating_columns(prepared.problem)
        if len(columns):
            return notes.separated([prepared.names[j] for j in columns])
    if largest > LARGEST_SD:
        return notes.unbounded_variance(prepared, optimum)
    return "" if optimum.is_maximum else notes.not_arrived(optimum)


def _is_flat(prepared: Prepared, optimum: Optimum) -> bool:
    """Whether some estimate is so loose over its column's range that separation is to be looked for."""
    n_thresholds = optimum.n_thresholds
    n_terms = len(prepared.names)
    if n_terms == 0:
        return False
    spread = np.ptp(prepared.problem.design, axis=0)
    covariance = np.linalg.inv(optimum.information)
    errors = np.sqrt(np.diag(covariance))[n_thresholds : n_thresholds + n_terms]
    return bool((errors * spread > 4.0).any())


def _covariances(prepared: Prepared, optimum: Optimum) -> tuple[Floats, Floats, Floats]:
    """Return estimates of (thresholds, fixed) on the user's scale, their model and sandwich covariances."""
    n_thresholds, n_terms = optimum.n_thresholds, len(prepared.names)
    n_shown = n_thresholds + n_terms
    back = np.eye(n_shown)
    back[n_thresholds:, n_thresholds:] = np.diag(1.0 / prepared.scales)
    back[:n_thresholds, n_thresholds:] = prepared.means / prepared.scales
    parameters = optimum.parameters
    estimates = back @ np.r_[parameters.thresholds, parameters.fixed]
    to_shown = back @ optimum.jacobian()[:n_shown, :n_shown]
    inverse = np.linalg.inv(optimum.information)
    n = prepared.n_participants
    sandwich = inverse @ (optimum.scores.T @ optimum.scores) @ inverse * (n / (n - 1))
    model, robust = (to_shown @ matrix[:n_shown, :n_shown] @ to_shown.T for matrix in (inverse, sandwich))
    return estimates, model, robust


def coefficient_table(
    names: Sequence[str], estimates: Floats, std_errors: Floats, *, conf_level: float
) -> pd.DataFrame:
    """Return Wald z tests and intervals; df is NaN because the normal distribution has none."""
    quantile = norm.ppf(0.5 + conf_level / 2)
    statistic = estimates / std_errors
    return pd.DataFrame(
        {
            "term": list(names),
            "estimate": estimates,
            "std_error": std_errors,
            "df": np.full(len(estimates), np.nan),
            "statistic": statistic,
            "p_value": 2 * norm.sf(np.abs(statistic)),
            "conf_low": estimates - quantile * std_errors,
            "conf_high": estimates + quantile * std_errors,
        }
    )


def _tables(prepared: Prepared, optimum: Optimum, *, conf_level: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return coefficients (thresholds first) and the covariance that their errors come from."""
    estimates, model, robust = _covariances(prepared, optimum)
    cuts = zip(prepared.levels[:-1], prepared.levels[1:], strict=True)
    names = [*(f"{notes.plain(low)}|{notes.plain(high)}" for low, high in cuts), *prepared.names]
    shown = model if prepared.problem.nested else robust
    table = coefficient_table(names, estimates, np.sqrt(np.diag(shown)), conf_level=conf_level)
    if not prepared.problem.nested:
        table.insert(3, "std_error_model", np.sqrt(np.diag(model)))
        if prepared.n_participants < MIN_CLUSTERS:
            table[["std_error", "statistic", "p_value", "conf_low", "conf_high"]] = np.nan
    return table, pd.DataFrame(shown, index=names, columns=names)


def _variances(optimum: Optimum, groups: Sequence[str]) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the table of variances and the shares of the latent variance."""
    deviations = optimum.position[-2:][: len(groups)]
    table = pd.DataFrame(
        {
            "group": list(groups),
            "term": "(Intercept)",
            "variance": deviations**2,
            "std_dev": deviations,
            "correlation": np.full(len(groups), np.nan),
        }
    )
    total = float((deviations**2).sum()) + LOGISTIC_VARIANCE
    icc = {group: float(sd**2 / total) for group, sd in zip(groups, deviations, strict=True)}
    return table, icc


def _method(prepared: Prepared) -> str:
    q = prepared.problem.n_quadrature
    how = f"adaptive Gauss–Hermite quadrature, {q} × {q} points"
    if not prepared.problem.nested:
        how = f"adaptive Gauss–Hermite quadrature, {q} points"
    return "cumulative logit, " + ("Laplace approximation" if q == 1 else how)


def _group_sizes(prepared: Prepared) -> dict[str, int]:
    return dict(zip(prepared.groups, (prepared.n_participants, prepared.n_conversations), strict=False))


def _fitted(
    prepared: Prepared,
    optimum: Optimum,
    *,
    conf_level: float,
    notes: tuple[str, ...],
    seconds: Callable[[], float],
) -> OrdinalMixedFit:
    table, covariance = _tables(prepared, optimum, conf_level=conf_level)
    variances, icc = _variances(optimum, prepared.groups)
    n, n_parameters = len(prepared.problem.level), len(table) + len(prepared.groups)
    deviance = -2.0 * optimum.log_likelihood
    return OrdinalMixedFit(
        method=_method(prepared),
        levels=prepared.levels,
        terms=table.iloc[optimum.n_thresholds :].reset_index(drop=True),
        thresholds=table.iloc[: optimum.n_thresholds].reset_index(drop=True),
        variances=variances,
        log_likelihood=optimum.log_likelihood,
        deviance=deviance,
        aic=deviance + 2.0 * n_parameters,
        bic=deviance + np.log(n) * n_parameters,
        n_observations=n,
        n_groups=_group_sizes(prepared),
        icc=icc,
        converged=True,
        notes=notes,
        fit_seconds=seconds(),
        conf_level=conf_level,
        dropped_columns=prepared.dropped,
        covariance=covariance,
    )


def _failed(prepared: Prepared, *, notes: tuple[str, ...], seconds: float) -> OrdinalMixedFit:
    empty = pd.DataFrame({name: pd.Series(dtype=object if name == "term" else float) for name in TERM_COLUMNS})
    no_variances = pd.DataFrame(
        {name: pd.Series(dtype=object if name in ("group", "term") else float) for name in VARIANCE_COLUMNS}
    )
    return OrdinalMixedFit(
        method=_method(prepared),
        levels=prepared.levels,
        terms=empty,
        thresholds=empty.copy(),
        variances=no_variances,
        log_likelihood=np.nan,
        deviance=np.nan,
        aic=np.nan,
        bic=np.nan,
        n_observations=len(prepared.problem.level),
        n_groups=_group_sizes(prepared),
        icc={},
        converged=False,
        notes=notes,
        fit_seconds=seconds,
        dropped_columns=prepared.dropped,
    )
