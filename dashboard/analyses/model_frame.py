"""From a Selection and a formula to the rows that a mixed model is fitted to: the one place that says what names mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import Counts, Selection, choose_outcome, count_selection, refuse_empty
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.stats.formula import Formula, FormulaError, names_in, parse_formula
from dashboard.vocabulary import NotInThisData, TooLittleData, column, plural

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.analyses.model_batches import RowBatches

PROPERTIES = ("task", "model", "importance", "desired_empathy")
SCORES = ("experienced_empathy", "satisfaction", "ground_truth")
GROUPS = ("participant", "conversation")
NOT_APPLICABLE = "_not_applicable"
MAX_DEFAULT_LEVELS = 30
TURNS, CONVERSATIONS = "turn", "conversation"


@dataclass(frozen=True)
class ModelNames:
    """What a formula may name in this data.

    Attributes
    ----------
    outcomes
        Turn ratings and their labels, in display order.
    not_applicable
        ``<outcome>_not_applicable``, with labels: 1 where the rater said so, 0 where a number was given.
    properties, scores
        Of a conversation.
    groups
        ``participant`` (where the source knows them) and ``conversation``.
    covariates
        Of a participant.
    """

    outcomes: Mapping[str, str]
    not_applicable: Mapping[str, str]
    properties: tuple[str, ...]
    scores: tuple[str, ...]
    groups: tuple[str, ...]
    covariates: tuple[str, ...]

    @property
    def per_turn(self) -> tuple[str, ...]:
        """Names that vary from turn to turn."""
        return (*self.outcomes, *self.not_applicable, *(("turn",) if self.outcomes else ()))

    @property
    def responses(self) -> tuple[str, ...]:
        """Names that may stand before the ~."""
        rated = [name for name in self.properties if name not in ("task", "model")]
        return (*self.outcomes, *self.not_applicable, *self.scores, *rated)

    @property
    def everything(self) -> tuple[str, ...]:
        """Every name, in the order to print them."""
        return (*self.per_turn, *self.properties, *self.groups, *self.scores, *self.covariates)

    def label(self, name: str) -> str:
        """Return a name for people."""
        labels = {**self.outcomes, **self.not_applicable}
        return labels.get(name) or column(name).label


@dataclass(frozen=True)
class ModelData:
    """The rows of a model.

    Attributes
    ----------
    formula, text
        What is to be fitted, parsed and in canonical text.
    frame
        One row per turn or conversation, incomplete ones included; the columns that the formula names.
    rows
        ``turn`` or ``conversation``.
    names
        What the data offers.
    counts
        Of the complete rows.
    queries
        What was run.
    from_sums
        Whether a row is a conversation with sums over its turns, which stand for the turns.
    batches
        Where the turns themselves come from, where sums do not suffice and memory neither.
    """

    formula: Formula
    frame: pd.DataFrame = field(repr=False)
    rows: str
    names: ModelNames
    counts: Counts
    queries: Mapping[str, Mapping[str, Any]]
    from_sums: bool = False
    batches: RowBatches | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The formula's canonical text."""
        return str(self.formula)

    @property
    def response(self) -> str:
        """The name of the outcome (the first, where it is an expression of several)."""
        return next(iter(names_in(self.formula.response)))


def model_names(database: Database) -> ModelNames:
    """Return the names that a formula may use in this data."""
    outcomes = run_query(database, "outcomes")
    labels = dict(zip(outcomes["outcome"].astype(str), outcomes["label"].astype(str), strict=True))
    stated = database.manifest.get("answers") or {}
    without = {
        f"{name}{NOT_APPLICABLE}": f"{label}: not applicable"
        for name, label in labels.items()
        if int((stated.get(name) or {}).get("not_applicable") or 0) > 0
    }
    measures = set(run_query(database, "scores")["score"].dropna())
    known = database.manifest["counts"].get("participants") is not None
    has_truth = "dimension" in measures
    scores = [name for name in SCORES if name in measures or (name == "ground_truth" and has_truth)]
    properties = [name for name in PROPERTIES if name in ("task", "model") or name in measures]
    taken = {*labels, *without, "turn", *PROPERTIES, *GROUPS, *SCORES}
    return ModelNames(
        outcomes=labels,
        not_applicable=without,
        properties=tuple(properties),
        scores=tuple(scores),
        groups=GROUPS if known else ("conversation",),
        covariates=tuple(name for name in _covariates(database) if name not in taken),
    )


