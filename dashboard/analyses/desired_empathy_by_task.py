"""How much empathy do people want before a task?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    ScoreScale,
    describe_basis,
    few_warnings,
    knows_participants,
    means_by,
    require_tasks,
    score_scale,
    shares_by,
)
from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.levels import draw_level_shares
from dashboard.queries import run_query
from dashboard.stats.pomp import thirds
from dashboard.vocabulary import TooLittleData, format_number, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "desired_empathy_by_task"
BY = {"model": "Assistant model", "importance": "Importance", "covariates": "Participant's traits"}
MOST_LEVELS = 6


@dataclass(frozen=True)
class DesiredParameters(Parameters):
    """What the last figure is split by."""

    by: str = parameter(
        "importance",
        label="Also by",
        choices=tuple(BY),
        help="What the last figure splits desired empathy by. Numeric traits are cut into thirds of participants.",
    )


def analyse(database: Database, selection: Selection, parameters: DesiredParameters) -> Findings:
    """Average desired empathy and count its levels per task, and per level of something else."""
    scale = score_scale(database, "desired_empathy")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    chosen = selection.query_parameters()
    rows = run_query(database, NAME, **chosen)
    rows = rows[rows["task"].notna()]
    if rows.empty:
        raise TooLittleData("No conversation of this selection has a desired level. Take a filter away.")
    known = knows_participants(database)
    means = means_by(rows, ["task"], "desired_empathy", participants=known)
    shares = shares_by(rows, "task", "desired_empathy", scale.levels())
    by = _split(database, rows, parameters.by, participants=known)
    tables = {NAME: means, f"{NAME}.levels": shares, f"{NAME}.by": by}
    return Findings(
        name=NAME,
        headline=_headline(means, scale, describe_basis(rows, participants=known)),
        tables={name: table for name, table in tables.items() if name == NAME or len(table)},
        figures=_figures(means, shares, by, scale, parameters.by),
        warnings=few_warnings(means),
        notes=(CHOICE_NOTE, ORDINAL_NOTE),
        counts=counts,
        queries={NAME: chosen},
    )


def _split(database: Database, rows: pd.DataFrame, by: str, *, participants: bool) -> pd.DataFrame:
    """Return means by model, importance, or level of every covariate: group, level, n, mean, interval."""
    import pandas as pd

    if by == "covariates":
        long = covariate_levels(run_query(database, "participant_covariates"))
        joined = rows.merge(long, on="participant")
        found = means_by(joined, ["group", "place", "level"], "desired_empathy", participants=participants)
        return found.drop(columns="place")
    known = rows[rows[by].notna()]
    if known.empty:
        return pd.DataFrame(columns=["group", "level", "n_conversations", "n_participants", "mean"])
    # Sorted by number where levels are numbers, then named as the scale names them.
    means = means_by(known, [by], "desired_empathy", participants=participants)
    name = score_scale(database, by).name if by == "importance" else str
    names = [name(level) for level in means[by]]
    means = means.drop(columns=by)
    means.insert(0, "group", by)
    means.insert(1, "level", names)
    return means


def covariate_levels(covariates: pd.DataFrame) -> pd.DataFrame:
    """Return the level of each participant on each covariate: numbers by third, texts of few levels as they are.

    Parameters
    ----------
    covariates
        The report ``participant_covariates``: covariate, participant, text, number (NaN where the text is none).

    Returns
    -------
    pandas.DataFrame
        group (the covariate), place (0, 50, 100 by third), participant, level. Texts of more than six levels are left
        out.
    """
    import pandas as pd

    parts = []
    for name, part in covariates.groupby("covariate", sort=True):
        if part["number"].notna().all():
            numbers = part["number"].to_numpy(dtype=float)
            third = pd.Series(thirds(numbers), index=part.index)
            spans = part.assign(number=numbers).groupby(third)["number"].agg(["min", "max"])
            level = third.map(lambda at, s=spans: f"{s.loc[at, 'min']:g}–{s.loc[at, 'max']:g}")
            place = third
        elif part["text"].nunique() <= MOST_LEVELS:
            level, place = part["text"], 0.0
        else:
            continue
        parts.append(pd.DataFrame({"group": name, "place": place, "participant": part["participant"], "level": level}))
    columns = ["group", "place", "participant", "level"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _figures(
    means: pd.DataFrame, shares: pd.DataFrame, by: pd.DataFrame, scale: ScoreScale, split: str
) -> dict[str, Drawing]:
    order = list(means.sort_values("mean", ascending=False, kind="stable")["task"])
    listed = "; ".join(
        f"{task} {format_number(float(means.set_index('task').loc[task, 'mean']), 'rating')}" for task in order
    )
    unit = f"Desired empathy, {scale.range_text}"
    reach = (scale.minimum, scale.maximum)
    figures = {}
    if not shares.empty:
        figures[NAME] = Drawing(
            draw=draw_level_shares,
            arguments={
                "frame": in_order(shares, "task", order),
                "row": "task",
                "labels": {},
                "ends": scale.ends,
                "unit": "Share of conversations",
            },
            alt=f"Stacked bars: how often each level of empathy was desired, per task. Means: {listed}.",
        )
    figures[f"{NAME}.means"] = Drawing(
        draw=draw_intervals,
        arguments={
            "frame": in_order(means, "task", order),
            "row": "task",
            "estimate": "mean",
            "labels": {},
            "unit": unit,
            "axis_range": reach,
            "count": "n_conversations",
        },
        alt=f"Mean desired empathy with 95 % interval per task, highest first: {listed}.",
    )
    if not by.empty:
        several = split == "covariates"
        named = by.assign(
            name=[f"{g}: {lv}" if several else lv for g, lv in zip(by["group"], by["level"], strict=True)]
        )
        figures[f"{NAME}.by"] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": named,
                "row": "name",
                "estimate": "mean",
                "labels": {},
                "unit": unit,
                "axis_range": reach,
                "count": "n_conversations",
            },
            alt=f"Mean desired empathy with 95 % interval by {BY[split].lower()}; the table holds the numbers.",
        )
    return figures


def in_order(frame: pd.DataFrame, column: str, order: list[str]) -> pd.DataFrame:
    """Return rows sorted by where their level stands in ``order``, otherwise as they were."""
    places = {level: place for place, level in enumerate(order)}
    return frame.sort_values(column, key=lambda levels: levels.map(places), kind="stable")


def _headline(means: pd.DataFrame, scale: ScoreScale, basis: str) -> str:
    ordered = means.sort_values("mean", kind="stable")
    low, high = ordered.iloc[0], ordered.iloc[-1]
    text = [with_interval(one["mean"], one["conf_low"], one["conf_high"]) for one in (low, high)]
    span = f"on a scale from {scale.range_text}"
    if len(means) == 1:
        return f"Before {low['task']} desired empathy is {text[0]} on average, {span}; {basis}."
    if low["conf_high"] < high["conf_low"]:
        return (
            f"Most empathy is desired before {high['task']}, {text[1]} on average, and least before {low['task']}, "
            f"{text[0]}, {span}; {basis}."
        )
    return (
        f"Tasks cannot be told apart by desired empathy: it goes from {text[0]} ({low['task']}) to {text[1]} "
        f"({high['task']}), {span}; {basis}."
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=1,
    question="How much empathy do people want before a task?",
    analyse=analyse,
    parameters=DesiredParameters,
    tables={
        NAME: "Desired empathy per task: mean over conversations with its interval",
        f"{NAME}.levels": "Share of each desired level per task",
        f"{NAME}.by": "Desired empathy by assistant model, importance or trait",
    },
    figures={
        NAME: "Desired levels per task, highest mean first",
        f"{NAME}.means": "Mean desired empathy per task",
        f"{NAME}.by": "Mean desired empathy by something else than the task",
    },
    method=(
        "Desired empathy is one answer before each conversation. Means average conversations; intervals are cluster-robust with "
        "the participant as the unit (t with participants − 1 degrees of freedom), those of shares are Wilson's on the "
        "effective sample size. Conversations without the answer are left out. Fewer than five participants: no "
        "interval. Numeric traits are cut into thirds of participants, equal values together; traits in words are shown "
        f"where they have at most {MOST_LEVELS} levels."
    ),
    references=(
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA, 22.",
    ),
)
