"""Which dimension of empathy falls short, and in which task?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.desired_empathy_by_task import in_order
from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    ScoreScale,
    knows_participants,
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
from dashboard.figures.matrix import draw_matrix
from dashboard.queries import run_query
from dashboard.stats.gap_comparison import add_gaps, gap_table
from dashboard.vocabulary import TooLittleData, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "gap_by_dimension"
ALL = "All tasks"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Subtract desired empathy from each dimension answered after the task, per task and over all."""
    desired, experienced = score_scale(database, "desired_empathy"), score_scale(database, "experienced_empathy")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    answers = run_query(database, NAME, **selection.query_parameters())
    answers = answers[answers["task"].notna()].rename(columns={"value": "experienced_empathy"})
    if answers.empty:
        raise TooLittleData(
            "No conversation of this selection has both answers. Take a filter away, or reset them all."
        )
    rows = add_gaps(answers, desired_scale=desired.scale, experienced_scale=experienced.scale)
    known = knows_participants(database)
    places = {item: place for place, item in enumerate(experienced.items)}
    table, overall = (
        _ordered(gap_table(rows.rename(columns={"item": "dimension"}), by, participants=known), places)
        for by in (["task", "dimension"], ["dimension"])
    )
    return Findings(
        name=NAME,
        headline=_headline(table, overall, experienced, rows),
        tables={NAME: table, f"{NAME}.overall": overall},
        figures={NAME: _matrix(table, overall, experienced)},
        warnings=_warnings(table),
        notes=(
            "Desired empathy is one answer for all dimensions: within a task, gaps by dimension differ through experienced "
            "empathy alone.",
            "As everywhere, the lowest desired level cannot be unmet nor the highest exceeded.",
            f"Tests: {len(table)}, adjusted by Holm over all of them; exploratory.",
            CHOICE_NOTE,
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={NAME: selection.query_parameters()},
    )


def _ordered(table: pd.DataFrame, places: dict[str, int]) -> pd.DataFrame:
    """Sort by task, then by the dimensions' own order."""
    by = ["task", "place"] if "task" in table else ["place"]
    placed = table.assign(place=table["dimension"].map(places))
    return placed.sort_values(by, kind="stable").drop(columns="place").reset_index(drop=True)


def _matrix(table: pd.DataFrame, overall: pd.DataFrame, experienced: ScoreScale) -> Drawing:
    import pandas as pd

    order = list(table.groupby("task")["gap"].mean().sort_values(kind="stable").index)
    shown = pd.concat([overall.assign(task=ALL), in_order(table, "task", order)], ignore_index=True)
    shown = shown.assign(
        label=[experienced.items.get(one, one) for one in shown["dimension"]],
        note=[f"n {n:,}" for n in shown["n_conversations"]],
        short=shown["conf_high"] < 0,
    )
    reach = float(shown["gap"].abs().max()) or 1.0
    return Drawing(
        draw=draw_matrix,
        arguments={
            "frame": shown,
            "row": "task",
            "across": "label",
            "value": "gap",
            "count": "n_conversations",
            "row_labels": {},
            "across_title": "Gap, of 100; outlined: interval below 0",
            "unit": "Gap",
            "percent": False,
            "signed": True,
            "minimum": -reach,
            "maximum": reach,
            "note": "note",
            "mark": "short",
        },
        alt="Matrix of the gap between experienced and desired empathy per task and dimension, with n; outlined where the "
        "95 % interval lies below zero. Over all tasks: "
        + "; ".join(
            f"{experienced.items.get(row.dimension, row.dimension)} {row.gap:+.0f}" for row in overall.itertuples()
        )
        + ".",
    )


def _headline(table: pd.DataFrame, overall: pd.DataFrame, experienced: ScoreScale, rows: pd.DataFrame) -> str:
    short = table[table["conf_high"] < 0].sort_values("gap", kind="stable")
    n = plural(rows["conversation"].nunique(), "conversation")
    lowest = overall.loc[overall["gap"].idxmin()]
    general = f"over all tasks the lowest gap is that of {_name(lowest, experienced)}, {_gap(lowest)}"
    if short.empty:
        return f"No dimension clearly falls short of what was desired in any task; {general}; {n}."
    worst, n_tasks = short.iloc[0], short["task"].nunique()
    return (
        f"Dimensions fall short of what was desired in {n_tasks} of {table['task'].nunique()} tasks, "
        f"{len(short)} of {len(table)} pairs of task and dimension, most {_name(worst, experienced)} in {worst['task']}, "
        f"{_gap(worst)}; {general}; {n}."
    )


def _name(row: pd.Series, experienced: ScoreScale) -> str:
    return experienced.items.get(row["dimension"], row["dimension"])


def _gap(row: pd.Series) -> str:
    low, high = row["conf_low"], row["conf_high"]
    interval = "" if low != low else f" (95 % interval {low:+.0f} to {high:+.0f})"
    return f"{row['gap']:+.0f} of 100{interval}".replace("-", "−")


def _warnings(table: pd.DataFrame) -> tuple[str, ...]:
    bare = sorted(set(table.loc[table["conf_low"].isna(), "task"].astype(str)))
    if not bare:
        return ()
    listed = ", ".join(bare[:4]) + (f" and {len(bare) - 4} more" if len(bare) > 4 else "")
    return (f"Fewer than five participants answered some dimension in {listed}: no interval and no test there.",)


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=5,
    question="Which dimension of empathy falls short, and where?",
    analyse=analyse,
    tables={
        NAME: "Gap, interval, test and shares per task and dimension",
        f"{NAME}.overall": "The same per dimension over all tasks",
    },
    figures={NAME: "Gap per task and dimension"},
    method=(
        "The gap of a dimension is its answer after the task minus the empathy desired before it, both as percent of the "
        "maximum possible; definitions, intervals, tests and shares are those of the gap per task. Desired empathy is one "
        "answer, so that differences between dimensions are differences in experienced empathy. Conversations in "
        "which a dimension did not apply or was left blank drop out of that dimension only. p values are adjusted by Holm over all pairs of "
        "task and dimension."
    ),
    references=(
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6.",
    ),
)
