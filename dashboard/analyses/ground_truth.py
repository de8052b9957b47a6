"""How empathic was each conversation, by the official definition?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.intervals import draw_histogram
from dashboard.queries import run_query
from dashboard.stats.clustered import clustered_mean
from dashboard.vocabulary import NotInThisData, TooLittleData, format_number, plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "ground_truth"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Average each conversation's turn means."""
    outcomes = run_query(database, "outcomes")
    dimensions = outcomes[outcomes["score"] == "dimension"]
    if dimensions.empty:
        raise NotInThisData("dimensions of the turn rating, which the ground truth averages.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    truth = run_query(database, NAME, **chosen)
    known = truth[truth["ground_truth"].notna()]
    if known.empty:
        raise TooLittleData(
            "No conversation of this selection carries a rating. Take a filter away, or reset them all."
        )
    scale = dimensions.iloc[0]
    bins = bin_counts(known["ground_truth"], float(dimensions["minimum"].min()), float(dimensions["maximum"].max()))
    headline = _headline(known)
    unrated = len(truth) - len(known)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: truth, f"{NAME}.distribution": bins},
        figures={
            NAME: Drawing(
                draw=draw_histogram,
                arguments={
                    "frame": bins,
                    "unit": "Ground truth of a conversation",
                    "noun": "conversations",
                    "ends": (scale["minimum_label"], scale["maximum_label"]),
                },
                alt=f"Histogram of the ground truth of {plural(len(known), 'conversation')}. {headline}",
            )
        },
        warnings=(f"{plural(unrated, 'conversation')} without any rating: no ground truth.",) if unrated else (),
        notes=(_complete_note(truth),),
        counts=counts,
        queries={NAME: chosen},
    )


def bin_counts(values: pd.Series, minimum: float, maximum: float, *, width: float = 0.25) -> pd.DataFrame:
    """Count values in bins of equal width over the whole scale; the last bin includes its upper end.

    Returns
    -------
    pandas.DataFrame
        low, high, n; empty bins included.
    """
    import numpy as np
    import pandas as pd

    span = maximum - minimum
    n_bins = round(span / width) if 4 <= span / width <= 40 else 16
    edges = np.linspace(minimum, maximum, n_bins + 1)
    counted, _ = np.histogram(values, bins=edges)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "n": counted})


def _headline(known: pd.DataFrame) -> str:
    unit = known["participant"].fillna(known["conversation"])
    per_unit = known.groupby(unit)["ground_truth"].agg(["sum", "count"])
    mean = clustered_mean(per_unit["sum"].to_numpy(), per_unit["count"].to_numpy())
    low, high = known["ground_truth"].min(), known["ground_truth"].max()
    return (
        f"Conversations have a ground truth of {with_interval(mean.estimate, mean.conf_low, mean.conf_high)} on average, "
        f"from {format_number(low, 'rating')} to {format_number(high, 'rating')}; "
        f"{plural(len(known), 'rated conversation')}."
    )


def _complete_note(truth: pd.DataFrame) -> str:
    both = truth[truth["ground_truth_complete"].notna()]
    if both.empty:
        return "No turn has every dimension rated, so the same mean over complete turns does not exist."
    difference = (both["ground_truth_complete"] - both["ground_truth"]).mean()
    return (
        f"Over complete turns only, {plural(len(both), 'conversation')} have a ground truth; it differs from the "
        f"official one by {difference:+.2f} on average."
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=5,
    question="How empathic were the conversations?",
    analyse=analyse,
    tables={
        NAME: "Ground truth of every conversation, null where unrated",
        f"{NAME}.distribution": "Conversations per quarter point",
    },
    figures={NAME: "Conversations by ground truth"},
    method=(
        "For each turn the mean of the dimensions that carry a number; for each conversation the mean over the turns that "
        "have one. The overall rating is not used, retried messages count, *not applicable* and blanks drop out: the "
        "definition of the release's own classifier evaluation. `ground_truth_complete` takes only turns on which every "
        "dimension carries a number. `n_turns` counts all turns of the rated role."
    ),
)
