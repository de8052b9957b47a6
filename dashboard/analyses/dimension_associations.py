"""How do the dimensions hang together, and with the overall rating?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.analyses.rated_turns import RatingMatrix, read_matrix
from dashboard.database import Database
from dashboard.figures.agreement import draw_kappas
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.matrix import draw_matrix
from dashboard.queries import run_query
from dashboard.stats.associations import correlation_rows, importance_rows, kappa_rows
from dashboard.stats.bootstrap import N_BOOT
from dashboard.vocabulary import (
    NotInThisData,
    TooLittleData,
    format_interval,
    format_number,
    format_percent,
    plural,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "dimension_associations"
REPORTED_KAPPA = {"affective": 0.703, "relational": 0.541}
REPORTED_IMPORTANCE = {"cognitive": 0.281, "affective": 0.198, "response": 0.193}
# Shapley shares take 2^k fits of each bootstrap sample.
IMPORTANCE_BOOT = 500


@dataclass(frozen=True)
class AssociationParameters(Parameters):
    """How many samples of participants the intervals rest on."""

    n_boot: int = parameter(
        N_BOOT, label="Bootstrap samples", help="Samples of whole participants.", minimum=0, maximum=20_000, more=True
    )


def analyse(database: Database, selection: Selection, parameters: AssociationParameters) -> Findings:
    """Correlate outcomes within and between people, and hold the dimensions against the overall rating."""
    outcomes = run_query(database, "outcomes")
    dimensions = outcomes[outcomes["score"] == "dimension"]
    names = [name for name in outcomes["outcome"] if name == "overall" or name in set(dimensions["outcome"])]
    if len(names) < 2:
        raise NotInThisData("two or more outcomes of the turn rating.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    matrix = read_matrix(database, chosen, outcomes)
    if not len(matrix.values):
        raise TooLittleData("No turn of this selection carries a rating. Take a filter away, or reset them all.")
    labels = dict(zip(outcomes["outcome"], outcomes["label"], strict=True))
    correlations = correlation_rows(
        matrix.columns(names), tuple(names), matrix.unit, matrix.conversation, matrix.n_units, n_boot=parameters.n_boot
    )
    kappas = _kappas(matrix, outcomes, names, parameters.n_boot)
    importance, r2 = _importance(matrix, names, parameters.n_boot)
    headline = _headline(correlations, kappas, labels)
    tables = {NAME: correlations}
    if not kappas.empty:
        tables[f"{NAME}.kappa"] = kappas
    if not importance.empty:
        tables[f"{NAME}.importance"] = importance
    return Findings(
        name=NAME,
        headline=f"{headline}; {plural(len(matrix.values), 'rated turn')}.",
        tables=tables,
        figures=_figures(correlations, kappas, importance, names, labels, headline),
        warnings=_warnings(importance, correlations, len(matrix.values)),
        notes=_notes(importance, r2),
        counts=counts,
        queries={"rated_turns": chosen},
    )


def _kappas(matrix: RatingMatrix, outcomes: pd.DataFrame, names: list[str], n_boot: int) -> pd.DataFrame:
    """Return the agreement of each dimension with the overall rating, where both share a scale of whole levels."""
    import numpy as np
    import pandas as pd

    scales = outcomes.set_index("outcome")
    if "overall" not in names or math.isnan(float(scales.loc["overall", "n_levels"])):
        return pd.DataFrame()
    own = scales.loc["overall"]
    ends = ["minimum", "maximum", "n_levels"]
    alike = [name for name in names if name != "overall" and (scales.loc[name, ends] == own[ends]).all()]
    if not alike:
        return pd.DataFrame()
    step = float(own["step"])
    levels = np.rint((matrix.columns(["overall", *alike]) - float(own["minimum"])) / step)
    return kappa_rows(
        levels[:, 1:],
        levels[:, 0],
        tuple(alike),
        matrix.unit,
        matrix.n_units,
        int(own["n_levels"]),
        n_boot=n_boot,
    )


def _importance(matrix: RatingMatrix, names: list[str], n_boot: int) -> tuple[pd.DataFrame, float]:
    import numpy as np
    import pandas as pd

    dimensions = [name for name in names if name != "overall"]
    if "overall" not in names or not 2 <= len(dimensions) <= 10:
        return pd.DataFrame(), math.nan
    values = matrix.columns(["overall", *dimensions])
    complete = np.isfinite(values).all(axis=1)
    return importance_rows(
        values[complete, 0],
        values[complete, 1:],
        tuple(dimensions),
        matrix.unit[complete],
        n_boot=min(n_boot, IMPORTANCE_BOOT),
    )


def _headline(correlations: pd.DataFrame, kappas: pd.DataFrame, labels: dict[str, str]) -> str:
    within = correlations[(correlations["level"] == "within_participant") & correlations["estimate"].notna()]
    between = correlations[(correlations["level"] == "between_participants") & correlations["estimate"].notna()]
    if within.empty:
        return "How the dimensions hang together cannot be said: no two of them vary together within a person"
    lead = (
        f"Within a person, outcomes correlate from {format_number(within['estimate'].min(), 'rating')} to "
        f"{format_number(within['estimate'].max(), 'rating')}"
    )
    if not between.empty:
        lead += (
            f", people's means from {format_number(between['estimate'].min(), 'rating')} to "
            f"{format_number(between['estimate'].max(), 'rating')}"
        )
    plain = kappas[(kappas["weights"] == "unweighted") & kappas["estimate"].notna()] if not kappas.empty else kappas
    if plain.empty:
        return lead
    high, low = plain.loc[plain["estimate"].idxmax()], plain.loc[plain["estimate"].idxmin()]
    interval = format_interval(high["conf_low"], high["conf_high"])
    shown = format_number(high["estimate"], "rating") + (f", 95 % interval {interval}" if interval else "")
    return (
        f"{lead}; {labels[high['dimension']]} agrees most with the overall rating (unweighted kappa {shown}), "
        f"{labels[low['dimension']]} least ({format_number(low['estimate'], 'rating')})"
    )


def both_levels(correlations: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return one row per cell of a square matrix: within people below the diagonal, between their means above it."""
    import pandas as pd

    found = {(row.x, row.y, row.level): (row.estimate, row.n_observations) for row in correlations.itertuples()}
    cells = []
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            key = (other, one, "within_participant") if j < i else (one, other, "between_participants")
            value, n = found.get(key, (math.nan, 0))
            cells.append((one, other, value, n))
    return pd.DataFrame(cells, columns=["row", "across", "value", "n"])


