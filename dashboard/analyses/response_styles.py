"""Do people use the scale differently, and can they be ranked by it?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import count_rated, refuse_without_participants
from dashboard.analyses.rated_turns import read_turns
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.styles import draw_level_use, draw_style_map
from dashboard.queries import run_query
from dashboard.stats.bootstrap import N_BOOT
from dashboard.stats.response_styles import Turns, level_counts, split_half
from dashboard.vocabulary import TooLittleData, format_interval, format_number, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "response_styles"
PLACES = 500
BINS = 100
RELIABLE, NOISE = 0.7, 0.5
LABELS = {
    "mean": "Mean",
    "std_dev": "SD",
    "relative_std_dev": "Relative SD",
    "entropy": "Entropy",
    "share_extreme": "Share of extremes",
    "rmssd": "RMSSD",
    "inertia": "Inertia",
}


@dataclass(frozen=True)
class StyleParameters(OutcomeParameters):
    """How many samples of participants the intervals of reliability rest on."""

    n_boot: int = parameter(
        N_BOOT, label="Bootstrap samples", help="Samples of whole participants.", minimum=0, maximum=20_000, more=True
    )


def analyse(database: Database, selection: Selection, parameters: StyleParameters) -> Findings:
    """Describe how each participant uses the scale, and how reliable each such index is."""
    outcome = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    scale = run_query(database, "outcomes").set_index("outcome").loc[outcome]
    people = run_query(database, "participant_ratings", **chosen)
    if not (people["n_turns"] > 0).any():
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    turns, units = read_turns(database, chosen, scale)
    styles = _styles(people, run_query(database, NAME, **chosen))
    reliability = split_half(turns, len(units), n_boot=parameters.n_boot)
    headline = _headline(reliability, styles)
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(count_rated(people))}.",
        tables={NAME: styles, f"{NAME}.reliability": reliability},
        figures=_figures(turns, units, styles, reliability, scale),
        warnings=_warnings(styles, reliability),
        counts=counts,
        queries={NAME: chosen, "participant_ratings": chosen, "rated_turns": chosen},
    )


def _styles(people: pd.DataFrame, answered: pd.DataFrame) -> pd.DataFrame:
    """Return one row per participant: how they rate, and how often all dimensions of a turn got the same rating."""
    merged = people.merge(answered, on="participant", how="left", validate="one_to_one")
    merged["range"] = merged["maximum"] - merged["minimum"]
    columns = (
        "participant n_turns n_conversations mean std_dev relative_std_dev entropy share_extreme share_midpoint share_low "
        "minimum maximum range longest_run n_turns_answered share_straight_lining share_applicable"
    )
    return merged[columns.split()]


def _headline(reliability: pd.DataFrame, styles: pd.DataFrame) -> str:
    by_index = reliability.set_index("index")
    mean, spread = by_index.loc["mean"], by_index.loc["std_dev"]
    if math.isnan(mean["estimate"]):
        return "How reliably people differ in their ratings cannot be said: it takes three of them with two rated conversations each"
    sentence = f"People differ reliably in their mean (split-half reliability {_with(mean)})"
    if mean["estimate"] < RELIABLE:
        sentence = f"Even people's means are known only roughly (split-half reliability {_with(mean)})"
    if math.isnan(spread["estimate"]):
        return sentence
    verdict = (
        "ranking people by SD is mostly noise"
        if spread["estimate"] < NOISE
        else "rankings by SD are rough"
        if spread["estimate"] < RELIABLE
        else "they differ reliably in SD, too"
    )
    return f"{sentence}; the SD's is {_with(spread)}: {verdict}"


def _with(row: pd.Series) -> str:
    interval = format_interval(row["conf_low"], row["conf_high"], "rating")
    return format_number(row["estimate"], "rating") + (f", 95 % interval {interval}" if interval else "")


def _figures(
    turns: Turns, units: pd.DataFrame, styles: pd.DataFrame, reliability: pd.DataFrame, scale: pd.Series
) -> dict[str, Drawing]:
    limits = (float(scale["minimum"]), float(scale["maximum"]))
    ends = (scale["minimum_label"], scale["maximum_label"])
    label = str(scale["label"])
    figures: dict[str, Drawing] = {}
    used = level_use(turns, units)
    if not used.empty:
        figures[NAME] = Drawing(
            draw=draw_level_use,
            arguments={
                "frame": used,
                "levels": tuple(sorted(used["level"].unique())),
                "ends": ends,
                "unit": label,
                "n_people": int((styles["n_turns"] > 0).sum()),
            },
            alt="Share of each rating level in each participant's ratings, participants ordered by their mean.",
        )
    known = styles[styles["std_dev"].notna()]
    if not known.empty:
        figures[f"{NAME}.map"] = Drawing(
            draw=draw_style_map,
            arguments={
                "frame": known[["participant", "mean", "std_dev", "relative_std_dev", "n_turns"]],
                "unit": label,
                "limits": limits,
                "ends": ends,
                "typical_n": int(known["n_turns"].median()),
            },
            alt="SD and relative SD of each participant's ratings against their mean; near an end of the scale a large SD "
            "is impossible.",
        )
    shown = reliability[reliability["estimate"].notna()]
    if not shown.empty:
        lowest = min(0.0, float(shown[["estimate", "conf_low"]].min().min()))
        figures[f"{NAME}.reliability"] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": shown,
                "row": "index",
                "estimate": "estimate",
                "labels": LABELS,
                "unit": "Split-half reliability",
                "axis_range": (max(-1.0, lowest - 0.02), 1.04),
                "count": "n_groups",
            },
            alt="Split-half reliability of each index: "
            + ", ".join(f"{LABELS[str(row[1])]} {row.estimate:.2f}" for row in shown.itertuples())
            + ".",
        )
    return figures


def level_use(turns: Turns, units: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each level by person in the order of their means; more than 500 people in groups of equal size.

    Returns
    -------
    pandas.DataFrame
        place, name, level, share; empty for a continuous outcome.
    """
    import numpy as np
    import pandas as pd

    counts = level_counts(turns, turns.unit, len(units))
    k = counts.shape[1]
    rated = np.flatnonzero(counts.sum(axis=1) > 0) if k else np.zeros(0, dtype=int)
    if not len(rated):
        return pd.DataFrame(columns=["place", "name", "level", "share"])
    levels = np.linspace(turns.minimum, turns.maximum, k)
    shares = counts[rated] / counts[rated].sum(axis=1, keepdims=True)
    order = np.lexsort((rated, shares @ levels))
    shares = shares[order]
    names: list[Any] = [f"Participant {name}" for name in units["cluster"].to_numpy()[rated[order]]]
    if len(rated) > PLACES:
        parts = np.array_split(np.arange(len(rated)), BINS)
        shares = np.array([shares[part].mean(axis=0) for part in parts])
        names = [f"Participants {part[0] + 1:,} to {part[-1] + 1:,} in order" for part in parts]
    return pd.DataFrame(
        {
            "place": np.repeat(np.arange(len(shares)), k),
            "name": np.repeat(names, k),
            "level": np.tile(levels, len(shares)),
            "share": shares.ravel(),
        }
    )


