"""Sufficient statistics of a linear mixed model, summed over batches of rows whose groups are known by conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dashboard.stats.formula import Formula, FormulaError, Grouping, random_terms
from dashboard.stats.formula_syntax import RandomTerm
from dashboard.stats.linear_mixed_moments import (
    MAX_DENSE_CROSSED,
    Crossed,
    Factor,
    FactorRows,
    Level,
    Moments,
    Scaling,
    plan,
    sort_inner,
)

Array = np.ndarray
INTERCEPT = "(Intercept)"


@dataclass
class LevelSums:
    """Sums by the groups of one chain factor with k effects: ZZ (k, k, G), ZD k times (G, q + p + 1)."""

    rows: FactorRows
    ZZ: Array
    ZD: list[Array]


@dataclass(frozen=True)
class Part:
    """What one batch adds: over all its rows, and by group, each from the first group `low` that it holds."""

    n: int
    total: Array
    gram: Array
    crossed: Array
    by_level: list[tuple[int, Array, list[Array]]]
    inner_outer: Array | None
    means: Mapping[str, float]


@dataclass
class Totals:
    """Sums so far; see :func:`totals_for`. Columns are fixed ones, then the outcome, about the first batch's means."""

    intercept: bool
    inner: LevelSums | None
    outer: LevelSums
    crossed: list[FactorRows]
    first_inner: Array | None
    inner_order: Array | None
    inner_outer: Array | None
    total: Array
    gram: Array
    crossed_products: Array
    n: int = 0
    centre: Array | None = None
    slopes: dict[str, tuple[float, float]] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)

    @property
    def q(self) -> int:
        """Levels of the crossed factors together."""
        return sum(rows.factor.n_groups for rows in self.crossed)

    @property
    def levels(self) -> list[LevelSums]:
        """The chain, from the inside."""
        return [level for level in (self.inner, self.outer) if level is not None]

    @property
    def means(self) -> dict[str, float]:
        """Row means of what was summed by name."""
        return {name: value / self.n for name, value in self.sums.items()}

    # ------------------------------------------------------------------------------------------- summing
    def part(self, place: Array, columns: Sequence[Array], slopes: Mapping[str, Array], sums: Mapping[str, float]) -> Part:  # fmt: skip
        """Return what complete rows add: their conversations (n,), fixed columns and outcome, slopes.

        The first rows ever settle about which values columns and slopes are centred; this only keeps digits.
        """
        if self.centre is None:
            self._settle(columns, slopes)
        assert self.centre is not None
        D = np.empty((len(place), len(columns)), order="F")
        for j, column in enumerate(columns):
            np.subtract(column, self.centre[j], out=D[:, j])
        z: dict[str, Array | None] = {name: (slopes[name] - a) / b for name, (a, b) in self.slopes.items()}
        z[INTERCEPT] = None
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        runs = _Runs(place[starts], starts, len(place), D, z)
        by_level = [self._level_part(level, runs) for level in self.levels]
        pairs = None
        if self.inner is not None:
            pairs = self._pairs(self.inner.rows, self.outer.rows, runs)
        return Part(len(place), D.sum(axis=0), D.T @ D, self._crossed_part(runs), by_level, pairs, sums)

    def _settle(self, columns: Sequence[Array], slopes: Mapping[str, Array]) -> None:
        p = len(columns) - 1
        self.centre = np.array([column.mean() for column in columns]) if self.intercept else np.zeros(p + 1)
        if self.intercept:
            self.centre[0] = 0.0
        beside = {s for level in self.levels for s in _with_intercept(level.rows.factor)}
        for name, values in slopes.items():
            self.slopes[name] = (float(values.mean()) if name in beside else 0.0, float(values.std()) or 1.0)

    def _level_part(self, level: LevelSums, runs: _Runs) -> tuple[int, Array, list[Array]]:
        effects, codes = level.rows.factor.effects, level.rows.codes[runs.places]
        low, size = int(codes.min()), int(codes.max() - codes.min()) + 1
        k = len(effects)
        ZZ = np.empty((k, k, size))
        for i, one in enumerate(effects):
            for j, other in enumerate(effects[: i + 1]):
                ZZ[i, j] = ZZ[j, i] = np.bincount(codes - low, runs.products(one, other), size)
        ZD = []
        for one in effects:
            pieces = [np.column_stack([np.bincount(codes - low, s, size) for s in runs.sums(one)])]
            for rows in reversed(self.crossed):
                cell = (codes - low) * rows.factor.n_groups + rows.codes[runs.places]
                counts = np.bincount(cell, runs.products(one, INTERCEPT), size * rows.factor.n_groups)
                pieces.insert(0, counts.reshape(size, -1))
            ZD.append(np.hstack(pieces))
        return low, ZZ, ZD

    def _pairs(self, inner: FactorRows, outer: FactorRows, runs: _Runs) -> Array:
        codes = inner.codes[runs.places]
        low, size = int(codes.min()), int(codes.max() - codes.min()) + 1
        table = [
            [np.bincount(codes - low, runs.products(a, b), size) for b in outer.factor.effects]
            for a in inner.factor.effects
        ]
        return np.array(table)

    def _crossed_part(self, runs: _Runs) -> Array:
        """Return products of the crossed levels with each other and with the columns, (q, q + p + 1)."""
        if not self.crossed:
            return np.empty((0, 0))
        n = runs.products(INTERCEPT, INTERCEPT)
        blocks = []
        for a in self.crossed:
            code, size = a.codes[runs.places], a.factor.n_groups
            row = [
                np.bincount(code * b.factor.n_groups + b.codes[runs.places], n, size * b.factor.n_groups).reshape(
                    size, -1
                )
                for b in self.crossed
            ]
            row.append(np.column_stack([np.bincount(code, s, size) for s in runs.sums(INTERCEPT)]))
            blocks.append(np.hstack(row))
        return np.vstack(blocks)

    def add(self, part: Part) -> None:
        """Add what a batch has."""
        self.n += part.n
        self.total += part.total
        self.gram += part.gram
        if self.crossed:
            self.crossed_products += part.crossed
        for level, (low, ZZ, ZD) in zip(self.levels, part.by_level, strict=True):
            span = slice(low, low + ZZ.shape[2])
            level.ZZ[:, :, span] += ZZ
            for whole, one in zip(level.ZD, ZD, strict=True):
                whole[span] += one
        if part.inner_outer is not None and self.inner_outer is not None:
            low = part.by_level[0][0]
            self.inner_outer[:, :, low : low + part.inner_outer.shape[2]] += part.inner_outer
        for name, value in part.means.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    # ------------------------------------------------------------------------------------------ finishing
    def standardise(self) -> Scaling:
        """Centre and scale the sums, in place; returns by what."""
        assert self.centre is not None
        p = len(self.total) - 1
        shift = self.total / self.n if self.intercept else np.zeros(p + 1)
        turn = np.eye(p + 1)
        if self.intercept:
            shift[0] = 0.0
            turn[0, 1:] = -shift[1:]
        gram = turn.T @ self.gram @ turn
        raw = self.centre + self.total / self.n
        means = self.centre + shift
        scales = np.sqrt(np.maximum(np.diag(gram), 0.0) / self.n)
        if not scales[p] > 1e-12 * max(abs(raw[p]), np.finfo(float).tiny):
            raise FormulaError(f"The outcome has one value ({raw[p]:g}) in all {self.n:,} rows fitted.")
        scales[:p][scales[:p] <= 1e-13 * np.maximum(np.abs(raw[:p]), np.finfo(float).tiny)] = 1.0
        turn /= scales
        self.gram = turn.T @ self.gram @ turn
        q = self.q
        if q:
            self.crossed_products[:, q:] = self.crossed_products[:, q:] @ turn
        for level in self.levels:
            for whole in level.ZD:
                for start in range(0, len(whole), 65_536):
                    whole[start : start + 65_536, q:] = whole[start : start + 65_536, q:] @ turn
        return Scaling(means[:p], scales[:p], float(means[p]), float(scales[p]), self.intercept, raw[:p])

    def moments(self, scaling: Scaling, kept: Sequence[int]) -> tuple[Moments, Scaling]:
        """Return the statistics with some of the fixed columns."""
        q, p = self.q, len(self.total) - 1
        columns = [*range(q), *(q + j for j in kept), q + p]
        fixed = list(kept)
        gram = self.gram[np.ix_([*fixed, p], [*fixed, p])]
        DD = gram
        if q:
            crossed = self.crossed_products[:, columns]
            DD = np.block([[crossed[:, :q], crossed[:, q:]], [crossed[:, q:].T, gram]])
        scaling = Scaling(
            scaling.x_means[fixed], scaling.x_scales[fixed], scaling.y_mean, scaling.y_scale, scaling.intercept,
            scaling.x_means_raw[fixed],
        )  # fmt: skip
        whole = len(fixed) == p
        levels = [
            Level(
                self._factor(one.rows.factor),
                one.ZZ,
                tuple(z if whole else np.ascontiguousarray(z[:, columns]) for z in one.ZD),
            )
            for one in self.levels
        ]
        starts = np.concatenate([[0], np.cumsum([rows.factor.n_groups for rows in self.crossed])]).astype(int)
        found = Moments(
            n=self.n,
            p=len(fixed),
            q=q,
            inner=levels[0] if self.inner is not None else None,
            outer=levels[-1],
            inner_outer=self.inner_outer,
            first_inner=self.first_inner,
            crossed=tuple(Crossed(c.factor, int(s)) for c, s in zip(self.crossed, starts, strict=False)),
            DD=DD,
            scaling=scaling,
            inner_order=self.inner_order,
        )
        return found, scaling

    def _factor(self, factor: Factor) -> Factor:
        """Return the factor with what turns its standardised effects into the user's."""
        to_raw = np.eye(factor.k)
        for i, effect in enumerate(factor.effects):
            if effect == INTERCEPT:
                continue
            shift, scale = self.slopes[effect]
            to_raw[i, i] = 1 / scale
            first = next((c for c in range(i) if (i, c) in factor.template and factor.effects[c] == INTERCEPT), None)
            if first is not None:
                to_raw[first, i] = -shift / scale
        return Factor(factor.label, factor.n_groups, factor.effects, factor.template, to_raw)


