"""Does a classifier agree with itself, and how good could any classifier be?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dashboard.analyses.classifier_rows import (
    QUERY,
    REPORTED,
    FallbackParameters,
    Judged,
    describe_rows,
    judge_of,
    read_judged,
)
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.classifier import draw_metrics
from dashboard.queries import run_query
from dashboard.stats.krippendorff import METRICS, krippendorff_alpha
from dashboard.stats.truth_ceiling import accuracy_ceiling, reliability_ceiling, whole_level_ceiling
from dashboard.vocabulary import plural, with_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "classifier_agreement"
CEILING_QUERY = "classifier_ceiling"
CEILINGS = {
    "reliability": "Reliability of the truth",
    "correlation": "Correlation at best",
    "whole_levels": "Spearman of whole levels",
    "accuracy": "Accuracy at best",
}


def analyse(database: Database, selection: Selection, parameters: FallbackParameters) -> Findings:
    """Compute Krippendorff's alpha between the files of a series, and the ceiling that the ground truth sets."""
    judged = read_judged(database, selection, parameters)
    table = agreement_table(judged, without_fallbacks=parameters.without_fallbacks)
    ceiling = ceiling_table(run_query(database, CEILING_QUERY, **selection.query_parameters()))
    return Findings(
        name=NAME,
        headline=_headline(table, ceiling, judged),
        tables={NAME: table, f"{NAME}.ceiling": ceiling},
        figures=_figures(table, ceiling),
        warnings=_warnings(table, ceiling),
        notes=judged.small_print,
        counts=judged.counts,
        queries={QUERY: selection.query_parameters(), CEILING_QUERY: selection.query_parameters()},
    )


def agreement_table(judged: Judged, *, without_fallbacks: bool) -> pd.DataFrame:
    """Return alpha per series of files and metric: series, judge, metric, estimate, conf_low, conf_high, n_files, n."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for series in dict.fromkeys(one.series for one in judged.files):
        files = [one for one in judged.files if one.series == series]
        ratings, clusters = _matrix(judged, [one.name for one in files], without_fallbacks)
        # Conversations that two files or more judged.
        n = int(((ratings == ratings).sum(1) > 1).sum()) if len(files) > 1 else 0
        for metric in METRICS:
            unknown = (math.nan, math.nan, math.nan)
            alpha = krippendorff_alpha(ratings, clusters, metric=metric) if n else unknown
            basis = {"series": series, "judge": judge_of(files[0]), "metric": metric}
            found = dict(zip(("estimate", "conf_low", "conf_high"), alpha, strict=True))
            rows.append(basis | found | {"n_files": len(files), "n_conversations": n})
    return pd.DataFrame(rows)


def _matrix(judged: Judged, files: list[str], without_fallbacks: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions (conversations, files), NaN where missing, and each conversation's participant."""
    rows = judged.rows[
        judged.rows["file"].isin(files) & ~judged.rows["is_failed"] & judged.rows["conversation"].notna()
    ]
    rows = rows[~(rows["is_fallback"] & without_fallbacks)].drop_duplicates(["file", "conversation"])
    wide = rows.pivot(index="conversation", columns="file", values="predicted").reindex(columns=files)
    clusters = rows.drop_duplicates("conversation").set_index("conversation")["cluster"].reindex(wide.index)
    return wide.to_numpy(dtype=float), clusters.to_numpy()


def ceiling_table(turns: pd.DataFrame) -> pd.DataFrame:
    """Return the ceilings: statistic, estimate, conf_low, conf_high, n_conversations, n_turns."""
    import numpy as np
    import pandas as pd

    places = turns["conversation"].astype("category").cat.codes.to_numpy()
    first = turns.drop_duplicates("conversation")
    order = np.argsort(places[first.index.to_numpy()]) if len(first) else np.empty(0, dtype=int)
    codes = np.unique(first["cluster"].to_numpy(dtype=str)[order], return_inverse=True)[1]
    values = turns["turn_mean"].to_numpy(dtype=float)
    reliability, correlation = reliability_ceiling(values, places, codes)
    n_turns = np.bincount(places, minlength=len(codes))
    truth = np.round(np.bincount(places, values, minlength=len(codes)) / np.maximum(n_turns, 1), 9)
    spare = len(values) - len(codes)
    within = float(np.sqrt(np.sum((values - truth[places]) ** 2) / spare)) if spare > 0 else math.nan
    accuracy = accuracy_ceiling(truth, n_turns, within, reliability=reliability.estimate)
    found = {
        "reliability": (reliability.estimate, reliability.conf_low, reliability.conf_high),
        "correlation": (correlation.estimate, correlation.conf_low, correlation.conf_high),
        "whole_levels": (whole_level_ceiling(truth), math.nan, math.nan),
        "accuracy": (accuracy, math.nan, math.nan),
    }
    rows = [(name, *values, len(codes), len(turns)) for name, values in found.items()]
    return pd.DataFrame(rows, columns=["statistic", "estimate", "conf_low", "conf_high", "n_conversations", "n_turns"])


