"""What was said in one conversation, and how was it rated?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.breakdown_rows import DIMENSION, DISRUPTED, DROP, BreakdownParameters
from dashboard.analyses.conversations import refuse_unrated
from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    Selection,
    choose_outcome,
    count_selection,
    parameter,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.rating_course import draw_rating_course
from dashboard.queries import run_query
from dashboard.vocabulary import format_number, plural, unknown_name

if TYPE_CHECKING:
    import pandas as pd

_NO_RETRY = ("", "0", "0.0", "false", "no", "none")


@dataclass(frozen=True)
class TranscriptParameters(BreakdownParameters):
    """Which conversation to read, and at which turn."""

    conversation: str | None = parameter(
        None, label="Conversation", help="Its id; by default the first of the selection.", shared=True
    )
    turn: int | None = parameter(None, label="Turn", help="The turn to mark.", minimum=1, shared=True)


def analyse(database: Database, selection: Selection, parameters: TranscriptParameters) -> Findings:
    """Read one conversation: its messages, ratings and answers.

    Raises
    ------
    Refused
        For a conversation that the data does not have.
    TooLittleData
        When the filters leave no conversation.
    """
    counts = count_selection(database, selection)
    refuse_empty(counts)
    has_ratings = not run_query(database, "outcomes").empty
    outcome = choose_outcome(database, parameters.outcome) if has_ratings or parameters.outcome else None
    card, warnings = _find(database, selection, parameters, outcome)
    one = {"conversation": str(card["conversation"])}
    messages = run_query(database, "transcript", **one)
    if database.public:
        messages = messages.drop(columns=["text", "comment"])
    ratings = run_query(database, "transcript_ratings", **one)
    outcomes = run_query(database, "outcomes").set_index("outcome")
    broken = breakdown_turns(messages, ratings, outcomes, outcome, parameters)
    n_turns = int(card["turns"])
    if parameters.turn is not None and parameters.turn > n_turns:
        warnings.append(f"Turn {parameters.turn} is asked for, but this conversation has {plural(n_turns, 'turn')}.")
    course = _course(ratings, outcome, broken)
    headline = _headline(card, broken, outcomes, outcome)
    return Findings(
        name="transcript",
        headline=headline,
        tables={
            "transcript": messages.assign(is_breakdown=messages["turn"].isin(broken)),
            "transcript.ratings": ratings,
            "transcript.answers": run_query(database, "transcript_survey", **one),
            "transcript.card": card.to_frame().T.reset_index(drop=True),
        },
        figures=_figures(course, outcomes, outcome, parameters.turn, headline),
        warnings=tuple(warnings),
        counts=counts,
        queries=dict.fromkeys(("transcript", "transcript_ratings", "transcript_survey"), one),
    )


def _find(
    database: Database, selection: Selection, parameters: TranscriptParameters, outcome: str | None
) -> tuple[pd.Series, list[str]]:
    """Return the conversation's row of the list, and what to say of its place."""
    wanted = parameters.conversation
    chosen = selection.query_parameters()
    if wanted is None:
        listed = run_query(database, "conversations", **chosen, outcome=outcome, most=1)
        refuse_unrated(listed)
        return listed.iloc[0], []
    rows = run_query(database, "conversations", outcome=outcome, conversation=wanted)
    if rows.empty:
        existing = run_query(database, "breakdown_conversations", **chosen, outcome=outcome)["conversation"]
        raise unknown_name("conversation", wanted, existing)
    inside = run_query(database, "conversations", **chosen, outcome=outcome, conversation=wanted)
    return rows.iloc[0], [] if len(inside) else [
        "The filters leave this conversation out; it is shown because it was asked for."
    ]


