"""Which levels does a classifier recognise?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.classifier_confusion import pd_concat
from dashboard.analyses.classifier_rows import QUERY, FallbackParameters, Judged, describe_rows, judge_of, read_judged
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.stats.classification_intervals import Scored, class_intervals
from dashboard.vocabulary import plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "classifier_per_class"
MEASURES = {"sensitivity": "Sensitivity", "specificity": "Specificity", "f1": "F1"}
DRAWN_JUDGES = 2
FEW = 10


def analyse(database: Database, selection: Selection, parameters: FallbackParameters) -> Findings:
    """Estimate sensitivity, specificity, precision and F1 per level, per file and per judge."""
    judged = read_judged(database, selection, parameters)
    without = parameters.without_fallbacks
    files = pd_concat(
        [
            _leading(class_intervals(judged.scored(one.name, without_fallbacks=without)), "file", one.name)
            for one in judged.files
            if len(judged.scored(one.name, without_fallbacks=without).truth)
        ]
    )
    judges = pd_concat(
        [_leading(class_intervals(_pooled(judged, one, without)), "judge", one) for one in judged.judges]
    )
    return Findings(
        name=NAME,
        headline=_headline(judges, judged),
        tables={NAME: files, f"{NAME}.judges": judges},
        figures={NAME: _figure(judges[judges["judge"].isin(judged.judges[:DRAWN_JUDGES])], judged)},
        warnings=_warnings(judges),
        notes=judged.small_print,
        counts=judged.counts,
        queries={QUERY: selection.query_parameters()},
    )


def _leading(table: pd.DataFrame, name: str, value: str) -> pd.DataFrame:
    table.insert(0, name, value)
    return table


def _pooled(judged: Judged, judge: str, without_fallbacks: bool) -> Scored:
    """Return the rows of all files of a judge."""
    import numpy as np

    parts = [
        judged.scored(one.name, without_fallbacks=without_fallbacks) for one in judged.files if judge_of(one) == judge
    ]
    return Scored(
        *(np.concatenate([getattr(one, name) for one in parts]) for name in ("predicted", "truth", "clusters"))
    )


def _figure(judges: pd.DataFrame, judged: Judged) -> Drawing:
    several = len(judged.judges) > 1
    shown = judges[judges["measure"].isin(list(MEASURES))]
    shown = shown.assign(
        row=[f"{row.judge}: level {row.level}" if several else f"Level {row.level}" for row in shown.itertuples()]
    )
    return Drawing(
        draw=draw_dodged_intervals,
        arguments={
            "frame": shown,
            "row": "row",
            "series": "measure",
            "estimate": "estimate",
            "series_labels": MEASURES,
            "unit": "Sensitivity, specificity, F1",
            "axis_range": (-0.02, 1.02),
            "count": "n_true",
            "decimals": 2,
        },
        alt="Sensitivity, specificity and F1 of each level with 95 % intervals; the table holds the numbers.",
    )


def _headline(judges: pd.DataFrame, judged: Judged) -> str:
    parts = []
    for judge, table in list(judges.groupby("judge", sort=False))[:2]:
        found = table[(table["measure"] == "sensitivity") & table["estimate"].notna()]
        best, worst = found.loc[found["estimate"].idxmax()], found.loc[found["estimate"].idxmin()]
        first = f"{judge} recognises level {int(best['level'])} best: sensitivity " + with_interval(
            best["estimate"], best["conf_low"], best["conf_high"]
        )
        if len(found) > 1:
            first += f", and level {int(worst['level'])} worst: {worst['estimate']:.2f}"
        parts.append(first)
    return f"Judge {'; '.join(parts)}; {describe_rows(judged)}."


def _warnings(judges: pd.DataFrame) -> tuple[str, ...]:
    first = judges[(judges["judge"] == judges["judge"].iloc[0]) & (judges["measure"] == "sensitivity")]
    few = first[first["n_true"] < FEW]
    if few.empty:
        return ()
    listed = ", ".join(f"{row.level} ({plural(int(row.n_true), 'row')})" for row in few.itertuples())
    return (f"Levels that are hardly ever true say little: {listed}.",)


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=3,
    question="Which levels does it recognise?",
    analyse=analyse,
    parameters=FallbackParameters,
    tables={
        NAME: "Sensitivity, specificity, precision and F1 of each level, per file",
        f"{NAME}.judges": "The same over all files of a judge",
    },
    figures={NAME: "Sensitivity, specificity and F1 of each level, over all files of a judge"},
    method=(
        "Each level against the rest, on values rounded half to even and clipped to 1–5. Sensitivity: share of a level's "
        "conversations that were recognised; specificity: share of the others that were not given it; precision: share "
        "right among those given it; F1: harmonic mean of precision and sensitivity. Undefined ones (a level never true, or "
        "never predicted) are left out. The published documentation names sensitivity and specificity without computing "
        "them. Intervals: percentile bootstrap of whole participants; files of a judge are pooled, a participant's rows "
        "staying together."
    ),
)
