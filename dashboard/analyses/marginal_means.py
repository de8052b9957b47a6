"""What rating does each level get, all else in the model being equal, and which levels differ?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dashboard.analyses.findings import Analysis, Checked, Claim, Drawing, Findings, Selection, parameter
from dashboard.analyses.model_frame import ModelData
from dashboard.analyses.model_parameters import ModelParameters, fitted_model
from dashboard.analyses.model_words import described_rows, interval, outcome_label, signed, variable_label
from dashboard.database import Database
from dashboard.figures.models import draw_marginal_means
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, TooLittleData, plural, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

NAME = "marginal_means"


@dataclass(frozen=True)
class MarginalParameters(ModelParameters):
    """Which factor's means."""

    factor: str | None = parameter(
        None, label="Factor", help="Of the model's factors; the first unless told.", more=True
    )
    weights: str = parameter(
        "equal",
        label="Other factors weigh",
        choices=("equal", "proportional"),
        help="Equally, or in proportion to their frequency in the rows.",
        more=True,
    )


def analyse(database: Database, selection: Selection, parameters: MarginalParameters) -> Findings:
    """Estimate the marginal mean of every level of one factor, and all pairwise differences with Holm's adjustment."""
    from dashboard.stats.marginal_means import contrasts, marginal_means

    data, fit = fitted_model(database, selection, parameters)
    factor = choose_factor(fit, parameters.factor)
    weights: Literal["equal", "proportional"] = "proportional" if parameters.weights == "proportional" else "equal"
    means = marginal_means(fit, factor, weights=weights).rename(columns={factor: "level"})
    means.insert(0, "factor", factor)
    pairs = contrasts(fit, factor, weights=weights)
    pairs.insert(0, "factor", factor)
    return Findings(
        name=NAME,
        headline=_headline(data, factor, means, pairs),
        tables={NAME: means.drop(columns=["statistic", "p_value"]), f"{NAME}.contrasts": pairs},
        figures={NAME: _figure(database, data, factor, means)},
        warnings=_warnings(data, factor),
        notes=fit.notes,
        counts=data.counts,
        queries=data.queries,
    )


def choose_factor(fit: LinearMixedFit, wanted: str | None) -> str:
    """Return the factor asked for, else the first of the model.

    Raises
    ------
    TooLittleData
        When the model has no factor.
    Refused
        When it has none of that name.
    """
    factors = list(fit.design.levels)
    if not factors:
        raise TooLittleData(
            "This model has no factor whose levels could be compared. Add task, model or another factor to the formula; "
            "where a filter leaves one level only, take it away."
        )
    if wanted is not None and wanted not in factors:
        raise unknown_name("factor of this model called", wanted, factors)
    return wanted or factors[0]


def _headline(data: ModelData, factor: str, means: pd.DataFrame, pairs: pd.DataFrame) -> str:
    high, low = means.loc[means["estimate"].idxmax()], means.loc[means["estimate"].idxmin()]
    clear = int((pairs["p_adjusted"] < 0.05).sum())
    spread = (
        f"{outcome_label(data)} is highest with {high['level']}, {signed(high['estimate'], 2)} "
        f"({interval(high['conf_low'], high['conf_high'])}), and lowest with {low['level']}, "
        f"{signed(low['estimate'], 2)} ({interval(low['conf_low'], low['conf_high'])}), all else in the model equal"
    )
    one = len(pairs) == 1
    if not clear:
        told = "the difference is" if one else f"none of the {len(pairs)} differences between levels is"
        found = f"{told} clear after Holm's adjustment (p < .05)".replace(
            "is clear", "is not clear" if one else "is clear"
        )
    else:
        found = (
            "the difference stays clear (p < .05)"
            if one
            else f"{clear} of {plural(len(pairs), 'difference')} stay clear after Holm's adjustment (p < .05)"
        )
    return f"{spread}; {found}; {described_rows(data)}."


def _figure(database: Database, data: ModelData, factor: str, means: pd.DataFrame) -> Drawing:
    from dashboard.figures.template import category_colors

    colors = None
    if factor in ("task", "model"):
        levels = run_query(database, "selection_levels")
        colors = category_colors([str(one) for one in levels.loc[levels["filter"] == factor, "level"]])
    return Drawing(
        draw=draw_marginal_means,
        arguments={
            "frame": means,
            "row": "level",
            "unit": f"Marginal mean of {outcome_label(data)}",
            "colors": colors,
        },
        alt=f"Marginal means of {outcome_label(data)} per level of {factor} with 95 % intervals: "
        + ", ".join(f"{row.level} {row.estimate:.2f}" for row in means.itertuples())
        + ".",
    )


def _warnings(data: ModelData, factor: str) -> tuple[str, ...]:
    within = [term for term in data.formula.terms if len(term) > 1 and factor in {str(one) for one in term}]
    if not within:
        return ()
    others = ", ".join(dict.fromkeys(variable_label(str(one)) for term in within for one in term if str(one) != factor))
    return (
        f"The model lets differences between levels depend on {others}: these means average over it (numbers stand at their "
        "mean), and single combinations can differ.",
    )


def _highest(findings: Findings) -> Checked:
    means = findings.table
    if means["factor"].iloc[0] != "model":
        raise NotInThisData("several assistant models to compare.")
    top = means.loc[means["estimate"].idxmax()]
    pairs = findings.tables[f"{NAME}.contrasts"]
    mine = pairs[pairs["contrast"].map(lambda text: top["level"] in text.split(" - "))]
    clear = int((mine["p_adjusted"] < 0.05).sum())
    return Checked(
        value=f"{top['level']} {top['estimate']:.2f}",
        interval=f"{top['conf_low']:.2f}–{top['conf_high']:.2f}",
        basis=f"highest of {plural(len(means), 'marginal mean')}; {clear} of {len(mine)} differences to others are clear after "
        "Holm's adjustment",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Mixed models",
    position=2,
    question="Which levels differ, all else equal?",
    analyse=analyse,
    parameters=MarginalParameters,
    tables={
        NAME: "Marginal means of one factor with 95 % intervals",
        f"{NAME}.contrasts": "All pairwise differences, p adjusted after Holm",
    },
    figures={NAME: "Marginal means with 95 % intervals"},
    method=(
        "Predictions of the mixed model at every level of one factor: other factors are averaged with equal weights (or in "
        "proportion to their frequency, where asked), numbers stand at their mean over the rows fitted. Differences of all "
        "pairs with Satterthwaite's degrees of freedom; p values adjusted after Holm over the pairs of the factor, intervals "
        "not adjusted."
    ),
    references=(
        "Searle, S. R., Speed, F. M., & Milliken, G. A. (1980). Population marginal means in the linear model. The American "
        "Statistician, 34.",
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6.",
    ),
    claims=(
        Claim(
            claim="GPT-4 with a system prompt built on the seven dimensions is rated highest of the assistants",
            reported="highest",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_highest,
        ),
    ),
)
