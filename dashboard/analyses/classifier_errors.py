"""Where is a classifier too high or too low, and does a predicted level mean what it says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.classifier_confusion import pd_concat
from dashboard.analyses.classifier_rows import QUERY, FallbackParameters, Judged, describe_rows, read_judged
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection, parameter
from dashboard.database import Database
from dashboard.figures.classifier import draw_calibration
from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.stats.classification import LEVELS, to_levels
from dashboard.stats.clustered import clustered_means
from dashboard.vocabulary import NotInThisData

if TYPE_CHECKING:
    import pandas as pd

NAME = "classifier_errors"
BY = {
    "task": "Task",
    "model": "Assistant model",
    "desired_empathy": "Desired empathy",
    "turns": "Turns of the conversation",
    "true_level": "True level",
}
_LENGTHS = ((1, 3, "1–3 turns"), (4, 6, "4–6 turns"), (7, 9, "7–9 turns"), (10, 10**9, "10 turns or more"))
DRAWN_JUDGES = 3
# Levels said less often are not quoted.
OFTEN = 20


@dataclass(frozen=True)
class ErrorParameters(FallbackParameters):
    """And what errors are split by."""

    by: str = parameter("task", label="Split by", choices=tuple(BY), help="What the rows of the first figure are.")


def analyse(database: Database, selection: Selection, parameters: ErrorParameters) -> Findings:
    """Average predicted minus true per group, and the truth per predicted level."""
    judged = read_judged(database, selection, parameters)
    rows = with_errors(judged.used(without_fallbacks=parameters.without_fallbacks), parameters.by)
    if rows["level"].isna().all():
        raise NotInThisData(f"a {BY[parameters.by].lower()} of the conversations that were judged.")
    whole, table = error_table(rows.assign(level="all")), error_table(rows[rows["level"].notna()])
    calibration = calibration_table(rows)
    left = len(judged.judges) - DRAWN_JUDGES
    return Findings(
        name=NAME,
        headline=_headline(judged, whole, calibration),
        tables={NAME: pd_concat([whole, table]), f"{NAME}.calibration": calibration},
        figures=_figures(table, calibration, judged, parameters.by),
        warnings=(f"{left} more judges are in the tables and not in the figures.",) if left > 0 else (),
        notes=judged.small_print,
        counts=judged.counts,
        queries={QUERY: selection.query_parameters()},
    )


def with_errors(used: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the rows with error, hit and the level of the property that they are split by."""
    levels: list[str | None]
    order = [0.0] * len(used)
    if by == "turns":
        levels, order = [_length(n) for n in used["n_turns"]], used["n_turns"].tolist()
    elif by == "true_level":
        order = to_levels(used["truth"].to_numpy()).tolist()
        levels = [f"{level}" for level in order]
    elif by == "desired_empathy":
        order = used[by].tolist()
        levels = [None if one != one else f"{one:g}" for one in order]
    else:
        levels = [one if isinstance(one, str) else None for one in used[by]]
    said = to_levels(used["predicted"].to_numpy())
    hit = said == to_levels(used["truth"].to_numpy())
    return used.assign(level=levels, order=order, error=used["predicted"] - used["truth"], hit=hit, said=said)


def _length(n_turns: float) -> str | None:
    return next((label for low, high, label in _LENGTHS if low <= n_turns <= high), None)


def error_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error per judge and level, with a cluster-robust interval.

    Returns
    -------
    pandas.DataFrame
        judge, level, n_observations (rows), mean_error, conf_low, conf_high, mae, accuracy, n_groups; judges in order,
        levels by number where they have one, else by name.
    """
    sums = (
        rows.assign(size=rows["error"].abs())
        .groupby(["judge", "level", "cluster"], sort=False)
        .agg(total=("error", "sum"), n=("error", "size"), size=("size", "sum"), hits=("hit", "sum"))
        .reset_index()
    )
    means = clustered_means(sums, ["judge", "level"]).rename(columns={"mean": "mean_error"})
    totals = sums.groupby(["judge", "level"], sort=False)[["size", "hits", "n"]].sum().reset_index()
    merged = means.merge(totals, on=["judge", "level"], validate="one_to_one")
    merged = merged.assign(mae=merged["size"] / merged["n"], accuracy=merged["hits"] / merged["n"])
    judges = {name: place for place, name in enumerate(dict.fromkeys(rows["judge"]))}
    order = rows.groupby("level")["order"].min()
    merged = merged.assign(_judge=merged["judge"].map(judges), _order=merged["level"].map(order))
    merged = merged.sort_values(["_judge", "_order", "level"], kind="stable", ignore_index=True)
    columns = ["judge", "level", "n_observations", "mean_error", "conf_low", "conf_high", "mae", "accuracy", "n_groups"]
    return merged[columns]


def calibration_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean ground truth where each level was predicted: judge, level, n_observations, mean, interval."""
    sums = (
        rows.assign(level=rows["said"])
        .groupby(["judge", "level", "cluster"], sort=False)
        .agg(total=("truth", "sum"), n=("truth", "size"))
        .reset_index()
    )
    means = clustered_means(sums, ["judge", "level"])
    judges = {name: place for place, name in enumerate(dict.fromkeys(rows["judge"]))}
    means = means.assign(_judge=means["judge"].map(judges)).sort_values(["_judge", "level"], ignore_index=True)
    return means[["judge", "level", "n_observations", "mean", "conf_low", "conf_high", "n_groups"]]


