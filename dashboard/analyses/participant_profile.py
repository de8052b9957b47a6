"""How does one participant rate, against everyone?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import refuse_without_participants
from dashboard.database import Database
from dashboard.figures.person import draw_person_conversations, draw_person_levels
from dashboard.queries import run_query
from dashboard.vocabulary import TooLittleData, format_number, format_percent, plural, unknown_name

if TYPE_CHECKING:
    import pandas as pd

NAME = "participant_profile"
STYLES = (
    "mean",
    "std_dev",
    "relative_std_dev",
    "entropy",
    "share_extreme",
    "share_low",
    "rmssd",
    "inertia",
    "longest_run",
)


@dataclass(frozen=True)
class ProfileParameters(OutcomeParameters):
    """Whose ratings to look at."""

    person: str | None = parameter(
        None,
        label="Participant",
        help="An id; by default the one whose mean is in the middle. A click above chooses, too.",
    )


def analyse(database: Database, selection: Selection, parameters: ProfileParameters) -> Findings:
    """Set one participant's ratings against everyone's."""
    outcome = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters() | {"outcome": outcome}
    people = run_query(database, "participant_ratings", **chosen)
    rated = people[people["n_turns"] > 0]
    if rated.empty:
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    person = choose_person(people, parameters.person)
    scale = run_query(database, "outcomes").set_index("outcome").loc[outcome]
    own = chosen | {"participant": [person]}
    turns = _turns(database, own)
    styles = _styles(people, person)
    levels = _levels(run_query(database, "rated_turns", **chosen), turns, scale)
    conversations = _conversations(turns)
    everyone = float((rated["mean"] * rated["n_turns"]).sum() / rated["n_turns"].sum())
    headline = _headline(people, person, str(scale["label"]), everyone)
    tables = {NAME: styles, f"{NAME}.conversations": conversations}
    if not levels.empty:
        tables[f"{NAME}.levels"] = levels
    return Findings(
        name=NAME,
        headline=headline,
        tables=tables,
        figures=_figures(turns, levels, scale, person, everyone, headline),
        warnings=_warnings(turns, person),
        counts=counts,
        queries={"participant_ratings": chosen, "conversation_sums": own},
    )


def choose_person(people: pd.DataFrame, asked: str | None) -> str:
    """Return the person asked for, else the rated one whose mean is in the middle.

    Raises
    ------
    Refused
        When nobody of that id is in the selection.
    """
    if asked:
        if asked not in set(people["participant"]):
            raise unknown_name("participant in this selection", asked, people["participant"])
        return asked
    rated = people[people["n_turns"] > 0].sort_values(["mean", "participant"], kind="stable")
    return str(rated["participant"].iloc[(len(rated) - 1) // 2])


def _turns(database: Database, own: dict[str, Any]) -> pd.DataFrame:
    """Return a person's rated turns in order, with their conversations' properties."""
    import numpy as np

    rows = run_query(database, "rated_turns", **own)
    sums = run_query(database, "conversation_sums", **own).reset_index(drop=True)
    # Both reports go by the order of the source; unrated conversations have no rows in either.
    number = np.unique(rows["conversation_number"], return_inverse=True)[1] if len(rows) else np.zeros(0, dtype=int)
    columns = sums[["conversation", "task", "model"]].iloc[number].reset_index(drop=True)
    frame = columns.assign(number=number + 1, turn=rows["turn"].to_numpy(), value=rows["value"].to_numpy())
    frame["mean"] = frame.groupby("number")["value"].transform("mean")
    # A blank place between conversations.
    frame["place"] = np.arange(len(frame)) + frame["number"] - 1
    return frame


def _conversations(turns: pd.DataFrame) -> pd.DataFrame:
    grouped = turns.groupby(["number", "conversation"], sort=True)
    table = grouped.agg(
        task=("task", "first"),
        model=("model", "first"),
        n_turns=("value", "size"),
        mean=("value", "mean"),
        std_dev=("value", "std"),
        minimum=("value", "min"),
        maximum=("value", "max"),
    )
    return table.reset_index()


def _styles(people: pd.DataFrame, person: str) -> pd.DataFrame:
    """Return each index of the person with everyone's quartiles and the person's place among those who have it."""
    import numpy as np
    import pandas as pd

    own = people.set_index("participant").loc[person]
    rows = []
    for name in STYLES:
        values = people[name].dropna().to_numpy(dtype=float)
        value = float(own[name]) if own[name] == own[name] and own[name] is not None else math.nan
        known = len(values) > 0 and not math.isnan(value)
        quartiles = np.quantile(values, [0.25, 0.5, 0.75]) if len(values) else np.full(3, math.nan)
        below = float(np.mean(values < value) + np.mean(values == value) / 2) if known else math.nan
        rows.append((name, value, *quartiles, below, len(values)))
    columns = [
        "index",
        "value",
        "everyone_quarter",
        "everyone_median",
        "everyone_three_quarters",
        "share_below",
        "n_participants",
    ]
    return pd.DataFrame(rows, columns=columns)


def _levels(everyone: pd.DataFrame, turns: pd.DataFrame, scale: pd.Series) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if scale["step"] != scale["step"] or turns.empty:
        return pd.DataFrame()
    k, low, step = int(scale["n_levels"]), float(scale["minimum"]), float(scale["step"])

    def counted(values: pd.Series) -> np.ndarray:
        return np.bincount(np.rint((values.to_numpy(dtype=float) - low) / step).astype(int), minlength=k)

    own, others = counted(turns["value"]), counted(everyone["value"])
    return pd.DataFrame(
        {
            "level": low + step * np.arange(k),
            "n": own,
            "share": own / own.sum(),
            "share_everyone": others / others.sum(),
        }
    )


def _headline(people: pd.DataFrame, person: str, label: str, everyone: float) -> str:
    row = people.set_index("participant").loc[person]
    rated = people[people["n_turns"] > 0]
    if row["n_turns"] == 0:
        return f"Participant {person} rated {label} on no turn of this selection."
    size = f"{plural(int(row['n_turns']), 'rated turn')}, {plural(int(row['n_conversations']), 'conversation')}"
    if len(rated) == 1:
        return f"Participant {person} rates {label} {format_number(row['mean'], 'rating')} on average; {size}."
    below = float((rated["mean"] < row["mean"]).mean())
    return (
        f"Participant {person} rates {label} {format_number(row['mean'], 'rating')} on average, against everyone's "
        f"{format_number(everyone, 'rating')}: {format_percent(below)} of {len(rated):,} participants have a lower mean; {size}."
    )


def _figures(
    turns: pd.DataFrame, levels: pd.DataFrame, scale: pd.Series, person: str, everyone: float, headline: str
) -> dict[str, Drawing]:
    if turns.empty:
        return {}
    ends = (scale["minimum_label"], scale["maximum_label"])
    figures = {
        NAME: Drawing(
            draw=draw_person_conversations,
            arguments={
                "frame": turns,
                "limits": (float(scale["minimum"]), float(scale["maximum"])),
                "ends": ends,
                "unit": str(scale["label"]),
                "everyone": everyone,
            },
            alt=f"Every rated turn of one participant in order, with the mean of each conversation. {headline}",
        )
    }
    if not levels.empty:
        figures[f"{NAME}.levels"] = Drawing(
            draw=draw_person_levels,
            arguments={"frame": levels, "person": person, "ends": ends, "unit": str(scale["label"])},
            alt=f"Share of each level in the ratings of participant {person}, and in everyone's.",
        )
    return figures


def _warnings(turns: pd.DataFrame, person: str) -> tuple[str, ...]:
    if 0 < len(turns) < 10:
        return (f"{plural(len(turns), 'rated turn')}: too few to say much about {person}.",)
    return ()


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=2,
    question="How does one participant rate?",
    analyse=analyse,
    parameters=ProfileParameters,
    tables={
        NAME: "One participant's style against everyone's",
        f"{NAME}.conversations": "Their conversations in order",
        f"{NAME}.levels": "Their use of the levels, and everyone's",
    },
    figures={
        NAME: "Their rated turns, conversation by conversation",
        f"{NAME}.levels": "Their use of the levels against everyone’s",
    },
    method=(
        "All rated turns of one participant in the selection, in the order of the source; *everyone* are all rated turns of the "
        "selection, this participant's included. Indices are defined as with the table of all participants; `share_below` is the "
        "share of participants with a lower value, ties by half. Many indices are unreliable for a single person: see the split-half "
        "reliabilities below."
    ),
)
