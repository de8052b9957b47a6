"""What a cumulative-logit mixed model says about its fit, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dashboard.stats.ordinal_mixed_input import Prepared
from dashboard.stats.ordinal_mixed_optimise import Optimum, Search

RARE_LEVEL = 5
FEW_PARTICIPANTS = 10
QUADRATURE_TOLERANCE = 0.05
"""In log-likelihood: far below the 1.92 of a 95 % interval."""


def plain(level: object) -> str:
    """Write 3.0 as 3: ratings are whole numbers, whatever type they came in."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def _listed(items: Sequence[object]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def about_search(search: Search) -> tuple[str, ...]:
    """Say how the search ended and what the second start found."""
    optimum, difference = search.optimum, search.second_start_difference
    distance = float(np.sqrt(max(optimum.decrement, 0.0)))
    found = [
        f"Converged: the gradient is zero to within {max(distance, 1e-12):.0e} standard errors, and the curvature "
        "is that of a maximum."
    ]
    if np.isfinite(difference) and difference > -1e-6:
        found.append("A second start, with other variances and no fixed effects, reached the same log-likelihood.")
    elif np.isfinite(difference):
        found.append(
            f"Two starts ended at different log-likelihoods, {-difference:.3g} apart; the higher one is shown. "
            "Treat the fit with care: the data hold little information on some parameter."
        )
    return tuple(found)


def about_quadrature(search: Search, prepared: Prepared) -> tuple[str, ...]:
    """Say where more quadrature points would change the log-likelihood, and by how much."""
    change, n_points = search.quadrature_change, prepared.problem.n_quadrature
    if not abs(change) > QUADRATURE_TOLERANCE:
        return ()
    n_more = max(7, 2 * n_points + 1)
    how = "Laplace's approximation" if n_points == 1 else f"Quadrature with {n_points} points"
    return (
        f"{how} is coarse here: with {n_more} points the log-likelihood of these estimates is {change:+.2f} "
        f"different. Fit again with {n_more} quadrature points.",
    )


def about_boundary(prepared: Prepared, optimum: Optimum) -> tuple[str, ...]:
    """Name the variances that are exactly zero."""
    zero = [group for group, sd in zip(prepared.groups, optimum.position[-2:], strict=False) if sd == 0]
    if not zero:
        return ()
    verb = "is" if len(zero) == 1 else "are"
    return (
        f"The variance of {_listed(zero)} {verb} exactly zero, at the boundary: the data show no such differences, "
        "and the other numbers equal those of the model without it.",
    )


def about_errors(prepared: Prepared, *, min_clusters: int) -> tuple[str, ...]:
    """Say where standard errors and tests come from."""
    said = ["Tests are z tests: degrees of freedom are not defined for this model."]
    n, group = prepared.n_participants, prepared.groups[0]
    if prepared.problem.n_quadrature == 1:
        said.append("Laplace's approximation (one quadrature point) pulls variances towards zero in small groups.")
    if not prepared.problem.nested:
        said.append(
            f"Standard errors are {group}-clustered (sandwich, × G/(G − 1)). The model's own, in std_error_model, "
            f"take the rows of a {group} for independent given the {group}; where conversations differ they can be "
            "half of what they should be."
        )
        if n < min_clusters:
            said.append(
                f"With {n} groups there are no clustered errors: at least {min_clusters} are needed for "
                "intervals and tests."
            )
    if min_clusters <= n < FEW_PARTICIPANTS or (prepared.problem.nested and n < FEW_PARTICIPANTS):
        said.append(f"Only {n} groups of {group}: variances and standard errors are rough.")
    return tuple(said)


def about_data(prepared: Prepared) -> tuple[str, ...]:
    """Name dropped columns, levels never used and levels hardly used."""
    said = []
    if prepared.dropped:
        names = _listed([repr(name) for name in prepared.dropped])
        verb = "was" if len(prepared.dropped) == 1 else "were"
        said.append(f"{names} {verb} dropped: constant, or a combination of the columns before.")
    if prepared.unobserved:
        noun = "Level" if len(prepared.unobserved) == 1 else "Levels"
        said.append(
            f"{noun} {_listed([plain(level) for level in prepared.unobserved])} of the scale never occurs in these rows; the thresholds divide "
            "the observed levels only."
        )
    pairs = zip(prepared.levels, prepared.level_counts, strict=True)
    rare = [f"{plain(level)} ({count})" for level, count in pairs if count < RARE_LEVEL]
    if rare:
        said.append(f"Fewer than {RARE_LEVEL} rows have rating {_listed(rare)}: the thresholds beside are uncertain.")
    return tuple(said)


def separated(names: Sequence[str]) -> str:
    """Say which terms separate the levels, and what to do."""
    return (
        f"No estimate exists: {_listed([repr(name) for name in names])} separate{'s' if len(names) == 1 else ''} the "
        "ratings completely (some value goes with the highest or lowest ratings only), so the likelihood grows "
        "without end. Leave the term out, merge its rare levels, or select more data."
    )


def unbounded_variance(prepared: Prepared, optimum: Optimum) -> str:
    """Say that a standard deviation has no finite estimate, and what to do."""
    sds = np.abs(optimum.position[-2:])
    group = prepared.groups[int(np.argmax(sds[: len(prepared.groups)]))]
    return (
        f"No estimate exists: the standard deviation of {group} was followed to {sds.max():.0f} and the likelihood "
        f"still grew, because (almost) every {group} gives one rating throughout. Select more data or another outcome."
    )


def not_arrived(optimum: Optimum) -> str:
    """Say that the search did not reach a maximum, and what to do."""
    where = f"stopped at log-likelihood {optimum.log_likelihood:.3f} without reaching a maximum"
    return (
        f"The fit failed: the search {where}, so no numbers are shown. Use fewer terms, merge rare levels of a "
        "factor, or leave out the conversation's intercept."
    )
