"""How much empathy do people get in a task, and on which dimensions?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dashboard.analyses.desired_empathy_by_task import in_order
from dashboard.analyses.expectation_rows import (
    CHOICE_NOTE,
    ORDINAL_NOTE,
    ScoreScale,
    describe_basis,
    few_warnings,
    knows_participants,
    means_by,
    read_conversations,
    require_tasks,
    score_scale,
)
from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.figures.matrix import draw_matrix
from dashboard.queries import run_query
from dashboard.stats.clustered import clustered_means
from dashboard.stats.kruskal import kruskal_wallis, stratified_kruskal
from dashboard.vocabulary import TooLittleData, format_number, format_p, format_percent, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "experienced_empathy_by_task"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Average experienced empathy per task, overall and per dimension."""
    scale = score_scale(database, "experienced_empathy")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    rows = read_conversations(database, selection)
    rows = rows[rows["experienced_empathy"].notna() & rows["task"].notna()]
    if rows.empty:
        raise TooLittleData("No conversation of this selection has an answer after the task. Take a filter away.")
    known = knows_participants(database)
    means = means_by(rows, ["task"], "experienced_empathy", participants=known)
    dimensions = dimension_means(run_query(database, NAME, **selection.query_parameters()), participants=known)
    tests = rank_tests(rows, "experienced_empathy", participants=known)
    return Findings(
        name=NAME,
        headline=_headline(means, tests, scale, describe_basis(rows, participants=known)),
        tables={NAME: means, f"{NAME}.dimensions": dimensions, f"{NAME}.tests": tests},
        figures=_figures(means, dimensions, scale),
        warnings=few_warnings(means),
        notes=(
            "Experienced empathy averages the items that were answered; where an item does not apply, the others carry it.",
            CHOICE_NOTE,
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={NAME: selection.query_parameters(), "expectation_gap": selection.query_parameters()},
    )


def dimension_means(answers: pd.DataFrame, *, participants: bool) -> pd.DataFrame:
    """Return mean, interval and applicability per task and dimension.

    Parameters
    ----------
    answers
        One row per task, item and cluster: n_rated, n_not_applicable, n_missing, total.

    Returns
    -------
    pandas.DataFrame
        task, dimension, n_rated, n_not_applicable, n_missing, n_participants, mean, conf_low, conf_high,
        share_applicable.
    """
    import numpy as np

    key = ["task", "item"]
    means = clustered_means(answers, key, count="n_rated")
    counts = answers.groupby(key, sort=False)[["n_rated", "n_not_applicable", "n_missing"]].sum().reset_index()
    joined = counts.merge(means, on=key, validate="one_to_one")
    answered = joined["n_rated"] + joined["n_not_applicable"]
    joined["share_applicable"] = joined["n_rated"] / answered.where(answered > 0)
    joined["n_participants"] = joined["n_groups"] if participants else np.nan
    joined = joined.rename(columns={"item": "dimension"})
    columns = ["task", "dimension", "n_rated", "n_not_applicable", "n_missing", "n_participants"]
    return joined[[*columns, "mean", "conf_low", "conf_high", "share_applicable"]]


def rank_tests(rows: pd.DataFrame, value: str, *, participants: bool) -> pd.DataFrame:
    """Return whether tasks differ in rank: stratified by participant first, conversations as independent second.

    Parameters
    ----------
    rows
        One row per conversation: task, cluster, ``value``; nothing missing.
    participants
        Whether clusters are participants; else there is nothing to stratify by.

    Returns
    -------
    pandas.DataFrame
        method, statistic, df, p_value, epsilon_squared, n_observations, n_groups.
    """
    import pandas as pd

    values, tasks = rows[value].to_numpy(dtype=float), rows["task"].to_numpy()
    found = {}
    if participants:
        label = "Kruskal–Wallis stratified by participant"
        found[label] = stratified_kruskal(values, tasks, rows["cluster"].to_numpy())
    found["Kruskal–Wallis, conversations as independent (descriptive)"] = kruskal_wallis(values, tasks)
    columns = ["statistic", "df", "p_value", "epsilon_squared", "n_observations", "n_groups"]
    return pd.DataFrame([{"method": name} | {key: getattr(one, key) for key in columns} for name, one in found.items()])


def _figures(means: pd.DataFrame, dimensions: pd.DataFrame, scale: ScoreScale) -> dict[str, Drawing]:
    order = list(means.sort_values("mean", ascending=False, kind="stable")["task"])
    by_task = means.set_index("task")["mean"]
    figures = {
        NAME: Drawing(
            draw=draw_intervals,
            arguments={
                "frame": in_order(means, "task", order),
                "row": "task",
                "estimate": "mean",
                "labels": {},
                "unit": f"Experienced empathy, {scale.range_text}",
                "axis_range": (scale.minimum, scale.maximum),
                "count": "n_conversations",
            },
            alt="Mean experienced empathy with 95 % interval per task, highest first: "
            + "; ".join(f"{task} {format_number(float(by_task[task]), 'rating')}" for task in order)
            + ".",
        )
    }
    if dimensions["mean"].notna().any():
        figures[f"{NAME}.dimensions"] = Drawing(
            draw=draw_matrix,
            arguments={
                "frame": in_order(_with_notes(dimensions, scale), "task", order),
                "row": "task",
                "across": "label",
                "value": "mean",
                "count": "n_rated",
                "row_labels": {},
                "across_title": "Mean, number rated (n), share applicable",
                "unit": "Mean",
                "percent": False,
                # Half a step around the data: over the whole scale all tiles would look alike.
                "minimum": math.floor(2 * dimensions["mean"].min()) / 2,
                "maximum": math.ceil(2 * dimensions["mean"].max()) / 2,
                "note": "note",
            },
            alt="Matrix of mean experienced empathy per task and dimension, with the number rated and the share to which "
            "the dimension applied; the table holds the numbers.",
        )
    return figures


def _with_notes(dimensions: pd.DataFrame, scale: ScoreScale) -> pd.DataFrame:
    notes = [
        f"n {row.n_rated:,}"
        + ("" if row.share_applicable != row.share_applicable else f"\n{format_percent(row.share_applicable)}")
        for row in dimensions.itertuples()
    ]
    return dimensions.assign(note=notes, label=[scale.items.get(one, one) for one in dimensions["dimension"]])


def _headline(means: pd.DataFrame, tests: pd.DataFrame, scale: ScoreScale, basis: str) -> str:
    ordered = means.sort_values("mean", kind="stable")
    low, high = ordered.iloc[0], ordered.iloc[-1]
    text = [with_interval(one["mean"], one["conf_low"], one["conf_high"]) for one in (low, high)]
    span = f"on a scale from {scale.range_text}"
    if len(means) == 1:
        return f"After {low['task']} experienced empathy is {text[0]} on average, {span}; {basis}."
    test = tests.iloc[0]
    p = test["p_value"]
    checked = f"; {test['method']}: {format_p(p)}" if p == p else ""
    if p == p and p < 0.05:
        return (
            f"Experienced empathy is highest after {high['task']}, {text[1]} on average, and lowest after {low['task']}, "
            f"{text[0]}, {span}{checked}; {basis}."
        )
    return (
        f"Tasks cannot be told apart by experienced empathy: it goes from {text[0]} ({low['task']}) to {text[1]} "
        f"({high['task']}), {span}{checked}; {basis}."
    )


def _context(findings: Findings) -> Checked:
    means, test = findings.table, findings.tables[f"{NAME}.tests"].iloc[0]
    if len(means) < 2:
        raise TooLittleData("One task only: nothing to compare.")
    spread = means["mean"].max() - means["mean"].min()
    p = "" if test["p_value"] != test["p_value"] else f", {format_p(test['p_value'])}"
    return Checked(
        value=f"task means differ by up to {spread:.2f}",
        interval="",
        basis=f"{len(means)} tasks, {test['method']}{p}; tasks are self-chosen",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=2,
    question="How much empathy do people get in a task?",
    analyse=analyse,
    tables={
        NAME: "Experienced empathy per task: mean over conversations with its interval",
        f"{NAME}.dimensions": "The same per dimension, with counts and applicability",
        f"{NAME}.tests": "Do tasks differ in rank?",
    },
    figures={
        NAME: "Mean experienced empathy per task, highest first",
        f"{NAME}.dimensions": "Mean per task and dimension, with n and applicability",
    },
    method=(
        "Experienced empathy of a conversation is the mean of its answered empathy items after the task. Means average "
        "conversations; intervals are cluster-robust with the participant as the unit. A dimension's mean is over conversations "
        "that rated it; applicability is rated / (rated + not applicable), blanks enter neither side. Do tasks differ? "
        "Kruskal–Wallis stratified by participant: mid-ranks over all conversations, exchangeable within a participant under "
        "the null hypothesis; beside it, descriptively, the unstratified test with ε² = H/(n − 1), which takes "
        "conversations as independent. Ranks are of values rounded to 9 decimals."
    ),
    references=(
        "Kruskal, W. H., & Wallis, W. A. (1952). Use of ranks in one-criterion variance analysis. JASA, 47.",
        "Strasser, H., & Weber, C. (1999). On the asymptotic theory of permutation statistics. Mathematical Methods of "
        "Statistics, 8.",
    ),
    claims=(
        Claim(
            claim="Judgements of empathy depend on the context",
            reported="stated, no figure",
            source="Suh et al., arXiv 2509.16437, abstract",
            check=_context,
        ),
    ),
)
