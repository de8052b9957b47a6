"""Sufficient statistics of a linear mixed model: all that a fit needs to know of its rows.

The random part is laid out as a chain of two nested factors (`inner` within `outer`, e.g. conversations within
participants), eliminated group by group, and further factors (`crossed`), whose levels become columns of one dense
penalised block. With D = [crossed | fixed | outcome] and Z the random-effect columns of a factor, the statistics are
Z'Z and Z'D per group and D'D overall; their size depends on the number of groups, not of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from dashboard.stats.formula import Design, FormulaError, Grouping, random_terms
from dashboard.stats.formula_design import is_nested
from dashboard.stats.formula_syntax import RandomTerm

Array = np.ndarray
# A dense array or a sparse.csr_array; scipy says nothing of its types.
Products: TypeAlias = Any
MAX_DENSE_CROSSED = 64
MAX_CROSSED = 5_000
MAX_EFFECTS = 4
MAX_DISTINCT = 64


@dataclass(frozen=True)
class Factor:
    """One grouping factor of the random part.

    Attributes
    ----------
    template
        (row, column) of the free entries of the k × k relative Cholesky factor, column by column.
    to_raw
        (k, k): effects on the user's slope columns = to_raw @ effects on the centred and scaled ones.
    """

    label: str
    n_groups: int
    effects: tuple[str, ...]
    template: tuple[tuple[int, int], ...]
    to_raw: Array

    @property
    def k(self) -> int:
        """Number of random effects per group."""
        return len(self.effects)

    def cholesky(self, theta: Array) -> Array:
        """Return the relative Cholesky factor (k, k) of the standardised effects."""
        out = np.zeros((self.k, self.k))
        for value, (row, column) in zip(theta, self.template, strict=True):
            out[row, column] = value
        return out


@dataclass(frozen=True)
class FactorRows:
    """A factor with its rows: `codes` (n,) and effect columns `z`, each (n,) or None for a column of ones."""

    factor: Factor
    codes: Array
    z: tuple[Array | None, ...]


@dataclass(frozen=True)
class Level:
    """Statistics of a chain factor with k effects and G groups: ZZ (k, k, G), ZD k times (G, m).

    ZD is sparse where crossed factors have many levels: a group then meets few of D's columns.
    """

    factor: Factor
    ZZ: Array
    ZD: tuple[Products, ...]


@dataclass(frozen=True)
class Crossed:
    """A crossed factor: the first of its columns in D; effect by effect, one column per level."""

    factor: Factor
    start: int

    def columns(self, effect: int) -> slice:
        """Return the columns of one effect."""
        first = self.start + effect * self.factor.n_groups
        return slice(first, first + self.factor.n_groups)


@dataclass(frozen=True)
class Scaling:
    """How fixed columns and outcome were standardised: x = mean + scale · column; `x_means_raw` always the row means."""

    x_means: Array
    x_scales: Array
    y_mean: float
    y_scale: float
    intercept: bool
    x_means_raw: Array

    def coefficients(self, standardised: Array) -> Array:
        """Return coefficients (…, p) on the user's scale from those on the standardised columns."""
        beta = standardised * self.y_scale / self.x_scales
        if self.intercept:
            beta = beta.copy()
            beta[..., 0] += self.y_mean - beta[..., 1:] @ self.x_means[1:]
        return beta

    def transform(self) -> Array:
        """Return T (p, p) with beta = T @ standardised coefficients, apart from the outcome's mean."""
        T = np.diag(self.y_scale / self.x_scales)
        if self.intercept:
            T[0, 1:] = -self.x_means[1:] * self.y_scale / self.x_scales[1:]
        return T


