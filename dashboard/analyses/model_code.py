"""Code that reproduces a mixed model elsewhere: R with lme4, Python with this package and with statsmodels."""

from __future__ import annotations

import json
import shlex

from dashboard.analyses.findings import FILTERS, Selection
from dashboard.analyses.model_frame import NOT_APPLICABLE, ModelData
from dashboard.analyses.model_parameters import ModelParameters, read_reference
from dashboard.stats.formula_syntax import Call, Name

CHARACTER = 'conversation = "character"'
IDS = ("participant", "conversation", "task", "model")


def rows_command(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    """Return the command that writes the rows to rows.csv: those fitted, or every turn where sums were fitted."""
    chosen = _filters(selection)
    if data.from_sums:
        return _turns_command(data.response, chosen, "rows.csv")
    series = [("ar1", "true")] if parameters.ar1 else []
    return _command(["table", "mixed_model.rows"], [("formula", data.text), *series, *chosen], "rows.csv")


def _filters(selection: Selection) -> list[tuple[str, str]]:
    given = [
        (key, f"{level:g}" if isinstance(level, float) else level)
        for key in FILTERS
        for level in getattr(selection, key)
    ]
    if selection.min_rated_turns is not None:
        given.append(("min_rated_turns", str(selection.min_rated_turns)))
    if selection.exclude_flagged:
        given.append(("exclude_flagged", "true"))
    return given


def _turns_command(name: str, chosen: list[tuple[str, str]], file: str) -> str:
    return _command(["query", "model_turns"], [("outcome", name.removesuffix(NOT_APPLICABLE)), *chosen], file)


def _command(words: list[str], given: list[tuple[str, str]], file: str) -> str:
    parts = ["sense7", *words]
    for key, value in given:
        parts += ["-p", f"{key}={value}"]
    return shlex.join([*parts, "-o", file])


def r_code(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    """Return a script for R that fits the same model to the same rows: lmerTest, or nlme for autocorrelated residuals."""
    columns = [*data.formula.columns, *(("conversation",) if parameters.ar1 or data.from_sums else ())]
    kinds = ", ".join(f'{name} = "character"' for name in dict.fromkeys(columns) if name in IDS)
    lines = [
        f"# {rows_command(data, selection, parameters)}",
        f"library({'nlme' if parameters.ar1 else 'lmerTest'})",
        f"d <- {_r_read('rows.csv', kinds)}",
    ]
    if data.from_sums:
        lines += _r_columns(data)
        lines.append(f"d <- d[complete.cases(d[c({', '.join(map(_quoted, data.formula.columns))})]), ]")
    lines += [_r_factor(name, read_reference(parameters.reference)) for name in _factors(data)]
    lines += _r_helpers(data)
    if parameters.ar1:
        return "\n".join([*lines, *_nlme(data, parameters)])
    reml = "TRUE" if parameters.method == "REML" else "FALSE"
    lines += [f"m <- lmer({data.text}, data = d, REML = {reml})", "summary(m)"]
    return "\n".join(lines)


def _r_read(file: str, kinds: str) -> str:
    return f'read.csv("{file}", fileEncoding = "UTF-8", na.strings = "", colClasses = c({kinds}))'


def _r_columns(data: ModelData) -> list[str]:
    """Return what names the outcome of turns read by a query, and brings other ratings and covariates beside it."""
    lines = []
    for name in (name for name in data.formula.columns if name in data.names.per_turn and name != "turn"):
        source, index = "d", ""
        if name.removesuffix(NOT_APPLICABLE) != data.response.removesuffix(NOT_APPLICABLE):
            # Unfiltered: a least number of rated turns is one of the outcome's.
            file = f"{name.removesuffix(NOT_APPLICABLE)}.csv"
            lines += [
                f"# {_turns_command(name, [], file)}",
                f"o <- {_r_read(file, CHARACTER)}",
                "at <- match(paste(d$turn, d$conversation), paste(o$turn, o$conversation))",
            ]
            source, index = "o", "[at]"
        value = f"{source}$value{index}"
        if name.endswith(NOT_APPLICABLE):
            answer = f"{source}$answer{index}"
            value = f'ifelse({answer} == "missing", NA, as.numeric({answer} == "not_applicable"))'
        lines.append(f"d$`{name}` <- {value}")
    covariates = [name for name in data.formula.columns if name in data.names.covariates]
    if covariates:
        kinds = 'participant = "character", text = "character"'
        lines += ["# sense7 query participant_covariates -o people.csv", f"p <- {_r_read('people.csv', kinds)}"]
    for name in covariates:
        lines.append(f"one <- p[p$covariate == {_quoted(name)}, ]")
        lines.append(
            f"d$`{name}` <- (if (anyNA(one$number)) one$text else one$number)[match(d$participant, one$participant)]"
        )
    return lines


def _nlme(data: ModelData, parameters: ModelParameters) -> list[str]:
    """Return the call of nlme's lme, for random parts of one chain from participant to conversation."""
    effects: dict[str, list[str]] = {}
    for bar in data.formula.bars:
        for term in bar.terms():
            inner = " + ".join([*(["1"] if term.intercept else ["0"]), *map(str, term.slopes)])
            effects.setdefault(term.group[-1], []).append(f"~ {inner}")
    known = [name for name in ("participant", "conversation") if name in effects]
    if len(known) < len(effects) or any(len(parts) > 1 for parts in effects.values()):
        return [
            "# nlme covers neither this random part with autocorrelated residuals nor does lme4: only the Python code does."
        ]
    random = ", ".join(f"{name} = {effects[name][0]}" for name in known)
    # The correlation stays within conversations; its groups name those of the random part first.
    within = "/".join(dict.fromkeys([*known, "conversation"]))
    options = f'method = "{parameters.method}", control = lmeControl(msMaxIter = 200, tolerance = 1e-9, msTol = 1e-10)'
    return [
        f"m <- lme({data.formula.without_random()}, data = d, random = list({random}),",
        f"         correlation = corAR1(form = ~ turn | {within}), {options})",
        "summary(m)",
    ]


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
    outer = "participant" if outer == "conversation" and "participant" in data.formula.grouping else outer
    helpers = []
    if "center" in used:
        helpers.append("center <- function(x) x - mean(x)")
    if used & {"within", "between"}:
        helpers.append(f"between <- function(x) ave(x, d$`{outer}`)")
        helpers.append("within <- function(x) x - between(x)")
    return helpers


def python_code(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    """Return a script that fits the same model with this package and, where it can, with statsmodels."""
    columns = [*data.formula.columns, *(("conversation",) if parameters.ar1 else ())]
    text = {name: "str" for name in columns if name in IDS}
    reference = read_reference(parameters.reference)
    options = [f"reml={parameters.method == 'REML'}"] + ([f"reference={reference!r}"] if reference else [])
    options += ["ar1=True"] if parameters.ar1 else []
    if data.from_sums:
        return f"# Fitted from sums over turns, as so many do not fit in memory: {_fit_command(data, selection, parameters)}"
    lines = [
        f"# {rows_command(data, selection, parameters)}",
        "import pandas as pd",
        "from dashboard.stats.linear_mixed import fit_linear_mixed",
        "",
        f"rows = pd.read_csv({_quoted('rows.csv')}, dtype={json.dumps(text)}, keep_default_na=False, na_values=[{_quoted('')}])",
        f"fit = fit_linear_mixed(rows, {_quoted(data.text)}, {', '.join(options)})",
        'print(fit.terms, fit.variances, sep="\\n")',
    ]
    return "\n".join([*lines, *_statsmodels(data, parameters)])


def _fit_command(data: ModelData, selection: Selection, parameters: ModelParameters) -> str:
    words = ["sense7", "fit", data.text, *(["--ml"] if parameters.method == "ML" else [])]
    given = [*_filters(selection), *([("reference", parameters.reference)] if parameters.reference else [])]
    for key, value in given:
        words += ["-p", f"{key}={value}"]
    return shlex.join(words)


def _statsmodels(data: ModelData, parameters: ModelParameters) -> list[str]:
    """Return the cross-check with statsmodels, for random intercepts of one chain and plain names."""
    formula = data.formula
    plain = all(isinstance(one, Name) for term in formula.terms for one in term)
    labels = [term.group for term in formula.random]
    chain = len(formula.bars) == 1 and all(term.intercept and not term.slopes for term in formula.random)
    if not plain or not chain or len(labels) > 2 or not formula.intercept or parameters.reference or parameters.ar1:
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
