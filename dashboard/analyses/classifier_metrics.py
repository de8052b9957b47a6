"""How well does a classifier recognise the empathy that people report?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.classifier_rows import (
    QUERY,
    REPORTED,
    SOURCE,
    Judged,
    PredictionParameters,
    describe_rows,
    judge_of,
    read_judged,
)
from dashboard.analyses.findings import Analysis, Checked, Claim, Drawing, Findings, Selection, parameter
from dashboard.database import Database
from dashboard.figures.classifier import draw_metrics
from dashboard.stats.classification import METRICS, Metrics, official_metrics, to_levels
from dashboard.stats.classification_intervals import metric_intervals
from dashboard.vocabulary import NotInThisData, format_interval, plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "classifier_metrics"
ALL, WITHOUT = "all", "without fallbacks"
DRAWN = {
    "spearman": "Spearman's rho",
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "within_1": "Within one level",
}


@dataclass(frozen=True)
class MetricParameters(PredictionParameters):
    """And whether anything but the published definition is computed."""

    as_published: bool = parameter(
        False,
        label="As published only",
        help="Leave out the metrics without fallbacks and those against the recomputed ground truth.",
        more=True,
    )


def analyse(database: Database, selection: Selection, parameters: MetricParameters) -> Findings:
    """Compute the official metrics of every file, their mean over files, and their intervals."""
    judged = read_judged(database, selection, parameters)
    intervals, summary = judge_intervals(judged, as_published=parameters.as_published)
    return Findings(
        name=NAME,
        headline=_headline(judged, summary),
        tables={NAME: metrics_table(judged), f"{NAME}.summary": summary, f"{NAME}.intervals": intervals},
        figures={NAME: _figure(summary, intervals)},
        warnings=(*judged.warnings, *_fallback_warning(judged)),
        notes=judged.notes,
        counts=judged.counts,
        queries={QUERY: selection.query_parameters()},
    )


def metrics_table(judged: Judged) -> pd.DataFrame:
    """Return the official metrics, one row per file in the order given, with what was counted on the way."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for file in judged.files:
        every = judged.rows[judged.rows["file"] == file.name]
        scored = judged.scored(file.name)
        found = official_metrics(scored.predicted, scored.truth)
        rows.append(
            {"file": file.name}
            | {key: getattr(found, key) for key in ("n", *METRICS, "spearman_p")}
            | {"n_fallback": int(every["is_fallback"].sum()), "n_failed": int(every["is_failed"].sum())}
            | {"judge": judge_of(file), "n_rows": len(every), "n_truth_differs": int(every["truth_differs"].sum())}
        )
    return pd.DataFrame(rows)