@dataclass(frozen=True)
class Moments:
    """The sufficient statistics; q crossed columns, p fixed columns, m = q + p + 1.

    Attributes
    ----------
    inner, outer
        The chain; inner is None for a single factor. Inner groups are sorted by their outer group.
    inner_outer
        Z_inner' Z_outer, (k1, k2, C).
    first_inner
        (P + 1,): the inner groups of outer group i are first_inner[i] … first_inner[i + 1] − 1.
    DD
        (m, m): D'D.
    log_jacobian
        Added to the deviance for a whitening of the rows (0 without).
    inner_order, outer_codes …
        Group numbers of the design in the order used here.
    """

    n: int
    p: int
    q: int
    inner: Level | None
    outer: Level
    inner_outer: Array | None
    first_inner: Array | None
    crossed: tuple[Crossed, ...]
    DD: Array
    scaling: Scaling
    inner_order: Array | None = None
    log_jacobian: float = 0.0
    cache: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def m(self) -> int:
        """Columns of D."""
        return self.DD.shape[0]

    @property
    def dense(self) -> bool:
        """Whether the statistics per group are dense arrays."""
        return isinstance(self.outer.ZD[0], np.ndarray)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Factors in the order of theta: inner, outer, crossed."""
        chain = (self.inner.factor,) if self.inner else ()
        return (*chain, self.outer.factor, *(c.factor for c in self.crossed))

    def fixed_gram(self) -> Array:
        """Return cross-products (p, p) of the standardised fixed columns."""
        at = self.m - self.p - 1
        return self.DD[at:-1, at:-1]

    def fixed_means(self) -> Array:
        """Return row means (p,) of the standardised fixed columns."""
        if self.scaling.intercept:
            return self.fixed_gram()[0] / self.n
        return self.scaling.x_means_raw / self.scaling.x_scales

    def mean_products(self) -> dict[str, Array]:
        """Return Z'Z/n (k, k) of every factor's standardised effects."""
        out = {level.factor.label: level.ZZ.sum(axis=2) / self.n for level in (self.inner, self.outer) if level}
        for crossed in self.crossed:
            k = crossed.factor.k
            products = np.empty((k, k))
            for i in range(k):
                for j in range(k):
                    products[i, j] = self.DD[crossed.columns(i), crossed.columns(j)].trace()
            out[crossed.factor.label] = products / self.n
        return out


# ------------------------------------------------------------------------------------------------ factors
def factor_rows(design: Design) -> list[FactorRows]:
    """Return the factors of a design's random part, slopes centred (beside an intercept) and scaled.

    Raises
    ------
    FormulaError
        No random part, or more effects per group than the engine covers.
    """
    if not design.formula.random:
        raise FormulaError(
            "A mixed model needs a random part, for example (1 | participant); without one, the turns of a person would "
            "count as independent."
        )
    return [_factor_rows(design, design.groups[label], terms) for label, terms in random_terms(design.formula).items()]


def _factor_rows(design: Design, group: Grouping, terms: Sequence[RandomTerm]) -> FactorRows:
    effects = tuple(effect for term in terms for effect in term.effects)
    if len(effects) > MAX_EFFECTS:
        raise FormulaError(
            f"Up to {MAX_EFFECTS} random effects by one group are supported; “{group.label}” has {len(effects)}."
        )
    _check_groups(group, design.n_observations, effects)
    z: list[Array | None] = []
    template: list[tuple[int, int]] = []
    to_raw = np.eye(len(effects))
    at = 0
    for term in terms:
        names = term.effects
        template += [(at + row, at + col) for col in range(len(names)) for row in range(col, len(names))]
        if term.intercept:
            z.append(None)
        for i, slope in enumerate(term.slopes, start=int(term.intercept)):
            values = design.slopes[str(slope)]
            shift = values.mean() if term.intercept else 0.0
            scale = values.std() or 1.0
            z.append((values - shift) / scale)
            to_raw[at + i, at + i] = 1 / scale
            if term.intercept:
                to_raw[at, at + i] = -shift / scale
        at += len(names)
    return FactorRows(Factor(group.label, group.n_groups, effects, tuple(template), to_raw), group.codes, tuple(z))


def _check_groups(group: Grouping, n: int, effects: tuple[str, ...]) -> None:
    if group.n_groups < 2:
        raise FormulaError(f"“{group.label}” has one group in the rows fitted; a random effect needs at least two.")
    if group.n_groups * len(effects) >= n:
        raise FormulaError(
            f"“{group.label}” has {group.n_groups:,} groups × {len(effects)} random effect(s) for {n:,} rows; with no more "
            "rows than effects, they cannot be told from the residual."
        )


def plan(factors: Sequence[FactorRows]) -> tuple[FactorRows | None, FactorRows, list[FactorRows]]:
    """Choose inner, outer and crossed factors: the largest, the largest that holds it, and the others."""
    ordered = sorted(factors, key=lambda f: -f.factor.n_groups)
    largest = ordered[0]
    for other in ordered[1:]:
        if is_nested(largest.codes, largest.factor.n_groups, other.codes):
            return largest, other, [f for f in factors if f is not largest and f is not other]
    return None, largest, [f for f in factors if f is not largest]


# --------------------------------------------------------------------------------------------------- sums
def group_sums(codes: Array, n_groups: int, columns: Array, weight: Array | None) -> Array:
    """Sum columns (n, m) by group, times a weight (n,) if given; returns (n_groups, m)."""
    out = np.empty((n_groups, columns.shape[1]))
    for j in range(columns.shape[1]):
        column = columns[:, j] if weight is None else columns[:, j] * weight
        out[:, j] = np.bincount(codes, column, n_groups)
    return out


def _product(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return a if b is None else b
    return a * b


def _count(codes: Array, n_groups: int, weight: Array | None) -> Array:
    return np.bincount(codes, weight, n_groups).astype(float)


def _cross_table(rows: FactorRows, i: int, other: FactorRows, j: int) -> sparse.coo_array:
    """Return z_i' z_j between two factors as (groups, groups of the other)."""
    values = _product(rows.z[i], other.z[j])
    values = np.ones(len(rows.codes)) if values is None else values
    shape = (rows.factor.n_groups, other.factor.n_groups)
    return sparse.coo_array((values, (rows.codes, other.codes)), shape=shape)


