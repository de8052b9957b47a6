"""Linear mixed models of more rows than memory holds: rows come in batches, and sums of them are kept.

What a fit needs of the rows are cross-products of the fixed columns and the outcome, over all rows and by group. Any
formula whose groups are constant within conversations can be summed so, whatever varies from turn to turn: log(turn),
I(turn^2), another rating, within(), a random slope. Rows pass twice: once to find which are complete (and the means
that center(), within() and between() need), once to be summed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pandas as pd

from dashboard.stats.formula import Formula, FormulaError, check_names, names_in, parse_formula, random_terms
from dashboard.stats.formula_design import ColumnRecipe, recipes_of
from dashboard.stats.formula_rows import RowSource, Variable, arithmetic, level_text
from dashboard.stats.formula_syntax import Call, Name
from dashboard.stats.linear_mixed import LinearMixedFit, assemble
from dashboard.stats.linear_mixed_batch_sums import Part, Totals, totals_for
from dashboard.stats.linear_mixed_cells import independent, rowless_design
from dashboard.stats.linear_mixed_estimation import estimate

Array = np.ndarray
T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Batch:
    """Consecutive rows: the conversation (n,) of each by its position, and columns (n,) that vary within conversations.

    Missing cells are NaN.
    """

    place: Array
    columns: Mapping[str, Array]


@dataclass
class Tally:
    """What the first pass finds.

    Attributes
    ----------
    n_rows, n
        All rows; complete rows of each conversation, (C,).
    sums
        Sum over each conversation's complete rows, (C,), of what center(), within() and between() are taken of.
    levels
        Values of columns that enter as factors.
    """

    n_rows: int
    n: Array
    sums: dict[str, Array] = field(default_factory=dict)
    levels: dict[str, Array] = field(default_factory=dict)


def tally_batches(
    conversations: pd.DataFrame, batches: Iterable[Batch], formula: Formula, varying: Sequence[str]
) -> Tally:
    """Pass over the rows once: count the complete ones, and sum what functions of all rows need.

    Raises
    ------
    FormulaError
        For what needs all rows at once.
    """
    _check(formula, varying)
    needed = [name for name in formula.columns if name in varying]
    present = np.ones(len(conversations), dtype=bool)
    for name in formula.columns:
        if name not in varying:
            present &= conversations[name].notna().to_numpy()
    tally = Tally(0, np.zeros(len(conversations), dtype=np.int64))
    arguments = {str(call.argument): call.argument for call in _special_calls(formula)}
    tally.sums = {text: np.zeros(len(conversations)) for text in arguments}
    tally.levels = {name: np.empty(0) for name in _factor_names(formula, varying)}
    values = {
        name: conversations[name].to_numpy(dtype=float, na_value=np.nan)
        for argument in arguments.values()
        for name in names_in(argument)
        if name not in varying
    }
    for batch in batches:
        kept = _complete(batch, needed, present)
        place = batch.place[kept]
        columns = {name: batch.columns[name][kept] for name in needed}
        tally.n_rows += len(batch.place)
        _count(tally.n, place, None)
        for text, argument in arguments.items():
            named = {name: columns[name] if name in columns else values[name][place] for name in names_in(argument)}
            _count(tally.sums[text], place, np.broadcast_to(arithmetic(argument, named, _refuse_special), place.shape))
        for name, known in tally.levels.items():
            tally.levels[name] = np.union1d(known, columns[name])
    return tally


def _check(formula: Formula, varying: Sequence[str]) -> None:
    grouped = [name for name in formula.grouping if name in varying]
    if grouped:
        raise FormulaError(
            f"“{grouped[0]}” changes within conversations and cannot group a random part of so many turns: its groups run "
            "across all conversations. Filter conversations, or take it as a fixed term."
        )


def _complete(batch: Batch, needed: Sequence[str], present: Array) -> Array:
    kept = present[batch.place]
    for name in needed:
        kept &= np.isfinite(batch.columns[name])
    return kept


def _count(whole: Array, place: Array, weights: Array | None) -> None:
    if len(place):
        low = int(place.min())
        part = np.bincount(place - low, weights)
        whole[low : low + len(part)] += part.astype(whole.dtype, copy=False)


def _calls(formula: Formula) -> Iterator[Call]:
    """Yield the function calls of a formula, those inside others too."""
    waiting: list[object] = [formula.response, *(one for term in formula.terms for one in term)]
    waiting += [slope for bar in formula.bars for slope in bar.slopes]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call):
            yield one
        waiting += [getattr(one, part) for part in ("argument", "left", "right") if hasattr(one, part)]


def _special_calls(formula: Formula) -> list[Call]:
    return [call for call in _calls(formula) if call.function in ("center", "within", "between")]


def _factor_names(formula: Formula, varying: Sequence[str]) -> list[str]:
    factors = [call for call in _calls(formula) if call.function == "factor" and isinstance(call.argument, Name)]
    return [name for call in factors for name in names_in(call) if name in varying]


def _refuse_special(call: Call) -> Array:
    raise FormulaError(
        f"“{call}” stands inside another function of all rows; of so many turns that is not computed. Filter conversations, "
        "or simplify it."
    )


# --------------------------------------------------------------------------------------------------- source
class BatchSource(RowSource):
    """Conversations with complete rows; columns that vary within them are computed batch by batch."""

    def __init__(
        self,
        conversations: pd.DataFrame,
        formula: Formula,
        reference: Mapping[str, str],
        varying: Sequence[str],
        tally: Tally,
    ) -> None:
        here = [name for name in formula.columns if name not in varying]
        stand_in = pd.Series(np.where(tally.n > 0, 1.0, np.nan), index=conversations.index)
        frame = conversations[here].assign(**{name: stand_in for name in formula.columns if name in varying})
        super().__init__(frame, formula, reference)
        self.varying = frozenset(varying)
        self.tally = tally
        self.weights = self.taken(tally.n).astype(float)
        # −1: no complete row, or a predictor is missing
        self.position = np.full(len(conversations), -1, dtype=np.int64)
        self.position[self.rows] = np.arange(self.n)

    def factor(self, variable: Variable) -> tuple[Array, tuple[str, ...]]:
        """Return codes and levels; codes of a varying column are left to the batches."""
        name = next(names_in(variable))
        if name not in self.varying:
            return super().factor(variable)
        key = str(variable)
        if key not in self.factor_levels:
            values = [level_text(value) for value in self.tally.levels[name]]
            chosen = self.reference.get(key, self.reference.get(name))
            if chosen is not None and str(chosen) not in values:
                raise FormulaError(f"“{chosen}” is no level of “{key}”; there are: {', '.join(values[:60])}.")
            first = [] if chosen is None else [str(chosen)]
            self.factor_levels[key] = (*first, *(value for value in values if value not in first))
        return np.empty(0, dtype=int), self.factor_levels[key]

    def group_mean(self, call: Call) -> tuple[Array, Array]:
        """Return the mean by group of what within() or between() is taken of, and each conversation's group."""
        group = self.outermost(call)
        sums = self.taken(self.tally.sums[str(call.argument)])
        means = np.bincount(group.codes, sums, group.n_groups) / np.bincount(group.codes, self.weights, group.n_groups)
        return means, group.codes

    def grand_mean(self, call: Call) -> float:
        """Return the mean over rows of what center() is taken of."""
        mean = float(self.tally.sums[str(call.argument)].sum() / self.weights.sum())
        self.means[f"mean of {call.argument}"] = mean
        return mean