class _Runs:
    """Sums over runs of rows of one conversation; places (r,) say which."""

    def __init__(self, places: Array, starts: Array, n: int, D: Array, z: Mapping[str, Array | None]) -> None:
        self.places, self._starts, self._n, self._D, self._z = places, starts, n, D, z
        self._sums: dict[str, list[Array]] = {}
        self._products: dict[frozenset[str], Array] = {}

    def sums(self, effect: str) -> list[Array]:
        """Return Σ z · D by run, column by column."""
        if effect not in self._sums:
            z = self._z[effect]
            columns = (self._D[:, j] if z is None else z * self._D[:, j] for j in range(self._D.shape[1]))
            self._sums[effect] = [np.add.reduceat(column, self._starts) for column in columns]
        return self._sums[effect]

    def products(self, one: str, other: str) -> Array:
        """Return Σ z z' by run, (r,)."""
        key = frozenset((one, other))
        if key not in self._products:
            factors = [z for z in (self._z[one], self._z[other]) if z is not None]
            if factors:
                self._products[key] = np.add.reduceat(np.prod(factors, axis=0), self._starts)
            else:
                self._products[key] = np.diff(self._starts, append=self._n).astype(float)
        return self._products[key]


def _with_intercept(factor: Factor) -> list[str]:
    """Return the slopes that stand beside an intercept in one correlated block: only they may be centred."""
    return [
        effect
        for i, effect in enumerate(factor.effects)
        if effect != INTERCEPT and any((i, c) in factor.template and factor.effects[c] == INTERCEPT for c in range(i))
    ]


