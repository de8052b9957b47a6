"""Millions of turns as one row of sums per conversation: when they suffice for a model, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import Counts, Selection, choose_outcome
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
from dashboard.database import Database
from dashboard.queries import report
from dashboard.stats.formula import Formula
from dashboard.stats.formula_syntax import Call, Name, names_in
from dashboard.vocabulary import Refused, TooLittleData

if TYPE_CHECKING:
    import pandas as pd

LARGE_TURNS = 300_000
MAX_ROWS = 10_000_000


def rows_or_sums(database: Database, selection: Selection, text: str | None) -> ModelData:
    """Return the rows of a formula; of millions of turns, sums per conversation where they suffice.

    Parameters
    ----------
    database, selection
        Which conversations.
    text
        The formula, or None for the model that the selection can answer first.

    Raises
    ------
    FormulaError, NotInThisData, TooLittleData
        As :func:`dashboard.analyses.model_frame.model_data`.
    Refused
        When the model needs more rows than fit in memory.
    """
    if not is_large(database):
        return model_data(database, selection, text)
    names = model_names(database)
    formula = read_formula(text or _default_formula(database, names), names)
    if suffice(formula, names):
        return moments_data(database, selection, formula, names)
    n_turns = int(database.manifest["counts"]["assistant_turns"])
    if row_kind(formula, names) == TURNS and selection.is_everything and n_turns > MAX_ROWS:
        raise Refused(
            f"“{formula}” needs every turn in memory, and this data has {n_turns:,}; up to {MAX_ROWS:,} fit. Filter "
            "conversations, or keep to predictors that are constant within a conversation, beside turn itself."
        )
    return model_data(database, selection, text or str(formula))


def _default_formula(database: Database, names: ModelNames) -> str:
    """Return what is asked of large data unless told."""
    outcome = choose_outcome(database, None)
    rows = _read(database, "model_moments_whole", {"outcome": outcome}, ["participant", "model", "task"])
    fixed = ["turn", *[name for name in ("model", "task") if 1 < rows[name].nunique() <= MAX_DEFAULT_LEVELS][:1]]
    random = "participant/conversation" if rows["participant"].nunique() > 1 else "conversation"
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

    Raises
    ------
    TooLittleData
        When the selection leaves no conversation.
    """
    outcome = formula.outcome
    whole = selection.is_everything and not any(name in SCORES for name in formula.columns)
    wishes = any(name in ("importance", "desired_empathy") for name in formula.columns)
    query = ("model_moments_wishes" if wishes else "model_moments_whole") if whole else "model_moments"
    values = {"outcome": outcome} if whole else selection.query_parameters() | {"outcome": outcome}
    wanted = [name for name in formula.columns if name not in (outcome, "turn")]
    sums = ["n_turns", "n", "sum_turn", "sum_turn2", "sum_y", "sum_y_turn", "sum_y2"]
    frame = _read(database, query, values, [*wanted, *names.groups, *sums])
    if frame.empty:
        raise TooLittleData("No conversation is left by these filters. Take one away, or reset them all.")
    frame = with_covariates(database, frame, [name for name in wanted if name in names.covariates])
    counts = _counts(frame, wanted, names)
    return ModelData(formula, frame[[*wanted, *sums]], TURNS, names, counts, {query: values}, from_sums=True)


def _read(database: Database, query: str, values: dict[str, Any], wanted: Sequence[str]) -> pd.DataFrame:
    """Run a report into a frame of some columns, text as categories: millions of names are kept once each.

    The frame is filled column by column while the answer's own columns are let go, so that both are never there whole.
    """
    import pandas as pd

    chosen = report(query)
    given = {key: values.get(key) for key in chosen.parameters}
    table = database.cursor().sql(chosen.sql, params=given).to_arrow_table()
    columns: dict[str, Any] = {}
    for name in list(table.column_names):
        if name in wanted:
            columns[name] = _column(table[name])
        table = table.drop_columns(name)
    return pd.DataFrame(columns, copy=False)


def _column(column: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        values = column.to_numpy()
        return values if values.dtype.kind == "i" else values.astype(float)
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, encoded.dictionary.to_pandas())


def _counts(frame: pd.DataFrame, wanted: list[str], names: ModelNames) -> Counts:
    complete = frame[(frame["n"] > 0) & frame[wanted].notna().all(axis=1)]
    known = "participant" in names.groups
    return Counts(
        participants=int(complete["participant"].nunique()) if known else None,
        conversations=len(complete),
        turns=int(complete["n"].sum()),
    )