def _level(rows: FactorRows, columns: Array, crossed: Sequence[FactorRows], *, dense: bool) -> Level:
    """Return the statistics of a chain factor; crossed columns come before the others."""
    k, groups = rows.factor.k, rows.factor.n_groups
    ZZ = np.empty((k, k, groups))
    ZD: list[Products] = []
    for i in range(k):
        for j in range(i + 1):
            ZZ[i, j] = ZZ[j, i] = _count(rows.codes, groups, _product(rows.z[i], rows.z[j]))
        sums = group_sums(rows.codes, groups, columns, rows.z[i])
        tables = [_cross_table(rows, i, c, j) for c in crossed for j in range(c.factor.k)]
        if dense:
            ZD.append(np.ascontiguousarray(np.hstack([*(table.toarray() for table in tables), sums])))
        else:
            ZD.append(sparse.hstack([*tables, sparse.csr_array(sums)], format="csr"))
    return Level(rows.factor, ZZ, tuple(ZD))


def sort_inner(inner: FactorRows, outer: FactorRows) -> tuple[FactorRows, Array, Array]:
    """Number the inner groups by outer group; returns the factor, first_inner (P + 1,) and the old numbers."""
    parent = np.zeros(inner.factor.n_groups, dtype=np.int64)
    parent[inner.codes] = outer.codes
    if np.all(parent[1:] >= parent[:-1]):
        order = np.arange(len(parent))
        first = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=outer.factor.n_groups))])
        return inner, first, order
    order = np.argsort(parent, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=outer.factor.n_groups))])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return FactorRows(inner.factor, rank[inner.codes], inner.z), first, order


