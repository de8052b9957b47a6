"""What a cumulative-logit mixed model takes: checked, coded, sorted, standardised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dashboard.stats.ordinal_mixed_blocks import Floats
from dashboard.stats.ordinal_mixed_optimise import Problem
from dashboard.vocabulary import Refused, TooLittleData

MAX_LEVELS = 20
MAX_QUADRATURE = 50


@dataclass(frozen=True)
class Prepared:
    """A problem in standardised columns, and how to return to the user's."""

    problem: Problem
    levels: tuple[Any, ...]
    level_counts: NDArray[np.intp]
    unobserved: tuple[Any, ...]
    names: tuple[str, ...]
    """Columns kept, in the user's order."""
    dropped: tuple[str, ...]
    means: Floats
    scales: Floats
    n_participants: int
    n_conversations: int
    groups: tuple[str, ...]
    """What the one or two intercepts are called."""


def independent_columns(X: Floats) -> NDArray[np.bool_]:
    """Return which columns add something to a constant and the columns before them (twice Gram–Schmidt).

    A column counts as dependent where less than 1e-7 of its spread is left.
    """
    kept = np.zeros(X.shape[1], dtype=bool)
    basis = np.ones((len(X), 1)) / np.sqrt(len(X))
    for j in range(X.shape[1]):
        largest = np.abs(X[:, j]).max()
        column = X[:, j] / largest if largest > 0 else X[:, j]
        column = column - column.mean()
        size = np.linalg.norm(column)
        if size < 1e-10 * np.sqrt(len(X)):
            continue
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-7 * size:
            kept[j] = True
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return kept


def code_levels(
    y: ArrayLike, scale_levels: Sequence[Any] | None
) -> tuple[NDArray[np.intp], tuple[Any, ...], tuple[Any, ...]]:
    """Return codes, the observed levels in order, and levels of the scale that nobody used."""
    values = pd.Series(y).reset_index(drop=True)
    if values.isna().any():
        raise Refused(
            f"Every row needs a rating; row {int(values.isna().argmax()) + 1} has none. Drop incomplete rows first."
        )
    if isinstance(values.dtype, pd.CategoricalDtype):
        if not values.cat.ordered:
            raise Refused("An ordinal outcome needs ordered levels; a categorical without an order came.")
        whole = list(values.cat.categories)
        codes = values.cat.codes.to_numpy(dtype=np.intp)
    else:
        found, codes = np.unique(values.to_numpy(), return_inverse=True)
        whole = found.tolist()
    seen, codes = np.unique(codes, return_inverse=True)
    levels = tuple(whole[i] for i in seen)
    unobserved = [level for level in (whole if scale_levels is None else scale_levels) if level not in levels]
    if len(levels) < 2:
        raise TooLittleData(
            f"An ordinal model needs at least two different ratings; all {len(values)} rows have {levels[0]!r}."
        )
    if len(levels) > MAX_LEVELS:
        raise Refused(
            f"An ordinal model is for outcomes with at most {MAX_LEVELS} levels; this one has {len(levels)} "
            "different values. Use the linear model, or an outcome with whole-number ratings."
        )
    return codes.astype(np.intp), levels, tuple(unobserved)