def _covariates(database: Database) -> list[str]:
    return list(dict.fromkeys(run_query(database, "participant_covariate_names")["covariate"].astype(str)))


def read_formula(text: str, names: ModelNames) -> Formula:
    """Parse a formula of this data's names, and check that its rows are of one kind.

    Raises
    ------
    FormulaError
        For anything that is not a formula of these names.
    NotInThisData
        For a name of the study that this data lacks.
    """
    formula = parse_formula(text)
    lacking = [name for name in formula.columns if name not in names.everything and _is_known(name)]
    if lacking:
        listed = ", ".join(names.everything)
        raise NotInThisData(f"{lacking[0].replace('_', ' ')}. A formula can use: {listed}.")
    formula = parse_formula(text, names.everything)
    for name in names_in(formula.response):
        if name not in names.responses:
            raise FormulaError(
                f"The outcome must be a rating or a score of a conversation; “{name}” is none. There are: "
                f"{', '.join(names.responses)}."
            )
    if row_kind(formula, names) == CONVERSATIONS:
        varying = [name for name in formula.columns if name in names.per_turn]
        if varying:
            raise FormulaError(
                f"“{formula.outcome}” has one value per conversation, but “{varying[0]}” varies from turn to turn; "
                "leave it out, or model a turn rating."
            )
    return formula


def _is_known(name: str) -> bool:
    return name in {*PROPERTIES, *SCORES, *GROUPS, "turn", "overall", "turn_mean"}


def row_kind(formula: Formula, names: ModelNames) -> str:
    """Return whether rows are turns or conversations: the outcome decides."""
    return TURNS if any(name in names.per_turn for name in names_in(formula.response)) else CONVERSATIONS


def model_data(database: Database, selection: Selection, text: str | None, *, in_series: bool = False) -> ModelData:
    """Return the rows for a formula; without one, for the question that this selection can answer first.

    Parameters
    ----------
    database, selection
        Which conversations.
    text
        The formula, or None for :func:`default_formula`.
    in_series
        Whether the rows also need to tell their conversation and turn, for autocorrelation.

    Raises
    ------
    FormulaError, NotInThisData
        For a formula that cannot be read or names what is not there.
    TooLittleData
        When the selection leaves nothing to fit.
    """
    refuse_empty(count_selection(database, selection))
    names = model_names(database)
    formula = read_formula(text or default_formula(database, selection, names), names)
    return formula_data(database, selection, formula, names, in_series=in_series)


def formula_data(
    database: Database, selection: Selection, formula: Formula, names: ModelNames, *, in_series: bool = False
) -> ModelData:
    """Return the rows for a formula that :func:`read_formula` has read."""
    kind = row_kind(formula, names)
    if in_series and kind != TURNS:
        raise FormulaError(
            f"Autocorrelation is from turn to turn, and “{formula.outcome}” has one value per conversation. Leave AR(1) out."
        )
    chosen = selection.query_parameters()
    queries: dict[str, Mapping[str, Any]]
    if kind == TURNS:
        response = next(name for name in names_in(formula.response) if name in names.per_turn)
        queries = {"model_turns": chosen | {"outcome": _outcome_of(response)}}
        frame = _turn_frame(database, formula, names, queries["model_turns"])
    else:
        queries = {"model_conversations": chosen}
        frame = run_query(database, "model_conversations", **chosen)
    frame = with_covariates(database, frame, [name for name in formula.columns if name in names.covariates])
    for name in formula.columns:
        if name in ("task", "model") and len(frame) and frame[name].isna().all():
            raise NotInThisData(f"the {column(name).label.lower()} of a conversation, in these conversations.")
    counts = _counts(frame, formula, kind, names)
    columns = dict.fromkeys([*formula.columns, *(("conversation", "turn") if in_series else ())])
    return ModelData(formula, frame[list(columns)], kind, names, counts, queries)