def _warnings(styles: pd.DataFrame, reliability: pd.DataFrame) -> tuple[str, ...]:
    warnings = []
    noisy = [LABELS[str(row[1])] for row in reliability.itertuples() if row.estimate < NOISE]
    if noisy:
        warnings.append(
            f"Reliability below {NOISE:g}: {', '.join(noisy)}. Where a person stands on these is mostly noise at these numbers "
            "of turns; compare groups, not people."
        )
    straight = int((styles["share_straight_lining"] >= 0.9).sum())
    if straight:
        warnings.append(
            f"{plural(straight, 'participant')} gave all dimensions the same rating on at least 90 % of turns with three or more."
        )
    flat = int(((styles["n_turns"] > 1) & (styles["range"] == 0)).sum())
    if flat:
        warnings.append(f"{plural(flat, 'participant')} gave one and the same rating throughout: SD 0, no inertia.")
    return tuple(warnings)


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=3,
    question="Do people use the scale differently?",
    analyse=analyse,
    parameters=StyleParameters,
    tables={
        NAME: "How each participant uses the scale",
        f"{NAME}.reliability": "Split-half reliability of each index",
    },
    figures={
        NAME: "Share of each level, by participant",
        f"{NAME}.map": "Spread against the mean",
        f"{NAME}.reliability": "How reliable each index is",
    },
    method=(
        "*Extreme* is either end of the scale, *low* its lowest quarter; entropy is that of the levels used, 1 when all are "
        "used alike. *Relative SD* divides by the largest SD possible at the person's mean, since near an end of a bounded "
        "scale the SD must be small. *Straight-lining* is the share of turns with three or more rated dimensions on which "
        "all are equal. **Split-half reliability** correlates an index from a person's odd conversations with that from "
        "the even ones over people, stepped up to all of them (Spearman–Brown); its interval is a bootstrap of whole "
        "participants. It says how far a ranking of people by the index would come out again with as many other "
        "conversations; below 0.5 it is mostly noise. More than 500 people are drawn in 100 groups of equal size."
    ),
    references=(
        "Mestdagh, M. et al. (2018). Sidelining the mean: The relative variability index as a generic mean-corrected "
        "variability measure for bounded variables. Psychological Methods, 23.",
    ),
)
