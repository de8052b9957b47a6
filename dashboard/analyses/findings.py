"""What an analysis takes and gives: Selection, Parameters, Findings; all frozen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dashboard.database import Database
from dashboard.queries import FILTERS, read_boolean, read_number, read_value, run_query
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData, plural, unknown_name

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from dashboard.figures.template import Template


@dataclass(frozen=True)
class Selection:
    """Which conversations an analysis is about. Empty means all.

    Attributes
    ----------
    task, model, participant
        Names and ids to keep.
    desired_empathy
        Levels to keep, as numbers.
    min_rated_turns
        Keep conversations with at least this many rated turns of the outcome; None and 1 keep every conversation
        that an analysis of ratings can use, and None keeps unrated ones where these count.
    exclude_flagged
        Leave out the participants flagged for straight-lining.
    """

    task: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    participant: tuple[str, ...] = ()
    desired_empathy: tuple[float, ...] = ()
    min_rated_turns: int | None = None
    exclude_flagged: bool = False

    def query_parameters(self) -> dict[str, Any]:
        """Return the selection as query parameters; null means no filter."""
        return {
            "task": list(self.task) or None,
            "model": list(self.model) or None,
            "participant": list(self.participant) or None,
            "desired_empathy": list(self.desired_empathy) or None,
            "min_rated_turns": self.min_rated_turns,
            "exclude_flagged": self.exclude_flagged or None,
        }

    @property
    def is_everything(self) -> bool:
        """Whether nothing is filtered."""
        return self == Selection()


def parameter(
    default: Any,
    *,
    label: str,
    help: str = "",
    choices: tuple[Any, ...] = (),
    labels: Mapping[Any, str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    more: bool = False,
    shared: bool = False,
) -> Any:
    """Declare a field of a Parameters class: ``-p``, the control, the URL and ``sense7 list`` all derive from it.

    Parameters
    ----------
    default
        Its value unless told.
    label, help
        How the control is called, and one sentence on it.
    choices
        The values allowed; empty for free numbers and for ``outcome``, whose choices come from the data.
    labels
        What a choice is called on the page, where its own name would not do.
    minimum, maximum
        Limits of a number.
    more
        Whether the control stands under "More".
    shared
        Whether it is one for all analyses of its page, as the outcome is: the page draws its control.
    """
    metadata = {
        "label": label,
        "help": help,
        "choices": choices,
        "labels": labels or {},
        "minimum": minimum,
        "maximum": maximum,
        "more": more,
        "shared": shared,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Parameters:
    """Parameters of an analysis that takes none but the selection."""


@dataclass(frozen=True)
class OutcomeParameters(Parameters):
    """Parameters of an analysis of one outcome."""

    outcome: str | None = parameter(None, label="Outcome", help="What was rated; by default the overall rating.")


@dataclass(frozen=True)
class Drawing:
    """A figure not yet drawn: which function draws it from what, so that each medium draws it in its own template.

    Attributes
    ----------
    draw
        A function of ``dashboard.figures``: ``draw(*, template, **arguments)`` returns a Plotly figure.
    arguments
        Tidy frames and plain values.
    alt
        What the figure shows, in words.
    """

    draw: Callable[..., go.Figure]
    arguments: Mapping[str, Any]
    alt: str

    def figure(self, template: Template) -> go.Figure:
        """Draw it in a template."""
        return self.draw(template=template, **self.arguments)


@dataclass(frozen=True)
class Counts:
    """How much an analysis rests on. ``participants`` is None where the source knows no participants."""

    participants: int | None
    conversations: int
    turns: int


@dataclass(frozen=True)
class Findings:
    """What an analysis found.

    Attributes
    ----------
    name
        The analysis' name.
    headline
        The finding in one sentence, with its uncertainty and n.
    tables
        Tidy frames, unrounded; the main table bears the analysis' name, others ``name.part``.
    figures
        Drawings; the main figure bears the analysis' name, others ``name.part``.
    warnings
        Sentences that say what a weakness of the data means for the answer.
    notes
        Sentences for the small print below.
    counts
        How much it rests on.
    queries
        Report queries that were run, with their parameters.
    """

    name: str
    headline: str
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Drawing] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counts: Counts | None = None
    queries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """The main table."""
        return self.tables[self.name]


@dataclass(frozen=True)
class Checked:
    """What this data says on a claim.

    Attributes
    ----------
    value
        The figure as printed, e.g. ``"38 %"``.
    interval
        Its 95 % interval as printed, empty where none can be given.
    basis
        What it rests on, with n.
    """

    value: str
    interval: str
    basis: str


@dataclass(frozen=True)
class Claim:
    """A claim of the papers that an analysis checks; one row of the Overview's first table.

    Attributes
    ----------
    claim
        The claim in our words.
    reported
        The published figure as printed there, e.g. ``"38.1 %"``.
    source
        Where it is reported.
    check
        ``check(findings)`` returns what this data says.
    parameters
        Parameters for the run that answers the claim, where the analysis' own defaults take longer than a first page
        should (a bootstrap, say).
    """

    claim: str
    reported: str
    source: str
    check: Callable[[Findings], Checked]
    parameters: Parameters | None = None


@dataclass(frozen=True)
class Analysis:
    """One research question: what pages, the command line, the export and the tests know of it.

    Attributes
    ----------
    name
        The name that runs through all layers.
    page
        The page that shows it, e.g. ``"Overview"``.
    position
        Order on its page.
    question
        The heading.
    analyse
        ``analyse(database, selection, parameters)`` returns :class:`Findings`.
    parameters
        Its Parameters class.
    tables, figures
        Their names, and what each shows.
    method
        How it is computed, in Markdown: definition, unit of analysis, missing values.
    references
        Literature.
    claims
        Claims of the papers that it checks.
    whole_data
        Whether it describes the whole data whatever is filtered.
    """

    name: str
    page: str
    position: int
    question: str
    analyse: Callable[[Database, Selection, Any], Findings]
    tables: Mapping[str, str]
    figures: Mapping[str, str] = field(default_factory=dict)
    parameters: type[Parameters] = Parameters
    method: str = ""
    references: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    whole_data: bool = False

    def parameter_fields(self) -> dict[str, dataclasses.Field[Any]]:
        """Return the declared parameters by name."""
        return {item.name: item for item in dataclasses.fields(self.parameters)}


def parse_parameters(analysis: Analysis, given: Sequence[tuple[str, str]]) -> tuple[Selection, Parameters]:
    """Turn ``key=value`` pairs into a selection and the analysis' parameters.

    Filters, and parameters declared as a tuple, may be repeated; everything else may be given once.

    Raises
    ------
    Refused
        For a name that does not exist, a value that cannot be read, or one given twice.
    """
    fields = analysis.parameter_fields()
    known = [*FILTERS, "min_rated_turns", "exclude_flagged", *fields]
    lists: dict[str, list[Any]] = {key: [] for key in FILTERS}
    several: dict[str, tuple[Any, ...]] = {}
    single: dict[str, Any] = {}
    for key, text in given:
        if key == "outcome" and key not in fields:
            # One of the parameters taken everywhere; it changes nothing where no outcome is involved.
            continue
        if key not in known:
            raise unknown_name(f"parameter of {analysis.name!r} called", key, known)
        if key in lists:
            lists[key].append(read_value(key, text))
        elif key in fields and _is_repeatable(fields[key]):
            several[key] = (*several.get(key, ()), _typed(fields[key], text))
        elif key in single:
            raise Refused(f"The parameter {key!r} takes one value; it came twice.")
        else:
            single[key] = _typed(fields[key], text) if key in fields else read_value(key, text)
    selection = Selection(
        task=tuple(lists["task"]),
        model=tuple(lists["model"]),
        participant=tuple(lists["participant"]),
        desired_empathy=tuple(lists["desired_empathy"]),
        min_rated_turns=single.pop("min_rated_turns", None),
        exclude_flagged=single.pop("exclude_flagged", False),
    )
    return selection, analysis.parameters(**single, **several)


def _is_repeatable(declared: dataclasses.Field[Any]) -> bool:
    return str(declared.type).startswith("tuple")


def _typed(declared: dataclasses.Field[Any], text: str) -> Any:
    """Read one value of a declared parameter from text."""
    choices = declared.metadata["choices"]
    kind = declared.type if isinstance(declared.type, str) else getattr(declared.type, "__name__", "str")
    value: Any
    if "bool" in kind:
        value = read_boolean(declared.name, text)
    elif "int" in kind:
        value = read_number(declared.name, text, int)
    elif "float" in kind:
        value = read_number(declared.name, text, float)
    else:
        value = text
    if choices and value not in choices:
        raise unknown_name(f"value of the parameter {declared.name!r} called", value, choices)
    if isinstance(value, int | float) and not isinstance(value, bool):
        _within(declared.name, value, declared.metadata["minimum"], declared.metadata["maximum"])
    return value


def _within(key: str, value: Any, minimum: float | None, maximum: float | None) -> Any:
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        limits = f"at least {minimum:g}" if maximum is None else f"from {minimum:g} to {maximum:g}"
        raise Refused(f"The parameter {key!r} must be {limits}; came {value:g}.")
    return value


def check_selection(database: Database, selection: Selection) -> None:
    """Refuse a selection that names a level which the data does not have.

    Raises
    ------
    Refused
        With the list of those that exist.
    """
    if not any(getattr(selection, key) for key in FILTERS):
        return
    existing = run_query(database, "selection_levels")
    for key in FILTERS:
        chosen = getattr(selection, key)
        if not chosen:
            continue
        levels = existing.loc[existing["filter"] == key, "level"].tolist()
        if not levels:
            raise NotInThisData(f"{key} (the filter {key}={chosen[0]} cannot be applied).")
        for level in chosen:
            name = f"{level:g}" if isinstance(level, float) else level
            if name not in levels:
                raise unknown_name(key, name, levels)


def choose_outcome(database: Database, outcome: str | None) -> str:
    """Return the outcome to analyse: the one asked for, else ``overall``, else the first that the data has.

    Raises
    ------
    NotInThisData
        When the data holds no turn ratings at all, or not this one although it is one of the study's.
    Refused
        When there is no outcome of that name.
    """
    outcomes = [str(name) for name in run_query(database, "outcomes")["outcome"]]
    if not outcomes:
        raise NotInThisData("turn ratings.")
    if outcome is None:
        return "overall" if "overall" in outcomes else outcomes[0]
    if outcome == "overall" and outcome not in outcomes:
        raise NotInThisData(f"the overall rating of a turn. Outcomes here: {', '.join(outcomes)}.")
    if outcome not in outcomes:
        raise unknown_name("outcome", outcome, outcomes)
    return outcome


def check_outcome(database: Database, given: Sequence[tuple[str, str]]) -> None:
    """Refuse an outcome that does not exist, also where the analysis takes none: it is a parameter taken everywhere.

    Raises
    ------
    Refused
        With the outcomes that exist.
    """
    outcomes = [str(name) for name in run_query(database, "outcomes")["outcome"]]
    for key, text in given:
        if key == "outcome" and outcomes and text not in {*outcomes, "overall"}:
            raise unknown_name("outcome", text, outcomes)


def run_analysis(database: Database, one: Analysis, selection: Selection, parameters: Parameters) -> Findings:
    """Check the selection, then analyse: what pages, the command line and the export call.

    Raises
    ------
    Refused
        For a level or an outcome that does not exist; NotInThisData or TooLittleData where there is nothing to analyse.
    """
    check_selection(database, selection)
    return one.analyse(database, selection, parameters)


def count_selection(database: Database, selection: Selection) -> Counts:
    """Return how many participants, conversations and turns a selection keeps."""
    row = run_query(database, "selection_counts", **selection.query_parameters()).iloc[0]
    known = database.manifest["counts"].get("participants") is not None
    return Counts(
        participants=int(row["n_participants"]) if known else None,
        conversations=int(row["n_conversations"]),
        turns=int(row["n_turns"]),
    )


def refuse_empty(counts: Counts) -> None:
    """Refuse an empty selection with what to do.

    Raises
    ------
    TooLittleData
        When no conversation is left.
    """
    if counts.conversations == 0:
        raise TooLittleData("No conversation is left by these filters. Take one away, or reset them all.")


def describe_counts(counts: Counts) -> str:
    """Return ``4,556 turns, 672 conversations, 109 participants``."""
    parts = [plural(counts.turns, "turn"), plural(counts.conversations, "conversation")]
    if counts.participants is not None:
        parts.append(plural(counts.participants, "participant"))
    return ", ".join(parts)
