"""What goes with the rating, when persons, conversations and turns are kept apart?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection, parameter
from dashboard.analyses.model_code import python_code, r_code
from dashboard.analyses.model_frame import NOT_APPLICABLE, ModelData
from dashboard.analyses.model_parameters import ModelParameters, draws_parameter, fitted_model, seed_parameter
from dashboard.analyses.model_words import (
    PARTS,
    apa_sentence,
    caveats,
    headline,
    outcome_label,
    short_labels,
    term_labels,
    variable_label,
)
from dashboard.database import Database
from dashboard.figures.models import draw_forest, draw_variance_shares
from dashboard.vocabulary import format_percent

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

NAME = "mixed_model"


@dataclass(frozen=True)
class MixedModelParameters(ModelParameters):
    """Which model, and which intervals."""

    intervals: Literal["wald", "profile", "bootstrap"] = parameter(
        "wald",
        label="Intervals",
        choices=("wald", "profile", "bootstrap"),
        labels={"wald": "Wald (t)", "profile": "Profile likelihood", "bootstrap": "Parametric bootstrap"},
        help="Estimate ± t · SE; or of the profile likelihood; or percentiles of estimates from simulated data.",
        more=True,
    )
    draws: int = draws_parameter(1000, "Simulated data sets")
    seed: int = seed_parameter()


def analyse(database: Database, selection: Selection, parameters: MixedModelParameters) -> Findings:
    """Fit one linear mixed model and describe it."""
    from dashboard.stats.linear_mixed_intervals import with_intervals
    from dashboard.stats.linear_mixed_tests import joint_tests

    data, fit = fitted_model(database, selection, parameters)
    fit = with_intervals(fit, parameters.intervals, n_draws=parameters.draws, seed=parameters.seed)
    terms = described_terms(fit)
    variances = described_variances(fit)
    tables = {
        NAME: terms,
        f"{NAME}.variances": variances,
        f"{NAME}.joint": joint_tests(fit),
        f"{NAME}.summary": summary(fit),
        f"{NAME}.report": report(data, fit, selection, parameters),
    }
    if fit.intervals is not None:
        tables[f"{NAME}.intervals"] = fit.intervals
    if fit.has_rows:
        tables[f"{NAME}.rows"] = fitted_rows(data, fit)
    return Findings(
        name=NAME,
        headline=headline(data, fit),
        tables=tables,
        figures=_figures(data, fit, terms, variances),
        warnings=_warnings(data, fit),
        notes=fit.notes,
        counts=data.counts,
        queries=data.queries,
    )


def described_terms(fit: LinearMixedFit) -> pd.DataFrame:
    """Return the fixed terms with a row for each reference level, which has no test: its difference is 0 by definition.

    Columns: term, label, estimate, std_error, df, statistic, p_value, conf_low, conf_high, is_reference.
    """
    import pandas as pd

    labels = term_labels(fit)
    table = fit.terms.assign(label=[labels[name] for name in fit.terms["term"]], is_reference=False)
    pieces = []
    for name, columns in fit.design.terms.items():
        if name in fit.design.levels and len(columns) == len(fit.design.levels[name]) - 1:
            pieces.append(_reference_row(name, fit.design.levels[name][0]))
        pieces.append(table.iloc[list(columns)])
    combined = pd.concat([piece for piece in pieces if len(piece)], ignore_index=True)
    order = ["term", "label", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]
    return combined[[*order, "is_reference"]]


def _reference_row(factor: str, level: str) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    empty = {key: [np.nan] for key in ("std_error", "df", "statistic", "p_value", "conf_low", "conf_high")}
    own = {"term": [f"{factor}[{level}]"], "label": [f"{variable_label(factor)}: {level}"], "estimate": [0.0]}
    return pd.DataFrame(own | empty | {"is_reference": [True]})


def described_variances(fit: LinearMixedFit) -> pd.DataFrame:
    """Return the variances with each group's share of what the fixed terms leave."""
    shares = fit.icc
    first = ~fit.variances["group"].duplicated()
    share = [
        shares[group] if is_first else float("nan")
        for group, is_first in zip(fit.variances["group"], first, strict=True)
    ]
    return fit.variances.assign(share=share)


def summary(fit: LinearMixedFit) -> pd.DataFrame:
    """Return measure and value: fit, sizes, explained variance."""
    import pandas as pd

    values = {
        "log_likelihood": fit.log_likelihood,
        "deviance": fit.deviance,
        "aic": fit.aic,
        "bic": fit.bic,
        "r2_marginal": fit.r2_marginal,
        "r2_conditional": fit.r2_conditional,
        "n_observations": float(fit.n_observations),
        "n_dropped": float(fit.n_dropped),
    }
    if fit.ar1 is not None:
        values["ar1_phi"] = fit.ar1
    values |= {f"n_groups[{group}]": float(n) for group, n in fit.n_groups.items()}
    return pd.DataFrame({"measure": list(values), "value": list(values.values())})


def fitted_rows(data: ModelData, fit: LinearMixedFit) -> pd.DataFrame:
    """Return the rows fitted: the columns that the formula names, conversation and turn too where residuals are in series."""
    return data.frame.iloc[fit.design.rows].reset_index(drop=True)