def _design(X: ArrayLike, *, n: int, names: Sequence[str]) -> Floats:
    matrix = np.asarray(X, dtype=float)
    if matrix.ndim != 2 or matrix.shape != (n, len(names)):
        raise Refused(
            f"The design needs one row per rating and one column per name, {n} × {len(names)}; "
            f"{' × '.join(map(str, matrix.shape))} came."
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        raise Refused(f"Column {names[column]!r} has no finite number in row {row + 1}. Drop incomplete rows first.")
    return matrix


def _codes(labels: ArrayLike, *, n: int, what: str) -> NDArray[np.intp]:
    values = pd.Series(labels).reset_index(drop=True)
    if len(values) != n:
        raise Refused(f"Every rating needs a {what}: {n} ratings and {len(values)} {what} labels came.")
    codes, _ = pd.factorize(values)
    if (codes < 0).any():
        raise Refused(f"Every rating needs a {what}; row {int((codes < 0).argmax()) + 1} has none.")
    return codes.astype(np.intp)


def _refuse_unidentified(n_rows: int, sizes: Sequence[int], groups: Sequence[str]) -> None:
    """Refuse groups whose variance the rows cannot tell from the ratings' own spread, or from each other."""
    outer = groups[0]
    if sizes[0] < 2:
        raise TooLittleData(f"An intercept of {outer} needs at least 2 groups; the rows have 1.")
    for group, size in zip(groups, sizes, strict=True):
        if size == n_rows:
            raise TooLittleData(
                f"An intercept of {group} needs groups with several ratings; all {size} have exactly one."
                + (f" Use (1|{outer})." if group != outer else "")
            )
    if len(sizes) == 2 and sizes[0] == sizes[1]:
        raise TooLittleData(
            f"Intercepts of {outer} and {groups[1]} cannot be told apart: each {outer} has exactly one group of the "
            f"second. Use (1|{outer})."
        )


def prepare(
    y: ArrayLike,
    X: ArrayLike,
    *,
    participant: ArrayLike,
    conversation: ArrayLike | None,
    term_names: Sequence[str],
    scale_levels: Sequence[Any] | None,
    n_quadrature: int,
    group_names: Sequence[str],
) -> Prepared:
    """Check the input and return it sorted by participant and conversation, with standardised columns."""
    if isinstance(n_quadrature, bool) or n_quadrature != int(n_quadrature) or not 1 <= n_quadrature <= MAX_QUADRATURE:
        raise Refused(f"Quadrature points must be a whole number from 1 to {MAX_QUADRATURE}; {n_quadrature!r} came.")
    n = len(pd.Series(y))
    if n == 0:
        raise TooLittleData("An ordinal model needs ratings; no row came.")
    level, levels, unobserved = code_levels(y, scale_levels)
    matrix = _design(X, n=n, names=term_names)
    person = _codes(participant, n=n, what="participant")
    talk = person
    if conversation is not None:
        codes = _codes(conversation, n=n, what="conversation")
        _, talk = np.unique(np.column_stack([person, codes]), axis=0, return_inverse=True)
        talk = talk.astype(np.intp).ravel()
    n_participants, n_conversations = int(person.max()) + 1, int(talk.max()) + 1
    groups = tuple(group_names[: 1 if conversation is None else 2])
    _refuse_unidentified(n, (n_participants, n_conversations)[: len(groups)], groups)
    kept = independent_columns(matrix)
    n_parameters = len(levels) - 1 + int(kept.sum()) + len(groups)
    if n <= n_parameters:
        raise TooLittleData(f"The model has {n_parameters} parameters and needs more ratings than that; {n} came.")
    means = matrix[:, kept].mean(axis=0)
    scales = matrix[:, kept].std(axis=0)
    order = np.lexsort((talk, person))
    problem = Problem(
        level=level[order],
        design=((matrix[:, kept] - means) / scales)[order],
        participant=person[order],
        conversation=_renumbered(talk[order]),
        n_levels=len(levels),
        nested=conversation is not None,
        n_quadrature=int(n_quadrature),
    )
    return Prepared(
        problem=problem,
        levels=levels,
        level_counts=np.bincount(level),
        unobserved=unobserved,
        names=tuple(name for name, keep in zip(term_names, kept, strict=True) if keep),
        dropped=tuple(name for name, keep in zip(term_names, kept, strict=True) if not keep),
        means=means,
        scales=scales,
        n_participants=n_participants,
        n_conversations=n_conversations,
        groups=groups,
    )


def _renumbered(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return codes that count up from 0 along sorted rows."""
    return np.cumsum(np.r_[0, np.diff(codes) != 0]).astype(np.intp)
