"""Ordinal mixed models from a formula and a frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dashboard.stats.formula import Design, Formula, design, parse_formula
from dashboard.stats.formula_design import INTERCEPT, Grouping, is_nested
from dashboard.stats.ordinal_mixed import OrdinalMixedFit, fit_cumulative_logit
from dashboard.vocabulary import Refused

WHAT_IS_OFFERED = (
    "An ordinal model takes a random intercept of one grouping factor, or of one factor and another within it: "
    "(1|participant) or (1|participant/conversation)."
)


def fit_ordinal_mixed(
    frame: pd.DataFrame,
    formula: str | Formula,
    *,
    reference: Mapping[str, str] | None = None,
    scale_levels: Sequence[Any] | None = None,
    n_quadrature: int = 7,
    conf_level: float = 0.95,
    clock: Callable[[], float] = time.perf_counter,
) -> OrdinalMixedFit:
    """Fit a cumulative-logit mixed model given as an lme4 formula.

    Parameters
    ----------
    frame
        One row per rating. Rows with a missing cell in a used column are left out, counted and said.
    formula
        e.g. ``overall ~ turn + task + (1|participant/conversation)``. The thresholds take the place of the
        intercept. ``(1|participant) + (1|conversation)`` means the same where conversations lie within participants.
    reference
        Reference level by factor; the first by code point otherwise.
    scale_levels, n_quadrature, conf_level, clock
        As in `fit_cumulative_logit`.

    Raises
    ------
    Refused
        A formula or data that the model cannot take: no random part, random slopes, crossed or more than two
        grouping factors, and all that `parse_formula`, `design` and `fit_cumulative_logit` refuse.
    """
    begun = clock()
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    _check_random_part(parsed)
    # Factors are coded as with an intercept even where the user wrote 0: the thresholds are always there.
    made = design(frame, replace(parsed, intercept=True), reference)
    outer, inner = _nested_groups(made)
    fixed = [j for j, name in enumerate(made.columns) if name != INTERCEPT]
    fit = fit_cumulative_logit(
        made.y,
        made.X[:, fixed],
        participant=outer.codes,
        conversation=None if inner is None else inner.codes,
        term_names=[made.columns[j] for j in fixed],
        scale_levels=scale_levels,
        n_quadrature=n_quadrature,
        conf_level=conf_level,
        group_names=(outer.label, outer.label if inner is None else inner.label),
        clock=clock,
    )
    no_intercept = () if parsed.intercept else ("The formula leaves out the intercept; the thresholds stay.",)
    return replace(
        fit,
        formula=str(parsed),
        n_dropped=made.n_dropped,
        dropped_columns=(*made.dropped_columns, *fit.dropped_columns),
        notes=(*fit.notes, *made.notes, *no_intercept),
        fit_seconds=clock() - begun,
    )


def _check_random_part(formula: Formula) -> None:
    if not formula.random:
        raise Refused(f"{WHAT_IS_OFFERED} The formula has no random part.")
    for term in formula.random:
        if term.slopes or not term.intercept:
            raise Refused(f"{WHAT_IS_OFFERED} It has no random slopes; the formula gives one by “{term.label}”.")
    labels = [term.label for term in formula.random]
    if len(labels) > 2:
        raise Refused(f"{WHAT_IS_OFFERED} The formula has {len(labels)} grouping factors: {', '.join(labels)}.")


def _nested_groups(made: Design) -> tuple[Grouping, Grouping | None]:
    """Return the outer and, if there is one, the inner grouping factor."""
    groups = list(made.groups.values())
    if len(groups) == 1:
        return groups[0], None
    outer, inner = sorted(groups, key=lambda group: group.n_groups)
    if not is_nested(inner.codes, inner.n_groups, outer.codes):
        raise Refused(
            f"{WHAT_IS_OFFERED} “{inner.label}” is crossed with “{outer.label}”: some of its groups occur with more "
            "than one of the other's."
        )
    return outer, inner