def _outcome_of(name: str) -> str:
    return name.removesuffix(NOT_APPLICABLE)


def _turn_frame(database: Database, formula: Formula, names: ModelNames, chosen: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per turn with every turn-level name of the formula as a column."""
    frame = run_query(database, "model_turns", **chosen)
    for name in (name for name in formula.columns if name in names.per_turn and name != "turn"):
        outcome = _outcome_of(name)
        if outcome == chosen["outcome"]:
            frame[name] = _values(frame, name)
            continue
        other = run_query(database, "model_turns", outcome=outcome)[["conversation", "turn", "value", "answer"]]
        other[name] = _values(other, name)
        frame = frame.merge(other[["conversation", "turn", name]], on=["conversation", "turn"], how="left")
    return frame


def _values(frame: pd.DataFrame, name: str) -> pd.Series:
    if not name.endswith(NOT_APPLICABLE):
        return frame["value"]
    stated = (frame["answer"] == "not_applicable").astype(float)
    return stated.where(frame["answer"] != "missing")


def with_covariates(database: Database, frame: pd.DataFrame, wanted: list[str]) -> pd.DataFrame:
    """Add columns of the participants; a covariate is numeric where every filled cell is a number."""
    if not wanted:
        return frame
    cells = run_query(database, "participant_covariates")
    for name in wanted:
        part = cells[cells["covariate"] == name].set_index("participant")
        values = part["text"] if part["number"].isna().any() else part["number"]
        frame[name] = frame["participant"].map(values)
    return frame


def _counts(frame: pd.DataFrame, formula: Formula, kind: str, names: ModelNames) -> Counts:
    complete = frame[frame[list(formula.columns)].notna().all(axis=1)]
    known = "participant" in names.groups
    return Counts(
        participants=int(complete["participant"].nunique()) if known else None,
        conversations=int(complete["conversation"].nunique()),
        turns=len(complete) if kind == TURNS else 0,
    )


# ------------------------------------------------------------------------------------------------ default
def default_formula(database: Database, selection: Selection, names: ModelNames) -> str:
    """Return the model that this selection can answer first: does the rating change over turns, do models differ?

    Raises
    ------
    TooLittleData
        When there are too few rows or groups for any model.
    """
    if names.outcomes:
        outcome = choose_outcome(database, None)
        rows = run_query(database, "model_turns", **selection.query_parameters(), outcome=outcome)
        rows = rows[rows["value"].notna()]
    else:
        outcome = next(iter(names.scores), "")
        if not outcome:
            raise NotInThisData("any rating that a model could have as its outcome.")
        rows = run_query(database, "model_conversations", **selection.query_parameters())
        rows = rows[rows[outcome].notna()]
    fixed = [name for name in ("turn",) if names.outcomes and rows[name].nunique() > 1]
    fixed += [name for name in ("model", "task") if 1 < rows[name].nunique() <= MAX_DEFAULT_LEVELS][:1]
    return f"{outcome} ~ {' + '.join([*(fixed or ['1']), default_random_part(rows)])}"


def default_random_part(rows: pd.DataFrame) -> str:
    """Return the random intercepts that rows can carry: more than one group, fewer groups than rows."""
    n, n_participants, n_conversations = len(rows), rows["participant"].nunique(), rows["conversation"].nunique()
    if 1 < n_participants < n_conversations < n:
        return "(1 | participant/conversation)"
    if 1 < n_participants < n:
        return "(1 | participant)"
    if 1 < n_conversations < n:
        return "(1 | conversation)"
    if not n_participants and n_conversations == n:
        raise NotInThisData(
            "participants, nor several ratings in a conversation. A mixed model needs rows that share a person or a "
            "conversation; here each stands alone."
        )
    raise TooLittleData(
        f"{plural(n, 'rated row')} of {plural(n_participants, 'participant')} cannot carry a mixed model: it needs several "
        "groups with several rows. Take a filter away, or reset them all."
    )
