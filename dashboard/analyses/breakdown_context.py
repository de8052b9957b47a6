"""What else changes around a breakdown?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dashboard.analyses.breakdown_alignment import strata
from dashboard.analyses.breakdown_rows import (
    DISRUPTED,
    BreakdownParameters,
    Breakdowns,
    few_participants,
    left_out,
    read_breakdowns,
    refuse_without_breakdown,
)
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.context import draw_context
from dashboard.queries import run_query
from dashboard.stats.alignment import OFFSETS, align_events, match_events, offset_means
from dashboard.stats.clustered import Estimate, clustered_mean, clustered_share, p_against_zero
from dashboard.vocabulary import NotInThisData, format_p, plural

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "breakdown_context"
MEASURES = {
    "response_seconds": "Response time, seconds",
    "prompt_characters": "Length of the user’s message, characters",
    "reply_characters": "Length of the reply, characters",
    "has_error": "Error before the turn, share",
    "was_retried": "Retried, share",
}
SHARES = ("has_error", "was_retried")
FIFTHS = 5


def analyse(database: Database, selection: Selection, parameters: BreakdownParameters) -> Findings:
    """Average times, lengths, errors and retries around first breakdowns, beside the risk set."""
    found = read_breakdowns(database, selection, parameters)
    refuse_without_breakdown(found)
    chosen = {key: value for key, value in found.chosen.items() if key not in ("definition", "threshold")}
    values = measure_values(found, run_query(database, NAME, **chosen))
    if not values:
        raise NotInThisData("times, texts, errors or retries of messages.")
    around, at_event = context_rows(found, values)
    headline = _headline(at_event, found)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: around, f"{NAME}.at_breakdown": at_event, f"{NAME}.position": position_rows(found)},
        figures={
            NAME: Drawing(
                draw=draw_context,
                arguments={
                    "frame": around,
                    "measures": list(values),
                    "labels": MEASURES,
                    "percent": SHARES,
                    "series_labels": {
                        "breakdown": "Around the first breakdown",
                        "matched": "Same task and turn, still unbroken",
                    },
                    "x_title": f"Turns from the first breakdown ({found.short})",
                },
                alt=headline,
            )
        },
        warnings=few_participants(found),
        notes=(*left_out(found), f"{found.words}.", *_notes(found, values, database)),
        counts=found.counts,
        queries={NAME: chosen},
    )


def measure_values(found: Breakdowns, context: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return each measure per turn of the courses; measures that never vary or are nowhere known are left out."""
    import numpy as np

    courses = found.courses
    span = int(courses.turn.max()) + 1
    key = courses.conversation * span + courses.turn
    place = np.searchsorted(key, (context["conversation_number"] * span + context["turn"]).to_numpy())
    values = {}
    for name in MEASURES:
        column = np.full(len(key), np.nan)
        column[place] = context[name].to_numpy(dtype=float, na_value=np.nan)
        known = column[~np.isnan(column)]
        if len(known) and known.min() < known.max():
            values[name] = column
    return values