def _figures(
    correlations: pd.DataFrame,
    kappas: pd.DataFrame,
    importance: pd.DataFrame,
    names: list[str],
    labels: dict[str, str],
    headline: str,
) -> dict[str, Drawing]:
    figures: dict[str, Drawing] = {}
    if correlations["estimate"].notna().any():
        cells = both_levels(correlations, names)
        short = {name: name[:1].upper() + name[1:].replace("_", " ") for name in names}
        figures[NAME] = Drawing(
            draw=draw_matrix,
            arguments={
                "frame": cells.assign(across=[short[name] for name in cells["across"]]),
                "row": "row",
                "across": "across",
                "value": "value",
                "count": "n",
                "row_labels": short,
                "across_title": "Below: within people · above: between people’s means",
                "unit": "Correlation",
                "percent": False,
            },
            alt=f"Correlations of the outcomes, within people below the diagonal and between people's means above. {headline}.",
        )
    known = kappas[kappas["estimate"].notna()] if not kappas.empty else kappas
    if not known.empty:
        figures[f"{NAME}.kappa"] = Drawing(
            draw=draw_kappas,
            arguments={"frame": known, "labels": labels, "reported": REPORTED_KAPPA},
            alt="Cohen's kappa of each dimension with the overall rating, unweighted, linear and quadratic.",
        )
    if not importance.empty:
        figures[f"{NAME}.importance"] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": importance,
                "row": "dimension",
                "estimate": "share",
                "labels": labels,
                "unit": "Share of the explained variance",
                "axis_range": (0.0, max(0.4, 1.05 * float(importance[["share", "conf_high"]].max().max()))),
                "percent": True,
                "reported": REPORTED_IMPORTANCE,
            },
            alt="Share of each dimension in what the dimensions explain of the overall rating within people: "
            + ", ".join(f"{labels[str(row.dimension)]} {format_percent(row.share)}" for row in importance.itertuples())
            + ".",
        )
    return figures