class BatchRows:
    """The complete rows of one batch, with variables computed on them."""

    def __init__(self, source: BatchSource, batch: Batch, prepared: Mapping[str, tuple[Array, Array] | float]) -> None:
        place = source.position[batch.place]
        kept = place >= 0
        needed = [name for name in source.formula.columns if name in source.varying]
        for name in needed:
            kept &= np.isfinite(batch.columns[name])
        self.source, self.prepared = source, prepared
        self.place = place[kept]
        self.values: dict[str, Array] = {name: np.asarray(batch.columns[name][kept], dtype=float) for name in needed}

    def column(self, name: str, used_by: Variable) -> Array:
        """Return a numeric column (n,)."""
        if name not in self.values:
            self.values[name] = self.source.column(name, used_by)[self.place]
        return self.values[name]

    def value(self, variable: Variable) -> Array:
        """Return a numeric variable (n,)."""
        key = str(variable)
        if key not in self.values:
            names = {name: self.column(name, variable) for name in names_in(variable)}
            found = np.asarray(arithmetic(variable, names, self._special), dtype=float)
            self.values[key] = np.broadcast_to(found, self.place.shape)
        return self.values[key]

    def _special(self, call: Call) -> Array:
        if call.function == "factor":
            raise FormulaError(f"“{call}” is a factor and cannot be part of arithmetic.")
        names = {name: self.column(name, call) for name in names_in(call.argument)}
        inner = np.asarray(arithmetic(call.argument, names, _refuse_special), dtype=float)
        known = self.prepared[str(call)]
        if isinstance(known, float):
            return inner - known
        means, groups = known
        centre = means[groups[self.place]]
        return centre if call.function == "between" else inner - centre

    def indicator(self, variable: Variable, level: str) -> Array:
        """Return where a factor has a level (n,)."""
        codes, levels = self.source.factor(variable)
        name = next(names_in(variable))
        if name in self.source.varying:
            return self.values[name] == float(level)
        return (codes == levels.index(level))[self.place]

    def fixed(self, recipe: ColumnRecipe) -> Array:
        """Return a fixed column (n,)."""
        out = np.ones(len(self.place))
        for variable in recipe.numeric:
            out *= self.value(variable)
        for variable, level in recipe.levels:
            out *= self.indicator(variable, level)
        return out


