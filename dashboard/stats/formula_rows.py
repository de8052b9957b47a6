"""The complete rows of a frame, with the variables of a formula computed on them.

Numeric columns (booleans count as 0 and 1) enter as they are, all others as factors. Levels are sorted by code
point and the first is the reference, unless one is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

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
    names_in,
)

Array = np.ndarray
Variable = Name | Call


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
        texts = [[level_text(value) for value in part] for part in self.parts]
        return tuple(":".join(pieces) for pieces in zip(*texts, strict=True))


# --------------------------------------------------------------------------------------------- evaluation
def arithmetic(expression: Expression, values: Mapping[str, Array], special: Callable[[Call], Array]) -> Array:
    """Compute an expression over arrays; `special` computes the functions that look at all rows."""
    if isinstance(expression, Name):
        return values[expression.name]
    if isinstance(expression, Number):
        return np.asarray(expression.value)
    if isinstance(expression, Call):
        if expression.function == "I":
            return arithmetic(expression.argument, values, special)
        if expression.function in ("log", "sqrt"):
            return _log_or_root(expression, arithmetic(expression.argument, values, special))
        return special(expression)
    right = arithmetic(expression.right, values, special)
    left = np.asarray(0.0) if expression.left is None else arithmetic(expression.left, values, special)
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
        series = self.frame[name]
        return encode(series if self.n == self.n_rows else series.iloc[self.rows])

    def value(self, variable: Variable) -> Array:
        """Return a numeric variable (n,); refuse one that does not vary."""
        key = str(variable)
        if key not in self.numeric or isinstance(variable, Call):
            names = {name: self.column(name, variable) for name in names_in(variable)}
            values = np.asarray(arithmetic(variable, names, self.special), dtype=float)
            self.numeric[key] = np.broadcast_to(values, (self.n,)) if values.ndim == 0 else values
            self.means[key] = float(self.numeric[key].mean())
        return self.numeric[key]

    def special(self, call: Call) -> Array:
        """Compute center(), within() or between() (n,): the functions that look at all rows."""
        if call.function == "factor":
            raise FormulaError(f"“{call}” is a factor and cannot be part of arithmetic.")
        names = {name: self.column(name, call) for name in names_in(call.argument)}
        inner = np.asarray(arithmetic(call.argument, names, self.special), dtype=float)
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
        codes, used = _numbered(series.cat.codes.to_numpy())
        categories = np.asarray(series.cat.categories, dtype=object)
        missing = used < 0
        if missing.any():
            codes = np.where(missing[codes], -1, (np.cumsum(~missing) - 1)[codes])
        return codes, categories[used[~missing]]
    if series.dtype.kind == "i" and len(series) and np.all(np.diff(series.to_numpy()) > 0):
        return np.arange(len(series)), series.to_numpy()
    codes, uniques = pd.factorize(series)
    return codes, np.asarray(uniques, dtype=object)


def _numbered(codes: Array) -> tuple[Array, Array]:
    """Return codes numbered by appearance, and which they were: without hashing where they are so already."""
    highest = np.maximum.accumulate(codes)
    if len(codes) and codes.min() >= 0 and np.diff(highest, prepend=-1).max() <= 1:
        return codes, np.arange(highest[-1] + 1)
    return pd.factorize(codes)


def sorted_levels(codes: Array, levels: Array) -> tuple[Array, tuple[str, ...]]:
    """Return codes and level names with text sorted by code point and numbers by value."""
    numeric = all(isinstance(value, (int, float, np.number)) for value in levels)
    order = sorted(range(len(levels)), key=levels.__getitem__ if numeric else lambda i: str(levels[i]))
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    return rank[codes], tuple(level_text(levels[i]) for i in order)


def level_text(value: object) -> str:
    """Return a level's name; whole numbers have no decimals."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_nested(codes: Array, n_groups: int, outer: Array) -> bool:
    """Tell whether every group of `codes` lies within one group of `outer`."""
    if n_groups == len(codes):
        return True
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