def _warnings(importance: pd.DataFrame, correlations: pd.DataFrame, n_turns: int) -> tuple[str, ...]:
    warnings = []
    if not importance.empty:
        n = int(importance["n_observations"].iloc[0])
        if n < 0.5 * n_turns:
            warnings.append(
                f"Importance rests on the {plural(n, 'turn')} of {n_turns:,} on which every dimension is rated; dimensions that "
                "correlate this highly share their importance out almost evenly."
            )
    if correlations["n_groups"].max() < 5:
        warnings.append("Fewer than five participants: no intervals.")
    return tuple(warnings)


def _notes(importance: pd.DataFrame, r2: float) -> tuple[str, ...]:
    notes = [
        "Kappas are published as 0.703 (affective) and 0.541 (relational) without their weighting: all three are shown, and the "
        "claims compare the unweighted one."
    ]
    if not importance.empty:
        notes.append(
            f"The dimensions explain {format_percent(r2)} of the overall rating's variance within people. The published 28.1, 19.8 "
            "and 19.3 % are of a method that is not stated: only their order is comparable."
        )
    return tuple(notes)


def _kappa(dimension: str) -> Any:
    def check(findings: Findings) -> Checked:
        table = findings.tables.get(f"{NAME}.kappa")
        part = None if table is None else table[(table["dimension"] == dimension) & (table["weights"] == "unweighted")]
        if part is None or part.empty or part["estimate"].isna().all():
            raise NotInThisData(f"turns with both an overall and a {dimension} rating on one scale.")
        row = part.iloc[0]
        return Checked(
            value=f"{row['estimate']:.3f}",
            interval=format_interval(row["conf_low"], row["conf_high"], "number"),
            basis=f"unweighted, {plural(int(row['n_observations']), 'turn')} with both",
        )

    return check


def _most_important(findings: Findings) -> Checked:
    table = findings.tables.get(f"{NAME}.importance")
    if table is None or not set(REPORTED_IMPORTANCE) <= set(table["dimension"]):
        raise NotInThisData("enough turns with every dimension and the overall rating.")
    shares = table.set_index("dimension")["share"]
    values = " / ".join(f"{100 * shares[name]:.1f}" for name in REPORTED_IMPORTANCE)
    return Checked(
        value=f"{values} %",
        interval="",
        basis=f"Shapley shares, {plural(int(table['n_observations'].iloc[0]), 'turn')} with every dimension",
    )


_QUICK = AssociationParameters(n_boot=200)
ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=8,
    question="How do the dimensions hang together?",
    analyse=analyse,
    parameters=AssociationParameters,
    tables={
        NAME: "Correlations of the outcomes at three levels",
        f"{NAME}.kappa": "Agreement of each dimension with the overall rating",
        f"{NAME}.importance": "Share of each dimension in what explains the overall rating within people",
    },
    figures={
        NAME: "Correlations within people (below the diagonal) and between people’s means (above)",
        f"{NAME}.kappa": "Agreement with the overall rating",
        f"{NAME}.importance": "Importance for the overall rating",
    },
    method=(
        "Each pair takes the turns on which both are rated. *Within participant* is the repeated-measures correlation, one slope "
        "with an intercept for each person; *within conversation* the same around conversation means; *between participants* is "
        "Pearson's of people's means over the same turns, people with at least three. **Kappa** of a dimension with the "
        "overall rating: levels fixed at the whole scale; unweighted, linear and quadratic. **Importance**: the overall "
        "rating regressed on all dimensions within people, its R² divided by Shapley's value (the mean gain over all "
        "orders of entering). All intervals are bootstraps of whole participants "
        f"({IMPORTANCE_BOOT} samples for importance). Associations, not causes."
    ),
    references=(
        "Bakdash, J. Z., & Marusich, L. R. (2017). Repeated measures correlation. Frontiers in Psychology, 8.",
        "Cohen, J. (1968). Weighted kappa. Psychological Bulletin, 70.",
        "Grömping, U. (2006). Relative importance for linear regression in R: The package relaimpo. Journal of Statistical "
        "Software, 17(1).",
    ),
    claims=(
        Claim(
            claim="Affective understanding agrees most with the overall rating (kappa)",
            reported="0.703",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_kappa("affective"),
            parameters=_QUICK,
        ),
        Claim(
            claim="Relational continuity agrees least with the overall rating (kappa)",
            reported="0.541",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_kappa("relational"),
            parameters=_QUICK,
        ),
        Claim(
            claim="Cognitive, Affective and Response matter most for the overall rating",
            reported="28.1 / 19.8 / 19.3 %",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_most_important,
            parameters=_QUICK,
        ),
    ),
)
