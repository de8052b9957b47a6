"""Response surfaces: an outcome as a quadratic function of what was wanted and what was got."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.pomp import Scale

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

TERMS = ("b0", "b1", "b2", "b3", "b4", "b5")
SHAPE = ("a1", "a2", "a3", "a4", "a5")
# Rows: a1 … a5 as sums of b0 … b5, the coefficients of 1, x, y, x², xy, y².
CONTRASTS = np.array(
    [
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
        [0, 1, -1, 0, 0, 0],
        [0, 0, 0, 1, -1, 1],
        [0, 0, 0, 1, 0, -1],
    ],
    dtype=float,
)
COLUMNS = ["term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]


def centred(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Return values from −1 at the scale's minimum to 1 at its maximum."""
    return 2 * (np.asarray(values, dtype=float) - scale.minimum) / (scale.maximum - scale.minimum) - 1


def quadratic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the columns 1, x, y, x², xy, y², shape (n, 6)."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])


def principal_axis(b: np.ndarray) -> tuple[float, float]:
    """Return intercept p10 and slope p11 of the first principal axis of b1 x + b2 y + b3 x² + b4 xy + b5 y².

    Parameters
    ----------
    b
        The five slopes b1 … b5.

    Returns
    -------
    tuple of float
        NaN where b4 is zero or the surface has no stationary point.

    References
    ----------
    Edwards, J. R., & Parry, M. E. (1993). On the use of polynomial regression equations as an alternative to difference
    scores in organizational research. Academy of Management Journal, 36.
    """
    b1, b2, b3, b4, b5 = (float(one) for one in b)
    determinant = 4 * b3 * b5 - b4 * b4
    if b4 == 0 or determinant == 0:
        return math.nan, math.nan
    x0, y0 = (b2 * b4 - 2 * b1 * b5) / determinant, (b1 * b4 - 2 * b2 * b3) / determinant
    p11 = (b5 - b3 + math.hypot(b3 - b5, b4)) / b4
    return y0 - p11 * x0, p11


