"""Which dimensions can be rated at all, and where not?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.matrix import draw_matrix
from dashboard.queries import run_query
from dashboard.stats.clustered import clustered_shares
from dashboard.vocabulary import (
    NotInThisData,
    TooLittleData,
    format_interval,
    format_number,
    format_percent,
    plural,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "applicability"
BY = {"task": "Task", "model": "Assistant model", "turn": "Turn"}


@dataclass(frozen=True)
class ApplicabilityParameters(Parameters):
    """What the second figure is split by."""

    by: str = parameter("task", label="Split by", choices=tuple(BY), help="What the columns of the second figure are.")


def analyse(database: Database, selection: Selection, parameters: ApplicabilityParameters) -> Findings:
    """Count rated, not applicable and missing answers per dimension, and per level of one property."""
    outcomes = run_query(database, "outcomes")
    dimensions = outcomes[outcomes["score"] == "dimension"]
    if dimensions.empty:
        raise NotInThisData("dimensions of the turn rating.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    overall = applicable_shares(run_query(database, NAME, **chosen, by=None)).drop(columns="level")
    if overall.empty or not (overall["n_rated"] + overall["n_not_applicable"]).sum():
        raise TooLittleData("No turn of this selection answers any dimension. Take a filter away, or reset them all.")
    split = applicable_shares(run_query(database, NAME, **chosen, by=parameters.by))
    labels = dict(zip(dimensions["outcome"], dimensions["label"], strict=True))
    return Findings(
        name=NAME,
        headline=_headline(overall, labels),
        tables={NAME: overall, f"{NAME}.by": split.rename(columns={"level": parameters.by})},
        figures=_figures(overall, split, labels, parameters.by),
        warnings=_warnings(split, parameters.by),
        counts=counts,
        queries={NAME: chosen | {"by": parameters.by}},
    )


def applicable_shares(answers: pd.DataFrame) -> pd.DataFrame:
    """Return rated / (rated + not applicable) per dimension and level, with counts and clustered interval.

    Parameters
    ----------
    answers
        One row per dimension, level and cluster: n_rated, n_not_applicable, n_missing.

    Returns
    -------
    pandas.DataFrame
        dimension, level, n_rated, n_not_applicable, n_missing, share_applicable, conf_low, conf_high, n_groups;
        in the order of ``answers``.
    """
    key = ["dimension", "level"]
    answered = answers.assign(n=answers["n_rated"] + answers["n_not_applicable"])
    shares = clustered_shares(answered, key, successes="n_rated")
    totals = answers.groupby(key, sort=False)[["n_rated", "n_not_applicable", "n_missing"]].sum().reset_index()
    merged = totals.merge(shares, on=key, validate="one_to_one")
    merged = merged.rename(columns={"share": "share_applicable"})
    return merged[[*totals.columns, "share_applicable", "conf_low", "conf_high", "n_groups"]]


def _figures(overall: pd.DataFrame, split: pd.DataFrame, labels: dict[str, str], by: str) -> dict[str, Drawing]:
    answered = overall.assign(n_observations=overall["n_rated"] + overall["n_not_applicable"])
    figures = {
        NAME: Drawing(
            draw=draw_intervals,
            arguments={
                "frame": answered,
                "row": "dimension",
                "estimate": "share_applicable",
                "labels": labels,
                "unit": "Share of answered turns on which the dimension could be rated",
                "axis_range": (0.0, 1.04),
                "percent": True,
            },
            alt="Share of answered turns on which each dimension could be rated: "
            + ", ".join(
                f"{labels.get(row.dimension, row.dimension)} {format_percent(row.share_applicable)}"
                for row in overall.itertuples()
            )
            + ".",
        )
    }
    if not split.empty:
        figures[f"{NAME}.by"] = Drawing(
            draw=draw_matrix,
            arguments={
                "frame": split.assign(n=split["n_rated"] + split["n_not_applicable"]),
                "row": "dimension",
                "across": "level",
                "value": "share_applicable",
                "count": "n",
                "row_labels": labels,
                "across_title": BY[by],
                "unit": "Applicable",
            },
            alt=f"Percent applicable per dimension and {BY[by].lower()}; the table below holds the numbers.",
        )
    return figures


def _headline(overall: pd.DataFrame, labels: dict[str, str]) -> str:
    known = overall[overall["share_applicable"].notna()]
    low = known.loc[known["share_applicable"].idxmin()]
    high = known.loc[known["share_applicable"].idxmax()]
    n = int((known["n_rated"] + known["n_not_applicable"]).max())
    share = with_interval(low["share_applicable"], low["conf_low"], low["conf_high"], "percent")
    sentence = f"{labels[str(low['dimension'])]} could be rated on {share} of answered turns"
    if len(known) > 1:
        sentence += f", {labels[str(high['dimension'])]} on {format_percent(high['share_applicable'])}"
    return f"{sentence}; up to {plural(n, 'answered turn')} per dimension."


def _warnings(split: pd.DataFrame, by: str) -> tuple[str, ...]:
    if split.empty:
        return (f"This data knows no {BY[by].lower()} to split by.",)
    few = sorted({str(row.level) for row in split.itertuples() if 0 < row.n_groups < 5})
    if few:
        listed = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
        return (f"Fewer than five participants answered for {listed}: no interval is given there.",)
    return ()


def _relational(findings: Findings) -> Checked:
    row = findings.table[findings.table["dimension"] == "relational"]
    if row.empty:
        raise NotInThisData("ratings of relational continuity.")
    one = row.iloc[0]
    return Checked(
        value=format_number(one["share_applicable"], "percent1"),
        interval=format_interval(one["conf_low"], one["conf_high"], "percent1"),
        basis=f"of {plural(int(one['n_rated'] + one['n_not_applicable']), 'answered turn')}",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=4,
    question="Which dimensions can be rated at all?",
    analyse=analyse,
    parameters=ApplicabilityParameters,
    tables={
        NAME: "Rated, not applicable and missing answers per dimension",
        f"{NAME}.by": "The same per task, assistant model or turn",
    },
    figures={
        NAME: "Share of answered turns on which a dimension could be rated",
        f"{NAME}.by": "The same per task, assistant model or turn",
    },
    method=(
        "Applicability is rated / (rated + not applicable), over turns of the rated role. A blank is missing, not "
        "*not applicable*: it is counted apart and enters neither side. Turns from the tenth on are taken together. "
        "Intervals: Wilson's on the effective sample size, with the participant as the unit."
    ),
    claims=(
        Claim(
            claim="Relational continuity is the dimension that turns carry a rating of least often",
            reported="38.1 %",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_relational,
        ),
    ),
)
