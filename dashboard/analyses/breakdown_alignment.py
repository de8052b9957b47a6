"""What happens to ratings around the first breakdown?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.breakdown_rows import (
    DISRUPTED,
    BreakdownParameters,
    Breakdowns,
    few_participants,
    left_out,
    read_breakdowns,
    refuse_without_breakdown,
)
from dashboard.analyses.findings import Analysis, Checked, Claim, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.alignment import draw_alignment
from dashboard.stats.alignment import OFFSETS, align_events, match_events, offset_means, order_band, shuffled_means
from dashboard.vocabulary import TooLittleData, format_number, plural, with_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "breakdown_alignment"
LABELS = {
    "breakdown": "Around the first breakdown",
    "matched": "Same task and turn, still unbroken",
    "order": "Order alone (95 % band)",
}


def analyse(database: Database, selection: Selection, parameters: BreakdownParameters) -> Findings:
    """Average ratings around first breakdowns, beside the risk set and the order reference."""
    found = read_breakdowns(database, selection, parameters)
    refuse_without_breakdown(found)
    own, matched = aligned_ratings(found)
    aligned = alignment_rows(found, own, matched)
    order, n_shuffles = order_rows(found, aligned)
    headline = _headline(aligned, order, found)
    return Findings(
        name=NAME,
        headline=headline,
        tables={
            NAME: aligned,
            f"{NAME}.order": order,
            f"{NAME}.difference": difference_rows(own, matched, found.courses.unit[found.event_time > 0]),
        },
        figures={
            NAME: Drawing(
                draw=draw_alignment,
                arguments={
                    "frame": aligned,
                    "order": order,
                    "labels": LABELS,
                    "limits": (float(found.scale["minimum"]), float(found.scale["maximum"])),
                    "ends": (found.scale["minimum_label"], found.scale["maximum_label"]),
                    "title": f"Mean {found.label}",
                    "x_title": f"Turns from the first breakdown ({found.short}); below, conversations",
                },
                alt=headline,
            )
        },
        warnings=few_participants(found),
        notes=(*left_out(found), f"{found.words}.", *_notes(found, aligned, order, n_shuffles)),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen},
    )


def strata(found: Breakdowns) -> np.ndarray:
    """Return the task of each conversation as a code; those without a task are a stratum of their own."""
    import pandas as pd

    return pd.factorize(found.conversations["task"], use_na_sentinel=False)[0]


def aligned_ratings(found: Breakdowns) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratings around each event and the means of its risk set, shape (events, offsets); NaN where none is."""
    courses, time = found.courses, found.event_time
    return align_events(courses, time, courses.value), match_events(courses, time, courses.value, strata(found))


def alignment_rows(found: Breakdowns, own: np.ndarray, matched: np.ndarray) -> pd.DataFrame:
    """Return the mean rating at each offset, of the conversations that break down and of their risk sets."""
    import pandas as pd

    unit = found.courses.unit[found.event_time > 0]
    parts = [
        offset_means(own, unit).assign(series="breakdown"),
        offset_means(matched, unit).assign(series="matched"),
    ]
    rows = pd.concat(parts).sort_values(["offset", "series"], kind="stable", ignore_index=True)
    return rows[["offset", "series", "mean", "conf_low", "conf_high", "n_conversations"]]


def difference_rows(own: np.ndarray, matched: np.ndarray, unit: np.ndarray) -> pd.DataFrame:
    """Return at each offset how far events lie above (below: negative) their risk sets, clustered by participant.

    Events without a rating, or without a candidate, at an offset are left out there.
    """
    rows = offset_means(own - matched, unit).rename(columns={"mean": "difference"})
    return rows[["offset", "difference", "conf_low", "conf_high", "n_conversations"]]


