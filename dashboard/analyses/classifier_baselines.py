"""How much of a classifier's agreement do trivial predictions reach: the person, the task, the words?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from dashboard.analyses.classifier_metrics import DRAWN, judge_intervals, published
from dashboard.analyses.classifier_rows import REPORTED, PredictionParameters, read_judged
from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    Selection,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.classifier import draw_metrics
from dashboard.queries import run_query
from dashboard.stats.baselines import BASELINES, held_out_predictions
from dashboard.stats.classification import METRICS, official_metrics
from dashboard.stats.classification_intervals import Scored, metric_intervals
from dashboard.vocabulary import NotInThisData, TooLittleData, plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "classifier_baselines"
QUERY = "conversation_texts"
LABELS = {
    "constant": "Always the mode",
    "task_mean": "Mean of the task",
    "participant_others": "The person's other conversations",
    "words": "Words (TF-IDF, ridge)",
}
Progress = Callable[[int, int], None]
DRAWN_ROWS = 12
_KEPT = 2
_held: OrderedDict[tuple[str, ...], pd.DataFrame] = OrderedDict()
_lock = Lock()


def predictions_of(database: Database, progress: Progress = lambda done, total: None) -> pd.DataFrame:
    """Return every baseline's held-out prediction of every conversation with a ground truth.

    They are made once for the data, whatever is filtered: filters choose which conversations are evaluated.

    Returns
    -------
    pandas.DataFrame
        conversation, cluster, ground_truth, then one column per baseline.

    Raises
    ------
    NotInThisData, TooLittleData
        Without a ground truth, or with fewer than two clusters that have one.
    """
    key = (str(database.folder), str(database.manifest.get("data_sha256")), str(database.public))
    with _lock:
        if key not in _held:
            _held[key] = _predict(database, progress)
            while len(_held) > _KEPT:
                _held.popitem(last=False)
        _held.move_to_end(key)
        return _held[key]


def _predict(database: Database, progress: Progress) -> pd.DataFrame:
    rows = run_query(database, QUERY)
    rows = rows[rows["ground_truth"].notna()].reset_index(drop=True)
    if rows.empty:
        raise NotInThisData("a ground truth, which the baselines predict.")
    if rows["cluster"].nunique() < 2:
        raise TooLittleData("Baselines are evaluated on people whom they have not seen; there are fewer than two.")
    # Means of ours tie, or round to a level, by their last bit only.
    rows["ground_truth"] = rows["ground_truth"].round(9)
    known = bool(rows["participant"].notna().any())
    found = held_out_predictions(rows, participants=known, progress=progress)
    return rows[["conversation", "cluster", "ground_truth"]].join(found)


def analyse(database: Database, selection: Selection, parameters: PredictionParameters) -> Findings:
    """Evaluate the baselines as a classifier is evaluated, beside the classifiers at hand."""
    counts = count_selection(database, selection)
    refuse_empty(counts)
    made = predictions_of(database)
    chosen = selection.query_parameters()
    kept = made
    if not selection.is_everything:
        kept = made[made["conversation"].isin(run_query(database, "ground_truth", **chosen)["conversation"])]
    if kept.empty:
        raise TooLittleData(
            "No conversation of this selection carries a rating. Take a filter away, or reset them all."
        )
    possible = [name for name in BASELINES if kept[name].notna().all()]
    table, intervals = _evaluated(kept, possible)
    judges = _judges(database, selection, parameters)
    return Findings(
        name=NAME,
        headline=_headline(intervals, judges, _basis(kept, known=counts.participants is not None)),
        tables={NAME: table, f"{NAME}.intervals": intervals},
        figures={NAME: _figure(intervals, judges)},
        warnings=_warnings(possible, public=database.public),
        counts=counts,
        queries={QUERY: {}},
    )


def _evaluated(kept: pd.DataFrame, possible: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics per baseline, and every metric with its interval."""
    import pandas as pd

    truth, clusters = kept["ground_truth"].to_numpy(), kept["cluster"].to_numpy()
    scored = [Scored(kept[name].to_numpy(), truth, clusters) for name in possible]
    per_baseline, _ = metric_intervals(scored)
    rows: list[dict[str, Any]] = []
    for name, one in zip(possible, scored, strict=True):
        found = official_metrics(one.predicted, one.truth)
        rows.append({"baseline": name} | {key: getattr(found, key) for key in ("n", *METRICS, "spearman_p")})
    intervals = pd.concat(
        [part.assign(baseline=name) for name, part in zip(possible, per_baseline, strict=True)], ignore_index=True
    )
    return pd.DataFrame(rows), intervals[["baseline", *(name for name in intervals if name != "baseline")]]