def breakdown_turns(
    messages: pd.DataFrame,
    ratings: pd.DataFrame,
    outcomes: pd.DataFrame,
    outcome: str | None,
    parameters: BreakdownParameters,
) -> list[int]:
    """Return the breakdown turns of one conversation, by the definition that the page Breakdowns uses.

    Parameters
    ----------
    messages, ratings
        The reports ``transcript`` and ``transcript_ratings`` of the conversation.
    outcomes
        The report ``outcomes``, by outcome.
    outcome
        What was rated; with None there is no breakdown.
    parameters
        The definition.
    """
    from dashboard.stats.breakdowns import TOLERANCE, dropped_turns

    rated = ratings[(ratings["outcome"] == outcome) & (ratings["answer"] == "rated")]
    if outcome is None or rated.empty:
        return []
    low_at = outcomes["minimum"] + (outcomes["maximum"] - outcomes["minimum"]) * parameters.threshold / 100
    value = rated["value"].to_numpy(dtype=float)
    if parameters.definition == DROP:
        hit = dropped_turns(rated["turn"].to_numpy() * 0, value, parameters.drop)
    elif parameters.definition == DIMENSION:
        dimensions = ratings[ratings["outcome"].map(outcomes["score"]) == "dimension"]
        low = dimensions[dimensions["value"] <= dimensions["outcome"].map(low_at) + TOLERANCE]
        hit = rated["turn"].isin(low["turn"]).to_numpy()
    elif parameters.definition == DISRUPTED:
        marked = messages[(messages["role"] == "error") | messages["retry"].map(is_retry)]
        # An error after the last turn stands before none.
        before = marked[marked["message"] <= messages.loc[messages["turn"].notna(), "message"].max()]
        hit = rated["turn"].isin(before["near_turn"]).to_numpy()
    else:
        hit = value <= low_at[outcome] + TOLERANCE
    return [int(turn) for turn in rated.loc[hit, "turn"]]


def is_retry(cell: object) -> bool:
    """Return whether a cell of the source's column on retries says that there was one."""
    return isinstance(cell, str) and cell.strip().lower() not in _NO_RETRY


def _course(ratings: pd.DataFrame, outcome: str | None, broken: list[int]) -> pd.DataFrame:
    own = ratings.loc[ratings["outcome"] == outcome, ["turn", "value", "answer"]]
    return own.assign(is_breakdown=own["turn"].isin(broken)).reset_index(drop=True)


def _figures(
    course: pd.DataFrame, outcomes: pd.DataFrame, outcome: str | None, turn: int | None, alt: str
) -> dict[str, Drawing]:
    if outcome is None or course.empty:
        return {}
    scale = outcomes.loc[outcome]
    arguments: dict[str, Any] = {
        "frame": course,
        "label": str(scale["label"]),
        "limits": (float(scale["minimum"]), float(scale["maximum"])),
        "ends": (_text(scale["minimum_label"]), _text(scale["maximum_label"])),
        "turn": turn,
    }
    return {"transcript": Drawing(draw_rating_course, arguments, alt)}


def _text(cell: object) -> str | None:
    return cell if isinstance(cell, str) else None


def _headline(card: pd.Series, broken: list[int], outcomes: pd.DataFrame, outcome: str | None) -> str:
    about = ", ".join(str(card[name]) for name in ("participant", "task", "model") if isinstance(card[name], str))
    start = f"Conversation {card['conversation']}{f' ({about})' if about else ''}: {plural(int(card['turns']), 'turn')}"
    n_rated = int(card["n_rated"])
    label = "" if outcome is None else str(outcomes.loc[outcome, "label"])
    if not n_rated:
        return f"{start}, none rated{f' on {label}' if label else ''}."
    lowest = f"lowest {format_number(card['lowest'])} on turn {int(card['lowest_turn'])}"
    turns = ", ".join(map(str, broken[:10])) + (" …" if len(broken) > 10 else "")
    said = f"breakdown on {'turn' if len(broken) == 1 else 'turns'} {turns}" if broken else "no breakdown"
    return f"{start}, {n_rated:,} rated on {label}: mean {card['mean']:.2f}, {lowest}; {said}."


ANALYSIS = Analysis(
    name="transcript",
    page="Conversations",
    position=3,
    question="What was said, and how was it rated?",
    analyse=analyse,
    parameters=TranscriptParameters,
    tables={
        "transcript": "What was said, by whom and when",
        "transcript.ratings": "Every rating of every turn",
        "transcript.answers": "What was answered before and after",
        "transcript.card": "The conversation",
    },
    figures={"transcript": "The rating from turn to turn"},
    method=(
        "One conversation as it came: every message in the order of the source, errors and retries included. A turn is a reply of "
        "the rated role. *Not applicable* was stated, *missing* was left blank. Breakdown turns follow the definition at the top "
        "of the page. Seconds count from the participant's first input."
    ),
)
