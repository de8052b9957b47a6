"""How individual are empathy judgements: how does each participant rate?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from dashboard.database import Database
from dashboard.figures.caterpillar import DRAWN, draw_caterpillar
from dashboard.queries import run_query
from dashboard.stats.variance_components import Components, conversation_sums, fit_components, shrunken_means
from dashboard.vocabulary import NotInThisData, TooLittleData, format_number, format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "participant_ratings"


def analyse(database: Database, selection: Selection, parameters: OutcomeParameters) -> Findings:
    """Describe each participant's ratings of one outcome, and predict the mean behind them."""
    outcome = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    people = run_query(database, NAME, **chosen)
    if not (people["n_turns"] > 0).any():
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    people, fitted = with_shrunken_means(people, run_query(database, "rating_sums", **chosen))
    scale = run_query(database, "outcomes").set_index("outcome").loc[outcome]
    headline = _headline(people, fitted, str(scale["label"]))
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(count_rated(people))}.",
        tables={NAME: people},
        figures={NAME: _figure(people, fitted, scale, headline)},
        warnings=_warnings(people, fitted),
        notes=_notes(people),
        counts=counts,
        queries={NAME: chosen, "rating_sums": chosen},
    )


def refuse_without_participants(database: Database) -> None:
    """Refuse where the source knows no participants.

    Raises
    ------
    NotInThisData
        Always then.
    """
    if database.manifest["counts"].get("participants") is None:
        raise NotInThisData("participants; the source knows none.")


def count_rated(people: pd.DataFrame) -> Any:
    """Return the counts behind a table of participants: those with a rating, their conversations and turns."""
    from dashboard.analyses.findings import Counts

    rated = people[people["n_turns"] > 0]
    return Counts(len(rated), int(rated["n_conversations"].sum()), int(rated["n_turns"].sum()))


def with_shrunken_means(people: pd.DataFrame, sums: pd.DataFrame) -> tuple[pd.DataFrame, Components]:
    """Add shrunken_mean, conf_low and conf_high to a table of participants; NaN where there is no prediction.

    Parameters
    ----------
    people
        The report ``participant_ratings``: one row per participant of the selection, by name.
    sums
        The report ``rating_sums`` of the same selection: participant_number counts those rows.

    Returns
    -------
    tuple
        The table with three more columns, and the components that the predictions rest on.
    """
    import numpy as np

    arranged = conversation_sums(sums, participant="participant_number")
    fitted = fit_components(arranged)
    predicted = shrunken_means(fitted, arranged)
    place = np.unique(sums["participant_number"].dropna().to_numpy()).astype(int)
    added = {}
    for name in ("shrunken_mean", "conf_low", "conf_high"):
        added[name] = np.full(len(people), np.nan)
        added[name][place] = predicted[name]
    return people.assign(**added), fitted


def told_apart(people: pd.DataFrame, mean: float) -> int:
    """Return how many intervals of shrunken means leave out everyone's mean."""
    return int(((people["conf_low"] > mean) | (people["conf_high"] < mean)).sum())


def _headline(people: pd.DataFrame, fitted: Components, label: str) -> str:
    rated = people[people["n_turns"] > 0]
    low, high = (format_number(float(value), "rating") for value in (rated["mean"].min(), rated["mean"].max()))
    if fitted.fit is None:
        if len(rated) == 1:
            return f"The one participant here rates {label} {low} on average"
        return (
            f"Participants' mean ratings of {label} run from {low} to {high}; what lies behind them cannot be predicted"
        )
    apart = told_apart(rated, fitted.mean)
    share = apart / len(rated)
    shrunken = [
        format_number(float(value), "rating") for value in (rated["shrunken_mean"].min(), rated["shrunken_mean"].max())
    ]
    first = (
        f"{apart:,} of {plural(len(rated), 'participant')} ({format_percent(share)}) rate {label} apart from everyone's mean of "
        f"{format_number(fitted.mean, 'rating')}"
        if share >= 0.1
        else f"Hardly any participant ({apart:,} of {len(rated):,}) can be told from everyone's mean rating of {label}, "
        f"{format_number(fitted.mean, 'rating')}"
    )
    return f"{first}; shrunken means run from {shrunken[0]} to {shrunken[1]}, raw means from {low} to {high}"


def _figure(people: pd.DataFrame, fitted: Components, scale: pd.Series, headline: str) -> Drawing:
    rated = people[people["n_turns"] > 0].assign(everyone=fitted.mean)
    order = "shrunken_mean" if fitted.fit is not None else "mean"
    shown = rated.sort_values([order, "participant"], kind="stable")
    columns = [
        "participant",
        "n_turns",
        "n_conversations",
        "mean",
        "shrunken_mean",
        "conf_low",
        "conf_high",
        "everyone",
    ]
    return Drawing(
        draw=draw_caterpillar,
        arguments={
            "frame": shown[columns],
            "unit": str(scale["label"]),
            "limits": (float(scale["minimum"]), float(scale["maximum"])),
            "ends": (scale["minimum_label"], scale["maximum_label"]),
        },
        alt=f"Participants ordered by shrunken mean, each with its 95 % interval and raw mean. {headline}.",
    )


def _warnings(people: pd.DataFrame, fitted: Components) -> tuple[str, ...]:
    warnings = []
    if fitted.problem:
        warnings.append(f"No shrunken means and no intervals: {fitted.problem}")
    elif fitted.participant == 0:
        warnings.append("The variance between participants is estimated as 0: all shrunken means are alike.")
    few = int((people["n_turns"] == 1).sum())
    if few:
        warnings.append(f"{plural(few, 'participant')} rated a single turn: their raw mean says little, and has no SD.")
    unrated = int((people["n_turns"] == 0).sum())
    if unrated:
        warnings.append(f"{plural(unrated, 'participant')} without a rating: in the table, not in the figure.")
    return tuple(warnings)


def _notes(people: pd.DataFrame) -> tuple[str, ...]:
    rated = int((people["n_turns"] > 0).sum())
    if rated <= DRAWN:
        return ()
    return (f"Of {rated:,} participants, {DRAWN} evenly spaced ones are drawn; the table holds all.",)


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=1,
    question="How does each participant rate?",
    analyse=analyse,
    parameters=OutcomeParameters,
    tables={NAME: "Each participant's ratings described"},
    figures={NAME: "Participants' shrunken and raw means"},
    method=(
        "Over all rated turns of a participant, none weighted. The *shrunken mean* predicts a person's mean from a mixed "
        "model with intercepts of participant and conversation (REML): it is the raw mean pulled towards everyone's, the "
        "more the less is known of the person; its interval is the prediction error, the uncertainty of everyone's mean "
        "included. An interval that leaves out everyone's mean is one person's, not adjusted for how many are looked at. "
        "SD has n − 1; IQR is of type 7 quantiles; extreme, midpoint, entropy refer to the scale's levels and exist for "
        "whole-number outcomes only. Relative SD is SD over the largest SD possible at this mean (undefined for one turn "
        "or a mean at an end). RMSSD and inertia take pairs of successive turns of one conversation, both rated; inertia "
        "needs three pairs that vary. Ratings are ordinal and treated as interval; numbers of turns differ between people."
    ),
    references=(
        "Henderson, C. R. (1975). Best linear unbiased estimation and prediction under a selection model. Biometrics, 31.",
        "Mestdagh, M. et al. (2018). Sidelining the mean: The relative variability index as a generic mean-corrected "
        "variability measure for bounded variables. Psychological Methods, 23.",
    ),
)
