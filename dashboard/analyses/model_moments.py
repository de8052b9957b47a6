"""Millions of turns as one row of sums per conversation: when they suffice for a model, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import Counts, Selection, choose_outcome, count_selection
from dashboard.analyses.model_batches import RowBatches, outcome_of
from dashboard.analyses.model_frame import (
    MAX_DEFAULT_LEVELS,
    SCORES,
    TURNS,
    ModelData,
    ModelNames,
    model_data,
    model_names,
    read_formula,
    row_kind,
    with_covariates,
)
from dashboard.analyses.turn_stream import Sums, read_conversations, sum_turns, survey_answers
from dashboard.database import Database
from dashboard.queries import report, run_query
from dashboard.stats.formula import Formula
from dashboard.stats.formula_syntax import Call, Name, names_in
from dashboard.vocabulary import Refused, TooLittleData

if TYPE_CHECKING:
    import pandas as pd

# From here on sums are fitted where they suffice; from the second number rows are streamed rather than held; from the
# third, what cannot do without all rows at once is refused.
LARGE_TURNS = 300_000
STREAMED_TURNS = 2_000_000
MAX_ROWS = 10_000_000
SUMS = tuple(Sums.__dataclass_fields__)


def rows_or_sums(database: Database, selection: Selection, text: str | None, *, in_series: bool = False) -> ModelData:
    """Return the rows of a formula; of millions of turns, sums per conversation where they suffice.

    Parameters
    ----------
    database, selection
        Which conversations.
    text
        The formula, or None for the model that the selection can answer first.
    in_series
        Whether the rows also need to tell their conversation and turn, for autocorrelation.

    Raises
    ------
    FormulaError, NotInThisData, TooLittleData
        As :func:`dashboard.analyses.model_frame.model_data`; and for the few models of millions of turns that need all
        of them at once.
    """
    n_turns = _n_turns(database, selection)
    if n_turns <= LARGE_TURNS:
        return model_data(database, selection, text, in_series=in_series)
    names = model_names(database)
    formula = read_formula(text or _default_formula(database, names), names)
    if in_series:
        _refuse_many(n_turns, "Autocorrelated residuals need")
        return model_data(database, selection, str(formula), in_series=True)
    if suffice(formula, names):
        return moments_data(database, selection, formula, names)
    if row_kind(formula, names) == TURNS and n_turns > STREAMED_TURNS:
        return batches_data(database, selection, formula, names)
    return model_data(database, selection, text or str(formula))


def _n_turns(database: Database, selection: Selection) -> int:
    """Return how many turns are asked about; of large data those that filters leave are counted."""
    if selection.is_everything or not is_large(database):
        return int(database.manifest.get("counts", {}).get("assistant_turns") or 0)
    return count_selection(database, selection).turns


def _refuse_many(n_turns: int, what: str) -> None:
    if n_turns > MAX_ROWS:
        raise Refused(
            f"{what} every turn in memory, and these are {n_turns:,}; up to {MAX_ROWS:,} fit. Filter conversations."
        )


def batches_data(database: Database, selection: Selection, formula: Formula, names: ModelNames) -> ModelData:
    """Return the conversations of a model, and its turns as a stream that is passed over twice.

    Raises
    ------
    TooLittleData
        When the selection leaves no conversation.
    FormulaError
        For what needs all turns at once: groups that vary within conversations, and functions of all rows within each
        other.
    """
    from dashboard.stats.linear_mixed_from_batches import tally_batches

    varying = tuple(name for name in formula.columns if name in names.per_turn)
    varying = tuple(sorted(varying, key=lambda name: name not in names_in(formula.response)))
    wanted = [name for name in formula.columns if name not in varying]
    values = selection.query_parameters()
    if selection.is_everything and not any(name in SCORES for name in wanted):
        frame, ids = _conversations(database, wanted, names)
    else:
        rated_on = values | {"outcome": outcome_of(varying[0])}
        frame, ids = _chosen(database, rated_on, [*wanted, *names.groups])
    if frame.empty:
        raise TooLittleData("No conversation is left by these filters. Take one away, or reset them all.")
    frame = with_covariates(database, frame, [name for name in wanted if name in names.covariates])
    rows = RowBatches(database.folder / "ratings.parquet", ids, varying)
    tally = tally_batches(frame, rows(), formula, varying)
    rows = replace(rows, tally=tally)
    counts = _counts(frame.assign(n=tally.n), wanted, names)
    queries = {"model_turns": values | {"outcome": outcome_of(varying[0])}}
    return ModelData(formula, frame[wanted], TURNS, names, counts, queries, from_sums=True, batches=rows)


def _default_formula(database: Database, names: ModelNames) -> str:
    """Return what is asked of large data unless told."""
    outcome = choose_outcome(database, None)
    table = read_conversations(database.folder / "conversations.parquet")
    sizes = {
        name: _categories(table[name].combine_chunks()).categories.size for name in ("participant", "task", "model")
    }
    fixed = ["turn", *[name for name in ("model", "task") if 1 < sizes[name] <= MAX_DEFAULT_LEVELS][:1]]
    random = "participant/conversation" if sizes["participant"] > 1 else "conversation"
    return f"{outcome} ~ {' + '.join(fixed)} + (1 | {random})"


def is_large(database: Database) -> bool:
    """Return whether the data has so many turns that sums are fitted rather than rows, where they suffice."""
    return int(database.manifest.get("counts", {}).get("assistant_turns") or 0) > LARGE_TURNS


def suffice(formula: Formula, names: ModelNames) -> bool:
    """Return whether sums per conversation hold all that the model needs of the turns.

    They do when the outcome is a turn rating as it stands, everything else is constant within conversations, and the
    turn number enters linearly.
    """
    if row_kind(formula, names) != TURNS or formula.outcome not in names.outcomes or "turn" in formula.grouping:
        return False
    variables = [one for term in formula.terms for one in term] + [s for bar in formula.bars for s in bar.slopes]
    if any(isinstance(one, Call) and (one.function in ("within", "between", "center")) for one in variables):
        return False
    if any(slope != Name("turn") for bar in formula.bars for slope in bar.slopes):
        return False
    turn_alone = all("turn" not in names_in(one) for one in variables if isinstance(one, Call))
    return turn_alone and not any(name in names.per_turn and name != "turn" for name in formula.predictors)


def moments_data(database: Database, selection: Selection, formula: Formula, names: ModelNames) -> ModelData:
    """Return one row of sums per conversation with what explains them.

    Of the whole data they are read in the order of its files; under filters, or with scores of a conversation, by the
    query, whose sums are the same.

    Raises
    ------
    TooLittleData
        When the selection leaves no conversation.
    """
    outcome = formula.outcome
    values = selection.query_parameters() | {"outcome": outcome}
    wanted = [name for name in formula.columns if name not in (outcome, "turn")]
    if selection.is_everything and not any(name in SCORES for name in formula.columns):
        frame = _whole(database, outcome, wanted, names)
    else:
        frame = _queried(database, values, [*wanted, *names.groups, *SUMS])
    if frame.empty:
        raise TooLittleData("No conversation is left by these filters. Take one away, or reset them all.")
    frame = with_covariates(database, frame, [name for name in wanted if name in names.covariates])
    counts = _counts(frame, wanted, names)
    return ModelData(formula, frame[[*wanted, *SUMS]], TURNS, names, counts, {"model_moments": values}, from_sums=True)


def _whole(database: Database, outcome: str, wanted: Sequence[str], names: ModelNames) -> pd.DataFrame:
    """Return what `model_moments` gives where nothing is filtered."""
    frame, ids = _conversations(database, wanted, names)
    return frame.assign(**vars(sum_turns(database.folder / "ratings.parquet", outcome, ids)))


def _conversations(database: Database, wanted: Sequence[str], names: ModelNames) -> tuple[pd.DataFrame, Any]:
    """Return all conversations, numbered rather than named, and their ids."""
    import numpy as np
    import pandas as pd

    table = read_conversations(database.folder / "conversations.parquet")
    ids = table["conversation"].combine_chunks()
    columns: dict[str, Any] = {"conversation": np.arange(len(ids), dtype=np.int32)}
    for name in ("participant", "task", "model"):
        if name in wanted or name in names.groups:
            columns[name] = _categories(table[name].combine_chunks())
    for name in ("importance", "desired_empathy"):
        if name in wanted:
            columns[name] = _wishes(database, name, ids)
    return pd.DataFrame(columns, copy=False), ids


def _wishes(database: Database, score: str, ids: Any) -> Any:
    """Return each conversation's answer to the item that counts towards a score, NaN without."""
    measures = run_query(database, "scores")
    item = str(measures.loc[measures["score"] == score, "measure"].iloc[0])
    return survey_answers(database.folder / "survey.parquet", item, ids)


