"""Linear mixed models of millions of turns, from one row of sums per conversation.

Predictors that are constant within a conversation enter as they are; the turn number enters linearly, alone, in
interactions with them, or as a random slope. Then n, Σturn, Σturn², Σy, Σy·turn and Σy² of each conversation are
sufficient: the fit equals that from the rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import sparse

from dashboard.stats.formula import Design, Formula, FormulaError, Grouping, check_names, parse_formula, random_terms
from dashboard.stats.formula_design import RowSource, recipes_of
from dashboard.stats.formula_syntax import Call, Name, RandomTerm, names_in
from dashboard.stats.linear_mixed import LinearMixedFit, assemble
from dashboard.stats.linear_mixed_cells import ALL, Cells, Table, independent, rowless_design, table_of
from dashboard.stats.linear_mixed_estimation import estimate
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
SUMS = ("n", "sum_turn", "sum_turn2", "sum_y", "sum_y_turn", "sum_y2")


def fit_from_moments(
    moments: pd.DataFrame,
    formula: str | Formula,
    *,
    reml: bool = True,
    reference: Mapping[str, str] | None = None,
) -> LinearMixedFit:
    """Fit a linear mixed model from one row of sums per conversation.

    Parameters
    ----------
    moments
        One row per conversation: the formula's columns but outcome and ``turn``, and ``n, sum_turn, sum_turn2, sum_y,
        sum_y_turn, sum_y2`` over its rated turns. Rows with n = 0 hold no observation. Rows in the order of the
        participants are fastest.
    formula
        The outcome may bear any name; ``turn`` may appear by itself, in interactions, and as a random slope.

    Returns
    -------
    LinearMixedFit
        Equal to that from the rows, without residuals.

    Raises
    ------
    FormulaError
        Other functions of turn, or what `fit_linear_mixed` refuses.
    """
    began = time.perf_counter()
    known = [str(c) for c in moments.columns if str(c) not in SUMS]
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    check_names(parsed, [*known, "turn", *names_in(parsed.response)])
    _check_turn(parsed)
    _check_sums(moments)
    cells, n_dropped = _cells(moments, parsed, reference or {})
    built, statistics = _reduce(cells, parsed, n_dropped, int(moments["n"].sum()))
    return assemble(statistics, estimate(statistics, reml=reml), built, began=began)


# -------------------------------------------------------------------------------------------------- checks
def _check_turn(formula: Formula) -> None:
    variables = [v for term in formula.terms for v in term] + [s for bar in formula.bars for s in bar.slopes]
    for variable in variables:
        special = isinstance(variable, Call) and variable.function in ("within", "between", "center")
        if isinstance(variable, Call) and ("turn" in set(names_in(variable)) or special):
            raise FormulaError(
                f"From sums per conversation, “{variable}” cannot be computed: turn enters as it is, and center(), within() "
                "and between() need rows."
            )
    for slope in (s for bar in formula.bars for s in bar.slopes):
        if slope != Name("turn"):
            raise FormulaError(f"From sums per conversation, the only random slope is turn; “{slope}” needs rows.")
    if not isinstance(formula.response, Name):
        raise FormulaError(
            f"From sums per conversation, the outcome is taken as it is; “{formula.response}” needs rows."
        )
    if "turn" in formula.grouping:
        raise FormulaError("From sums per conversation, turn cannot group a random part; that needs rows.")


def _check_sums(moments: pd.DataFrame) -> None:
    missing = [name for name in SUMS if name not in moments.columns]
    if missing:
        raise FormulaError(f"A frame of sums needs the columns {', '.join(SUMS)}; missing: {', '.join(missing)}.")


def _cells(moments: pd.DataFrame, formula: Formula, reference: Mapping[str, str]) -> tuple[Cells, int]:
    """Return the conversations with at least one observation and all predictors, in the order of the frame."""
    outcome = next(names_in(formula.response))
    n = moments["n"].to_numpy(dtype=float)
    constant = np.broadcast_to(np.array(1.0), n.shape)
    needed = [name for name in formula.columns if name not in (outcome, "turn")]
    frame = moments[needed].assign(**{outcome: np.where(n > 0, 0.0, np.nan), "turn": constant})
    source = RowSource(frame, formula, reference)
    if not source.n:
        raise FormulaError(f"No conversation of {len(moments):,} has observations and all columns of the formula.")
    recipes = tuple(recipes_of(formula, source))
    turns = tuple(Name("turn") in recipe.numeric for recipe in recipes)
    if any(sum(v == Name("turn") for v in recipe.numeric) > 1 for recipe in recipes):
        raise FormulaError("turn can be in an interaction once.")
    taken = [source.taken(moments[name].to_numpy()).astype(float, copy=False) for name in SUMS]
    cells = Cells(source, recipes, turns, *taken)
    if not all(np.isfinite(values).all() for values in taken):
        raise FormulaError("The sums of a conversation with observations must be numbers; at least one is missing.")
    return cells, int(n.sum() - cells.n.sum())


# --------------------------------------------------------------------------------------------- reduction
def _reduce(cells: Cells, formula: Formula, n_dropped: int, n_rows: int) -> tuple[Design, Moments]:
    groups = {term.label: cells.source.grouping(term.group) for term in formula.random}
    if not groups:
        raise FormulaError("A mixed model needs a random part, for example (1 | participant).")
    factors = [_factor(cells, groups[label], terms) for label, terms in random_terms(formula).items()]
    table = table_of(cells, intercept=formula.intercept)
    kept = independent(table.gram[:-1, :-1] / table.n)
    dropped = tuple(cells.recipes[j].name for j in range(len(cells.recipes)) if j not in kept)
    if dropped:
        recipes, turns = tuple(cells.recipes[j] for j in kept), tuple(cells.turns[j] for j in kept)
        cells = replace(cells, recipes=recipes, turns=turns)
        table = table.of_columns([*kept, len(table.gram) - 1])
    moments = _moments(cells, factors, table)
    return _design(cells, formula, table.scaling, dropped, n_dropped, n_rows), moments


def _factor(cells: Cells, group: Grouping, terms: Sequence[RandomTerm]) -> FactorRows:
    """Return a factor whose z holds None (intercept) or True-like marks for turn; see `_effect_sums`."""
    effects = tuple(effect for term in terms for effect in term.effects)
    total = float(cells.n.sum())
    if group.n_groups < 2 or group.n_groups * len(effects) >= total:
        raise FormulaError(
            f"“{group.label}” has {group.n_groups:,} groups × {len(effects)} random effect(s) for {total:,.0f} rows; "
            "it needs at least two groups, and more rows than effects."
        )
    mean, scale = _turn_spread(cells, total) if any(term.slopes for term in terms) else (0.0, 1.0)
    template, at, to_raw = [], 0, np.eye(len(effects))
    for term in terms:
        k = len(term.effects)
        template += [(at + row, at + col) for col in range(k) for row in range(col, k)]
        if term.slopes:
            to_raw[at + k - 1, at + k - 1] = 1 / scale
            if term.intercept:
                to_raw[at, at + 1] = -mean / scale
        at += k
    z = tuple(None if effect == "(Intercept)" else np.empty(0) for effect in effects)
    return FactorRows(Factor(group.label, group.n_groups, effects, tuple(template), to_raw), group.codes, z)


def _turn_spread(cells: Cells, total: float) -> tuple[float, float]:
    mean = float(cells.t.sum()) / total
    return mean, float(np.sqrt(((cells.tt - 2 * mean * cells.t + mean**2 * cells.n).sum()) / total))


def _effect_sums(cells: Cells, factor: Factor, i: int, j: int, scaling: Scaling) -> Array:
    """Return Σ z_i · D_j of each conversation, (C,), for effect i and standardised column j."""
    p = len(cells.recipes)
    mean = scaling.y_mean if j == p else scaling.x_means[j]
    scale = scaling.y_scale if j == p else scaling.x_scales[j]
    plain = cells.sums(j) - mean * cells.n
    if factor.effects[i] == "(Intercept)":
        return plain / scale
    slope_scale, shift = _turn_scaling(factor, i)
    by_turn = cells.sums(j, by_turn=True) - mean * cells.t
    return (by_turn - shift * plain) / (slope_scale * scale)


def _turn_scaling(factor: Factor, i: int) -> tuple[float, float]:
    """Return scale and shift of the standardised turn of effect i."""
    scale = 1 / factor.to_raw[i, i]
    above = factor.to_raw[:i, i]
    return scale, float(-above.sum() * scale)


def _effect_products(cells: Cells, a: Factor, i: int, b: Factor, j: int) -> Array:
    """Return Σ z_i z_j of each conversation, (C,)."""
    shifts = []
    for factor, effect in ((a, i), (b, j)):
        shifts.append(None if factor.effects[effect] == "(Intercept)" else _turn_scaling(factor, effect))
    first, second = shifts
    if first is None and second is None:
        return cells.n
    if first is None or second is None:
        scale, shift = first or second  # type: ignore[misc]
        return (cells.t - shift * cells.n) / scale
    return (cells.tt - (first[1] + second[1]) * cells.t + first[1] * second[1] * cells.n) / (first[0] * second[0])


def _moments(cells: Cells, factors: Sequence[FactorRows], table: Table) -> Moments:
    inner, outer, crossed = plan(factors)
    first = order = inner_outer = adder = None
    if inner is not None:
        inner, first, order = sort_inner(inner, outer)
        inner_outer = _inner_outer(cells, inner, outer)
        shape = (outer.factor.n_groups, inner.factor.n_groups)
        adder = sparse.csr_array(
            (np.ones(shape[1]), np.arange(shape[1], dtype=np.int32), first.astype(np.int32)), shape
        )
    _check_crossed(crossed)
    starts = np.concatenate([[0], np.cumsum([c.factor.n_groups for c in crossed])]).astype(int)
    inner_level = None if inner is None else _level(cells, inner, crossed, table)
    return Moments(
        n=round(table.n),
        p=len(cells.recipes),
        q=int(starts[-1]),
        inner=inner_level,
        outer=_level(cells, outer, crossed, table, inner_level, adder),
        inner_outer=inner_outer,
        first_inner=first,
        crossed=tuple(Crossed(c.factor, int(s)) for c, s in zip(crossed, starts, strict=False)),
        DD=_gram(cells, crossed, table),
        scaling=table.scaling,
        inner_order=order,
    )


def _check_crossed(crossed: Sequence[FactorRows]) -> None:
    for rows in crossed:
        if rows.factor.effects != ("(Intercept)",):
            raise FormulaError(
                f"From sums per conversation, crossed factors have an intercept only; “{rows.factor.label}” has more."
            )
    q = sum(c.factor.n_groups for c in crossed)
    if q > MAX_DENSE_CROSSED:
        raise FormulaError(
            f"From sums per conversation, crossed factors may have {MAX_DENSE_CROSSED} levels together; these have {q:,}."
        )


def _inner_outer(cells: Cells, inner: FactorRows, outer: FactorRows) -> Array:
    out = np.empty((inner.factor.k, outer.factor.k, inner.factor.n_groups))
    for i in range(inner.factor.k):
        for j in range(outer.factor.k):
            products = _effect_products(cells, inner.factor, i, outer.factor, j)
            out[i, j] = np.bincount(inner.codes, products, inner.factor.n_groups)
    return out


def _level(
    cells: Cells,
    rows: FactorRows,
    crossed: Sequence[FactorRows],
    table: Table,
    inner: Level | None = None,
    adder: sparse.csr_array | None = None,
) -> Level:
    """Return a chain factor's statistics; an outer intercept's are the sums of the inner intercept's."""
    factor, codes, groups = rows.factor, rows.codes, rows.factor.n_groups
    ZZ = np.empty((factor.k, factor.k, groups))
    ZD = []
    for i in range(factor.k):
        for j in range(factor.k):
            ZZ[i, j] = np.bincount(codes, _effect_products(cells, factor, i, factor, j), groups)
        plain = factor.effects[i] == "(Intercept)"
        if plain and inner is not None and adder is not None and inner.factor.effects[0] == "(Intercept)":
            ZD.append(adder @ inner.ZD[0])
        elif plain and groups == len(cells.n):
            ZD.append(_by_cell(cells, codes, crossed, table))
        else:
            ZD.append(_by_group(cells, rows, i, crossed, table.scaling))
    return Level(factor, ZZ, tuple(ZD))


