"""Do ratings recover after the first breakdown?"""

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
from dashboard.figures.survival import draw_survival
from dashboard.figures.template import OKABE_ITO
from dashboard.stats.recovery import ABOVE, BACK, recovery_times
from dashboard.stats.survival import kaplan_meier
from dashboard.vocabulary import format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "breakdown_recovery"
LEAST_AT_RISK, LEAST_PARTICIPANTS = 10, 5


def analyse(database: Database, selection: Selection, parameters: BreakdownParameters) -> Findings:
    """Estimate how many turns it takes until ratings are above the threshold, and back near their earlier mean."""
    found = read_breakdowns(database, selection, parameters)
    refuse_without_breakdown(found)
    rows, counts = recovery_rows(found)
    headline = _headline(rows, counts, found)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: rows, f"{NAME}.counts": counts},
        figures=_figures(rows, found, headline),
        warnings=few_participants(found),
        notes=(*left_out(found), f"{found.words}.", *_notes(counts)),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen},
    )


def recovery_rows(found: Breakdowns) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the share recovered per definition and turns after the breakdown, and how many conversations count."""
    import pandas as pd

    times = recovery_times(found.courses, found.event_time, low_at=found.low_at)
    curves, counts = [], []
    for recovery, part in times.groupby("recovery", sort=False):
        usable = part[part["reason"] == ""]
        curve = kaplan_meier(*(usable[name].to_numpy() for name in ("time", "event", "unit")))
        curves.append(curve.assign(recovery=recovery))
        counts.append(
            {
                "recovery": recovery,
                "n_conversations": len(usable),
                "n_recovered": int(usable["event"].sum()),
                "n_without_later": int((part["reason"] == "no later").sum()),
                "n_without_earlier": int((part["reason"] == "no earlier").sum()),
            }
        )
    rows = pd.concat(curves, ignore_index=True).rename(columns={"turn": "turns_after", "n_units": "n_participants"})
    # The interval of a share that recovered is that of the share that did not, turned round.
    rows = rows.assign(share=1 - rows["survival"], low=1 - rows["conf_high"], high=1 - rows["conf_low"])
    rows = rows.drop(columns=["conf_low", "conf_high"]).rename(columns={"low": "conf_low", "high": "conf_high"})
    first = ["recovery", "turns_after", "share", "conf_low", "conf_high"]
    return rows[[*first, *(name for name in rows.columns if name not in first)]], pd.DataFrame(counts)


def _figures(rows: pd.DataFrame, found: Breakdowns, headline: str) -> dict[str, Drawing]:
    enough = (rows["n_at_risk"] >= LEAST_AT_RISK) & (rows["n_participants"] >= LEAST_PARTICIPANTS)
    shown = rows[enough].rename(columns={"turns_after": "turn", "recovery": "level"})
    levels = [one for one in (ABOVE, BACK) if one in set(shown["level"])]
    if not levels:
        return {}
    return {
        NAME: Drawing(
            draw=draw_survival,
            arguments={
                "frame": shown,
                "incidence": shown.head(0).assign(cumulative_incidence=[]),
                "levels": levels,
                "labels": {ABOVE: "Above threshold", BACK: "Back to mean"},
                "colors": {ABOVE: OKABE_ITO[0], BACK: OKABE_ITO[1]},
                "units": ("Recovered by then", ""),
                "x_title": f"Turns after the first breakdown ({found.short})",
                "survival": "share",
                "start": 0.0,
                "counted": "Conversations not yet recovered",
            },
            alt=headline,
        )
    }


def _headline(rows: pd.DataFrame, counts: pd.DataFrame, found: Breakdowns) -> str:
    n = int(found.rated["event"].sum())
    basis = f"{plural(n, 'conversation')} with a breakdown ({found.short})"
    said = []
    for row in counts.itertuples():
        part = rows[(rows["recovery"] == row.recovery) & (rows["turns_after"] <= 3)]
        if part.empty:
            continue
        at = part.iloc[-1]
        interval = (
            ""
            if at["conf_low"] != at["conf_low"]
            else f" (95 % interval {format_percent(at['conf_low']).removesuffix(' %')}–{format_percent(at['conf_high'])})"
        )
        turns = plural(int(at["turns_after"]), "turn")
        if row.recovery == ABOVE:
            said.append(
                f"within {turns} {format_percent(at['share'])}{interval} are rated above {found.low_at:g} again"
            )
        else:
            said.append(f"{format_percent(at['share'])}{interval} are back within half a point of their earlier mean")
    if not said:
        return f"No first breakdown is followed by a rated turn, so that nothing can be said of recovery; {basis}."
    later = int(counts["n_without_later"].max())
    return f"After a first breakdown, if conversations go on, {', and '.join(said)}; {basis}, {later:,} of them without a later rated turn."


def _notes(counts: pd.DataFrame) -> list[str]:
    notes = []
    for row in counts.itertuples():
        undefined = f"{row.n_without_later:,} without a later rated turn"
        if row.recovery == BACK:
            undefined += f", {row.n_without_earlier:,} more without an earlier one"
        notes.append(
            f"Recovery {row.recovery}: {row.n_recovered:,} of {plural(row.n_conversations, 'conversation')}; undefined for {undefined}."
        )
    notes.append(
        "A low turn is followed by higher ones by mere regression to the mean; the order reference around the first breakdown says "
        "how much of it is."
    )
    return notes


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=5,
    question="Do ratings recover?",
    analyse=analyse,
    parameters=BreakdownParameters,
    tables={
        NAME: "Share recovered by turns after the first breakdown",
        f"{NAME}.counts": "Conversations that recover, and for which recovery is undefined",
    },
    figures={NAME: "Share recovered by turns after the first breakdown"},
    method=(
        "Two definitions, both from the first breakdown on: the first later rating **above the threshold** of low ratings, and the first later "
        "rating **back** at the mean of the conversation's ratings before the breakdown, less half a point. Time is in turns after the "
        "breakdown; conversations that do not recover are censored at their last rated turn (Kaplan–Meier), so that the curve says what would "
        "happen if they went on. Without a later rated turn both are undefined, without an earlier one the second; they are left out and "
        "counted. Errors are the infinitesimal jackknife over participants, intervals log–log; curves stop below 10 conversations or 5 "
        "participants not yet recovered."
    ),
    references=("Kaplan, E. L., & Meier, P. (1958). Nonparametric estimation from incomplete observations. JASA, 53.",),
)
