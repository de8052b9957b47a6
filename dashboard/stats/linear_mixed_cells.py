"""Conversations as one entry each: sums of their turns, and the model's columns summed by conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dashboard.stats.formula import Design, Formula, FormulaError
from dashboard.stats.formula_design import ColumnRecipe, RowSource, Standardised
from dashboard.stats.formula_syntax import Name
from dashboard.stats.linear_mixed_moments import Scaling

Array = np.ndarray
T = TypeVar("T")
CHUNK = 32_768
ALL = slice(None)


@dataclass(frozen=True)
class Cells:
    """One entry per conversation: counts and sums (C,), and what the fixed columns are made of.

    `turns[j]` tells whether column j holds the turn number; the rest of it is constant within a conversation.
    """

    source: RowSource
    recipes: tuple[ColumnRecipe, ...]
    turns: tuple[bool, ...]
    n: Array
    t: Array
    tt: Array
    y: Array
    yt: Array
    yy: Array

    def between(self, j: int, rows: slice = ALL) -> Array:
        """Return the part of fixed column j that is constant within conversations."""
        recipe = self.recipes[j]
        out: Array | None = None
        for variable in recipe.numeric:
            if variable != Name("turn"):
                values = self.source.value(variable)[rows]
                out = values if out is None else out * values
        for variable, level in recipe.levels:
            codes, levels = self.source.factor(variable)
            hit = codes[rows] == levels.index(level)
            out = hit if out is None else out * hit
        return np.ones(len(self.n[rows])) if out is None else out

    def sums(self, j: int, rows: slice = ALL, *, by_turn: bool = False) -> Array:
        """Return Σ column, or Σ turn · column, of each conversation; the outcome is the last column."""
        if j == len(self.recipes):
            return (self.yt if by_turn else self.y)[rows]
        power = int(by_turn) + int(self.turns[j])
        return self.between(j, rows) * (self.n, self.t, self.tt)[power][rows]


@dataclass(frozen=True)
class Table:
    """Standardised columns summed by conversation (C, p + 1), the outcome last; their cross-products over rows."""

    sums: Array
    gram: Array
    scaling: Scaling
    n: float

    def of_columns(self, kept: Sequence[int]) -> Table:
        """Return the table of some columns, the outcome among them."""
        s, fixed = self.scaling, list(kept[:-1])
        scaling = replace(s, x_means=s.x_means[fixed], x_scales=s.x_scales[fixed], x_means_raw=s.x_means_raw[fixed])
        return Table(np.ascontiguousarray(self.sums[:, kept]), self.gram[np.ix_(kept, kept)], scaling, self.n)


def table_of(cells: Cells, *, intercept: bool) -> Table:
    """Sum the columns by conversation, centred and scaled.

    Cross-products are summed between and within conversations, so that centring loses no digits. Stretches of
    conversations small enough for the processor's cache are worked on by two threads.
    """
    p, total = len(cells.recipes), float(cells.n.sum())
    totals = _by_stretch(cells, lambda rows: [cells.sums(j, rows).sum() for j in range(p + 1)])
    raw_means = np.sum(list(totals), axis=0) / total
    means = raw_means.copy() if intercept else np.zeros(p + 1)
    if intercept:
        means[0] = 0.0
    sums = np.empty((len(cells.n), p + 1))

    def stretch(rows: slice) -> tuple[Array, Array]:
        for j in range(p + 1):
            np.subtract(cells.sums(j, rows), means[j] * cells.n[rows], out=sums[rows, j])
        between = sums[rows].T @ (sums[rows] / cells.n[rows, None])
        return between, _within_products(cells, rows)

    parts = list(_by_stretch(cells, stretch))
    gram = np.asarray(sum(between + within for between, within in parts))
    scales = np.sqrt(np.diag(gram) / total)
    if not scales[p] > 1e-12 * max(abs(raw_means[p]), np.finfo(float).tiny):
        raise FormulaError(f"The outcome has one value ({raw_means[p]:g}) in all {total:,.0f} rows.")
    scales[:p][scales[:p] <= 1e-13 * np.maximum(np.abs(raw_means[:p]), np.finfo(float).tiny)] = 1.0
    for rows in _chunks(len(sums)):
        sums[rows] /= scales
    scaling = Scaling(means[:p], scales[:p], float(means[p]), float(scales[p]), intercept, raw_means[:p])
    return Table(sums, gram / np.outer(scales, scales), scaling, total)


def _by_stretch(cells: Cells, work: Callable[[slice], T]) -> Iterator[T]:
    """Yield what is made of each stretch of conversations."""
    for j in range(len(cells.recipes)):
        cells.between(j, slice(0, 0))  # variables are computed once, before threads share them
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(work, _chunks(len(cells.n)))


def independent(gram: Array) -> list[int]:
    """Return the columns that those before them do not determine, from cross-products of standardised columns."""
    kept, residual = [], gram.copy()
    for j in range(len(gram)):
        if residual[j, j] > 1e-9:
            kept.append(j)
            residual = residual - np.outer(residual[:, j], residual[j]) / residual[j, j]
    return kept


def _within_products(cells: Cells, rows: slice) -> Array:
    """Return cross-products about the conversations' own means: of columns with turn, and of the outcome."""
    p = len(cells.recipes)
    out = np.zeros((p + 1, p + 1))
    n, t, y = cells.n[rows], cells.t[rows], cells.y[rows]
    tt = cells.tt[rows] - t**2 / n
    ty = cells.yt[rows] - t * y / n
    moving = [j for j in range(p) if cells.turns[j]]
    values = {j: cells.between(j, rows) for j in moving}
    for i in moving:
        weighted = values[i] * tt
        for j in moving:
            out[i, j] = weighted @ values[j]
        out[i, p] = out[p, i] = values[i] @ ty
    out[p, p] = float((cells.yy[rows] - y**2 / n).sum())
    return out


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, CHUNK):
        yield slice(start, min(start + CHUNK, n))


def rowless_design(
    source: RowSource,
    formula: Formula,
    recipes: tuple[ColumnRecipe, ...],
    scaling: Scaling,
    *,
    weights: Array,
    means: dict[str, float],
    dropped_columns: tuple[str, ...],
    n_dropped: int,
    dropped_note: str,
) -> Design:
    """Return a design with names, levels and means but no rows; each of the source's stands for `weights` of them."""
    empty = np.empty(0)
    labels = (["(Intercept)"] if formula.intercept else []) + [":".join(map(str, term)) for term in formula.terms]
    factors = dict.fromkeys(v for term in formula.terms for v in term if source.is_factor(v))
    notes = [dropped_note] if n_dropped else []
    if dropped_columns:
        notes.append(
            f"Left out because the other columns determine them (rank-deficient design): {', '.join(dropped_columns)}."
        )
    return Design(
        formula=formula,
        y=empty,
        X=np.empty((0, len(recipes))),
        columns=tuple(recipe.name for recipe in recipes),
        terms={label: tuple(j for j, r in enumerate(recipes) if r.term == label) for label in labels},
        recipes=recipes,
        standardised=Standardised(np.empty((0, 1)), scaling.x_means, scaling.x_scales, empty),
        rows=empty,
        n_rows=n_dropped,
        dropped={"predictors": n_dropped} if n_dropped else {},
        dropped_columns=dropped_columns,
        levels={str(v): source.factor(v)[1] for v in factors},
        groups={term.label: source.grouping(term.group) for term in formula.random},
        slopes={},
        means=means,
        codes={str(v): source.factor(v)[0] for v in factors},
        weights=weights,
        notes=tuple(notes),
    )
