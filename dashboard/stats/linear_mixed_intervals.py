"""Intervals of a linear mixed model that do without a normal approximation: profile likelihood or simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pandas as pd

from dashboard.stats.linear_mixed import LinearMixedFit
from dashboard.stats.linear_mixed_bootstrap import bootstrap_intervals, parametric_bootstrap
from dashboard.stats.linear_mixed_profile import profile_intervals
from dashboard.stats.progress import tell
from dashboard.vocabulary import Refused

Method = Literal["wald", "profile", "bootstrap"]
COLUMNS = ["group", "term", "measure", "estimate", "conf_low", "conf_high"]


def with_intervals(fit: LinearMixedFit, method: Method, *, n_draws: int = 1000, seed: int = 1) -> LinearMixedFit:
    """Return the fit with other 95 % intervals; p values stay those of its t tests.

    Parameters
    ----------
    method
        ``wald`` (estimate ± t · SE, the fit as it is), ``profile`` (of the likelihood, as lme4's ``confint``), or
        ``bootstrap`` (percentiles of estimates from data simulated from the fit).
    n_draws, seed
        Of the bootstrap.

    Raises
    ------
    Refused
        A failed fit; a bootstrap without rows, with autocorrelation, or that hardly ever converged.
    """
    if method == "wald" or not fit.converged:
        return fit
    if method == "profile":
        table = profile_intervals(fit).rename(columns={"statistic": "measure"})
        note = "Intervals are of the profile likelihood (maximum likelihood); p values are those of t tests."
        return replace(fit, intervals=table[COLUMNS], interval_method=method, notes=(*fit.notes, note))
    draws = parametric_bootstrap(
        fit, n_draws=n_draws, seed=seed, progress=lambda done, total: tell("parametric bootstrap", done, total)
    )
    if len(draws) < max(20, n_draws // 2):
        raise Refused(
            f"Of {n_draws:,} simulated data sets, {len(draws):,} could be fitted: too few for an interval. Simplify the random "
            "part, or take profile intervals."
        )
    lost = f", {n_draws - len(draws):,} of which could not be fitted," if len(draws) < n_draws else ""
    note = (
        f"Intervals are percentiles of estimates from {n_draws:,} data sets simulated from the model (seed {seed}){lost}; "
        "p values are those of t tests."
    )
    table = _bootstrap_table(fit, draws)
    return replace(fit, intervals=table, interval_method=method, notes=(*fit.notes, note))


def _bootstrap_table(fit: LinearMixedFit, draws: pd.DataFrame) -> pd.DataFrame:
    limits = bootstrap_intervals(draws).set_index("term")
    rows = []
    for row in fit.variances.itertuples():
        name = "sd residual" if row.group == "residual" else f"sd {row.term}|{row.group}"
        rows.append((row.group, row.term, "std_dev", row.std_dev, *limits.loc[name, ["conf_low", "conf_high"]]))
    for name, estimate in zip(fit.columns, fit.coefficients, strict=True):
        rows.append(("fixed", name, "coefficient", estimate, *limits.loc[name, ["conf_low", "conf_high"]]))
    return pd.DataFrame(rows, columns=COLUMNS)