def order_rows(found: Breakdowns, aligned: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the band of shuffled order per offset with what was seen against it, and how often order was drawn."""
    import numpy as np

    means, n_shuffles = shuffled_means(found.courses, found.finder())
    order = order_band(means)
    seen = aligned[aligned["series"] == "breakdown"].set_index("offset").loc[order["offset"], "mean"].to_numpy()
    low, high = order["conf_low"].to_numpy() - 1e-9, order["conf_high"].to_numpy() + 1e-9
    verdict = np.where(seen < low, "below", np.where(seen > high, "above", "inside")).astype(object)
    verdict[np.isnan(seen) | np.isnan(low)] = "unknown"
    verdict[order["offset"].to_numpy() == 0] = "by construction"
    return order.assign(seen=seen, verdict=verdict), n_shuffles


def _headline(aligned: pd.DataFrame, order: pd.DataFrame, found: Breakdowns) -> str:
    n = int(found.rated["event"].sum())
    basis = f"{plural(n, 'conversation')} with a breakdown"
    table = aligned.set_index(["offset", "series"])
    after = table.loc[(1, "breakdown")]
    if after["mean"] != after["mean"]:
        return f"No first breakdown ({found.short}) is followed by a rated turn, so that nothing can be said of what comes after; {basis}."
    sentence = (
        f"On the turn after a first breakdown ({found.short}) ratings average "
        f"{with_interval(after['mean'], after['conf_low'], after['conf_high'])}"
    )
    matched = table.loc[(1, "matched"), "mean"]
    if matched == matched:
        sentence += f", against {format_number(matched, 'rating')} in conversations of the same task still unbroken at that turn"
    row = order.set_index("offset").loc[1]
    if row["verdict"] == "unknown":
        return f"{sentence}; {basis}."
    expected = f"{format_number(row['conf_low'], 'rating')}–{format_number(row['conf_high'], 'rating')}"
    if row["verdict"] == "inside":
        verdict = (
            f"shuffled order alone gives {expected}, so that this is no more than selection and regression to the mean"
        )
    else:
        beyond = abs(row["mean"] - row["seen"])
        verdict = (
            f"shuffled order alone gives {expected}, so that {format_number(beyond, 'rating')} points "
            f"{row['verdict']} its mean are more than selection and regression to the mean"
        )
    return f"{sentence}; {verdict}; {basis}."


def _notes(found: Breakdowns, aligned: pd.DataFrame, order: pd.DataFrame, n_shuffles: int) -> list[str]:
    outside = order[order["verdict"].isin(["below", "above"])]
    tested = int(order["verdict"].isin(["below", "above", "inside"]).sum())
    listed = ", ".join(f"{row.offset:+d} ({row.verdict})" for row in outside.itertuples()).replace("-", "−")
    notes = [
        f"Outside the order band: {listed or 'no offset'}, of {tested} offsets; by chance {0.05 * tested:.1f} would be. Only these "
        "departures are more than selection and regression to the mean; offset 0 differs by construction.",
        f"The order was drawn {n_shuffles:,} times, seeded.",
        "The interval of the risk set is over events, their candidates taken as known.",
    ]
    events, matched = (
        aligned[aligned["series"] == one]["n_conversations"].to_numpy() for one in ("breakdown", "matched")
    )
    if (matched < events).any():
        notes.append(
            "Some events have no comparable conversation at some offset; they are missing from the comparison there."
        )
    at_first = int((found.event_time == 1).sum())
    if at_first:
        notes.append(
            f"{plural(at_first, 'conversation')} broke down on the first turn and {'has' if at_first == 1 else 'have'} no turn before it."
        )
    return notes


def _after_disruption(findings: Findings) -> Checked:
    """Say how ratings on the first turn after an error or a retry differ from those of comparable turns."""
    row = findings.tables[f"{NAME}.difference"].set_index("offset").loc[0]
    if row["difference"] != row["difference"]:
        raise TooLittleData("No turn after an error or a retry can be compared with turns of the same task and number.")
    ends = [format_number(row[name], "rating").replace("-", "−") for name in ("conf_low", "conf_high")]
    return Checked(
        value=f"{row['difference']:+.2f} points".replace("-", "−"),
        interval=f"{ends[0]} to {ends[1]}" if row["conf_low"] == row["conf_low"] else "",
        basis=(
            f"a conversation's first turn after an error or a retry, against turns of the same task and number without one so far; "
            f"{plural(int(row['n_conversations']), 'conversation')} (definition: {DISRUPTED})"
        ),
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=4,
    question="What happens around the first breakdown?",
    analyse=analyse,
    parameters=BreakdownParameters,
    tables={
        NAME: "Mean rating by turns from the first breakdown, and in comparable conversations",
        f"{NAME}.order": "What shuffled order gives at each offset, and what was seen against it",
        f"{NAME}.difference": "Ratings around first breakdowns minus those of comparable conversations, by offset",
    },
    figures={NAME: "Ratings around the first breakdown"},
    method=(
        f"Turns {OFFSETS[0]} to +{OFFSETS[-1]} around each conversation's first breakdown, by turn number; rated turns only. "
        "**Risk set**: for a breakdown on turn t, conversations of the same task, rated on turn t and still without a breakdown up to "
        "and including it (they may break down later); at each offset the mean of these candidates per event that is rated there, "
        "then the mean over events. **Order reference**: each conversation's rated turns are shuffled among their places, "
        "the first breakdown is found again and the ratings are aligned again, 1,000 times (less often on large data, the notes say how "
        "often); the band holds 95 % of these means. A turn chosen for being low is followed by higher ones whatever happens, "
        "and conversations chosen for holding one are rated lower throughout: only what lies outside the band is more than this. "
        "Intervals: cluster-robust, with the participant as the unit."
    ),
    claims=(
        Claim(
            claim="Judgements are vulnerable to disruption when continuity fails (seen here: an error or a retry before the turn)",
            reported="stated, no figure",
            source="Suh et al., arXiv 2509.16437, abstract",
            check=_after_disruption,
            parameters=BreakdownParameters(definition=DISRUPTED),
        ),
    ),
)