def _figures(table: pd.DataFrame, calibration: pd.DataFrame, judged: Judged, by: str) -> dict[str, Drawing]:
    drawn = judged.judges[:DRAWN_JUDGES]
    shown = table[table["judge"].isin(drawn)]
    order = list(dict.fromkeys(table["level"]))
    shown = shown.assign(_order=[order.index(one) for one in shown["level"]]).sort_values("_order", kind="stable")
    return {
        NAME: Drawing(
            draw=draw_dodged_intervals,
            arguments={
                "frame": shown,
                "row": "level",
                "series": "judge",
                "estimate": "mean_error",
                "series_labels": {one: one for one in drawn},
                "unit": "Predicted minus ground truth; above 0 is too high",
                "zero": 0.0,
                "count": "n_observations",
                "decimals": 2,
            },
            alt=f"Mean error of each judge by {BY[by].lower()}, with 95 % intervals; the table holds the numbers.",
        ),
        f"{NAME}.calibration": Drawing(
            draw=draw_calibration,
            arguments={
                "frame": calibration[calibration["judge"].isin(drawn)],
                "series": "judge",
                "limits": (float(LEVELS[0]), float(LEVELS[-1])),
                "ends": (None, None),
                "x_title": "Predicted level",
                "y_title": "Mean ground truth",
            },
            alt="Mean ground truth of the conversations that were given each level: "
            + "; ".join(
                f"{row.judge} {row.level} → {row.mean:.2f}" for row in calibration.itertuples() if row.judge in drawn
            )
            + ".",
        ),
    }


def _headline(judged: Judged, whole: pd.DataFrame, calibration: pd.DataFrame) -> str:
    parts = []
    for place, judge in enumerate(judged.judges[:2]):
        row = whole[whole["judge"] == judge].iloc[0]
        low, high = row["conf_low"], row["conf_high"]
        # Signs need room: "to" rather than a dash between the ends.
        size = f"{row['mean_error']:.2f}" + (f" (95 % interval {low:.2f} to {high:.2f})" if low == low else "")
        size = size.replace("-", "−")
        if low > 0 or high < 0:
            verdict = f"is too {'high' if row['mean_error'] > 0 else 'low'} on average: {size}"
        else:
            verdict = f"is neither clearly too high nor too low on average: {size}"
        means = calibration[calibration["judge"] == judge]
        often = means[means["n_observations"] >= OFTEN]
        means = means if often.empty else often
        ends = means.iloc[[0, -1]]
        parts.append(
            f"{'Judge ' if place == 0 else ''}{judge} {verdict}, and where it says {ends['level'].iloc[0]} and "
            f"{ends['level'].iloc[1]} the ground truth averages {ends['mean'].iloc[0]:.2f} and {ends['mean'].iloc[1]:.2f}"
        )
    return f"{'; '.join(parts)}; {describe_rows(judged)}."


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=4,
    question="Where is it too high or too low?",
    analyse=analyse,
    parameters=ErrorParameters,
    tables={
        NAME: "Mean error, absolute error and accuracy per judge, over all and split",
        f"{NAME}.calibration": "Mean ground truth where each level was predicted",
    },
    figures={
        NAME: "Mean error with its interval",
        f"{NAME}.calibration": "Calibration: what a predicted level means",
    },
    method=(
        "Error is the predicted value minus the file's ground truth, over all files of a judge. Calibration averages the "
        "ground truth where a level (rounded half to even) was predicted; on the dotted line a level means what it says. "
        "A judge that agrees imperfectly is flatter than that line by regression to the mean alone, and errors by true "
        "level run from too high to too low for the same reason. Intervals are cluster-robust with the participant as the "
        "unit (t with participants − 1 degrees of freedom). Tasks are chosen by the participants: nothing here is an "
        "effect of a task."
    ),
)