def report(data: ModelData, fit: LinearMixedFit, selection: Selection, parameters: ModelParameters) -> pd.DataFrame:
    """Return part and text: formula, APA sentence, caveats, code in R and in Python."""
    import pandas as pd

    parts = [("formula", data.text), ("apa", apa_sentence(data, fit))]
    parts += [("caveat", text) for text in caveats(data, fit)]
    parts += [("r", r_code(data, selection, parameters)), ("python", python_code(data, selection, parameters))]
    return pd.DataFrame(parts, columns=["part", "text"])


def _figures(data: ModelData, fit: LinearMixedFit, terms: pd.DataFrame, variances: pd.DataFrame) -> dict[str, Drawing]:
    short = short_labels(fit)
    shown = terms[terms["term"] != "(Intercept)"]
    shown = shown.assign(label=[short.get(row.term, row.label) for row in shown.itertuples()])
    figures = {}
    unit = (
        "Difference in probability"
        if data.response.endswith(NOT_APPLICABLE)
        else f"Difference in {outcome_label(data)}"
    )
    if len(shown):
        figures[NAME] = Drawing(
            draw=draw_forest,
            arguments={"frame": shown, "unit": unit},
            alt=f"Coefficients of {data.text} with 95 % intervals; the table holds the numbers.",
        )
    shares = variances[variances["share"].notna()]
    words = {group: text[0].upper() + text[1:] for group, text in PARTS.items()}
    figures[f"{NAME}.variances"] = Drawing(
        draw=draw_variance_shares,
        arguments={"frame": shares, "labels": words | {"residual": _rest_label(data, fit)}},
        alt="Shares of the remaining variance: "
        + ", ".join(f"{row.group} {format_percent(row.share)}" for row in shares.itertuples())
        + ".",
    )
    return figures


def _rest_label(data: ModelData, fit: LinearMixedFit) -> str:
    inner = any("conversation" in group for group in fit.n_groups)
    return "From turn to turn" if data.rows == "turn" and inner else "Within these groups"


def _warnings(data: ModelData, fit: LinearMixedFit) -> tuple[str, ...]:
    """Return the notes of the fit that bear on the answer, and what the random part leaves out."""
    quiet = ("Converged", "Intervals are")
    said = [note for note in fit.notes if not note.startswith(quiet) and "rows were left out" not in note]
    grouped = {name for term in data.formula.random for name in term.group}
    if "participant" in data.names.groups and "participant" not in grouped and data.counts.participants != 1:
        said.append(
            "The random part does not name the participant: turns of one person count as independent here, and intervals "
            "are too narrow."
        )
    elif data.rows == "turn" and "conversation" not in grouped:
        said.append(
            "The random part does not name the conversation: turns of one conversation are more alike than this model "
            "says, and standard errors of what varies between conversations are too small."
        )
    unreported = [name for name, columns in fit.design.terms.items() if not columns]
    if unreported:
        said.append(f"Nothing could be estimated for {', '.join(unreported)}: other terms determine it.")
    return tuple(said)


ANALYSIS = Analysis(
    name=NAME,
    page="Mixed models",
    position=1,
    question="What goes with the rating, persons and conversations kept apart?",
    analyse=analyse,
    parameters=MixedModelParameters,
    tables={
        NAME: "Fixed terms with standard errors, Satterthwaite degrees of freedom, tests and 95 % intervals",
        f"{NAME}.variances": "Variances by group, and their shares",
        f"{NAME}.joint": "Joint F test of each term",
        f"{NAME}.summary": "Log-likelihood, information criteria, explained variance, sizes",
        f"{NAME}.intervals": "Profile or bootstrap intervals of coefficients and standard deviations",
        f"{NAME}.rows": "The rows fitted",
        f"{NAME}.report": "The model in words and as code",
    },
    figures={
        NAME: "Coefficients with 95 % intervals",
        f"{NAME}.variances": "How the variance that the fixed terms leave divides",
    },
    method=(
        "A linear mixed model, fitted exactly by restricted maximum likelihood (or plain, where asked), with t tests on "
        "Satterthwaite's degrees of freedom; at a boundary those of the reduced model. Rows are turns for turn ratings and "
        "conversations for scores of a conversation; rows with a missing cell are left out and counted. Levels are sorted by "
        "code point and the first is the reference unless told. AIC and BIC come from the fit by plain maximum likelihood, "
        "with N = rows. R² after Nakagawa, Johnson and Schielzeth. `within()` and `between()` use means over the rows fitted. "
        "Intervals are estimate ± t · SE unless profile likelihood (by maximum likelihood, as lme4's `confint`) or a seeded "
        "parametric bootstrap (percentiles) is asked for; p values stay those of the t tests. Autocorrelated residuals (AR(1)) "
        "correlate as φ^distance in turns within a conversation; φ is estimated and then taken as known by the tests. "
        "A fit that failed its checks shows no numbers."
    ),
    references=(
        "Bates, D., Mächler, M., Bolker, B., & Walker, S. (2015). Fitting linear mixed-effects models using lme4. Journal of "
        "Statistical Software, 67(1).",
        "Nakagawa, S., Johnson, P. C. D., & Schielzeth, H. (2017). The coefficient of determination R² and intra-class "
        "correlation coefficient from generalized linear mixed-effects models revisited and expanded. Journal of the Royal "
        "Society Interface, 14.",
    ),
)
