"""Do ratings jump from turn to turn, or carry over?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    describe_counts,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import count_rated, refuse_without_participants
from dashboard.analyses.rated_turns import read_turns
from dashboard.database import Database
from dashboard.figures.instability import draw_instability
from dashboard.queries import run_query
from dashboard.stats.autocorrelation import Autocorrelation, fit_autocorrelation
from dashboard.stats.response_styles import style_indices
from dashboard.vocabulary import TooLittleData, format_interval, format_number, format_p, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "rating_instability"


def analyse(database: Database, selection: Selection, parameters: OutcomeParameters) -> Findings:
    """Describe how ratings move between successive turns, by person and for the group."""
    outcome = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    scale = run_query(database, "outcomes").set_index("outcome").loc[outcome]
    people = run_query(database, "participant_ratings", **chosen)
    if not (people["n_turns"] > 0).any():
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    turns, units = read_turns(database, chosen, scale)
    pairs = style_indices(turns, turns.unit, len(units)).assign(participant=units["participant"])
    table = people[["participant", "n_turns", "n_conversations", "mean", "std_dev", "rmssd", "inertia"]].merge(
        pairs.loc[pairs["participant"].notna(), ["participant", "n_pairs"]],
        on="participant",
        how="left",
        validate="one_to_one",
    )
    table.insert(3, "n_pairs", table.pop("n_pairs").fillna(0).astype(int))
    group = fit_autocorrelation(turns)
    headline = _headline(table, group, str(scale["label"]))
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(count_rated(people))}.",
        tables={NAME: table, f"{NAME}.group": _group_row(group)},
        figures=_figures(table, group, float(scale["maximum"] - scale["minimum"]), headline),
        warnings=_warnings(table, group),
        counts=counts,
        queries={"participant_ratings": chosen, "rated_turns": chosen},
    )


def _group_row(group: Autocorrelation) -> pd.DataFrame:
    import pandas as pd

    row = {
        "term": "AR(1) within conversations",
        "estimate": group.phi,
        "conf_low": group.conf_low,
        "conf_high": group.conf_high,
        "p_value": group.p_value,
        "log_likelihood": group.log_likelihood,
        "log_likelihood_without": group.log_likelihood_without,
        "n_pairs": group.n_pairs,
        "method": "REML, intercepts of participant and conversation; profile interval; likelihood-ratio test, 1 df",
    }
    return pd.DataFrame([row])


def _headline(table: pd.DataFrame, group: Autocorrelation, label: str) -> str:
    known = table["rmssd"].dropna()
    if known.empty:
        return f"No two successive turns are both rated on {label}, so nothing can be said of jumps"
    typical = f"From one turn to the next {label} moves by {format_number(known.median(), 'rating')} (median RMSSD of participants)"
    if group.problem:
        return typical
    interval = format_interval(group.conf_low, group.conf_high, "rating")
    phi = f"{format_number(group.phi, 'rating')}, 95 % interval {interval}".replace("-", "−")
    if group.conf_low > 0:
        return f"{typical}; within conversations a rating carries over to the next (AR(1) {phi}, {format_p(group.p_value)})"
    if group.conf_high < 0:
        return f"{typical}; within conversations a high rating is followed by a lower one (AR(1) {phi}, {format_p(group.p_value)})"
    return f"{typical}; whether a rating carries over to the next within conversations is unclear (AR(1) {phi})"


def _figures(table: pd.DataFrame, group: Autocorrelation, largest: float, headline: str) -> dict[str, Drawing]:
    if table["rmssd"].isna().all():
        return {}
    return {
        NAME: Drawing(
            draw=draw_instability,
            arguments={
                "frame": table[["rmssd", "inertia"]],
                "largest": largest,
                "phi": (group.phi, group.conf_low, group.conf_high),
            },
            alt=f"Histograms of participants' RMSSD and inertia, with the group's AR(1) within conversations. {headline}.",
        )
    }


def _warnings(table: pd.DataFrame, group: Autocorrelation) -> tuple[str, ...]:
    warnings = []
    rated = table[table["n_turns"] > 0]
    without = int(rated["rmssd"].isna().sum())
    if without:
        warnings.append(f"{plural(without, 'participant')} without two successive rated turns: no RMSSD.")
    undefined = int((rated["inertia"].isna() & rated["rmssd"].notna()).sum())
    if undefined:
        warnings.append(
            f"{plural(undefined, 'participant')} with fewer than three pairs, or without variation: no inertia."
        )
    if group.problem:
        warnings.append(f"No group AR(1): {group.problem}")
    elif not math.isnan(group.phi) and rated["inertia"].median() > group.conf_high:
        warnings.append(
            "People's inertia is mostly larger than the group's AR(1): it mixes in that whole conversations differ, which is not "
            "a rating carrying over."
        )
    return tuple(warnings)


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=4,
    question="Do ratings jump from turn to turn, or carry over?",
    analyse=analyse,
    parameters=OutcomeParameters,
    tables={
        NAME: "Instability and inertia of each participant",
        f"{NAME}.group": "The group's autocorrelation within conversations",
    },
    figures={NAME: "Participants by instability and by inertia"},
    method=(
        "Pairs are turns t and t + 1 of one conversation, both rated. **RMSSD** is the root of the mean squared difference over a "
        "person's pairs. **Inertia** is the correlation of the pairs, for at least three that vary on both sides; pooled over "
        "conversations it also contains that these differ from one another. The **group's AR(1)** does not: it is the correlation "
        "of successive turns in a mixed model with intercepts of participant and conversation (REML), φ to the power of the "
        "gap where unrated turns lie between; profile interval, likelihood-ratio test."
    ),
    references=(
        "Jahng, S., Wood, P. K., & Trull, T. J. (2008). Analysis of affective instability in ecological momentary assessment. "
        "Psychological Methods, 13.",
        "Kuppens, P., Allen, N. B., & Sheeber, L. B. (2010). Emotional inertia and psychological maladjustment. Psychological "
        "Science, 21.",
    ),
)
