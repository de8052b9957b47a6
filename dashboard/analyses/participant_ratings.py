"""How does each participant rate?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, TooLittleData, format_number, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "participant_ratings"


def analyse(database: Database, selection: Selection, parameters: OutcomeParameters) -> Findings:
    """Describe each participant's ratings of one outcome."""
    outcome = choose_outcome(database, parameters.outcome)
    if database.manifest["counts"].get("participants") is None:
        raise NotInThisData("participants; the source knows none.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    people = run_query(database, NAME, **chosen)
    if not (people["n_turns"] > 0).any():
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    return Findings(
        name=NAME,
        headline=_headline(people, outcome),
        tables={NAME: people},
        counts=counts,
        queries={NAME: chosen},
    )


def _headline(people: pd.DataFrame, outcome: str) -> str:
    rated = people[people["n_turns"] > 0]
    low, high = rated["mean"].min(), rated["mean"].max()
    sentence = (
        f"Participants' mean ratings ({outcome}) run from {format_number(low, 'rating')} to "
        f"{format_number(high, 'rating')}; {plural(int(rated['n_turns'].sum()), 'rated turn')}, "
        f"{plural(len(rated), 'participant')}"
    )
    unrated = len(people) - len(rated)
    return f"{sentence}, {unrated} more without a rating." if unrated else f"{sentence}."


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=1,
    question="How does each participant rate?",
    analyse=analyse,
    parameters=OutcomeParameters,
    tables={NAME: "Each participant's ratings described"},
    method=(
        "Over all rated turns of a participant, none weighted. SD has n − 1; IQR is of type 7 quantiles; extreme, midpoint, "
        "entropy refer to the scale's levels and exist for whole-number outcomes. Relative SD is SD over the largest SD "
        "possible at this mean (undefined for one turn or a mean at an end). RMSSD and inertia take pairs of successive "
        "turns of one conversation, both rated; inertia needs three pairs that vary."
    ),
    references=(
        "Mestdagh, M. et al. (2018). Sidelining the mean: The relative variability index as a generic mean-corrected "
        "variability measure for bounded variables. Psychological Methods, 23.",
    ),
)