def context_rows(found: Breakdowns, values: dict[str, np.ndarray]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means by offset, series and measure; and the difference to the risk set on the turn of the breakdown."""
    import numpy as np
    import pandas as pd

    from dashboard.stats.marginal_means import holm

    time, stratum = found.event_time, strata(found)
    unit = found.courses.unit[time > 0]
    codes = np.unique(unit, return_inverse=True)[1]
    parts, rows = [], []
    for name, value in values.items():
        own = align_events(found.courses, time, value)
        matched = match_events(found.courses, time, value, stratum)
        for series, aligned in (("breakdown", own), ("matched", matched)):
            means = offset_means(aligned, unit).assign(measure=name, series=series)
            if name in SHARES:
                means[["conf_low", "conf_high"]] = means[["conf_low", "conf_high"]].clip(0.0, 1.0)
            parts.append(means)
        at = OFFSETS.index(0)
        difference = own[:, at] - matched[:, at]
        known = ~np.isnan(difference)
        mean = clustered_mean(
            np.bincount(codes[known], weights=difference[known], minlength=1), np.bincount(codes[known], minlength=1)
        )
        rows.append({"measure": name, **_difference(mean), **_both(own[known, at], matched[known, at])})
    around = pd.concat(parts, ignore_index=True)
    order = {name: place for place, name in enumerate(values)}
    around = around.sort_values(["measure", "offset", "series"], key=lambda column: column.map(order) if column.name == "measure" else column, kind="stable", ignore_index=True)  # fmt: skip
    at_event = pd.DataFrame(rows)
    at_event.insert(5, "p_adjusted", holm(at_event["p_value"].to_numpy(dtype=float)))
    return around[["measure", "offset", "series", "mean", "conf_low", "conf_high", "n_conversations"]], at_event


def _difference(mean: Estimate) -> dict[str, float]:
    return {
        "difference": mean.estimate,
        "conf_low": mean.conf_low,
        "conf_high": mean.conf_high,
        "p_value": p_against_zero(mean),
        "n_conversations": mean.n_observations,
    }


def _both(own: np.ndarray, matched: np.ndarray) -> dict[str, float]:
    return {
        "breakdown": float(own.mean()) if len(own) else math.nan,
        "matched": float(matched.mean()) if len(matched) else math.nan,
    }


def position_rows(found: Breakdowns) -> pd.DataFrame:
    """Return in which fifth of the conversation first breakdowns lie, of conversations of at least five turns."""
    import numpy as np
    import pandas as pd

    long = found.rated[found.rated["event"] & (found.rated["last_turn"] >= FIFTHS)]
    fifth = -(-FIFTHS * long["time"].to_numpy() // np.maximum(long["last_turn"].to_numpy(), 1))
    codes = np.unique(long["cluster_number"].to_numpy(), return_inverse=True)[1]
    rows = []
    for one in range(1, FIFTHS + 1):
        share = clustered_share(np.bincount(codes, weights=fifth == one, minlength=1), np.bincount(codes, minlength=1))
        rows.append((one, int((fifth == one).sum()), share.estimate, share.conf_low, share.conf_high, len(long)))
    return pd.DataFrame(rows, columns=["fifth", "n", "share", "conf_low", "conf_high", "n_conversations"])


def _headline(at_event: pd.DataFrame, found: Breakdowns) -> str:
    basis = f"{plural(int(found.rated['event'].sum()), 'conversation')} with a breakdown ({found.short})"
    tested = at_event[at_event["p_adjusted"].notna()]
    if tested.empty:
        return f"Too few breakdowns or participants to say what else is different on that turn; {basis}."
    clear = tested[tested["p_adjusted"] < 0.05]
    against = "conversations of the same task still unbroken at that turn"
    if clear.empty:
        names = ", ".join(_short(name) for name in tested["measure"])
        return f"On the turn of the first breakdown none of {names} clearly differs from {against} (Holm-adjusted); {basis}."
    said = [
        f"{_short(row.measure)} {_amount(row.measure, row.breakdown)} against {_amount(row.measure, row.matched)} ({format_p(row.p_adjusted)})"
        for row in clear.itertuples()
    ]
    rest = [_short(name) for name in tested["measure"] if name not in set(clear["measure"])]
    other = f"; no clear difference in {', '.join(rest)}" if rest else ""
    return f"On the turn of the first breakdown, against {against}: {', '.join(said)}, Holm-adjusted{other}; {basis}."


def _short(measure: str) -> str:
    return MEASURES[measure].split(",")[0].lower()


def _amount(measure: str, value: float) -> str:
    if measure in SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.1f} s" if measure == "response_seconds" else f"{value:,.0f} characters"


def _notes(found: Breakdowns, values: dict[str, np.ndarray], database: Database) -> list[str]:
    notes = []
    absent = [MEASURES[name].split(",")[0] for name in MEASURES if name not in values]
    if absent:
        why = " (texts are hidden here)" if database.public else ""
        notes.append(f"Not in this data, or the same on every turn: {', '.join(absent)}{why}.")
    if found.parameters.definition == DISRUPTED:
        notes.append("With this definition errors and retries on the turn of the breakdown are there by construction.")
    return notes


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=8,
    question="What else is different around a breakdown?",
    analyse=analyse,
    parameters=BreakdownParameters,
    tables={
        NAME: "Times, lengths, errors and retries by turns from the first breakdown",
        f"{NAME}.at_breakdown": "Difference to comparable conversations on the turn of the first breakdown",
        f"{NAME}.position": "In which fifth of the conversation first breakdowns lie",
    },
    figures={NAME: "Times, lengths, errors and retries around the first breakdown"},
    method=(
        "Turns around each conversation's first breakdown, beside the risk set of the same task and turn, as above. **Response time** "
        "is the time from the message before to the turn; times that run backwards are left out. **Lengths** are in characters. An **error** is an error "
        "row between the turn before and this one; a turn is **retried** when it, or a message between, bears a retry mark. Means are of "
        "skewed measures: a few long replies move them. On the turn of the breakdown each event is compared with the mean of its candidates; "
        "clustered by participant, t with participants − 1, Holm-adjusted over the measures. Position: fifths ⌈5 t/n⌉ of conversations of at "
        "least five turns. What stands before a breakdown need not cause it."
    ),
)
