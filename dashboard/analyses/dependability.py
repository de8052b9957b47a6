"""How many conversations must a person rate before their mean can be relied on?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Counts,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import refuse_without_participants
from dashboard.analyses.rated_turns import outcome_sums
from dashboard.database import Database
from dashboard.figures.shares import draw_dependability
from dashboard.queries import run_query
from dashboard.stats.variance_components import (
    Components,
    conversation_sums,
    conversations_needed,
    dependability,
    fit_components,
)
from dashboard.vocabulary import TooLittleData, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "dependability"
TARGETS = (0.7, 0.8, 0.9)


@dataclass(frozen=True)
class DependabilityParameters(OutcomeParameters):
    """How long a conversation is taken to be."""

    turns: int | None = parameter(
        None,
        label="Turns per conversation",
        help="Rated turns of a conversation; by default the median here.",
        minimum=1,
    )


def analyse(database: Database, selection: Selection, parameters: DependabilityParameters) -> Findings:
    """Turn variance components into numbers of conversations needed."""
    first = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    outcomes = run_query(database, "outcomes")
    parts = outcome_sums(run_query(database, "rating_sums", **chosen), outcomes, first)
    own = parts.get(first)
    if own is None:
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    turns = float(parameters.turns or max(1, round(float(own["n"].median()))))
    fits = {
        name: fit_components(conversation_sums(part, participant="participant_number")) for name, part in parts.items()
    }
    needed = needed_rows(fits, turns)
    curves = curve_rows(fits, turns)
    labels = dict(zip(outcomes["outcome"], outcomes["label"], strict=True))
    observed = float(own.groupby("participant_number").size().median())
    headline = _headline(fits[first], labels[first], turns, observed)
    seen = Counts(int(own["participant_number"].nunique()), len(own), int(own["n"].sum()))
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(seen)}.",
        tables={NAME: needed, f"{NAME}.curves": curves},
        figures=_figures(curves, labels, observed, headline),
        warnings=tuple(
            f"{labels[name]}: {fit.problem}" for name, fit in fits.items() if fit.problem and fit.n_observations
        ),
        counts=counts,
        queries={"rating_sums": chosen},
    )


def needed_rows(fits: dict[str, Components], turns: float) -> pd.DataFrame:
    """Return one row per outcome and target: conversations needed, and turns in them; infinite where no number is enough."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for outcome, fitted in fits.items():
        for target in TARGETS:
            conversations = conversations_needed(fitted, target, turns) if fitted.fit is not None else math.nan
            rows.append(
                {
                    "outcome": outcome,
                    "reliability": target,
                    "conversations_needed": conversations,
                    "turns_per_conversation": turns,
                    "turns_needed": conversations * turns,
                }
            )
    return pd.DataFrame(rows)


def curve_rows(fits: dict[str, Components], turns: float, *, most: int = 40) -> pd.DataFrame:
    """Return one row per outcome and number of conversations: how dependable a person's mean is."""
    import numpy as np
    import pandas as pd

    first = next(iter(fits.values()))
    needed = conversations_needed(first, TARGETS[-1], turns) if first.fit is not None else math.inf
    last = int(min(most, needed * 1.3)) if math.isfinite(needed) else most
    numbers = np.arange(1, max(last, 12) + 1)
    parts = [
        pd.DataFrame(
            {"outcome": outcome, "n_conversations": numbers, "dependability": dependability(fitted, numbers, turns)}
        )
        for outcome, fitted in fits.items()
        if fitted.fit is not None
    ]
    return pd.concat(parts) if parts else pd.DataFrame(columns=["outcome", "n_conversations", "dependability"])


def _headline(fitted: Components, label: str, turns: float, observed: float) -> str:
    if fitted.fit is None:
        return (
            f"How many conversations a person must rate for {label} cannot be said: "
            f"{fitted.problem[:1].lower()}{fitted.problem[1:].rstrip('.')}"
        )
    if fitted.participant == 0:
        return (
            f"No number of conversations makes a person's mean of {label} dependable: participants do not differ here"
        )
    needed = [int(conversations_needed(fitted, target, turns)) for target in TARGETS]
    now = float(dependability(fitted, observed, turns))
    return (
        f"A person's mean of {label} reaches a dependability of 0.8 after {plural(needed[1], 'conversation')} of "
        f"{plural(round(turns), 'rated turn')} (0.7 after {needed[0]:,}, 0.9 after {needed[2]:,}); at the median of {observed:g} "
        f"it is {now:.2f}"
    )


def _figures(curves: pd.DataFrame, labels: dict[str, str], observed: float, headline: str) -> dict[str, Drawing]:
    if curves.empty:
        return {}
    return {
        NAME: Drawing(
            draw=draw_dependability,
            arguments={"frame": curves, "labels": labels, "targets": TARGETS, "observed": observed},
            alt=f"Dependability of a person's mean against the number of conversations rated, one curve per outcome. {headline}.",
        )
    }


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=6,
    question="How many conversations must a person rate?",
    analyse=analyse,
    parameters=DependabilityParameters,
    tables={
        NAME: "Conversations needed for 0.7, 0.8 and 0.9, per outcome",
        f"{NAME}.curves": "Dependability by number of conversations",
    },
    figures={NAME: "Dependability by number of conversations"},
    method=(
        "From the variance components V of participant (p), conversation (c) and turn (t): a person's mean over c conversations "
        "of t turns has dependability V_p/(V_p + V_c/c + V_t/(c·t)), the share of its variance that is the person. For a target "
        "R it takes ⌈R/(1 − R)·(V_c + V_t/t)/V_p⌉ conversations. It presumes that further conversations are like these: "
        "self-chosen tasks, this mix of assistants. The components have intervals of their own, shown with them; infinite "
        "stands where participants do not differ."
    ),
    references=("Shavelson, R. J., & Webb, N. M. (1991). Generalizability theory: A primer. Sage.",),
)
