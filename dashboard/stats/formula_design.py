"""From a formula and a frame to the design: fixed columns, grouping codes and random-effect columns.

Numeric columns (booleans count as 0 and 1) enter as they are, all others as factors. Levels are sorted by code
point and the first is the reference, unless one is chosen. Coding follows R: treatment contrasts where the
margin is in the model, a column for every level where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from dashboard.stats.formula_syntax import (
    Arithmetic,
    Call,
    Expression,
    Formula,
    FormulaError,
    Name,
    Number,
    RandomTerm,
    Term,
    check_names,
    names_in,
    term_label,
)

Array = np.ndarray
Variable = Name | Call
MAX_COLUMNS = 400
INTERCEPT = "(Intercept)"


@dataclass(frozen=True)
class Grouping:
    """One grouping factor: `codes` (n,) number the groups, in no particular order.

    `parts` holds, per column that the factor is made of, each group's level: labels are joined when asked for.
    """

    label: str
    codes: Array
    n_groups: int
    parts: tuple[Array, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name of each group; nested groups are written `outer:inner`."""
        texts = [[_level_text(value) for value in part] for part in self.parts]
        return tuple(":".join(pieces) for pieces in zip(*texts, strict=True))


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
            inner = _arithmetic(call.argument, values, special)
            return inner - means[f"mean of {call.argument}"]
        raise FormulaError(f"{call.function}() cannot stand inside another function here.")

    return _arithmetic(variable, values, special)


# --------------------------------------------------------------------------------------------- evaluation
def _arithmetic(expression: Expression, values: Mapping[str, Array], special: Callable[[Call], Array]) -> Array:
    """Compute an expression over arrays; `special` computes the functions that look at all rows."""
    if isinstance(expression, Name):
        return values[expression.name]
    if isinstance(expression, Number):
        return np.asarray(expression.value)
    if isinstance(expression, Call):
        if expression.function == "I":
            return _arithmetic(expression.argument, values, special)
        if expression.function in ("log", "sqrt"):
            return _log_or_root(expression, _arithmetic(expression.argument, values, special))
        return special(expression)
    right = _arithmetic(expression.right, values, special)
    left = np.asarray(0.0) if expression.left is None else _arithmetic(expression.left, values, special)
    return _operate(expression, left, right)


def _log_or_root(call: Call, inner: Array) -> Array:
    lowest_allowed = inner <= 0 if call.function == "log" else inner < 0
    n_bad = int(np.count_nonzero(lowest_allowed))
    if n_bad:
        what = "numbers above 0" if call.function == "log" else "numbers from 0 up"
        raise FormulaError(
            f"{call} needs {what}; {n_bad:,} of {inner.size:,} rows do not have one (lowest: {inner.min():.6g})."
        )
    return np.log(inner) if call.function == "log" else np.sqrt(inner)


