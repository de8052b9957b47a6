"""One mixed model as the command line gives it: plain values, and a text to read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from dashboard.analyses.findings import Selection, check_selection
from dashboard.analyses.model_frame import ModelData, model_data
from dashboard.analyses.model_moments import rows_or_sums
from dashboard.analyses.model_parameters import estimate_model, read_reference
from dashboard.analyses.model_words import signed
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.stats.formula_syntax import Call
from dashboard.vocabulary import Refused, format_p, format_percent

if TYPE_CHECKING:
    from dashboard.stats.linear_mixed import LinearMixedFit
    from dashboard.stats.ordinal_mixed import OrdinalMixedFit

Intervals = Literal["wald", "profile", "bootstrap"]
KEYS = (
    *("formula", "method", "log_likelihood", "deviance", "aic", "bic", "n_observations", "n_dropped", "n_groups"),
    *("terms", "variances", "thresholds", "r2_marginal", "r2_conditional", "icc", "converged", "notes", "fit_seconds"),
    *("interval_method", "intervals", "ar1"),
)


def fit_formula(
    database: Database,
    selection: Selection,
    formula: str,
    *,
    reml: bool = True,
    ordinal: bool = False,
    n_quadrature: int = 7,
    reference: str | None = None,
    intervals: Intervals = "wald",
    n_draws: int = 1000,
    seed: int = 1,
    ar1: bool = False,
) -> dict[str, Any]:
    """Fit one mixed model and return what ``sense7 fit --json`` prints; unknown numbers are None.

    A fit that failed its checks has ``converged`` False, no terms and no numbers, and notes that say what to do.
    ``intervals`` holds a row per coefficient and standard deviation where they are not Wald's, ``ar1`` is φ.

    Raises
    ------
    Refused
        For a formula that cannot be read or does not suit the data, or a level that does not exist.
    """
    if not selection.is_everything:
        check_selection(database, selection)
    chosen = read_reference(reference)
    if ordinal:
        if ar1 or intervals != "wald":
            raise Refused(
                "The ordinal model has Wald intervals and no autocorrelation; leave out "
                f"{'AR(1)' if ar1 else f'{intervals} intervals'}, or fit the linear model."
            )
        data = model_data(database, selection, formula)
        return _plain(fit_ordinal(database, data, n_quadrature=n_quadrature, reference=chosen))
    from dashboard.stats.linear_mixed_intervals import with_intervals

    data = rows_or_sums(database, selection, formula, in_series=ar1)
    fit = estimate_model(data, reml=reml, reference=chosen, ar1=ar1)
    return _plain(with_intervals(fit, intervals, n_draws=n_draws, seed=seed))


def fit_ordinal(
    database: Database, data: ModelData, *, n_quadrature: int = 7, reference: Mapping[str, str] | None = None
) -> OrdinalMixedFit:
    """Fit the cumulative-logit model of a formula to its rows."""
    from dashboard.stats.ordinal_mixed_formula import fit_ordinal_mixed

    return fit_ordinal_mixed(
        data.frame,
        data.formula,
        reference=reference or {},
        scale_levels=scale_levels(database, data),
        n_quadrature=n_quadrature,
    )


def scale_levels(database: Database, data: ModelData) -> list[float] | None:
    """Return the levels of the outcome's scale; None for a continuous outcome or an expression."""
    if isinstance(data.formula.response, Call):
        return None
    scales = run_query(database, "outcomes").set_index("outcome")
    if data.response not in scales.index or not scales.loc[data.response, "step"] > 0:
        return None
    scale = scales.loc[data.response]
    return [float(scale["minimum"] + scale["step"] * index) for index in range(int(scale["n_levels"]))]


def _plain(fit: LinearMixedFit | OrdinalMixedFit) -> dict[str, Any]:
    values = {key: getattr(fit, key, None) for key in KEYS if key != "thresholds"}
    thresholds = getattr(fit, "thresholds", None)
    values["thresholds"] = [] if thresholds is None else thresholds.to_dict("records")
    values["terms"] = fit.terms.to_dict("records")
    values["variances"] = fit.variances.to_dict("records")
    values["notes"] = list(fit.notes)
    own = getattr(fit, "intervals", None)
    values["intervals"] = [] if own is None else own.to_dict("records")
    values["interval_method"] = getattr(fit, "interval_method", "wald")
    if not fit.converged:
        values |= dict.fromkeys(("log_likelihood", "deviance", "aic", "bic", "r2_marginal", "r2_conditional"))
        values["icc"] = {}
        values["ar1"] = None
    return {key: _known(values[key]) for key in KEYS}