def _categories(column: Any) -> pd.Categorical:
    """Return a column of dictionaries as categories: a name that occurs millions of times is kept once."""
    import pandas as pd

    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, column.dictionary.to_pandas())


def _queried(database: Database, values: dict[str, Any], wanted: Sequence[str]) -> pd.DataFrame:
    """Run the query into a frame of some columns, text as categories.

    The frame is filled column by column while the answer's own columns are let go, so that both are never there whole.
    """
    cursor = database.cursor()
    return _frame_of(cursor.sql(report("model_moments").sql, params=values).to_arrow_table(), wanted)


def _chosen(database: Database, values: dict[str, Any], wanted: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """Return the conversations that filters leave, and their ids."""
    chosen = report("model_conversations")
    given = {key: values.get(key) for key in chosen.parameters}
    cursor = database.cursor()
    table = cursor.sql(chosen.sql, params=given).to_arrow_table()
    ids = table["conversation"].combine_chunks()
    return _frame_of(table, wanted), ids


def _frame_of(table: Any, wanted: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in list(table.column_names):
        if name in wanted:
            columns[name] = _column(table[name].combine_chunks())
        table = table.drop_columns(name)
    return pd.DataFrame(columns, copy=False)


def _column(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _categories(column.dictionary_encode())
    values = column.to_numpy(zero_copy_only=False)
    return values if values.dtype.kind == "i" else values.astype(float)


def _counts(frame: pd.DataFrame, wanted: list[str], names: ModelNames) -> Counts:
    complete = frame["n"].to_numpy() > 0
    for name in wanted:
        complete &= frame[name].notna().to_numpy()
    known = "participant" in names.groups
    return Counts(
        participants=int(frame["participant"][complete].nunique()) if known else None,
        conversations=int(complete.sum()),
        turns=int(frame["n"].to_numpy()[complete].sum()),
    )
