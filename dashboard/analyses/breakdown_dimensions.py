"""Which dimension breaks?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.breakdown_rows import (
    BreakdownParameters,
    Breakdowns,
    few_participants,
    left_out,
    read_breakdowns,
    refuse_without_breakdown,
)
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.template import OKABE_ITO
from dashboard.queries import run_query
from dashboard.stats.dimension_breakdowns import first_to_fall, low_shares
from dashboard.vocabulary import NotInThisData, TooLittleData, format_percent, plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "breakdown_dimensions"


def analyse(database: Database, selection: Selection, parameters: BreakdownParameters) -> Findings:
    """Compare how often each dimension is low on breakdown turns and on all, and find the first to fall."""
    outcomes = run_query(database, "outcomes")
    dimensions = outcomes[outcomes["score"] == "dimension"].reset_index(drop=True)
    if dimensions.empty:
        raise NotInThisData("dimensions of the turn rating.")
    found = read_breakdowns(database, selection, parameters)
    refuse_without_breakdown(found)
    asked = {key: value for key, value in found.chosen.items() if key != "definition"}
    rated = run_query(database, "breakdown_dimensions", **asked)
    if rated.empty:
        raise TooLittleData(
            "No rated turn of this selection carries a number on a dimension. Take a filter away, or reset them all."
        )
    shares, first = dimension_rows(found, rated, dimensions)
    headline = _headline(shares, first, found)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: shares, f"{NAME}.first": first},
        figures=_figures(shares, first, found, headline),
        warnings=few_participants(found),
        notes=(*left_out(found), f"{found.words}.", *_notes(first)),
        counts=found.counts,
        queries={NAME: asked},
    )


def dimension_rows(
    found: Breakdowns, rated: pd.DataFrame, dimensions: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return shares of low turns per dimension, and which fell first; dimensions by name, in the order of display."""
    import numpy as np

    courses = found.courses
    dimension, conversation, turn = (
        rated[name].to_numpy() for name in ("dimension_number", "conversation_number", "turn")
    )
    is_low = rated["is_low"].to_numpy(dtype=bool)
    span = int(courses.turn.max()) + 1
    key = courses.conversation * span + courses.turn
    broken = courses.broken[np.searchsorted(key, conversation * span + turn)]
    shares = low_shares(dimension, is_low, broken, courses.unit[conversation])
    first = first_to_fall(
        dimension, conversation, turn, is_low, found.event_time, courses.unit, n_dimensions=len(dimensions)
    )
    named = dict(zip(dimensions.index, dimensions["outcome"], strict=True))
    labels = dict(zip(dimensions.index, dimensions["label"], strict=True))
    tables = []
    for table in (shares, first):
        codes = table["dimension"]
        table = table.assign(dimension=codes.map(named))
        table.insert(1, "label", codes.map(labels))
        tables.append(table)
    return tables[0], tables[1]


def _figures(shares: pd.DataFrame, first: pd.DataFrame, found: Breakdowns, headline: str) -> dict[str, Drawing]:
    import pandas as pd

    broken = shares.assign(series="broken", estimate=shares["share"], n=shares["n_turns"])
    base = shares.assign(
        series="base",
        estimate=shares["base_rate"],
        conf_low=shares["base_low"],
        conf_high=shares["base_high"],
        n=shares["n_turns_all"],
    )
    frame = pd.concat([broken, base], ignore_index=True)
    frame[["estimate", "conf_low", "conf_high"]] *= 100
    figures = {
        NAME: Drawing(
            draw=draw_dodged_intervals,
            arguments={
                "frame": frame,
                "row": "label",
                "series": "series",
                "estimate": "estimate",
                "series_labels": {"broken": "On breakdown turns", "base": "On all rated turns"},
                "colors": [OKABE_ITO[5], OKABE_ITO[6]],
                "unit": f"Percent of turns on which the dimension is low (breakdown: {found.short})",
                "axis_range": (0.0, 104.0),
                "count": "n",
                "decimals": 0,
            },
            alt=headline,
        )
    }
    if first["share_first"].notna().any():
        figures[f"{NAME}.first"] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": first,
                "row": "dimension",
                "estimate": "share_first",
                "labels": dict(zip(first["dimension"], first["label"], strict=True)),
                "unit": f"Share of conversations in which it is the first to fall (breakdown: {found.short})",
                "axis_range": (0.0, min(1.0, 1.25 * float(first[["share_first", "conf_high"]].max().max()) + 0.02)),
                "percent": True,
                "count": "n_first",
            },
            alt="Share of conversations in which a dimension is the first to be low: "
            + ", ".join(f"{row.label} {format_percent(row.share_first)}" for row in first.itertuples())
            + ".",
        )
    return figures


def _headline(shares: pd.DataFrame, first: pd.DataFrame, found: Breakdowns) -> str:
    basis = f"{plural(int(found.rated['n_breakdowns'].sum()), 'breakdown turn')} of {plural(int(found.rated['event'].sum()), 'conversation')}"
    known = shares[shares["share"].notna()]
    if known.empty:
        return f"No dimension is rated on a breakdown turn ({found.short}); {basis}."
    top, low = known.loc[known["share"].idxmax()], known.loc[known["share"].idxmin()]
    sentence = (
        f"On breakdown turns ({found.short}) {top['label']} is low most often, on "
        f"{with_interval(top['share'], top['conf_low'], top['conf_high'], 'percent')} of those on which it is rated (on all turns "
        f"{format_percent(top['base_rate'])})"
    )
    if len(known) > 1:
        sentence += f", {low['label']} least, on {format_percent(low['share'])}"
    if first["share_first"].notna().any():
        one = first.loc[first["share_first"].idxmax()]
        sentence += f"; {one['label']} falls first most often ({format_percent(one['share_first'])} of conversations, ties shared)"
    return f"{sentence}; {basis}."


def _notes(first: pd.DataFrame) -> list[str]:
    n = int(first["n_conversations"].max())
    alone = int(first["n_first_alone"].sum())
    return [
        f"In {alone:,} of {plural(n, 'conversation')} with a low dimension by the first breakdown, one dimension fell first alone; in the "
        "others several fell on the same turn and share the conversation equally.",
        "A dimension that is seldom applicable has fewer occasions to fall first; not being applicable is not random.",
    ]


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=7,
    question="Which dimension breaks?",
    analyse=analyse,
    parameters=BreakdownParameters,
    tables={
        NAME: "How often each dimension is low on breakdown turns, and on all",
        f"{NAME}.first": "The first dimension to fall, up to the first breakdown",
    },
    figures={
        NAME: "How often each dimension is low on breakdown turns, against its base rate",
        f"{NAME}.first": "The first dimension to fall",
    },
    method=(
        "A dimension is **low** at or below the threshold, as percentage of its scale. Its share is over breakdown turns on which it carries a "
        "number, its **base rate** over all rated turns on which it does, breakdowns included; the difference has an interval from "
        "the bootstrap of participants (2,000 draws, seeded). Since dimensions and overall rating go together, shares on breakdown turns "
        "are high by construction: what tells is how they differ between dimensions. **First to fall**: the dimension that is low on the earliest "
        "turn up to and including the first breakdown; dimensions that fall together share the conversation. Intervals: Wilson's on the "
        "effective sample size, with the participant as the unit."
    ),
)