def mean_over_files(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return mean and sample SD of each metric over files, as the official script prints them."""
    return {name: {"mean": float(table[name].mean()), "std_dev": float(table[name].std(ddof=1))} for name in METRICS}


def judge_intervals(judged: Judged, *, as_published: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics of each file in each variant with intervals, and their means over the files of a judge."""
    import pandas as pd

    tables, means = [], []
    for judge in judged.judges:
        files = [one.name for one in judged.files if judge_of(one) == judge]
        for variant, truth in [(ALL, "truth")] if as_published else _variants(judged, files):
            scored = [judged.scored(one, without_fallbacks=variant == WITHOUT, truth=truth) for one in files]
            per_file, mean = metric_intervals(scored)
            basis = {"judge": judge, "predictions": variant, "ground_truth": "file" if truth == "truth" else truth}
            tables += [table.assign(file=name, **basis) for name, table in zip(files, per_file, strict=True)]
            means.append(mean.assign(**basis, always_mode=_constant(judged, files, truth, mean["metric"])))
    first = ["file", "judge", "predictions", "ground_truth", "metric"]
    intervals = pd.concat(tables, ignore_index=True)
    summary = pd.concat(means, ignore_index=True)
    summary["reported"] = summary["metric"].map(REPORTED)
    last = ["mean", "std_dev", "conf_low", "conf_high", "n_files", "always_mode", "reported"]
    return (
        intervals[[*first, *(name for name in intervals if name not in first)]],
        summary[[*first[1:], *last]],
    )


def _variants(judged: Judged, files: list[str]) -> list[tuple[str, str]]:
    """Return which rows and which ground truth: as published first; others only where they differ."""
    rows = judged.rows[judged.rows["file"].isin(files)]
    found = [(ALL, "truth")]
    if (rows["is_fallback"] & rows["is_usable"]).any():
        found.append((WITHOUT, "truth"))
    if rows["truth_differs"].any():
        found += [(variant, "recomputed") for variant, _ in list(found)]
    return [one for one in found if all(len(judged.scored(name, truth=one[1]).truth) for name in files)]


def mode_metrics(levels: Any, truth: Any) -> tuple[int, Metrics]:
    """Return the most frequent true level (the lower of two alike), and the metrics of always saying it."""
    import numpy as np

    mode = int(np.bincount(levels).argmax())
    return mode, official_metrics(np.full(len(truth), float(mode)), truth)


def _constant(judged: Judged, files: list[str], truth: str, metrics: pd.Series) -> list[float]:
    scored = judged.scored(files[0], truth=truth)
    _, found = mode_metrics(to_levels(scored.truth), scored.truth)
    return [getattr(found, name, float("nan")) for name in metrics]


def published(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a summary that follow the published definition."""
    return summary[(summary["predictions"] == ALL) & (summary["ground_truth"] == "file")]


def _headline(judged: Judged, summary: pd.DataFrame) -> str:
    table = published(summary).set_index(["judge", "metric"])
    parts = []
    for judge in judged.judges[:3]:
        rho, accuracy = table.loc[(judge, "spearman")], table.loc[(judge, "accuracy")]
        n_files = sum(judge_of(one) == judge for one in judged.files)
        several = f" (mean of {n_files} files)" if n_files > 1 else ""
        if rho["mean"] == rho["mean"]:
            ranks = f"Spearman {with_interval(rho['mean'], rho['conf_low'], rho['conf_high'])}"
        else:
            ranks = "no defined Spearman correlation"
        levels = with_interval(accuracy["mean"], accuracy["conf_low"], accuracy["conf_high"])
        parts.append(f"{judge}{several} reaches {ranks} and accuracy {levels}")
    more = f"; and {len(judged.judges) - 3} more judges" if len(judged.judges) > 3 else ""
    constant = table.loc[(judged.judges[0], "accuracy")]["always_mode"]
    return (
        f"Judge {'; '.join(parts)}{more}. Always saying the commonest level would reach accuracy {constant:.2f}; "
        f"{describe_rows(judged)}."
    )


def _fallback_warning(judged: Judged) -> tuple[str, ...]:
    fallbacks, failed = int(judged.rows["is_fallback"].sum()), int(judged.rows["is_failed"].sum())
    if not fallbacks and not failed:
        return ()
    n = plural(len(judged.rows), "row")
    return (
        f"{fallbacks:,} of {n} are fallbacks: the judge gave no level and 3 was recorded. {failed:,} failed and drop out. "
        "The table of intervals shows the metrics with and without fallbacks.",
    )


def _figure(summary: pd.DataFrame, intervals: pd.DataFrame) -> Drawing:
    shown = published(summary)
    single = published(intervals)
    judges = list(dict.fromkeys(shown["judge"]))
    reference = shown[(shown["judge"] == judges[0]) & shown["metric"].isin(["accuracy", "macro_f1", "within_1"])]
    arguments: Mapping[str, Any] = {
        "frame": shown,
        "row": "metric",
        "series": "judge",
        "labels": DRAWN,
        "unit": "Mean over files with its 95 % interval; rings are single files",
        "reported": REPORTED,
        "reference": dict(zip(reference["metric"], reference["always_mode"], strict=True)),
        "reference_label": "always the mode",
        "single": single if single["file"].nunique() > len(judges) else None,
    }
    values = ", ".join(
        f"{row.judge} {DRAWN[row.metric]} {row.mean:.2f}"
        + (f" ({format_interval(row.conf_low, row.conf_high)})" if row.conf_low == row.conf_low else "")
        for row in shown.itertuples()
        if row.metric in DRAWN and row.mean == row.mean
    )
    return Drawing(draw=draw_metrics, arguments=arguments, alt=f"Metrics per judge: {values}.")


def _reported(findings: Findings) -> Checked:
    table = published(findings.tables[f"{NAME}.summary"])
    judge = table["judge"].iloc[0]
    first = table[table["judge"] == judge].set_index("metric").loc[list(REPORTED)]
    if first["mean"].isna().any():
        raise NotInThisData("predictions that vary.")
    return Checked(
        value=" / ".join(f"{one:.3f}" for one in first["mean"]),
        interval=" / ".join(filter(None, map(format_interval, first["conf_low"], first["conf_high"]))),
        basis=f"{judge}, {plural(int(first['n_files'].iloc[0]), 'file')}; {plural(findings.counts.conversations, 'conversation')}"
        if findings.counts
        else judge,
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=1,
    question="How well does a classifier recognise the empathy that people report?",
    analyse=analyse,
    parameters=MetricParameters,
    tables={
        NAME: "Official metrics of each prediction file",
        f"{NAME}.summary": "Mean and SD over the files of a judge, with intervals, the mode and the reported figures",
        f"{NAME}.intervals": "Every metric of each file with its interval, with and without fallbacks",
    },
    figures={NAME: "Metrics of each judge beside the reported ones"},
    method=(
        "As published: accuracy, macro-F1 (over the levels seen in either column) and within-one compare levels, i.e. "
        "values rounded half to even and clipped to 1–5; mean absolute error and Spearman's rho compare the values as "
        "they are; then mean and sample SD over files. The ground truth is the file's own column; where it differs from "
        "the one computed from this data by more than 10⁻⁶, both are given. Rows with `PROCESSING_FAILED` drop out. A "
        "*fallback* is a row whose output begins with `ERROR:` or has no readable level, which the official scripts "
        "recorded as 3; metrics are given with and without them. Kappas use all five levels.\n\n"
        "Intervals: percentile bootstrap of whole participants (2,000 samples, seeded); fewer than five participants give "
        "none. The p of Spearman's rho takes conversations as independent. *Always the mode* says the commonest true "
        "level of these rows for every conversation."
    ),
    references=(
        "Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial "
        "credit. Psychological Bulletin, 70.",
    ),
    claims=(
        Claim(
            claim="An LLM classifier recognises five levels of empathy (Spearman's rho / accuracy)",
            reported="0.369 / 0.487",
            source=SOURCE,
            check=_reported,
            parameters=MetricParameters(as_published=True),
        ),
    ),
)