# ------------------------------------------------------------------------------------------------------ fit
def fit_from_batches(
    conversations: pd.DataFrame,
    batches: Callable[[], Iterable[Batch]],
    formula: str | Formula,
    *,
    varying: Sequence[str],
    reml: bool = True,
    reference: Mapping[str, str] | None = None,
    tally: Tally | None = None,
) -> LinearMixedFit:
    """Fit a linear mixed model to rows that come in batches.

    Parameters
    ----------
    conversations
        One row per conversation: the columns of the formula that are constant within them, its groups among them.
    batches
        Returns the rows, in the same order each time it is called.
    varying
        Columns of the batches; the others are those of `conversations`.
    tally
        What :func:`tally_batches` found, where that was asked before.

    Returns
    -------
    LinearMixedFit
        Equal to that from all rows at once, without residuals.

    Raises
    ------
    FormulaError
        A random part grouped by what varies within conversations, functions of all rows inside each other, crossed
        random slopes, or what `fit_linear_mixed` refuses.
    """
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    check_names(parsed, [*map(str, conversations.columns), *varying])
    tally = tally or tally_batches(conversations, batches(), parsed, varying)
    began = time.perf_counter()
    source = BatchSource(conversations, parsed, reference or {}, varying, tally)
    if not source.n:
        raise FormulaError(f"No row of {tally.n_rows:,} has all columns of the formula.")
    recipes = recipes_of(parsed, source)
    totals = _sum_up(source, batches, recipes)
    scaling = totals.standardise()
    kept = independent(totals.gram[:-1, :-1] / totals.n)
    dropped = tuple(recipes[j].name for j in range(len(recipes)) if j not in kept)
    moments, scaling = totals.moments(scaling, kept)
    n_dropped = tally.n_rows - moments.n
    built = rowless_design(
        source,
        parsed,
        tuple(recipes[j] for j in kept),
        scaling,
        weights=source.weights,
        means={**source.means, **totals.means},
        dropped_columns=dropped,
        n_dropped=n_dropped,
        dropped_note=f"{n_dropped:,} of {tally.n_rows:,} rows were left out because a cell was missing.",
    )
    return assemble(moments, estimate(moments, reml=reml), built, began=began)


def _sum_up(source: BatchSource, batches: Callable[[], Iterable[Batch]], recipes: Sequence[ColumnRecipe]) -> Totals:
    """Pass over the rows and sum; batches are worked on by two threads and added in their order."""
    prepared: dict[str, tuple[Array, Array] | float] = {
        str(call): source.grand_mean(call) if call.function == "center" else source.group_mean(call)
        for call in _special_calls(source.formula)
    }
    for term in source.formula.random:
        if any(source.is_factor(slope) for slope in term.slopes):
            raise FormulaError("Random slopes must be numeric; use (1 | group:factor) for a factor.")
    slopes = list(dict.fromkeys(slope for term in source.formula.random for slope in term.slopes))
    groups = {label: source.grouping(terms[0].group) for label, terms in random_terms(source.formula).items()}
    totals = totals_for(source.formula, groups, source.weights, len(recipes))
    variables = list(dict.fromkeys(one for recipe in recipes for one in recipe.numeric))

    def work(batch: Batch) -> Part | None:
        rows = BatchRows(source, batch, prepared)
        if not len(rows.place):
            return None
        columns = [*(rows.fixed(recipe) for recipe in recipes), rows.value(source.formula.response)]
        return totals.part(rows.place, columns, {str(s): rows.value(s) for s in slopes}, _means(rows, variables))

    # The first batch alone: it says about which values the columns are centred.
    stream = iter(batches())
    for batch in stream:
        first = work(batch)
        if first is not None:
            totals.add(first)
            break
    for part in _ahead(stream, work):
        if part is not None:
            totals.add(part)
    return totals


def _means(rows: BatchRows, variables: Sequence[Variable]) -> dict[str, float]:
    """Return row sums of every numeric variable and of the columns that it is made of."""
    sums = {str(one): float(rows.value(one).sum()) for one in variables}
    names = {name for one in variables for name in names_in(one)}
    return sums | {name: float(rows.column(name, Name(name)).sum()) for name in names}


def _ahead(items: Iterator[S], work: Callable[[S], T]) -> Iterator[T]:
    with ThreadPoolExecutor(2, thread_name_prefix="batches") as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
