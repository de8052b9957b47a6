"""Do people get the empathy that they wanted?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dashboard.analyses.desired_empathy_by_task import in_order
from dashboard.analyses.expectation_rows import (
    ScoreScale,
    describe_basis,
    few_warnings,
    knows_participants,
    read_conversations,
    require_tasks,
    score_scale,
)
from dashboard.analyses.experienced_empathy_by_task import rank_tests
from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.analyses.gap_words import (
    gap_headline,
    gap_notes,
    mapping_sentence,
    relative_only,
    tied_by_construction,
    what_is_omitted,
)
from dashboard.database import Database
from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.dumbbell import draw_dumbbell
from dashboard.figures.parts import draw_parts
from dashboard.figures.template import diverging
from dashboard.stats.gap_comparison import TaskComparison, add_gaps, compare_tasks, gap_table, relative_verdicts
from dashboard.stats.pomp import MAPPINGS
from dashboard.vocabulary import TooLittleData, format_p

if TYPE_CHECKING:
    import pandas as pd

NAME = "expectation_gap"
ALL = "All tasks"
AXIS = {
    "pomp": "Percent of each scale's maximum",
    "rank": "Percentile rank of each",
    "tercile": "Percent of maximum, experienced by third",
}


@dataclass(frozen=True)
class GapParameters(Parameters):
    """How both sides come onto one scale, and what counts as met."""

    mapping: str = parameter(
        "pomp",
        label="Mapping",
        choices=MAPPINGS,
        labels={"pomp": "Percent of maximum (POMP)", "rank": "Rank", "tercile": "Third"},
        help="How desired and experienced empathy come onto one scale. The papers state none. Rank and tercile compare "
        "tasks with each other only.",
    )
    band: float = parameter(
        25.0,
        label="Met within ±",
        minimum=0,
        maximum=100,
        more=True,
        help="An expectation counts as met when the gap is no wider; 25 is half the step between desired levels.",
    )


def analyse(database: Database, selection: Selection, parameters: GapParameters) -> Findings:
    """Subtract desired from experienced empathy, per task and within each desired level."""
    desired, experienced = score_scale(database, "desired_empathy"), score_scale(database, "experienced_empathy")
    require_tasks(database)
    refuse_empty(counts := count_selection(database, selection))
    onto_one_scale = partial(add_gaps, desired_scale=desired.scale, experienced_scale=experienced.scale)
    conversations = read_conversations(database, selection)
    conversations = conversations[conversations["task"].notna()]
    rows = onto_one_scale(conversations, mapping=parameters.mapping, band=parameters.band)
    if rows.empty:
        raise TooLittleData(
            "No conversation of this selection has both answers. Take a filter away, or reset them all."
        )
    known = knows_participants(database)
    table, within = gap_table(rows, ["task"], participants=known), _within(rows, participants=known)
    compared = compare_tasks(rows, "gap", participants=known)
    mapped = {one: relative_verdicts(onto_one_scale(conversations, mapping=one)) for one in MAPPINGS}
    return Findings(
        name=NAME,
        headline=gap_headline(table, mapped, parameters.mapping, describe_basis(rows, participants=known)),
        tables=_tables(rows, table, within, compared, mapped, participants=known),
        figures=_figures(table, within, parameters, desired, experienced),
        warnings=(
            *relative_only(parameters.mapping),
            tied_by_construction(rows, desired),
            mapping_sentence(mapped),
            *few_warnings(table),
            *what_is_omitted(table, compared),
        ),
        notes=gap_notes(conversations, rows, parameters.band),
        counts=counts,
        queries={NAME: selection.query_parameters()},
    )


def _within(rows: pd.DataFrame, *, participants: bool) -> pd.DataFrame:
    """Return the gap within each desired level, over all tasks and per task."""
    import pandas as pd

    by = ["task", "desired_empathy"]
    overall = gap_table(rows.assign(task=ALL), by, participants=participants)
    each = gap_table(rows, by, participants=participants)
    # One family of tests is enough for an answer: within levels intervals are given, and no p values.
    drop = ["p_value", "p_adjusted", "method", "n_zero"]
    return pd.concat([overall, each], ignore_index=True).drop(columns=drop)


def _tables(
    rows: pd.DataFrame,
    table: pd.DataFrame,
    within: pd.DataFrame,
    compared: TaskComparison,
    mapped: dict[str, pd.DataFrame],
    *,
    participants: bool,
) -> dict[str, pd.DataFrame]:
    import pandas as pd

    groups = [
        gap_table(rows.assign(group=group, level=level), ["group", "level"], participants=participants)
        for group, level in (
            ("all", "all"),
            ("model", rows["model"]),
            ("desired_empathy", [f"{one:g}" for one in rows["desired_empathy"]]),
        )
        if group != "model" or rows["model"].notna().any()
    ]
    tests = rank_tests(rows, "gap", participants=participants)
    if not compared.joint.empty:
        joint = compared.joint.iloc[0]
        first = {"method": "Mixed model gap ~ task + (1 | participant), F test", "statistic": joint["statistic"]}
        first |= {"df": joint["df"], "df_denominator": joint["df_denominator"], "p_value": joint["p_value"]}
        first |= {"n_observations": len(rows), "n_groups": rows["task"].nunique()}
        tests = pd.concat([pd.DataFrame([first]), tests], ignore_index=True)
    found = {
        NAME: table,
        f"{NAME}.within": within,
        f"{NAME}.groups": pd.concat(groups, ignore_index=True),
        f"{NAME}.tests": tests,
        f"{NAME}.means": compared.means,
        f"{NAME}.contrasts": compared.contrasts,
        f"{NAME}.mappings": pd.concat([one.assign(mapping=name) for name, one in mapped.items()], ignore_index=True),
    }
    return {name: one for name, one in found.items() if len(one)}


def _figures(
    table: pd.DataFrame, within: pd.DataFrame, parameters: GapParameters, desired: ScoreScale, experienced: ScoreScale
) -> dict[str, Drawing]:
    order = list(table.sort_values("gap", kind="stable")["task"])
    by_task = table.set_index("task")
    ranges = (
        f"desired {desired.minimum:g}–{desired.maximum:g}, experienced {experienced.minimum:g}–{experienced.maximum:g}"
    )
    levels = desired.levels() or sorted(within["desired_empathy"].unique())
    words = [f"{level:g}" for level in levels]
    words[0] += f" {desired.ends[0]}" if desired.ends[0] else ""
    words[-1] += f" {desired.ends[1]}" if desired.ends[1] and len(words) > 1 else ""
    band = f"{parameters.band:g}"
    colors = diverging(3)
    return {
        NAME: Drawing(
            draw=draw_dumbbell,
            arguments={
                "frame": in_order(table, "task", order),
                "row": "task",
                "start": "desired_pomp",
                "end": "experienced_pomp",
                "difference": "gap",
                "names": ("Desired before", "Experienced after"),
                "unit": f"{AXIS[parameters.mapping]} ({ranges})",
                "axis_range": (0.0, 100.0),
            },
            alt="Desired and experienced empathy per task on a scale from 0 to 100, and the gap between them: "
            + "; ".join(f"{task} {by_task.loc[task, 'gap']:+.0f}" for task in order)
            + ".",
        ),
        f"{NAME}.within": Drawing(
            draw=draw_dodged_intervals,
            arguments={
                "frame": in_order(within, "task", [ALL, *order]),
                "row": "task",
                "series": "desired_empathy",
                "estimate": "gap",
                "series_labels": {level: f"Desired {word}" for level, word in zip(levels, words, strict=True)},
                "colors": diverging(len(levels)),
                "unit": "Gap: experienced − desired, of 100",
                "zero": 0.0,
            },
            alt="Gap within each desired level, over all tasks and per task, with 95 % intervals; over all tasks "
            + "; ".join(
                f"desired {row.desired_empathy:g}: {row.gap:+.0f}" for row in within[within["task"] == ALL].itertuples()
            )
            + ".",
        ),
        f"{NAME}.shares": Drawing(
            draw=draw_parts,
            arguments={
                "frame": in_order(table, "task", order),
                "row": "task",
                "parts": {
                    "share_unmet": (f"Unmet (< −{band})", colors[0]),
                    "share_met": (f"Met (within ±{band})", colors[1]),
                    "share_exceeded": (f"Exceeded (> {band})", colors[2]),
                },
                "unit": "Share of conversations",
            },
            alt="Shares of conversations in which the expectation was unmet, met or exceeded, per task; the table holds "
            "the numbers.",
        ),
    }


def _differ(findings: Findings) -> Checked:
    everything = findings.tables[f"{NAME}.groups"].iloc[0]
    table = findings.table
    off = int(((table["conf_low"] > 0) | (table["conf_high"] < 0)).sum())
    low, high = everything["conf_low"], everything["conf_high"]
    p = "" if everything["p_value"] != everything["p_value"] else f", signed-rank {format_p(everything['p_value'])}"
    # Signs in words: a cell that begins with a plus would run in a spreadsheet.
    side = "above" if everything["gap"] >= 0 else "below"
    return Checked(
        value=f"{abs(everything['gap']):.1f} of 100 points {side} desired",
        interval="" if low != low else f"{low:.1f} to {high:.1f}".replace("-", "−"),
        basis=f"experienced − desired on percent of the maximum (our mapping), {int(everything['n_conversations'])} "
        f"conversations{p}; clearly off zero in {off} of {len(table)} tasks",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=3,
    question="Do people get the empathy that they wanted?",
    analyse=analyse,
    parameters=GapParameters,
    tables={
        NAME: "Desired, experienced, gap, test and shares per task",
        f"{NAME}.within": "The gap within each desired level, over all tasks and per task",
        f"{NAME}.groups": "The gap over all conversations, by assistant model and by desired level",
        f"{NAME}.tests": "Do tasks differ in their gap?",
        f"{NAME}.means": "Marginal means of the mixed model",
        f"{NAME}.contrasts": "All pairs of tasks, adjusted by Holm",
        f"{NAME}.mappings": "Each task against the average conversation under every mapping",
    },
    figures={
        NAME: "Desired and experienced empathy per task, lowest gap first",
        f"{NAME}.within": "The same gap within each desired level",
        f"{NAME}.shares": "Expectation unmet, met or exceeded, per task",
    },
    method=(
        "The gap of a conversation is experienced − desired, both as percent of the maximum possible (POMP): "
        "100 · (x − minimum)/(maximum − minimum). The papers state no mapping; this one is ours. *Rank* takes the "
        "percentile rank of each among these conversations, *tercile* the third in which experienced falls against desired as POMP; both "
        "make the sum of gaps a matter of definition and compare tasks only. Means average conversations, intervals are "
        "cluster-robust with the participant as the unit. Met is |gap| ≤ 25 (adjustable), half the step between desired "
        "levels. Test per task: Wilcoxon's signed-rank test of one mean gap per participant; zeros dropped and counted, "
        "mid-ranks, normal approximation with tie correction and without continuity correction (exact up to 25 values "
        "without ties or zeros), none below six values other than zero; Holm over tasks. The rank-biserial correlation is "
        "(W₊ − W₋)/(W₊ + W₋). Do tasks differ? Mixed model gap ~ task + (1 | participant) by REML: joint F "
        "test, marginal means and Holm contrasts with Satterthwaite's degrees of freedom; beside it Kruskal–Wallis "
        "stratified by participant and, descriptively, unstratified with ε². Conversations that lack either answer are "
        "left out."
    ),
    references=(
        "Cohen, P., Cohen, J., Aiken, L. S., & West, S. G. (1999). The problem of units and the circumstance for POMP. "
        "Multivariate Behavioral Research, 34.",
        "Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1.",
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6.",
        "Kuznetsova, A., Brockhoff, P. B., & Christensen, R. H. B. (2017). lmerTest package. Journal of Statistical "
        "Software, 82(13).",
    ),
    claims=(
        Claim(
            claim="Expected and experienced empathy differ",
            reported="stated, no figure",
            source="Shayegani et al., arXiv 2511.03143, abstract",
            check=_differ,
        ),
    ),
)