def _headline(table: pd.DataFrame, ceiling: pd.DataFrame, judged: Judged) -> str:
    known = table[(table["metric"] == "ordinal") & table["estimate"].notna()]
    parts = [
        f"{row.judge} agrees with itself to an ordinal alpha of {with_interval(row.estimate, row.conf_low, row.conf_high)} "
        f"over {plural(int(row.n_files), 'file')}"
        for row in list(known.itertuples())[:2]
    ]
    first = (
        f"Judge {'; '.join(parts)}"
        if parts
        else "One file per judge says nothing about a judge's agreement with itself"
    )
    values = ceiling.set_index("statistic")
    limit = values.loc["correlation"]
    if limit["estimate"] != limit["estimate"]:
        return f"{first}; the ground truth rests on too few turns to say how good any judge could be; {describe_rows(judged)}."
    return (
        f"{first}. Error in the ground truth itself leaves any judge a correlation of at most "
        f"{with_interval(limit['estimate'], limit['conf_low'], limit['conf_high'])} and an accuracy of about "
        f"{values.loc['accuracy', 'estimate']:.2f}; {describe_rows(judged)}."
    )


def _figures(table: pd.DataFrame, ceiling: pd.DataFrame) -> dict[str, Drawing]:
    known = table[table["estimate"].notna()].rename(columns={"estimate": "mean"})
    bounds = ceiling[ceiling["estimate"].notna()].rename(columns={"estimate": "mean"})
    figures = {}
    if not known.empty:
        figures[NAME] = Drawing(
            draw=draw_metrics,
            arguments={
                "frame": known,
                "row": "metric",
                "series": "series",
                "labels": {one: f"{one.capitalize()} alpha" for one in ("ordinal", "interval", "nominal")},
                "unit": "Krippendorff's alpha between iterations",
            },
            alt="Krippendorff's alpha between the files of each judge; the table holds the numbers.",
        )
    if not bounds.empty:
        figures[f"{NAME}.ceiling"] = Drawing(
            draw=draw_metrics,
            arguments={
                "frame": bounds.assign(series="ceiling"),
                "row": "statistic",
                "series": "series",
                "labels": CEILINGS,
                "unit": "Largest value that the ground truth allows",
                "reported": {"correlation": REPORTED["spearman"], "accuracy": REPORTED["accuracy"]},
            },
            alt="How well any judge could do: "
            + ", ".join(f"{CEILINGS[row.statistic].lower()} {row.mean:.2f}" for row in bounds.itertuples())
            + ".",
        )
    return figures


def _warnings(table: pd.DataFrame, ceiling: pd.DataFrame) -> tuple[str, ...]:
    alone = list(dict.fromkeys(table.loc[table["n_files"] < 2, "series"]))
    found = [f"Of {', '.join(alone[:4])} there is one file: agreement between iterations needs two."] if alone else []
    if ceiling["n_conversations"].iloc[0] < 5:
        found.append("Fewer than five rated conversations say little about the ground truth's reliability.")
    return tuple(found)


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=5,
    question="Does it agree with itself, and how good could it be?",
    analyse=analyse,
    parameters=FallbackParameters,
    tables={
        NAME: "Krippendorff's alpha between the iterations of a judge",
        f"{NAME}.ceiling": "How well any judge could do against this ground truth",
    },
    figures={
        NAME: "Agreement between the iterations of a judge",
        f"{NAME}.ceiling": "How well any judge could do against this ground truth",
    },
    method=(
        "Files whose names differ in the iteration alone are one series. **Krippendorff's alpha** compares their "
        "predictions of the same conversations; failed rows are missing, fallbacks count unless left out. **Ceiling**: the "
        "ground truth is a mean over few turns. Its reliability is (MSB − MSW)/MSB of a one-way analysis of variance of "
        "turn means between conversations; no judge can correlate with it by more than its root (for Spearman's rho this "
        "holds nearly). It takes turns as exchangeable: if empathy truly changes within a conversation, the ceiling is "
        "higher. *Flawless whole level* is Spearman's rho of the ground truth with its own rounded value. The ceiling of "
        "accuracy is the chance that the observed level is that of the true value, whose distribution is taken as the "
        "observed one shrunken by the root of the reliability, with normal error. Intervals: percentile bootstrap of whole "
        "participants."
    ),
    references=(
        "Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage.",
        "Lord, F. M., & Novick, M. R. (1968). Statistical theories of mental test scores. Addison-Wesley.",
    ),
)