def shape_of(coefficients: np.ndarray, covariance: np.ndarray, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return a1 … a5 and the first principal axis with standard errors and normal intervals.

    Parameters
    ----------
    coefficients, covariance
        Of 1, x, y, x², xy, y²; shapes (6,) and (6, 6).

    Returns
    -------
    pandas.DataFrame
        term, estimate, std_error, df (infinite), statistic, p_value, conf_low, conf_high. a's are linear, p10 and p11 by
        the delta method.

    Notes
    -----
    Checked against R's RSA 0.10.6 on its data ``motcon``.
    """
    import pandas as pd
    from scipy.special import ndtr, ndtri

    estimate = np.append(CONTRASTS @ coefficients, principal_axis(coefficients[1:]))
    gradient = np.vstack([CONTRASTS, _axis_gradient(coefficients)])
    std_error = np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", gradient, covariance, gradient), 0.0))
    reach = float(ndtri(0.5 + conf_level / 2)) * std_error
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / std_error
    return pd.DataFrame(
        {
            "term": [*SHAPE, "p10", "p11"],
            "estimate": estimate,
            "std_error": std_error,
            "df": math.inf,
            "statistic": statistic,
            "p_value": 2 * ndtr(-np.abs(statistic)),
            "conf_low": estimate - reach,
            "conf_high": estimate + reach,
        }
    )


def _axis_gradient(coefficients: np.ndarray) -> np.ndarray:
    """Return the derivatives (2, 6) of p10 and p11 by b0 … b5, by central differences."""
    gradient = np.zeros((2, 6))
    for index in range(1, 6):
        step = 1e-6 * max(1.0, abs(coefficients[index]))
        up, down = coefficients.copy(), coefficients.copy()
        up[index] += step
        down[index] -= step
        gradient[:, index] = (np.array(principal_axis(up[1:])) - np.array(principal_axis(down[1:]))) / (2 * step)
    return gradient


@dataclass(frozen=True)
class Surface:
    """A fitted response surface.

    Attributes
    ----------
    terms
        b0 … b5, a1 … a5, p10, p11 with standard errors and intervals, and CR2 errors by participant beside.
    rules
        rule, value, holds: what must hold before congruence may be claimed.
    tests
        model, statistic, df, p_value: likelihood-ratio tests of the desired terms, and of desired as a factor.
    coefficients
        b0 … b5, shape (6,).
    curves
        level, y, estimate, conf_low, conf_high: satisfaction against y within each desired level, from the model with
        desired as a factor.
    reason
        Why there is no surface, or empty; then everything else is empty.
    """

    terms: pd.DataFrame
    rules: pd.DataFrame
    tests: pd.DataFrame
    coefficients: np.ndarray
    curves: pd.DataFrame
    reason: str


def fit_surface(rows: pd.DataFrame) -> Surface:
    """Fit satisfaction on x, y, x², xy, y² with an intercept per participant, and apply the rules of congruence.

    Parameters
    ----------
    rows
        One row per conversation: cluster (the participant), x and y (from −1 to 1), level (the desired level),
        satisfaction; nothing missing.

    Returns
    -------
    Surface
        By REML with Satterthwaite's degrees of freedom for b's and a's; likelihood-ratio tests on ML refits.

    References
    ----------
    Edwards & Parry (1993). Humberg, S., Nestler, S., & Back, M. D. (2019). Response surface analysis in personality and
    social psychology: Checklist and clarifications for the case of congruence hypotheses. Social Psychological and
    Personality Science, 10.
    """
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.vocabulary import Refused

    def none(reason: str) -> Surface:
        empty = pd.DataFrame()
        return Surface(empty, empty, empty, np.full(6, math.nan), empty, reason)

    reason = _cannot(rows)
    if reason:
        return none(reason)
    frame = _frame(rows)
    factor = [name for name in frame.columns if name.startswith("d")]
    try:
        full = fit_linear_mixed(frame, "z ~ x + y + x2 + xy + y2 + (1 | participant)")
        alone = fit_linear_mixed(frame, "z ~ y + y2 + (1 | participant)", reml=False)
        levels = fit_linear_mixed(frame, f"z ~ y + y2 + {' + '.join(factor)} + (1 | participant)")
    except Refused as refusal:
        return none(str(refusal))
    failed = [note for fit in (full, alone, levels) if not fit.converged for note in fit.notes]
    if failed or len(full.columns) < 6:
        return none(" ".join(failed) or "Some terms of the surface cannot be told apart on these conversations.")
    terms = _terms(full, frame)
    tests = pd.DataFrame(
        [_ratio("desired terms (x, x², xy)", alone, full), _ratio("desired as a factor", alone, levels)]
    )
    return Surface(
        terms, congruence_rules(terms, tests["p_value"][0]), tests, full.coefficients, _curves(levels, rows, factor), ""
    )


def _cannot(rows: pd.DataFrame) -> str:
    n_levels, n = rows["level"].nunique(), len(rows)
    if n_levels < 3:
        return f"{n_levels} desired level{'s' if n_levels != 1 else ''} only: a surface takes three."
    repeated = int((rows["cluster"].value_counts() > 1).sum())
    if n < 30 or repeated < 5:
        return (
            f"There are {n} conversations, and {repeated} participants with two or more; a surface of six coefficients takes "
            "at least 30 and 5."
        )
    if rows["satisfaction"].nunique() < 2 or rows["y"].nunique() < 3:
        return "Satisfaction or experienced empathy hardly varies."
    return ""


def _frame(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the models take; ``d…`` are a level's indicator alone, times y, and times y²."""
    import pandas as pd

    x, y = rows["x"].to_numpy(dtype=float), rows["y"].to_numpy(dtype=float)
    columns = quadratic(x, y)
    frame = pd.DataFrame(columns[:, 1:], columns=["x", "y", "x2", "xy", "y2"])
    frame = frame.assign(z=rows["satisfaction"].to_numpy(), participant=rows["cluster"].to_numpy())
    for index, level in enumerate(sorted(rows["level"].unique())[1:], 1):
        at = (rows["level"] == level).to_numpy(dtype=float)
        for power in range(3):
            frame[f"d{index}{power}"] = at * y**power
    return frame


def _terms(fit: LinearMixedFit, frame: pd.DataFrame) -> pd.DataFrame:
    """Return b0 … b5, a1 … a5 and the principal axis; ``robust_std_error`` is CR2 by participant, NaN for the axis."""
    import pandas as pd

    from dashboard.stats.cluster_robust import cr2_covariance
    from dashboard.stats.linear_mixed_satterthwaite import t_table

    L = np.vstack([np.eye(6), CONTRASTS])
    table = t_table(fit.coefficients, fit.covariance, fit.satterthwaite, L)
    table.insert(0, "term", [*TERMS, *SHAPE])
    X = quadratic(frame["x"].to_numpy(), frame["y"].to_numpy())
    robust = cr2_covariance(
        X,
        frame["z"].to_numpy(dtype=float) - X @ fit.coefficients,
        frame["participant"].to_numpy(),
        intercept_variance=float(fit.group_variances["participant"]),
        residual_variance=fit.sigma**2,
    )
    table = table[COLUMNS].assign(robust_std_error=np.sqrt(np.einsum("ri,ij,rj->r", L, robust, L)))
    axis = shape_of(fit.coefficients, fit.covariance).tail(2)
    return pd.concat([table, axis[COLUMNS].assign(robust_std_error=math.nan)], ignore_index=True)


def _ratio(name: str, smaller: LinearMixedFit, larger: LinearMixedFit) -> dict[str, object]:
    from scipy.special import chdtrc

    less, more = smaller.maximum_likelihood, larger.maximum_likelihood
    statistic = max(less.deviance - more.deviance, 0.0)
    df = len(more.columns) - len(less.columns)
    return {"model": name, "statistic": statistic, "df": df, "p_value": float(chdtrc(df, statistic))}


def congruence_rules(terms: pd.DataFrame, p_desired: float) -> pd.DataFrame:
    """Say which conditions for claiming congruence hold.

    Congruence is claimed only if the ridge is the line of congruence (p10 = 0 and p11 = 1 inside their intervals), the
    surface falls off to both sides of it (a4 < 0), its ridge is not shifted (a3 = 0 inside its interval), and the terms of
    desired improve the fit.

    Parameters
    ----------
    terms
        As in :class:`Surface`.
    p_desired
        p value of the likelihood-ratio test of x, x² and xy.

    Returns
    -------
    pandas.DataFrame
        rule, term, estimate, conf_low, conf_high, holds.
    """
    import pandas as pd

    at = terms.set_index("term")

    def inside(term: str, value: float) -> bool:
        return bool(at.loc[term, "conf_low"] <= value <= at.loc[term, "conf_high"])

    rows = [
        ("the ridge crosses the middle (p10 = 0)", "p10", inside("p10", 0.0)),
        ("the ridge runs along the line of congruence (p11 = 1)", "p11", inside("p11", 1.0)),
        ("satisfaction falls off beside the line (a4 < 0)", "a4", bool(at.loc["a4", "conf_high"] < 0)),
        ("it falls off alike on both sides (a3 = 0)", "a3", inside("a3", 0.0)),
    ]
    table = pd.DataFrame(
        [(rule, term, *at.loc[term, ["estimate", "conf_low", "conf_high"]], holds) for rule, term, holds in rows],
        columns=["rule", "term", "estimate", "conf_low", "conf_high", "holds"],
    )
    fits = ("desired empathy improves the fit (likelihood ratio, p < .05)", "p", p_desired, math.nan, math.nan)
    table.loc[len(table)] = [*fits, bool(p_desired < 0.05)]
    return table


def _curves(fit: LinearMixedFit, rows: pd.DataFrame, factor: list[str]) -> pd.DataFrame:
    """Predict satisfaction over the range of y seen at each desired level, with Wald intervals."""
    import pandas as pd

    parts = []
    for index, level in enumerate(sorted(rows["level"].unique())):
        seen = rows.loc[rows["level"] == level, "y"]
        y = np.linspace(seen.min(), seen.max(), 25)
        values = {"(Intercept)": np.ones_like(y), "y": y, "y2": y * y}
        values |= {name: (y ** int(name[-1]) if name[1:-1] == str(index) else np.zeros_like(y)) for name in factor}
        L = np.column_stack([values[name] for name in fit.columns])
        estimate = L @ fit.coefficients
        reach = 1.959963984540054 * np.sqrt(np.einsum("ri,ij,rj->r", L, fit.covariance, L))
        part = {
            "level": level,
            "y": y,
            "estimate": estimate,
            "conf_low": estimate - reach,
            "conf_high": estimate + reach,
        }
        parts.append(pd.DataFrame(part | {"n_conversations": len(seen)}))
    return pd.concat(parts, ignore_index=True)
