"""Code that reproduces a mixed model elsewhere: R with lme4, Python with this package and with statsmodels."""

from __future__ import annotations

import json
import shlex

from dashboard.analyses.findings import FILTERS, Selection
from dashboard.analyses.model_frame import ModelData
from dashboard.analyses.model_parameters import ModelParameters, read_reference
from dashboard.stats.formula_syntax import Call, Name

IDS = ("participant", "conversation", "task", "model")


def rows_command(data: ModelData, selection: Selection) -> str:
    """Return the command that writes the rows to rows.csv: those fitted, or every turn where sums were fitted."""
    given = [
        (key, f"{level:g}" if isinstance(level, float) else level)
        for key in FILTERS
        for level in getattr(selection, key)
    ]
    if selection.min_rated_turns is not None:
        given.append(("min_rated_turns", str(selection.min_rated_turns)))
    if selection.exclude_flagged:
        given.append(("exclude_flagged", "true"))
    parts = ["sense7", "table", "mixed_model.rows", "-p", f"formula={data.text}"]
    if data.from_sums:
        parts = ["sense7", "query", "model_turns", "-p", f"outcome={data.response}"]
    for key, value in given:
        parts += ["-p", f"{key}={value}"]
    return shlex.join([*parts, "-o", "rows.csv"])


def r_code(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    """Return a script for R with lmerTest that fits the same model to the same rows."""
    kinds = ", ".join(f'{name} = "character"' for name in data.formula.columns if name in IDS)
    lines = [
        f"# {rows_command(data, selection)}",
        "library(lmerTest)",
        f'd <- read.csv("rows.csv", fileEncoding = "UTF-8", na.strings = "", colClasses = c({kinds}))',
    ]
    if data.from_sums:
        lines.append(f"d$`{data.response}` <- d$value")
    lines += [_r_factor(name, read_reference(parameters.reference)) for name in _factors(data)]
    lines += _r_helpers(data)
    reml = "TRUE" if parameters.method == "REML" else "FALSE"
    lines += [f"m <- lmer({data.text}, data = d, REML = {reml})", "summary(m)"]
    return "\n".join(lines)


def _factors(data: ModelData) -> list[str]:
    """Return the text columns among the predictors."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    frame = data.frame
    return [
        name
        for name in data.formula.predictors
        if name in frame and not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))
    ]


def _r_factor(name: str, reference: dict[str, str]) -> str:
    levels = f'd$`{name}` <- factor(d$`{name}`, levels = sort(unique(d$`{name}`), method = "radix"))'
    if name in reference:
        levels += f"\nd$`{name}` <- relevel(d$`{name}`, ref = {_quoted(reference[name])})"
    return levels


def _r_helpers(data: ModelData) -> list[str]:
    used = {one.function for term in data.formula.terms for one in term if isinstance(one, Call)}
    used |= {slope.function for term in data.formula.random for slope in term.slopes if isinstance(slope, Call)}
    outer = data.formula.grouping[0] if data.formula.grouping else ""
    helpers = []
    if "center" in used:
        helpers.append("center <- function(x) x - mean(x)")
    if used & {"within", "between"}:
        helpers.append(f"between <- function(x) ave(x, d$`{outer}`)")
        helpers.append("within <- function(x) x - between(x)")
    return helpers


def python_code(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    """Return a script that fits the same model with this package and, where it can, with statsmodels."""
    text = {name: "str" for name in data.formula.columns if name in IDS}
    reference = read_reference(parameters.reference)
    options = [f"reml={parameters.method == 'REML'}"] + ([f"reference={reference!r}"] if reference else [])
    if data.from_sums:
        return f"# Fitted from sums per conversation: sense7 fit '{data.text}'"
    lines = [
        f"# {rows_command(data, selection)}",
        "import pandas as pd",
        "from dashboard.stats.linear_mixed import fit_linear_mixed",
        "",
        f"rows = pd.read_csv({_quoted('rows.csv')}, dtype={json.dumps(text)}, keep_default_na=False, na_values=[{_quoted('')}])",
        f"fit = fit_linear_mixed(rows, {_quoted(data.text)}, {', '.join(options)})",
        'print(fit.terms, fit.variances, sep="\\n")',
    ]
    return "\n".join([*lines, *_statsmodels(data, parameters)])


def _statsmodels(data: ModelData, parameters: ModelParameters) -> list[str]:
    """Return the cross-check with statsmodels, for random intercepts of one chain and plain names."""
    formula = data.formula
    plain = all(isinstance(one, Name) for term in formula.terms for one in term)
    labels = [term.group for term in formula.random]
    chain = len(formula.bars) == 1 and all(term.intercept and not term.slopes for term in formula.random)
    if not plain or not chain or len(labels) > 2 or not formula.intercept or parameters.reference:
        return ["", "# statsmodels' MixedLM does not cover this model in one call."]
    outer, inner = labels[0][0], labels[1][-1] if len(labels) == 2 else None
    fixed = " + ".join(":".join(str(one) for one in term) for term in formula.terms) or "1"
    nested = f', re_formula="1", vc_formula={{"{inner}": "0 + C({inner})"}}' if inner else ""
    reml = parameters.method == "REML"
    return [
        "",
        "import statsmodels.formula.api as smf  # an independent program; slower, and z tests",
        f"other = smf.mixedlm({_quoted(f'{formula.outcome} ~ {fixed}')}, rows, groups={_quoted(outer)}{nested})",
        f'print(other.fit(reml={reml}, method="lbfgs").summary())',
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