def _judges(database: Database, selection: Selection, parameters: PredictionParameters) -> pd.DataFrame:
    """Return the judges' mean metrics with their intervals; none where there is no prediction file."""
    import pandas as pd

    try:
        judged = read_judged(database, selection, parameters)
    except (NotInThisData, TooLittleData):
        return pd.DataFrame({"judge": [], "metric": [], "mean": [], "conf_low": [], "conf_high": []})
    return published(judge_intervals(judged, as_published=True)[1])[
        ["judge", "metric", "mean", "conf_low", "conf_high"]
    ]


def _basis(kept: pd.DataFrame, *, known: bool) -> str:
    rated = plural(len(kept), "rated conversation")
    return f"{rated}, {plural(kept['cluster'].nunique(), 'participant')}" if known else rated


def _headline(intervals: pd.DataFrame, judges: pd.DataFrame, basis: str) -> str:
    ranks = intervals[intervals["metric"] == "spearman"].set_index("baseline")
    parts = []
    for name, words in (
        ("participant_others", "the person's other conversations"),
        ("task_mean", "the task"),
        ("words", "the words"),
    ):
        if name in ranks.index and ranks.loc[name, "estimate"] == ranks.loc[name, "estimate"]:
            row = ranks.loc[name]
            parts.append(f"{words} {with_interval(row['estimate'], row['conf_low'], row['conf_high'])}")
    if not parts:
        return f"No baseline's predictions vary enough here for a rank correlation; {basis}."
    sentence = f"Without a judge, Spearman's rho with the ground truth is from {', from '.join(parts)}"
    known = judges[(judges["metric"] == "spearman") & judges["mean"].notna()]
    if not known.empty:
        best = known.loc[known["mean"].idxmax()]
        sentence += f"; the best judge here, {best['judge']}, reaches {best['mean']:.2f}"
    return f"{sentence}; {basis}."


def _figure(intervals: pd.DataFrame, judges: pd.DataFrame) -> Drawing:
    import pandas as pd

    metrics = ["spearman", "accuracy"]
    own = intervals.rename(columns={"estimate": "mean", "baseline": "by"})
    others = judges.assign(by=[f"judge {name}" for name in judges["judge"]])
    columns = ["metric", "by", "mean", "conf_low", "conf_high"]
    parts = [one[one["metric"].isin(metrics)][columns] for one in (own, others) if len(one)]
    frame = pd.concat(parts, ignore_index=True)
    labels = LABELS | {f"judge {name}": f"Judge {name}" for name in judges["judge"]}
    words = ", ".join(
        f"{labels[row.by]} {DRAWN[row.metric]} {row.mean:.2f}" for row in frame.itertuples() if row.mean == row.mean
    )
    return Drawing(
        draw=draw_metrics,
        arguments={
            "frame": frame.assign(metric=frame["metric"].map(DRAWN)),
            "row": "by",
            "series": "metric",
            "labels": {name: labels[name] for name in list(dict.fromkeys(frame["by"]))[:DRAWN_ROWS]},
            "unit": "Agreement with the ground truth",
            "lines": {"reported ρ": REPORTED["spearman"], "reported accuracy": REPORTED["accuracy"]},
        },
        alt=f"Baselines beside judges: {words}.",
    )


def _warnings(possible: list[str], *, public: bool) -> tuple[str, ...]:
    found = []
    if "words" not in possible:
        why = "texts are hidden here" if public else "this data has too little text"
        found.append(f"There is no baseline of words: {why}.")
    if "participant_others" not in possible:
        found.append("There is no baseline of the person: this data knows no participants.")
    return tuple(found)


ANALYSIS = Analysis(
    name=NAME,
    page="Classifier",
    position=6,
    question="How much of this is knowing the person?",
    analyse=analyse,
    parameters=PredictionParameters,
    tables={
        NAME: "Official metrics of each baseline",
        f"{NAME}.intervals": "Every metric of each baseline with its interval",
    },
    figures={NAME: "Baselines beside judges and the reported figures"},
    method=(
        "Participants are dealt into ten folds (seeded); each conversation is predicted from the other nine, so that no "
        "baseline has seen the person, except one: *the person's other conversations* is the mean of that participant's "
        "other conversations (leave one out; somebody with a single one gets the other folds' mean). *Always the mode*: the "
        "commonest level of the other folds. *Mean of the task*: theirs for the chosen task. *Words*: ridge regression on "
        "TF-IDF weights of single words (in two conversations or more, 20,000 at most), its penalty chosen on a held-out "
        "fifth of the other folds' participants. Predictions are made from the whole data; filters choose what is "
        "evaluated, with the metrics and intervals of the first question. Task and words predict a difference from the other "
        "folds' mean, added to the mean of all: a fold that is high leaves the others low, and that alone would correlate "
        "predictions with the truth negatively. Leaving one out makes the mean of the others run "
        "against the conversation left out within a person, so that the person's baseline is understated. A baseline is no "
        "rival of a judge: the person's needs ratings by that person, which a judge does without."
    ),
)
