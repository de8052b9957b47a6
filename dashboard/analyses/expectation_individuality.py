"""Is desired empathy a matter of the person or of the task?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    knows_participants,
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
from dashboard.figures.parts import draw_parts
from dashboard.stats.crossed_components import COMPONENTS, crossed_components
from dashboard.stats.gap_comparison import add_gaps
from dashboard.vocabulary import NotInThisData, TooLittleData, format_percent, plural, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "expectation_individuality"
OUTCOMES = {"desired_empathy": "Desired", "experienced_empathy": "Experienced", "gap": "Gap"}
PARTS = {
    "participant": ("Participant", "#6b6f76"),
    "task": ("Task", "#56B4E9"),
    "conversation": ("Conversation and error", "#dcdfe3"),
}


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Divide the variance of desired, experienced and gap between participant, task and conversation."""
    desired = score_scale(database, "desired_empathy")
    if not knows_participants(database):
        raise NotInThisData("participants, whose share of the variance is asked for.")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    rows = read_conversations(database, selection)
    rows = rows[rows["task"].notna()]
    if rows["desired_empathy"].notna().sum() == 0:
        raise TooLittleData("No conversation of this selection has a desired level. Take a filter away.")
    values = {"desired_empathy": rows}
    if rows["experienced_empathy"].notna().any():
        experienced = score_scale(database, "experienced_empathy")
        both = add_gaps(rows, desired_scale=desired.scale, experienced_scale=experienced.scale)
        values |= {"experienced_empathy": rows, "gap": both}
    table, reasons = _components(values)
    return Findings(
        name=NAME,
        headline=_headline(table, reasons),
        tables={NAME: table},
        figures=_figures(table),
        warnings=_warnings(table, reasons),
        notes=(
            "What a person always wants is the participant's share, what a task always asks for the task's; what the same "
            "person wants differently of the same task, and error of the one answer, is the rest.",
            CHOICE_NOTE,
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={"expectation_gap": selection.query_parameters()},
    )


def _components(values: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, dict[str, str]]:
    import pandas as pd

    tables, reasons = [], {}
    for outcome, rows in values.items():
        known = rows[rows[outcome].notna()]
        found, reason = crossed_components(
            known[outcome].to_numpy(dtype=float), known["cluster"].to_numpy(), known["task"].to_numpy()
        )
        found.insert(0, "outcome", outcome)
        tables.append(found)
        if reason:
            reasons[outcome] = reason
    return pd.concat(tables, ignore_index=True), reasons


def _figures(table: pd.DataFrame) -> dict[str, Drawing]:
    known = table[table["share"].notna()]
    if known.empty:
        return {}
    wide = known.pivot(index="outcome", columns="component", values="share").reindex(
        [name for name in OUTCOMES if name in set(known["outcome"])]
    )
    n = known.groupby("outcome")["n_observations"].first()
    wide = wide.assign(label=[OUTCOMES[name] for name in wide.index], n_conversations=n).reset_index(drop=True)
    return {
        NAME: Drawing(
            draw=draw_parts,
            arguments={"frame": wide, "row": "label", "parts": PARTS, "unit": "Share of variance"},
            alt="Shares of variance of participant, task and conversation: "
            + "; ".join(
                f"{row.label}: {', '.join(f'{name} {format_percent(getattr(row, name))}' for name in COMPONENTS)}"
                for row in wide.itertuples()
            )
            + ".",
        ),
        f"{NAME}.intervals": Drawing(
            draw=draw_dodged_intervals,
            arguments={
                "frame": known.assign(label=known["outcome"].map(OUTCOMES), percent=100 * known["share"]).assign(
                    conf_low=100 * known["conf_low"], conf_high=100 * known["conf_high"]
                ),
                "row": "label",
                "series": "component",
                "estimate": "percent",
                "series_labels": {name: PARTS[name][0] for name in COMPONENTS},
                "colors": [PARTS["participant"][1], PARTS["task"][1], "#a3a8b0"],
                "unit": "Percent of variance with 95 % interval",
                "axis_range": (0.0, 100.0),
                "count": "n_observations",
            },
            alt="The same shares with their 95 % profile intervals; the table holds the numbers.",
        ),
    }


def _headline(table: pd.DataFrame, reasons: dict[str, str]) -> str:
    first = table[table["outcome"] == "desired_empathy"].set_index("component")
    n = int(first["n_observations"].iloc[0])
    basis = (
        f"{plural(n, 'conversation')}, {plural(int(first.loc['participant', 'n_groups']), 'participant')}, "
        f"{plural(int(first.loc['task', 'n_groups']), 'task')}"
    )
    if "desired_empathy" in reasons:
        return f"How desired empathy divides between person and task cannot be told here; {basis}."
    person, task = first.loc["participant"], first.loc["task"]
    text = {
        name: with_interval(one["share"], one["conf_low"], one["conf_high"], "percent")
        for name, one in (("person", person), ("task", task))
    }
    if task["conf_low"] > person["conf_high"]:
        lead = "Desired empathy is more a matter of the task than of the person"
    elif person["conf_low"] > task["conf_high"]:
        lead = "Desired empathy is more a matter of the person than of the task"
    else:
        lead = "Whether desired empathy is more a matter of the person or of the task is not clear"
    return (
        f"{lead}: {text['person']} of its variance lies between participants, {text['task']} between tasks, and "
        f"{format_percent(first.loc['conversation', 'share'])} remains; {basis}."
    )


def _warnings(table: pd.DataFrame, reasons: dict[str, str]) -> tuple[str, ...]:
    found = [f"{OUTCOMES[outcome]}: no shares. {reason}" for outcome, reason in reasons.items()]
    n_tasks = int(table.loc[table["component"] == "task", "n_groups"].max())
    if not reasons and n_tasks < 10:
        found.append(f"There are {n_tasks} tasks: their share is known only roughly, as its interval shows.")
    return tuple(found)


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=7,
    question="Is desired empathy a matter of the person or of the task?",
    analyse=analyse,
    tables={NAME: "Variance and share of participant, task and conversation, for desired, experienced and gap"},
    figures={
        NAME: "Shares of variance",
        f"{NAME}.intervals": "The same shares with their intervals",
    },
    method=(
        "y ~ 1 + (1 | participant) + (1 | task) by REML, participant and task crossed; the residual is the conversation with "
        "the error of its answers. Variances that are zero lie exactly at the boundary. Intervals of shares are profile "
        "intervals: where the REML deviance, minimised over the division of the rest, rises by 3.84. Desired and "
        "experienced empathy are on their own scales, the gap is in points of 100; shares do not depend on that."
    ),
    references=(
        "Baayen, R. H., Davidson, D. J., & Bates, D. M. (2008). Mixed-effects modeling with crossed random effects for "
        "subjects and items. Journal of Memory and Language, 59.",
    ),
)
