"""Does the gap show in the first turns already?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    ScoreScale,
    knows_participants,
    means_by,
    score_scale,
)
from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.template import diverging
from dashboard.figures.thirds import draw_thirds
from dashboard.queries import run_query
from dashboard.stats.pomp import Scale, pomp
from dashboard.stats.signed_rank import signed_rank
from dashboard.vocabulary import TooLittleData, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "expectation_onset"


@dataclass(frozen=True)
class OnsetParameters(OutcomeParameters):
    """Which rating of a turn is held against the desired level."""


def analyse(database: Database, selection: Selection, parameters: OnsetParameters) -> Findings:
    """Average turn ratings by third of the conversation, within each desired level, and compare last with first."""
    desired = score_scale(database, "desired_empathy")
    outcome = choose_outcome(database, parameters.outcome)
    outcomes = run_query(database, "outcomes").set_index("outcome")
    refuse_empty(counts := count_selection(database, selection))
    chosen = selection.query_parameters() | {"outcome": outcome}
    rows = run_query(database, NAME, **chosen)
    if rows.empty:
        raise TooLittleData(
            "No conversation of this selection has three turns or more with a rating and a desired level. Take a filter "
            "away, or reset them all."
        )
    scale = Scale(float(outcomes.loc[outcome, "minimum"]), float(outcomes.loc[outcome, "maximum"]))
    known = knows_participants(database)
    rows = third_gaps(rows, scale, desired.scale)
    thirds, change = by_third(rows, participants=known), change_of_gap(rows, participants=known)
    label = str(outcomes.loc[outcome, "label"])
    return Findings(
        name=NAME,
        headline=_headline(thirds, change, rows),
        tables={NAME: thirds, f"{NAME}.change": change},
        figures={NAME: _figure(thirds, desired, label, scale)},
        warnings=_warnings(thirds),
        notes=(
            "The lowest desired level cannot be unmet nor the highest exceeded, in any third: the course over thirds tells, "
            "not the size.",
            "Conversations differ in length and end for reasons: thirds compare early with late of the same conversations.",
            CHOICE_NOTE,
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={NAME: chosen},
    )


def third_gaps(rows: pd.DataFrame, rating: Scale, desired: Scale) -> pd.DataFrame:
    """Add rating_pomp, desired_pomp and gap to rows of conversation and third."""
    values = pomp(rows["mean"].to_numpy(dtype=float), rating)
    wanted = pomp(rows["desired_empathy"].to_numpy(dtype=float), desired)
    return rows.assign(rating_pomp=values, desired_pomp=wanted, gap=values - wanted)


def by_third(rows: pd.DataFrame, *, participants: bool) -> pd.DataFrame:
    """Return the mean rating and the gap per desired level and third, conversations averaged.

    Returns
    -------
    pandas.DataFrame
        desired_empathy, third, n_conversations, n_participants, n_turns, rating_pomp, conf_low, conf_high (of
        rating_pomp), desired_pomp, gap. The interval of the gap is that of the rating, moved by the desired level.
    """
    key = ["desired_empathy", "third"]
    found = means_by(rows, key, "rating_pomp", participants=participants).rename(columns={"mean": "rating_pomp"})
    more = rows.groupby(key, sort=True).agg(n_turns=("n_rated", "sum"), desired_pomp=("desired_pomp", "first"))
    found = found.merge(more.reset_index(), on=key, validate="one_to_one")
    found["gap"] = found["rating_pomp"] - found["desired_pomp"]
    columns = [*key, "n_conversations", "n_participants", "n_turns", "rating_pomp", "conf_low", "conf_high"]
    return found[[*columns, "desired_pomp", "gap"]]


def change_of_gap(rows: pd.DataFrame, *, participants: bool) -> pd.DataFrame:
    """Return how the gap changes from the first to the last third of the same conversations.

    Returns
    -------
    pandas.DataFrame
        desired_empathy (NaN for all), n_conversations, n_participants, gap_first, gap_last, change, conf_low,
        conf_high, p_value, method: signed-rank test of one mean change per participant.
    """
    import numpy as np
    import pandas as pd

    wide = rows.pivot(index=["conversation", "cluster", "desired_empathy"], columns="third", values="gap")
    wide = wide.reindex(columns=[1, 2, 3]).reset_index().rename(columns={1: "gap_first", 3: "gap_last"})
    both = wide.dropna(subset=["gap_first", "gap_last"])
    both = both.assign(change=both["gap_last"] - both["gap_first"])
    parts = []
    for level, part in [(np.nan, both), *both.groupby("desired_empathy", sort=True)]:
        if part.empty:
            continue
        row = means_by(part.assign(all=0), ["all"], "change", participants=participants).iloc[0]
        test = signed_rank(part.groupby("cluster")["change"].mean().to_numpy())
        parts.append(
            {
                "desired_empathy": level,
                "n_conversations": int(row["n_conversations"]),
                "n_participants": row["n_participants"],
                "gap_first": part["gap_first"].mean(),
                "gap_last": part["gap_last"].mean(),
                "change": row["mean"],
                "conf_low": row["conf_low"],
                "conf_high": row["conf_high"],
                "p_value": test.p_value,
                "method": test.method,
            }
        )
    columns = ["desired_empathy", "n_conversations", "n_participants", "gap_first", "gap_last", "change"]
    return pd.DataFrame(parts, columns=[*columns, "conf_low", "conf_high", "p_value", "method"])


def _figure(thirds: pd.DataFrame, desired: ScoreScale, label: str, scale: Scale) -> Drawing:
    levels = sorted(thirds["desired_empathy"].unique())
    every = desired.levels() or levels
    colors = dict(zip(every, diverging(len(every)), strict=True))
    said = "; ".join(
        f"desired {row.desired_empathy:g}, third {row.third}: {row.rating_pomp:.0f}" for row in thirds.itertuples()
    )
    return Drawing(
        draw=draw_thirds,
        arguments={
            "frame": thirds,
            "labels": {level: f"level {level:g}" for level in levels},
            "colors": [colors.get(level, "#6b6f76") for level in levels],
            "unit": f"{label}, percent of maximum ({scale.minimum:g}–{scale.maximum:g})",
        },
        alt=f"Mean turn rating as percent of its maximum by third of the conversation and desired level, with 95 % "
        f"intervals, against the level that was wanted. {said}.",
    )


def _headline(thirds: pd.DataFrame, change: pd.DataFrame, rows: pd.DataFrame) -> str:
    top = thirds["desired_empathy"].max()
    first = thirds[(thirds["desired_empathy"] == top) & (thirds["third"] == 1)]
    basis = f"{plural(int(rows['n_rated'].sum()), 'turn')} of {plural(rows['conversation'].nunique(), 'conversation')} with three turns or more"
    moved = change[change["desired_empathy"] == top]
    if first.empty or moved.empty:
        return (
            f"Where most empathy was desired, no conversation is rated in both its first and its last third; {basis}."
        )
    one, move = first.iloc[0], moved.iloc[0]
    low, high = one["conf_low"] - one["desired_pomp"], one["conf_high"] - one["desired_pomp"]
    start = f"Where {top:g} was desired, ratings of the first third lie {one['gap']:+.0f} of 100 off it{_interval(low, high)}"
    shift = f"{move['change']:+.0f}{_interval(move['conf_low'], move['conf_high'])}"
    if move["conf_low"] > 0 or move["conf_high"] < 0:
        word = "narrows" if abs(move["gap_last"]) < abs(move["gap_first"]) else "widens"
        text = f"{start}, and the gap {word} to the last third by {shift}"
    else:
        text = f"{start}; to the last third the gap does not clearly change, {shift}"
    return f"{text}; {basis}.".replace(" -", " −").replace("(-", "(−").replace("to -", "to −")


def _interval(low: float, high: float) -> str:
    return "" if low != low else f" (95 % interval {low:+.0f} to {high:+.0f})"


def _warnings(thirds: pd.DataFrame) -> tuple[str, ...]:
    bare = sorted({f"{row.desired_empathy:g}" for row in thirds.itertuples() if row.conf_low != row.conf_low})
    return (
        (f"Fewer than five participants stand behind desired level {', '.join(bare)}: no interval there.",)
        if bare
        else ()
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=8,
    question="Does the gap show in the first turns already?",
    analyse=analyse,
    parameters=OnsetParameters,
    tables={
        NAME: "Rating and gap per desired level and third of the conversation",
        f"{NAME}.change": "Change of the gap from the first to the last third",
    },
    figures={NAME: "Turn ratings by third of the conversation, against what was wanted"},
    method=(
        "Turn t of n turns of the rated role lies in third ⌈3 t/n⌉; conversations of fewer than three turns have no thirds and "
        "are left out. Ratings are averaged within a third, then over conversations; both they and desired empathy are "
        "percents of the maximum possible. Intervals are cluster-robust with the participant as the unit. The change is last minus first "
        "third of conversations rated in both, with a signed-rank test of one mean change per participant. The rating of a "
        "turn and the empathy desired of a conversation are different questions: their difference is a gap of this mapping."
    ),
    references=("Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1.",),
)