def totals_for(formula: Formula, groups: Mapping[str, Grouping], weights: Array, p: int) -> Totals:
    """Return empty sums for a formula's random part and p fixed columns.

    Parameters
    ----------
    groups
        By label, with a code per conversation.
    weights
        Complete rows of each conversation.

    Raises
    ------
    FormulaError
        Too few or too many groups, or crossed random slopes.
    """
    if not formula.random:
        raise FormulaError("A mixed model needs a random part, for example (1 | participant).")
    n = int(weights.sum())
    factors = [_factor_rows(groups[label], terms, n) for label, terms in random_terms(formula).items()]
    inner, outer, crossed = plan(factors)
    first = order = None
    if inner is not None:
        inner, first, order = sort_inner(inner, outer)
    _check_crossed(crossed)
    q = sum(rows.factor.n_groups for rows in crossed)

    def level(rows: FactorRows) -> LevelSums:
        k, G = rows.factor.k, rows.factor.n_groups
        return LevelSums(rows, np.zeros((k, k, G)), [np.zeros((G, q + p + 1)) for _ in range(k)])

    return Totals(
        intercept=formula.intercept,
        inner=None if inner is None else level(inner),
        outer=level(outer),
        crossed=crossed,
        first_inner=first,
        inner_order=order,
        inner_outer=None if inner is None else np.zeros((inner.factor.k, outer.factor.k, inner.factor.n_groups)),
        total=np.zeros(p + 1),
        gram=np.zeros((p + 1, p + 1)),
        crossed_products=np.zeros((q, q + p + 1)),
    )


def _factor_rows(group: Grouping, terms: Sequence[RandomTerm], n: int) -> FactorRows:
    effects = tuple(effect for term in terms for effect in term.effects)
    if group.n_groups < 2 or group.n_groups * len(effects) >= n:
        raise FormulaError(
            f"“{group.label}” has {group.n_groups:,} groups × {len(effects)} random effect(s) for {n:,} rows; it needs at "
            "least two groups, and more rows than effects."
        )
    template, at = [], 0
    for term in terms:
        k = len(term.effects)
        template += [(at + row, at + col) for col in range(k) for row in range(col, k)]
        at += k
    z = tuple(None if effect == INTERCEPT else np.empty(0) for effect in effects)
    return FactorRows(
        Factor(group.label, group.n_groups, effects, tuple(template), np.eye(len(effects))), group.codes, z
    )


def _check_crossed(crossed: Sequence[FactorRows]) -> None:
    for rows in crossed:
        if rows.factor.effects != (INTERCEPT,):
            raise FormulaError(
                f"Of so many turns, crossed factors have an intercept only; “{rows.factor.label}” has more."
            )
    q = sum(rows.factor.n_groups for rows in crossed)
    if q > MAX_DENSE_CROSSED:
        raise FormulaError(
            f"Of so many turns, crossed factors may have {MAX_DENSE_CROSSED} levels together; these have {q:,}."
        )