def _by_group(cells: Cells, rows: FactorRows, i: int, crossed: Sequence[FactorRows], scaling: Scaling) -> Array:
    """Return Σ z_i D by group, (groups, m)."""
    groups, p = rows.factor.n_groups, len(cells.recipes)
    pieces = []
    for other in crossed:
        weights = _effect_products(cells, rows.factor, i, other.factor, 0)
        counted = sparse.coo_array((weights, (rows.codes, other.codes)), shape=(groups, other.factor.n_groups))
        pieces.append(counted.toarray())
    sums = np.empty((groups, p + 1))
    for j in range(p + 1):
        sums[:, j] = np.bincount(rows.codes, _effect_sums(cells, rows.factor, i, j, scaling), groups)
    return np.hstack([*pieces, sums]) if pieces else sums


def _by_cell(cells: Cells, codes: Array, crossed: Sequence[FactorRows], table: Table) -> Array:
    """Return Σ D by conversation where each is a group of its own, (C, m)."""
    in_order = bool(np.all(codes[1:] > codes[:-1]))
    if in_order and not crossed:
        return table.sums
    q = sum(c.factor.n_groups for c in crossed)
    out = np.zeros((len(cells.n), q + table.sums.shape[1]))
    at = 0
    for other in crossed:
        out[codes, at + other.codes] = cells.n
        at += other.factor.n_groups
    out[ALL if in_order else codes, q:] = table.sums
    return out


