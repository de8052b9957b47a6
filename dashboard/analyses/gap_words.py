"""What is said of the gap between desired and experienced empathy: the finding, its limits, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import CHOICE_NOTE, ORDINAL_NOTE, ScoreScale
from dashboard.stats.gap_comparison import TaskComparison
from dashboard.vocabulary import plural

if TYPE_CHECKING:
    import pandas as pd

MAPPED = {
    "pomp": "percent of the maximum possible of each scale",
    "rank": "percentile rank among these conversations",
    "tercile": "desired as percent of the maximum possible, experienced by third of its distribution",
}


def gap_headline(table: pd.DataFrame, mapped: dict[str, pd.DataFrame], mapping: str, basis: str) -> str:
    """Return the finding: in which tasks experienced empathy falls short of desired, and in which it exceeds it."""
    if mapping != "pomp":
        return _relative_headline(mapped[mapping], mapping, basis)
    short = table[table["conf_high"] < 0].sort_values("gap", kind="stable")
    over = table[table["conf_low"] > 0].sort_values("gap", ascending=False, kind="stable")
    scale = "on a scale from 0 to 100 (our mapping)"
    parts = []
    if len(short):
        parts.append(
            f"falls short of desired in {len(short)} of {len(table)} tasks, most in {_gap_text(short.iloc[0])}"
        )
    if len(over):
        what = "it in" if len(short) else f"desired in {len(over)} of {len(table)} tasks, most in"
        parts.append(f"exceeds {what} {f'{len(over)}, most in ' if len(short) else ''}{_gap_text(over.iloc[0])}")
    if parts:
        return f"Experienced empathy {', and '.join(parts)}, {scale}; {basis}."
    lowest = _gap_text(table.loc[table["gap"].idxmin()])
    if table["conf_low"].notna().any():
        return (
            f"In no task do desired and experienced empathy clearly differ; the lowest gap is that of {lowest}, {scale}; "
            f"{basis}."
        )
    return (
        f"There are too few participants for an interval in any task; the lowest gap is that of {lowest}, {scale}; "
        f"{basis}."
    )


def _relative_headline(relative: pd.DataFrame, mapping: str, basis: str) -> str:
    """Say which tasks stand off the average conversation: all that a mapping by rank or third can tell."""
    below = relative[relative["verdict"] == "below"].sort_values("gap", kind="stable")
    above = relative[relative["verdict"] == "above"].sort_values("gap", ascending=False, kind="stable")
    parts = [
        f"{side} in {len(found)}, most in {_gap_text(found.iloc[0])}"
        for side, found in (("lower", below), ("higher", above))
        if len(found)
    ]
    text = f"the gap is {' and '.join(parts)}" if parts else "no task clearly stands off it"
    n_tasks = plural(len(relative), "task")
    return f"Compared with the average conversation, by {MAPPED[mapping]}, {text}; {n_tasks}, {basis}."


def _gap_text(row: pd.Series) -> str:
    low, high = row["conf_low"], row["conf_high"]
    interval = "" if low != low else f" (95 % interval {low:+.0f} to {high:+.0f})"
    return f"{row['task']}, " + f"{row['gap']:+.0f}{interval}".replace("-", "−")


def relative_only(mapping: str) -> tuple[str, ...]:
    """Say what a mapping by rank or third cannot tell."""
    if mapping == "pomp":
        return ()
    return (
        f"The {mapping} mapping compares tasks with each other only: where its zero lies is a matter of definition, and so "
        "are unmet, met, exceeded and the tests against zero.",
    )


def tied_by_construction(rows: pd.DataFrame, desired: ScoreScale) -> str:
    """Say what the scale alone does to the gap."""
    import numpy as np

    text = (
        f"Level {desired.minimum:g} cannot be unmet and level {desired.maximum:g} cannot be exceeded, and gap and desired "
        "level are negatively correlated by construction"
    )
    if len(rows) > 2 and rows["desired_pomp"].nunique() > 1 and rows["gap"].nunique() > 1:
        r = float(np.corrcoef(rows["desired_pomp"], rows["gap"])[0, 1])
        text += " (here r = " + f"{r:.2f})".replace("-", "−").replace("0.", ".")
    return f"{text}: a task whose gap is low may just be one before which much is desired. The second figure compares within desired levels."


def mapping_sentence(mapped: dict[str, pd.DataFrame]) -> str:
    """Say whether the order of tasks against their average survives another mapping."""
    base = mapped["pomp"].set_index("task")["verdict"]
    if len(base) < 2:
        return "There is one task, so that mappings, which compare tasks, cannot be compared."
    changed = []
    for name in ("rank", "tercile"):
        other = mapped[name].set_index("task")["verdict"]
        tasks = [str(task) for task in base.index if other[task] != base[task]]
        if tasks:
            changed.append(f"by {name} for {', '.join(tasks)}")
    if not changed:
        return (
            "The conclusion does not depend on the mapping: compared with the average conversation, every task stands on "
            "the same side by percent of the maximum, rank and tercile."
        )
    return (
        "The conclusion depends on the mapping: whether a task stands below, above or not clearly off the average "
        f"conversation changes {'; '.join(changed)}."
    )


def what_is_omitted(table: pd.DataFrame, compared: TaskComparison) -> tuple[str, ...]:
    """Say which tests were left out, and why."""
    untested = [f"{row.task} ({row.method})" for row in table.itertuples() if row.method.startswith("no test")]
    found = [f"No signed-rank test for {', '.join(untested[:4])}."] if untested else []
    if compared.reason:
        found.append(f"The mixed model that compares tasks is left out. {compared.reason}")
    return tuple(found)


def gap_notes(conversations: pd.DataFrame, rows: pd.DataFrame, band: float) -> tuple[str, ...]:
    """Return the small print: what was left out, the mapping, the tests made."""
    lacking = len(conversations) - len(rows)
    notes = [
        "The papers state no mapping of the two scales; this one is ours and is printed on the figure.",
        "Desired empathy is one answer on few levels, experienced empathy the mean of several on more.",
        f"Tests: one per task, adjusted by Holm, and one joint test; the rest describes. Met is a gap within ±{band:g}.",
        CHOICE_NOTE,
        ORDINAL_NOTE,
    ]
    if lacking:
        notes.insert(0, f"{lacking:,} conversations lack one of the two answers and are left out.")
    return tuple(notes)