def build_moments(
    factors: Sequence[FactorRows], columns: Array, gram: Array, scaling: Scaling, log_jacobian: float = 0.0
) -> Moments:
    """Reduce rows to sufficient statistics.

    Parameters
    ----------
    factors
        From `factor_rows`.
    columns
        (n, p + 1): standardised fixed columns, then the outcome; column-major is fastest.
    gram
        (p + 1, p + 1): columns' cross-products.
    """
    inner, outer, crossed = plan(factors)
    first = order = None
    if inner is not None:
        inner, first, order = sort_inner(inner, outer)
    q = sum(c.factor.n_groups * c.factor.k for c in crossed)
    _check_crossed(crossed, q)
    dense = q <= MAX_DENSE_CROSSED
    return Moments(
        n=columns.shape[0],
        p=columns.shape[1] - 1,
        q=q,
        inner=None if inner is None else _level(inner, columns, crossed, dense=dense),
        outer=_level(outer, columns, crossed, dense=dense),
        inner_outer=None if inner is None else _inner_outer(inner, outer),
        first_inner=first,
        crossed=_positions(crossed),
        DD=_gram(crossed, columns, gram),
        scaling=scaling,
        inner_order=order,
        log_jacobian=log_jacobian,
    )


def _check_crossed(crossed: Sequence[FactorRows], q: int) -> None:
    if q > MAX_CROSSED:
        names = ", ".join(f"{c.factor.label} ({c.factor.n_groups:,})" for c in crossed)
        raise FormulaError(
            f"The random effects crossed with the largest factor have {q:,} levels together: {names}. Up to {MAX_CROSSED:,} "
            "are supported."
        )


def _positions(crossed: Sequence[FactorRows]) -> tuple[Crossed, ...]:
    at, out = 0, []
    for rows in crossed:
        out.append(Crossed(rows.factor, at))
        at += rows.factor.n_groups * rows.factor.k
    return tuple(out)


def _inner_outer(inner: FactorRows, outer: FactorRows) -> Array:
    groups = inner.factor.n_groups
    return np.stack([np.stack([_count(inner.codes, groups, _product(zi, zo)) for zo in outer.z]) for zi in inner.z])


def _gram(crossed: Sequence[FactorRows], columns: Array, gram: Array) -> Array:
    if not crossed:
        return gram
    OO, OD = _crossed_products(crossed, columns)
    return np.block([[OO.toarray(), OD], [OD.T, gram]])


def _crossed_products(crossed: Sequence[FactorRows], columns: Array) -> tuple[sparse.csr_array, Array]:
    pieces = [(c, j) for c in crossed for j in range(c.factor.k)]
    OO = sparse.block_array([[_cross_table(a, i, b, j) for b, j in pieces] for a, i in pieces], format="csr")
    OD = np.vstack([group_sums(c.codes, c.factor.n_groups, columns, c.z[j]) for c, j in pieces])
    return OO, OD


def moments_of_design(design: Design) -> Moments:
    """Reduce the rows of a design to sufficient statistics."""
    factors = factor_rows(design)
    columns, gram, scaling = standardised_columns(design)
    return build_moments(factors, columns, gram, scaling)


def standardised_columns(design: Design) -> tuple[Array, Array, Scaling]:
    """Return standardised fixed columns and outcome (n, p + 1), their cross-products, and how they were scaled."""
    s, y = design.standardised, design.y
    intercept = design.formula.intercept
    n, p = s.columns.shape
    mean = float(y.mean()) if intercept else 0.0
    centred = y - mean
    scale = float(np.sqrt(centred @ centred / n))
    if not scale > 1e-12 * max(abs(mean), np.finfo(float).tiny):
        raise FormulaError(f"The outcome “{design.formula.outcome}” has one value ({y[0]:g}) in all {n:,} rows fitted.")
    columns = s.store
    columns[:, p] = centred / scale
    gram = np.empty((p + 1, p + 1))
    gram[:p, :p] = s.gram
    gram[p] = gram[:, p] = columns.T @ columns[:, p]
    return columns, gram, Scaling(s.means, s.scales, mean, scale, intercept, design.X.mean(axis=0))