def _gram(cells: Cells, crossed: Sequence[FactorRows], table: Table) -> Array:
    if not crossed:
        return table.gram
    columns = table.sums.T
    OD = np.vstack([np.column_stack([np.bincount(c.codes, v, c.factor.n_groups) for v in columns]) for c in crossed])
    OO = np.block([[_table(cells, a, b) for b in crossed] for a in crossed])
    return np.block([[OO, OD], [OD.T, table.gram]])


def _table(cells: Cells, a: FactorRows, b: FactorRows) -> Array:
    shape = (a.factor.n_groups, b.factor.n_groups)
    return sparse.coo_array((cells.n, (a.codes, b.codes)), shape=shape).toarray()


def _design(
    cells: Cells,
    formula: Formula,
    scaling: Scaling,
    dropped_columns: tuple[str, ...],
    n_dropped: int,
    n_rows: int,
) -> Design:
    means = {name: float(np.average(values, weights=cells.n)) for name, values in cells.source.numeric.items()}
    means["turn"] = float(cells.t.sum() / cells.n.sum())
    return rowless_design(
        cells.source,
        formula,
        cells.recipes,
        scaling,
        weights=cells.n,
        means=means,
        dropped_columns=dropped_columns,
        n_dropped=n_dropped,
        dropped_note=f"{n_dropped:,} of {n_rows:,} rows were left out because their conversation lacks a predictor.",
    )
