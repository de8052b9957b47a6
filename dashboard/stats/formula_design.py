"""From a formula and a frame to the design: fixed columns, grouping codes and random-effect columns.

Numeric columns (booleans count as 0 and 1) enter as they are, all others as factors. Levels are sorted by code
point and the first is the reference, unless one is chosen. Coding follows R: treatment contrasts where the
margin is in the model, a column for every level where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from dashboard.stats.formula_rows import Grouping, RowSource, Variable, arithmetic, is_nested
from dashboard.stats.formula_syntax import (
    Call,
    Formula,
    FormulaError,
    Name,
    RandomTerm,
    Term,
    check_names,
    term_label,
)

Array = np.ndarray
MAX_COLUMNS = 400
INTERCEPT = "(Intercept)"


@dataclass(frozen=True)
class ColumnRecipe:
    """How a fixed column comes about: a product of numeric variables and of indicators of factor levels."""

    name: str
    term: str
    numeric: tuple[Variable, ...] = ()
    levels: tuple[tuple[Variable, str], ...] = ()


@dataclass(frozen=True)
class Standardised:
    """Fixed columns centred (where the model has an intercept) and scaled to unit variance.

    Cross-products of raw columns lose digits when a column's mean is large against its spread (years, say).
    `gram` (p, p) is `columns.T @ columns`; an intercept column, which stays 1, comes first. `store` (n, p + 1) holds
    the columns and room for the outcome.
    """

    store: Array

    means: Array
    scales: Array
    gram: Array

    @property
    def columns(self) -> Array:
        """The standardised columns (n, p)."""
        return self.store[:, :-1]


@dataclass(frozen=True)
class Design:
    """Everything a fit needs, with the rows that were dropped and why.

    Attributes
    ----------
    y, X
        Outcome (n,) and fixed columns (n, p) of the rows fitted; linearly dependent columns are left out.
    columns, terms
        Names of the columns of X, and for every term its column positions (without dropped ones).
    rows
        Positions in the frame of the rows fitted.
    dropped
        For every column with missing cells: how many rows it made incomplete (a row may count twice).
    dropped_columns
        Columns left out because others determine them.
    levels
        Levels of each factor, reference first.
    groups
        Grouping factors by label.
    slopes
        Values (n,) of the random slopes by name.
    means
        Row mean of every numeric variable or numeric column used, for reference grids.
    codes, weights
        Level of each factor per row, and how many observations a row stands for (None: one).
    """

    formula: Formula
    y: Array = field(repr=False)
    X: Array = field(repr=False)
    columns: tuple[str, ...]
    terms: dict[str, tuple[int, ...]]
    recipes: tuple[ColumnRecipe, ...] = field(repr=False)
    standardised: Standardised = field(repr=False)
    rows: Array = field(repr=False)
    n_rows: int
    dropped: dict[str, int]
    dropped_columns: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]
    groups: dict[str, Grouping] = field(repr=False)
    slopes: dict[str, Array] = field(repr=False)
    means: dict[str, float]
    codes: dict[str, Array] = field(repr=False, default_factory=dict)
    weights: Array | None = field(repr=False, default=None)
    notes: tuple[str, ...] = ()

    @property
    def n_observations(self) -> int:
        """Rows fitted."""
        return len(self.y)

    @property
    def n_dropped(self) -> int:
        """Rows left out because a cell was missing."""
        return self.n_rows - len(self.y)

    @property
    def factors(self) -> tuple[str, ...]:
        """Factors among the fixed terms, in order of appearance."""
        return tuple(self.levels)

    def at_means(self, variable: Variable, numeric: Mapping[str, float] | None = None) -> float:
        """Return a numeric variable at `numeric` values of its columns, else at their row means."""
        values = {name: np.asarray(value) for name, value in {**self.means, **(numeric or {})}.items()}
        return float(_grid_value(variable, values, self.means))


def _grid_value(variable: Variable, values: Mapping[str, Array], means: Mapping[str, float]) -> Array:
    """Evaluate at the grid's values: center() with the data's mean, within()/between() at their own row mean."""
    if isinstance(variable, Call) and variable.function in ("within", "between"):
        return values[str(variable)]

    def special(call: Call) -> Array:
        if call.function == "center":
            inner = arithmetic(call.argument, values, special)
            return inner - means[f"mean of {call.argument}"]
        raise FormulaError(f"{call.function}() cannot stand inside another function here.")

    return arithmetic(variable, values, special)


# ------------------------------------------------------------------------------------------------- coding
def _codings(term: Term, labels: set[frozenset[str]], source: RowSource) -> dict[Variable, bool]:
    """Tell for each factor of a term whether treatment contrasts are used (R's rule: its margin is in the model)."""
    return {
        variable: frozenset(str(v) for v in term if v != variable) in labels
        for variable in term
        if source.is_factor(variable)
    }


def recipes_of(formula: Formula, source: RowSource) -> list[ColumnRecipe]:
    """Return the recipes of all fixed columns, in R's order and coding."""
    recipes = [ColumnRecipe(INTERCEPT, INTERCEPT)] if formula.intercept else []
    present: set[frozenset[str]] = {frozenset()} if formula.intercept else set()
    labels = present | {frozenset(str(v) for v in term) for term in formula.terms}
    full_used = formula.intercept
    for term in formula.terms:
        codings = _codings(term, labels, source)
        if not full_used and len(term) == 1 and codings:
            codings, full_used = {term[0]: False}, True
        elif full_used and len(term) == 1 and codings:
            codings = {term[0]: True}
        recipes.extend(_term_recipes(term, codings, source))
        if len(recipes) > MAX_COLUMNS:
            raise FormulaError(
                f"The fixed part needs more than {MAX_COLUMNS} columns (at “{term_label(term)}”); a factor with so many "
                "levels belongs in the random part."
            )
    return recipes


def _term_recipes(term: Term, codings: Mapping[Variable, bool], source: RowSource) -> list[ColumnRecipe]:
    numeric = tuple(v for v in term if v not in codings)
    choices = []
    for variable in codings:
        levels = source.factor(variable)[1]
        if len(levels) < 2:
            only = f"“{levels[0]}”" if levels else "none"
            raise FormulaError(
                f"“{variable}” has one level in the rows fitted ({only}), so it has no effect to estimate."
            )
        choices.append([(variable, level) for level in levels[1 if codings[variable] else 0 :]])
    out = []
    # the first factor of an interaction varies fastest, as in R
    for picked in product(*reversed(choices)):
        chosen = dict(picked)
        name = ":".join(f"{v}[{chosen[v]}]" if v in chosen else str(v) for v in term)
        out.append(ColumnRecipe(name, term_label(term), numeric, tuple((v, chosen[v]) for v in term if v in chosen)))
    return out


def _fixed_columns(recipes: list[ColumnRecipe], source: RowSource) -> Array:
    """Return the fixed columns (n, p), column-major."""
    X = np.empty((source.n, len(recipes)), order="F")
    for j, recipe in enumerate(recipes):
        parts = [source.value(variable) for variable in recipe.numeric]
        for variable, level in recipe.levels:
            codes, levels = source.factor(variable)
            parts.append(codes == levels.index(level))
        X[:, j] = parts[0] if parts else 1.0
        for part in parts[1:]:
            X[:, j] *= part
    return X


def standardise(X: Array, *, intercept: bool) -> Standardised:
    """Standardise columns (n, p), the first of which is the intercept if there is one; constants get scale 1."""
    n, p = X.shape
    means = X.mean(axis=0) if intercept else np.zeros(p)
    if intercept:
        means[0] = 0.0
    store = np.empty((n, p + 1), order="F")
    columns = store[:, :p]
    np.subtract(X, means, out=columns)
    gram = columns.T @ columns
    scales = np.sqrt(np.diag(gram) / n)
    scales[scales <= 1e-13 * np.maximum(np.abs(means), np.finfo(float).tiny)] = 1.0
    columns /= scales
    return Standardised(store, means, scales, gram / np.outer(scales, scales))


def independent_columns(X: Array, standardised: Standardised) -> list[int]:
    """Return the columns that the ones before them do not determine (relative tolerance 1e-7, as R's lm)."""
    kept = []
    residual = standardised.gram / max(len(X), 1)
    for j in range(X.shape[1]):
        if residual[j, j] < 1e-6:
            return _independent_by_qr(X)
        kept.append(j)
        residual = residual - np.outer(residual[:, j], residual[j]) / residual[j, j]
    return kept


def _independent_by_qr(X: Array) -> list[int]:
    """Decide near dependence on the columns themselves, where squaring would lose half the digits."""
    basis = np.empty((X.shape[0], 0))
    kept = []
    for j in range(X.shape[1]):
        norm = np.linalg.norm(X[:, j])
        if norm == 0:
            continue
        column = X[:, j] / norm
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        rest = np.linalg.norm(column)
        if rest > 1e-7:
            kept.append(j)
            basis = np.column_stack([basis, column / rest])
    return kept


# ------------------------------------------------------------------------------------------------- design
def design(frame: pd.DataFrame, formula: Formula, reference: Mapping[str, str] | None = None) -> Design:
    """Build the design of a formula on a frame.

    Parameters
    ----------
    frame
        One row per observation. Rows with a missing or infinite cell in a used column are left out and counted.
    formula
        From `parse_formula`.
    reference
        Reference level by factor; the first by code point otherwise.

    Raises
    ------
    FormulaError
        Unknown columns, text where numbers are needed, an outcome or factor that does not vary, no complete row.

    Notes
    -----
    Coding and column order are those of R's `model.matrix` with treatment contrasts.
    """
    check_names(formula, [str(name) for name in frame.columns])
    _check_reference(formula, reference or {})
    source = RowSource(frame, formula, reference or {})
    _check_rows(source)
    if isinstance(formula.response, Name) and source.is_factor(formula.response):
        raise FormulaError(f"The outcome “{formula.outcome}” must be numeric; it is a factor (text).")
    y = np.array(source.value(formula.response), dtype=float)
    recipes = recipes_of(formula, source)
    X = _fixed_columns(recipes, source)
    standardised = standardise(X, intercept=formula.intercept)
    kept = independent_columns(X, standardised)
    dropped_columns = tuple(recipes[j].name for j in range(len(recipes)) if j not in kept)
    recipes = [recipes[j] for j in kept]
    if len(kept) < X.shape[1]:
        X = X[:, kept]
        standardised = standardise(X, intercept=formula.intercept)
    slopes = {str(s): _slope(s, source) for term in formula.random for s in term.slopes}
    groups = {term.label: source.grouping(term.group) for term in formula.random}
    return Design(
        formula=formula,
        y=y,
        X=X,
        columns=tuple(recipe.name for recipe in recipes),
        terms=_positions(recipes, formula),
        recipes=tuple(recipes),
        standardised=standardised,
        rows=source.rows,
        n_rows=source.n_rows,
        dropped=source.dropped,
        dropped_columns=dropped_columns,
        levels={str(v): source.factor(v)[1] for v in _factors(formula, source)},
        groups=groups,
        slopes=slopes,
        means=source.means,
        codes={str(v): source.factor(v)[0] for v in _factors(formula, source)},
        notes=tuple(_design_notes(source, dropped_columns)),
    )


def _factors(formula: Formula, source: RowSource) -> list[Variable]:
    return list(dict.fromkeys(v for term in formula.terms for v in term if source.is_factor(v)))


def _positions(recipes: list[ColumnRecipe], formula: Formula) -> dict[str, tuple[int, ...]]:
    labels = ([INTERCEPT] if formula.intercept else []) + [term_label(term) for term in formula.terms]
    return {label: tuple(j for j, r in enumerate(recipes) if r.term == label) for label in labels}


def _slope(slope: Variable, source: RowSource) -> Array:
    if source.is_factor(slope):
        raise FormulaError(f"Random slopes must be numeric; “{slope}” is a factor. Use (1 | group:{slope}) for it.")
    values = source.value(slope)
    if np.ptp(values) == 0:
        raise FormulaError(f"The random slope “{slope}” has one value ({values[0]:g}) in all rows fitted.")
    return values


def _check_reference(formula: Formula, reference: Mapping[str, str]) -> None:
    for name in reference:
        if name not in formula.predictors and name not in {str(v) for t in formula.terms for v in t}:
            raise FormulaError(f"A reference level was chosen for “{name}”, which is not among the predictors.")


def _check_rows(source: RowSource) -> None:
    if not source.n:
        missing = ", ".join(f"“{name}” {n:,}" for name, n in source.dropped.items())
        because = f" Missing cells: {missing}." if missing else ""
        raise FormulaError(f"No row has all columns of the formula, of {source.n_rows:,}.{because}")


def _design_notes(source: RowSource, dropped_columns: tuple[str, ...]) -> list[str]:
    notes = []
    if source.dropped:
        n_dropped = source.n_rows - source.n
        reasons = ", ".join(f"{name} ({n:,})" for name, n in source.dropped.items())
        notes.append(f"{n_dropped:,} of {source.n_rows:,} rows were left out because a cell was missing in: {reasons}.")
    if dropped_columns:
        named = ", ".join(dropped_columns)
        notes.append(f"Left out because the other columns determine them (rank-deficient design): {named}.")
    return notes


def random_terms(formula: Formula) -> dict[str, list[RandomTerm]]:
    """Return the random terms by grouping factor, in order of appearance."""
    found: dict[str, list[RandomTerm]] = {}
    for term in formula.random:
        found.setdefault(term.label, []).append(term)
    return found


__all__ = [
    "INTERCEPT",
    "ColumnRecipe",
    "Design",
    "Grouping",
    "RowSource",
    "Standardised",
    "design",
    "independent_columns",
    "is_nested",
    "random_terms",
    "recipes_of",
    "standardise",
]
