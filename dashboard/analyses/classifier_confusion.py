"""Which levels does a classifier take for which?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.analyses.classifier_rows import QUERY, FallbackParameters, Judged, describe_rows, judge_of, read_judged
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.matrix import draw_matrix
from dashboard.stats.classification import LEVELS, confusion
from dashboard.vocabulary import format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "classifier_confusion"
DRAWN_JUDGES = 4


def analyse(database: Database, selection: Selection, parameters: FallbackParameters) -> Findings:
    """Count rows by true and predicted level, per file and per judge."""
    judged = read_judged(database, selection, parameters)
    files = pd_concat(
        [
            _table(judged, [one.name], without_fallbacks=parameters.without_fallbacks).assign(file=one.name)
            for one in judged.files
        ]
    )
    judges = pd_concat([_of_judge(judged, judge, parameters.without_fallbacks) for judge in judged.judges])
    drawn = judges[judges["judge"].isin(judged.judges[:DRAWN_JUDGES])]
    left = len(judged.judges) - DRAWN_JUDGES
    warnings = (f"{plural(left, 'judge')} are in the table and not in the figure.",) if left > 0 else ()
    return Findings(
        name=NAME,
        headline=_headline(judges, judged),
        tables={NAME: files[["file", *(name for name in files if name != "file")]], f"{NAME}.judges": judges},
        figures={NAME: _figure(drawn, several=len(judged.judges) > 1)},
        warnings=warnings,
        notes=judged.small_print,
        counts=judged.counts,
        queries={QUERY: selection.query_parameters()},
    )


def pd_concat(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Stack frames."""
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _of_judge(judged: Judged, judge: str, without_fallbacks: bool) -> pd.DataFrame:
    files = [one.name for one in judged.files if judge_of(one) == judge]
    table = _table(judged, files, without_fallbacks=without_fallbacks)
    table.insert(0, "judge", judge)
    return table


def _table(judged: Judged, files: list[str], *, without_fallbacks: bool) -> pd.DataFrame:
    """Return one row per pair of levels: true_level, predicted_level, n, share (of the true level's rows)."""
    import numpy as np
    import pandas as pd

    counts = np.zeros((len(LEVELS), len(LEVELS)))
    for name in files:
        scored = judged.scored(name, without_fallbacks=without_fallbacks)
        counts += confusion(scored.predicted, scored.truth)
    rows: list[dict[str, Any]] = []
    for place, true in enumerate(LEVELS):
        total = counts[place].sum()
        for other, said in enumerate(LEVELS):
            n = int(counts[place, other])
            share = n / total if total else float("nan")
            rows.append({"true_level": true, "predicted_level": said, "n": n, "share": share})
    return pd.DataFrame(rows)


def _figure(judges: pd.DataFrame, *, several: bool) -> Drawing:
    frame = judges.assign(
        row=[
            f"{row.judge}: true {row.true_level}" if several else f"True {row.true_level}"
            for row in judges.itertuples()
        ],
        right=judges["true_level"] == judges["predicted_level"],
        across=[f"said {level}" for level in judges["predicted_level"]],
    )
    return Drawing(
        draw=draw_matrix,
        arguments={
            "frame": frame,
            "row": "row",
            "across": "across",
            "value": "share",
            "count": "n",
            "row_labels": {},
            "across_title": "Percent of the conversations of a true level",
            "unit": "Share of the true level",
            "mark": "right",
        },
        alt="Percent of the conversations of each true level that were given each predicted level; the table holds the counts.",
    )


def _headline(judges: pd.DataFrame, judged: Judged) -> str:
    parts = []
    for judge, table in list(judges.groupby("judge", sort=False))[:2]:
        wrong = table[(table["true_level"] != table["predicted_level"])]
        worst = wrong.loc[wrong["n"].idxmax()]
        right = table.loc[table["true_level"] == table["predicted_level"], "n"].sum() / max(1, table["n"].sum())
        if worst["n"] == 0:
            parts.append(f"{judge} made no mistake")
            continue
        share = worst["n"] / max(1, wrong["n"].sum())
        parts.append(
            f"{judge} was right on {format_percent(float(right))} and most often took level {int(worst['true_level'])} for "
            f"{int(worst['predicted_level'])} ({format_percent(float(share))} of its errors)"
        )
    return f"Judge {'; '.join(parts)}; {describe_rows(judged)}."


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=2,
    question="Which levels are taken for which?",
    analyse=analyse,
    parameters=FallbackParameters,
    tables={
        NAME: "Rows by true and predicted level, per file",
        f"{NAME}.judges": "The same over all files of a judge",
    },
    figures={NAME: "Predicted levels of each true level, over all files of a judge"},
    method=(
        "True and predicted values are rounded half to even and clipped to 1–5. A row of the figure adds to 100 %; outlined "
        "tiles are right. Files of a judge are counted together, so that each conversation counts once per iteration."
    ),
)