def _operate(expression: Arithmetic, left: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        if expression.operator == "+":
            result = left + right
        elif expression.operator == "-":
            result = left - right
        elif expression.operator == "*":
            result = left * right
        elif expression.operator == "/":
            result = left / right
        else:
            result = np.asarray(left, dtype=float) ** right
    n_bad = int(np.size(result) - np.count_nonzero(np.isfinite(result)))
    if n_bad:
        raise FormulaError(f"“{expression}” has no finite value on {n_bad:,} of {np.size(result):,} rows.")
    return result


class RowSource:
    """The complete rows of the frame, with every variable computed once."""

    def __init__(self, frame: pd.DataFrame, formula: Formula, reference: Mapping[str, str]) -> None:
        self.formula = formula
        self.n_rows = len(frame)
        self.frame = frame
        self.rows, self.dropped = _complete_rows(frame, formula)
        self.n = len(self.rows)
        self.reference = dict(reference)
        self.numeric: dict[str, Array] = {}
        self.factor_codes: dict[str, Array] = {}
        self.factor_levels: dict[str, tuple[str, ...]] = {}
        self.means: dict[str, float] = {}
        self.groups: dict[str, Grouping] = {}
        self.encodings: dict[str, tuple[Array, Array]] = {}

    def is_factor(self, variable: Variable) -> bool:
        """Tell whether a variable enters by levels."""
        if isinstance(variable, Call):
            return variable.function == "factor"
        return not is_numeric(self.frame[variable.name])

    def column(self, name: str, used_by: Expression) -> Array:
        """Return a numeric column (n,); refuse text."""
        if name not in self.numeric:
            series = self.frame[name]
            if not is_numeric(series):
                raise FormulaError(f"“{used_by}” needs numbers, but “{name}” is a factor (text).")
            self.numeric[name] = self.taken(series.to_numpy(dtype=float, na_value=np.nan))
            self.means[name] = float(self.numeric[name].mean())
        return self.numeric[name]

    def taken(self, values: Array) -> Array:
        """Return the rows fitted of a full-length array."""
        return values if self.n == self.n_rows else values[self.rows]

    def encoded(self, name: str) -> tuple[Array, Array]:
        """Return codes (n,) of the rows fitted and the levels that occur in them, in order of appearance."""
        if name not in self.encodings:
            self.encodings[name] = self._encode(name)
        return self.encodings[name]

    def _encode(self, name: str) -> tuple[Array, Array]:
        codes, levels = encode(self.frame[name])
        if self.n == self.n_rows:
            return codes, levels
        codes = codes[self.rows]
        seen = np.bincount(codes, minlength=len(levels)) > 0
        return (codes, levels) if seen.all() else ((np.cumsum(seen) - 1)[codes], levels[seen])

    def value(self, variable: Variable) -> Array:
        """Return a numeric variable (n,); refuse one that does not vary."""
        key = str(variable)
        if key not in self.numeric or isinstance(variable, Call):
            names = {name: self.column(name, variable) for name in names_in(variable)}
            values = np.asarray(_arithmetic(variable, names, self.special), dtype=float)
            self.numeric[key] = np.broadcast_to(values, (self.n,)) if values.ndim == 0 else values
            self.means[key] = float(self.numeric[key].mean())
        return self.numeric[key]

    def special(self, call: Call) -> Array:
        """Compute center(), within() or between() (n,): the functions that look at all rows."""
        if call.function == "factor":
            raise FormulaError(f"“{call}” is a factor and cannot be part of arithmetic.")
        names = {name: self.column(name, call) for name in names_in(call.argument)}
        inner = np.asarray(_arithmetic(call.argument, names, self.special), dtype=float)
        if call.function == "center":
            self.means[f"mean of {call.argument}"] = float(inner.mean())
            return inner - inner.mean()
        group = self.outermost(call)
        counts = np.bincount(group.codes, minlength=group.n_groups)
        means = (np.bincount(group.codes, inner, group.n_groups) / counts)[group.codes]
        return means if call.function == "between" else inner - means

    def outermost(self, call: Call) -> Grouping:
        """Return the grouping factor that holds the first one written: persons, not their conversations."""
        if not self.formula.random:
            raise FormulaError(f"“{call}” needs a random part: it is taken by the outermost grouping factor.")
        best = self.grouping(self.formula.random[0].group)
        for term in self.formula.random[1:]:
            other = self.grouping(term.group)
            if other.n_groups < best.n_groups and is_nested(best.codes, best.n_groups, other.codes):
                best = other
        return best

    def factor(self, variable: Variable) -> tuple[Array, tuple[str, ...]]:
        """Return codes and levels of a factor, reference first."""
        key = str(variable)
        if key not in self.factor_codes:
            name = next(names_in(variable))
            if isinstance(variable, Call) and not isinstance(variable.argument, Name):
                raise FormulaError(f"factor() takes a column, not an expression: “{variable}”.")
            codes, levels = sorted_levels(*self.encoded(name))
            chosen = self.reference.get(key, self.reference.get(name))
            if chosen is not None and str(chosen) not in levels:
                raise FormulaError(f"“{chosen}” is no level of “{key}”; there are: {', '.join(levels[:60])}.")
            first = levels.index(str(chosen)) if chosen is not None else 0
            order = [first, *(i for i in range(len(levels)) if i != first)]
            rank = np.empty(len(levels), dtype=np.int64)
            rank[order] = np.arange(len(levels))
            self.factor_codes[key] = rank[codes]
            self.factor_levels[key] = tuple(levels[i] for i in order)
        return self.factor_codes[key], self.factor_levels[key]

    def grouping(self, group: tuple[str, ...]) -> Grouping:
        """Return a grouping factor, made of one column or of several."""
        label = ":".join(group)
        if label not in self.groups:
            codes, levels = self.encoded(group[0])
            grouping = Grouping(label, codes, len(levels), (levels,))
            for name in group[1:]:
                grouping = _combine(grouping, *self.encoded(name))
            self.groups[label] = grouping
        return self.groups[label]


def is_numeric(series: pd.Series) -> bool:
    """Tell whether a column enters as numbers (booleans do, as 0 and 1) rather than as a factor."""
    if pd.api.types.is_complex_dtype(series) or pd.api.types.is_datetime64_any_dtype(series):
        raise FormulaError(f"“{series.name}” holds {series.dtype} values; a formula takes numbers and text.")
    return pd.api.types.is_bool_dtype(series) or pd.api.types.is_numeric_dtype(series)


def encode(series: pd.Series) -> tuple[Array, Array]:
    """Return codes (n,) and levels in order of appearance; missing cells have code −1."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, used = pd.factorize(series.cat.codes.to_numpy())
        categories = np.asarray(series.cat.categories, dtype=object)
        missing = used < 0
        if missing.any():
            codes = np.where(missing[codes], -1, (np.cumsum(~missing) - 1)[codes])
        return codes, categories[used[~missing]]
    codes, uniques = pd.factorize(series)
    return codes, np.asarray(uniques, dtype=object)


def sorted_levels(codes: Array, levels: Array) -> tuple[Array, tuple[str, ...]]:
    """Return codes and level names with text sorted by code point and numbers by value."""
    numeric = all(isinstance(value, (int, float, np.number)) for value in levels)
    order = sorted(range(len(levels)), key=levels.__getitem__ if numeric else lambda i: str(levels[i]))
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    return rank[codes], tuple(_level_text(levels[i]) for i in order)


def _level_text(value: object) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_nested(codes: Array, n_groups: int, outer: Array) -> bool:
    """Tell whether every group of `codes` lies within one group of `outer`."""
    parent = np.zeros(n_groups, dtype=outer.dtype)
    parent[codes] = outer
    return bool(np.array_equal(parent[codes], outer))


def _combine(outer: Grouping, inner: Array, levels: Array) -> Grouping:
    """Return the interaction of a grouping factor with one more column; only combinations that occur."""
    label = outer.label
    if is_nested(inner, len(levels), outer.codes):
        parent = np.zeros(len(levels), dtype=np.int64)
        parent[inner] = outer.codes
        return Grouping(label, inner, len(levels), (*(part[parent] for part in outer.parts), levels))
    codes, uniques = pd.factorize(outer.codes * len(levels) + inner)
    parent = uniques // len(levels)
    parts = (*(part[parent] for part in outer.parts), levels[uniques % len(levels)])
    return Grouping(label, codes, len(uniques), parts)


def _complete_rows(frame: pd.DataFrame, formula: Formula) -> tuple[Array, dict[str, int]]:
    """Return the rows without a missing (or infinite) cell in the columns used, and what was missing."""
    keep = np.ones(len(frame), dtype=bool)
    dropped = {}
    for name in formula.columns:
        present = _present(frame[name])
        if not present.all():
            dropped[name] = int(len(present) - np.count_nonzero(present))
            keep &= present
    return np.flatnonzero(keep), dropped


def _present(series: pd.Series) -> Array:
    if pd.api.types.is_float_dtype(series):
        return np.isfinite(series.to_numpy(dtype=float, na_value=np.nan))
    return series.notna().to_numpy(dtype=bool)


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
