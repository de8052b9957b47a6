"""Does experienced empathy follow desired empathy?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    ScoreScale,
    describe_basis,
    knows_participants,
    means_by,
    read_conversations,
    require_tasks,
    score_scale,
)
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
from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.intervals import draw_intervals
from dashboard.stats.gap_comparison import add_gaps
from dashboard.stats.tracking import MODELS, TERMS, track
from dashboard.vocabulary import NotInThisData, TooLittleData, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "expectation_tracking"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Estimate slopes of experienced on desired empathy, and average experienced empathy per desired level."""
    desired, experienced = score_scale(database, "desired_empathy"), score_scale(database, "experienced_empathy")
    if not knows_participants(database):
        raise NotInThisData("participants, within and between whom slopes are told apart.")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    conversations = read_conversations(database, selection)
    rows = add_gaps(conversations, desired_scale=desired.scale, experienced_scale=experienced.scale)
    rows = rows[rows["task"].notna()]
    if rows.empty:
        raise TooLittleData(
            "No conversation of this selection has both answers. Take a filter away, or reset them all."
        )
    slopes, reasons = track(rows)
    levels = means_by(rows, ["desired_empathy"], "experienced_empathy")
    return Findings(
        name=NAME,
        headline=_headline(slopes, levels, describe_basis(rows, participants=True)),
        tables={NAME: slopes, f"{NAME}.levels": levels},
        figures=_figures(slopes, levels, experienced),
        warnings=tuple(f"Slopes are left out. {reason}" for reason in reasons),
        notes=(
            "People choose their tasks, and assistants may answer differently to what a task asks for: following is not "
            "understanding.",
            CHOICE_NOTE,
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={"expectation_gap": selection.query_parameters()},
    )


def _figures(slopes: pd.DataFrame, levels: pd.DataFrame, experienced: ScoreScale) -> dict[str, Drawing]:
    figures = {}
    if slopes["estimate"].notna().any():
        shown = slopes.assign(row=slopes["term"].map(TERMS))
        low, high = min(-0.1, slopes["conf_low"].min()), max(1.05, slopes["conf_high"].max())
        figures[NAME] = Drawing(
            draw=draw_dodged_intervals,
            arguments={
                "frame": shown,
                "row": "row",
                "series": "model",
                "estimate": "estimate",
                "series_labels": {name: name.capitalize() for name in MODELS if name in set(slopes["model"])},
                "unit": "Slope: 0 does not follow, 1 follows fully",
                "axis_range": (low - 0.05, high),
                "zero": 0.0,
                "count": "n_observations",
                "decimals": 2,
            },
            alt="Slopes of experienced on desired empathy with 95 % intervals: "
            + "; ".join(
                f"{row.row.lower()}, {row.model}, {row.estimate:.2f}"
                for row in shown.itertuples()
                if row.estimate == row.estimate
            )
            + ".",
        )
    figures[f"{NAME}.levels"] = Drawing(
        draw=draw_intervals,
        arguments={
            "frame": levels.assign(level=[f"Desired {level:g}" for level in levels["desired_empathy"]]),
            "row": "level",
            "estimate": "mean",
            "labels": {},
            "unit": f"Experienced empathy, {experienced.range_text}",
            "axis_range": (experienced.minimum, experienced.maximum),
            "count": "n_conversations",
        },
        alt="Mean experienced empathy with 95 % interval at each desired level: "
        + "; ".join(f"desired {row.desired_empathy:g}, {row.mean:.2f}" for row in levels.itertuples())
        + ".",
    )
    return figures


def _headline(slopes: pd.DataFrame, levels: pd.DataFrame, basis: str) -> str:
    first = slopes[slopes["model"] == "as it is"].set_index("term")
    within, between = first.loc["within"], first.loc["between"]
    if within["estimate"] != within["estimate"]:
        described = ", ".join(
            f"{row.mean:.2f} where {row.desired_empathy:g} was desired" for row in levels.itertuples()
        )
        return f"Whether experienced empathy follows desired cannot be told here; it is {described}; {basis}."
    text = {name: with_interval(one["estimate"], one["conf_low"], one["conf_high"]) for name, one in first.iterrows()}
    both = f"{text['within']} within persons and {text['between']} between them"
    per = "points for each point desired, both of 100"
    if within["conf_low"] > 0 or within["conf_high"] < 0:
        verb = "follows" if within["conf_low"] > 0 else "runs against"
        how_far = " only in part" if verb == "follows" and within["conf_high"] < 1 else ""
        return f"Experienced empathy {verb} desired empathy{how_far}: by {both}, {per}; {basis}."
    clear = between["conf_low"] > 0 or between["conf_high"] < 0
    more = "although it differs between people who want more or less" if clear else "nor clearly between them"
    return (
        f"Experienced empathy does not clearly follow desired empathy within persons, {more}: {both}, {per}; {basis}."
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=4,
    question="Does experienced empathy follow desired empathy?",
    analyse=analyse,
    tables={
        NAME: "Slopes of experienced on desired empathy, within and between persons",
        f"{NAME}.levels": "Mean experienced empathy at each desired level",
    },
    figures={
        NAME: "Slopes within and between persons",
        f"{NAME}.levels": "Experienced empathy at each desired level",
    },
    method=(
        "A gap compares levels; tracking asks whether conversations before which more was wanted are those after which more "
        "was experienced. Both sides as percent of the maximum possible; experienced ~ (desired − person's mean) + person's "
        "mean + (1 | participant) by REML with Satterthwaite's degrees of freedom, also with the task held fixed. A slope "
        "of 0 means that experienced does not follow, 1 that it follows point by point. Person means are over the "
        "conversations shown; people with one conversation inform the slope between persons only. Unlike the gap, the "
        "slopes are not tied to desired empathy by construction. Means per level: participant as the unit."
    ),
    references=(
        "Enders, C. K., & Tofighi, D. (2007). Centering predictor variables in cross-sectional multilevel models. "
        "Psychological Methods, 12.",
    ),
)