def _known(value: Any) -> Any:
    """Return plain Python values, with None where a number is unknown."""
    if isinstance(value, dict):
        return {str(key): _known(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# ------------------------------------------------------------------------------------------------ to read
def fit_text(found: Mapping[str, Any], *, synthetic: bool = False) -> str:
    """Return a fit as text to read: model, terms, variances, measures of fit, notes."""
    head = [f"{found['formula']}", f"{_method(found)}"]
    if synthetic:
        head.insert(0, "SYNTHETIC data.")
    if not found["converged"]:
        return "\n".join([*head, "", "The model could not be fitted, so no numbers are shown.", *found["notes"]])
    blocks = ["\n".join(head), _terms(found["terms"])]
    if found["thresholds"]:
        blocks.append(_terms(found["thresholds"], title="threshold"))
    blocks += [
        _variances(found),
        _intervals(found),
        _measures(found),
        "\n".join(f"- {note}" for note in found["notes"]),
    ]
    return "\n\n".join(block for block in blocks if block)


def _method(found: Mapping[str, Any]) -> str:
    names = {
        "REML": "Linear mixed model by restricted maximum likelihood",
        "ML": "Linear mixed model by maximum likelihood",
    }
    groups = ", ".join(f"{n:,} of {group}" for group, n in found["n_groups"].items())
    name = names.get(found["method"], found["method"][0].upper() + found["method"][1:])
    return f"{name}: {found['n_observations']:,} rows ({found['n_dropped']:,} left out); groups: {groups}"


def _terms(rows: list[dict[str, Any]], *, title: str = "term") -> str:
    from tabulate import tabulate

    if not rows:
        return ""
    cells = [
        [
            row["term"],
            *(_number(row[key]) for key in ("estimate", "std_error")),
            "" if row["df"] is None else f"{row['df']:.1f}",
            "–" if row["statistic"] is None else signed(row["statistic"], 2),
            "–" if row["p_value"] is None else format_p(row["p_value"]).removeprefix("p ").removeprefix("= "),
            f"{_number(row['conf_low'])} to {_number(row['conf_high'])}",
        ]
        for row in rows
    ]
    test = "z" if all(row["df"] is None for row in rows) else "t"
    headers = [title, "estimate", "SE", "df", test, "p", "95 % interval"]
    right = ("left", "right", "right", "right", "right", "right", "right")
    return str(tabulate(cells, headers, tablefmt="simple", colalign=right, disable_numparse=True))


def _variances(found: Mapping[str, Any]) -> str:
    from tabulate import tabulate

    shares, seen, cells = found["icc"], set(), []
    for row in found["variances"]:
        first = row["group"] not in seen
        seen.add(row["group"])
        share = format_percent(shares[row["group"]]) if first and row["group"] in shares else ""
        correlation = "" if row["correlation"] is None else signed(row["correlation"], 2)
        cells.append([row["group"], row["term"], _number(row["variance"]), _number(row["std_dev"]), correlation, share])
    headers = ["group", "effect", "variance", "SD", "correlation", "share"]
    right = ("left", "left", "right", "right", "right", "right")
    return str(tabulate(cells, headers, tablefmt="simple", colalign=right, disable_numparse=True))


def _intervals(found: Mapping[str, Any]) -> str:
    """Return the intervals of standard deviations and correlations; those of the terms stand beside them."""
    from tabulate import tabulate

    rows = [row for row in found["intervals"] if row["measure"] != "coefficient"]
    if not rows:
        return ""
    cells = [
        [
            row["group"],
            row["term"],
            "SD" if row["measure"] == "std_dev" else row["measure"],
            _number(row["estimate"]),
            f"{_number(row['conf_low'])} to {_number(row['conf_high'])}",
        ]
        for row in rows
    ]
    headers = ["group", "effect", "", "estimate", f"95 % interval, {found['interval_method']}"]
    return str(
        tabulate(
            cells,
            headers,
            tablefmt="simple",
            colalign=("left", "left", "left", "right", "right"),
            disable_numparse=True,
        )
    )


def _measures(found: Mapping[str, Any]) -> str:
    parts = [("log-likelihood", "log_likelihood", 2), ("deviance", "deviance", 2), ("AIC", "aic", 1), ("BIC", "bic", 1)]
    shown = [f"{name} {signed(found[key], places)}" for name, key, places in parts if found[key] is not None]
    shown += [
        f"R² {kind} {found[f'r2_{kind}']:.3f}"
        for kind in ("marginal", "conditional")
        if found[f"r2_{kind}"] is not None
    ]
    if found["ar1"] is not None:
        shown.append(f"AR(1) φ {signed(found['ar1'], 3)}")
    return " · ".join([*shown, f"fitted in {found['fit_seconds']:.3f} s"])


def _number(value: float | None) -> str:
    return "–" if value is None else signed(value, 4)
