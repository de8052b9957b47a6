"""What is said of a fitted mixed model: the finding in a sentence, the APA sentence, the caveats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboard.analyses.findings import describe_counts
from dashboard.analyses.model_frame import NOT_APPLICABLE, TURNS, ModelData
from dashboard.stats.formula_syntax import Call, Term, term_label
from dashboard.vocabulary import column, format_p, format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

PARTS = {
    "participant": "between participants",
    "conversation": "between conversations",
    "participant:conversation": "between conversations of one participant",
    "task": "between tasks",
    "model": "between assistant models",
    "residual": "within these groups",
}


def signed(value: float, decimals: int | None = None) -> str:
    """Return a number with a real minus sign, with as many decimals as it takes to see it unless told."""
    if math.isnan(value):
        return "–"
    if decimals is None:
        decimals = 2 if abs(value) >= 0.095 or value == 0 else 3
    return f"{value:.{decimals}f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """Return `95 % interval −0.04 to −0.03`; empty where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    decimals = 2 if max(abs(low), abs(high)) >= 0.095 else 3
    return "95 % interval " + " to ".join(f"{end:.{decimals}f}".replace("-", "−") for end in (low, high))


def bracketed(low: float, high: float) -> str:
    """Return ` (95 % interval …)` or nothing."""
    text = interval(low, high)
    return f" ({text})" if text else ""


def described_rows(data: ModelData) -> str:
    """Return `4,556 turns, 672 conversations, 109 participants`, without turns where rows are conversations."""
    if data.rows == TURNS:
        return describe_counts(data.counts)
    parts = [plural(data.counts.conversations, "conversation")]
    if data.counts.participants is not None:
        parts.append(plural(data.counts.participants, "participant"))
    return ", ".join(parts)


def outcome_label(data: ModelData) -> str:
    """Return the outcome for people; an expression stays as written."""
    if isinstance(data.formula.response, Call):
        return str(data.formula.response)
    return data.names.label(data.response)


# ------------------------------------------------------------------------------------------------ headline
def headline(data: ModelData, fit: LinearMixedFit) -> str:
    """Return the finding on the first fixed term, and how the remaining variance divides, with n."""
    parts = [_first_term(data, fit), _variance(fit), _series(fit)]
    sentence = f"{'; '.join(part for part in parts if part)}; {described_rows(data)}."
    return sentence[0].upper() + sentence[1:]


def _first_term(data: ModelData, fit: LinearMixedFit) -> str:
    main = next((term for term in data.formula.terms if len(term) == 1 and fit.design.terms[term_label(term)]), None)
    if main is None:
        return f"{outcome_label(data)} is modelled without predictors"
    rows = fit.terms.iloc[list(fit.design.terms[term_label(main)])]
    sentence = _level_sentence(data, fit, main, rows) if _is_factor(fit, main) else _slope_sentence(data, main, rows)
    return f"{_where(data, fit, main)}{sentence}"


def _is_factor(fit: LinearMixedFit, term: Term) -> bool:
    return str(term[0]) in fit.design.levels


def _where(data: ModelData, fit: LinearMixedFit, main: Term) -> str:
    """Say at which levels an effect holds that an interaction lets differ."""
    partners = dict.fromkeys(
        variable
        for term in data.formula.terms
        if len(term) > 1 and main[0] in term
        for variable in term
        if variable != main[0]
    )
    at = [fit.design.levels[str(one)][0] if str(one) in fit.design.levels else f"{one} = 0" for one in partners]
    return f"At {' and '.join(at)}, " if at else ""


def _slope_sentence(data: ModelData, main: Term, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    outcome, name = outcome_label(data), str(main[0])
    per = "per turn" if name == "turn" else f"per unit of {_spoken(data, name)}"
    given = bracketed(row["conf_low"], row["conf_high"])
    if row["conf_low"] <= 0 <= row["conf_high"]:
        return f"{outcome} shows no clear change with {_spoken(data, name)}: {signed(row['estimate'])} {per}{given}"
    return f"{outcome} is {_higher_or_lower(row)} {per}{_size_interval(row)}"


def _level_sentence(data: ModelData, fit: LinearMixedFit, main: Term, rows: pd.DataFrame) -> str:
    row = rows.loc[rows["statistic"].abs().idxmax()]
    name = str(main[0])
    level = row["term"].removeprefix(f"{name}[").removesuffix("]")
    outcome, reference = outcome_label(data), fit.design.levels[name][0]
    given = bracketed(row["conf_low"], row["conf_high"])
    if row["conf_low"] <= 0 <= row["conf_high"]:
        return (
            f"no {_spoken(data, name)} differs clearly from {reference} in {outcome}: the clearest difference is "
            f"{signed(row['estimate'])} for {level}{given}"
        )
    return f"{outcome} is {_higher_or_lower(row)} with {level} than with {reference}{_size_interval(row)}"


def _higher_or_lower(row: pd.Series) -> str:
    return f"{signed(abs(row['estimate']))} {'higher' if row['estimate'] > 0 else 'lower'}"


def _size_interval(row: pd.Series) -> str:
    """Return the interval of the size: "lower" says the sign already."""
    low, high = row["conf_low"], row["conf_high"]
    return bracketed(low, high) if row["estimate"] > 0 else bracketed(-high, -low)


def _spoken(data: ModelData, name: str) -> str:
    """Return a predictor within a sentence."""
    label = data.names.label(name) if name in data.names.everything else name
    return label if name in data.names.outcomes or name not in data.names.everything else label[0].lower() + label[1:]


def _variance(fit: LinearMixedFit) -> str:
    shares = [
        f"{format_percent(share)} {'lies ' if not index else ''}{PARTS.get(group, f'between groups of {group}')}"
        for index, (group, share) in enumerate(fit.icc.items())
        if group != "residual"
    ]
    return f"of the variance that these terms leave, {joined(shares)}" if shares else ""


def _series(fit: LinearMixedFit) -> str:
    if fit.ar1 is None:
        return ""
    return f"what remains correlates by {signed(fit.ar1)} from one turn of a conversation to the next"


# ---------------------------------------------------------------------------------------------- APA style
def apa_sentence(data: ModelData, fit: LinearMixedFit) -> str:
    """Return the model in the style of the APA's manual: estimate, SE, t(df), p, 95 % CI per term; R²."""
    reported = [_apa_term(row) for _, row in fit.terms.iterrows() if row["term"] != "(Intercept)"]
    random = joined(_random_words(fit))
    how = "restricted maximum likelihood" if fit.method == "REML" else "maximum likelihood"
    intervals = {
        "profile": "; profile-likelihood intervals",
        "bootstrap": "; parametric-bootstrap percentile intervals",
    }
    series = (
        f" and first-order autoregressive residuals within conversations (φ = {signed(fit.ar1, 2)})"
        if fit.ar1 is not None
        else ""
    )
    sentence = (
        f"A linear mixed model ({how}; t tests with Satterthwaite degrees of freedom{intervals.get(fit.interval_method, '')}) "
        f"of {outcome_label(data)} with {random}{series} was fitted to {described_rows(data)}"
    )
    terms = f": {'; '.join(reported)}" if reported else ""
    return f"{sentence}{terms}. R²marginal = {_share(fit.r2_marginal)}, R²conditional = {_share(fit.r2_conditional)}."


def _apa_term(row: pd.Series) -> str:
    test = "z" if row["df"] != row["df"] else f"t({row['df']:.1f})"
    decimals = 2 if row["std_error"] >= 0.05 else 3
    low, high, b, se = (signed(row[key], decimals) for key in ("conf_low", "conf_high", "estimate", "std_error"))
    return (
        f"{row['term']}, b = {b}, SE = {se}, {test} = {signed(row['statistic'], 2)}, "
        f"{format_p(row['p_value'])}, 95 % CI [{low}, {high}]"
    )


def _random_words(fit: LinearMixedFit) -> list[str]:
    words = []
    for group, rows in fit.variances[fit.variances["group"] != "residual"].groupby("group", sort=False):
        effects = ["intercepts" if effect == "(Intercept)" else f"slopes of {effect}" for effect in rows["term"]]
        who = {"participant:conversation": "conversation within participant"}.get(str(group), str(group))
        words.append(f"random {' and '.join(effects)} by {who}")
    return words


def joined(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}".removeprefix("0")


# ------------------------------------------------------------------------------------------------ caveats
def caveats(data: ModelData, fit: LinearMixedFit) -> list[str]:
    """Return what limits the answer, with this model's own numbers."""
    binary = data.response.endswith(NOT_APPLICABLE)
    said = [
        "Not applicable or not is 0 or 1 and treated as a number: coefficients are differences in probability. The "
        "mixed logit of the ordinal check stands beside."
        if binary
        else "Ratings are ordinal and treated as interval here; the ordinal check stands beside.",
        "Participants chose their tasks and when to stop: nothing here is causal.",
    ]
    said += [text for text in (_unequal(data, fit), "" if binary else _ceiling(data, fit)) if text]
    if data.rows == TURNS and not binary:
        said.append("Turns without a number drop out, and “not applicable” is not random: it goes with task and turn.")
    n_terms = int((fit.terms["term"] != "(Intercept)").sum())
    said.append(
        f"This table makes {plural(n_terms, 'test')} without adjustment; contrasts of marginal means are adjusted after Holm "
        "within a factor. None was registered beforehand, so all are exploratory."
    )
    return said


def _unequal(data: ModelData, fit: LinearMixedFit) -> str:
    import numpy as np

    if not fit.has_rows:
        return ""
    who, group = next(iter(fit.design.groups.items()))
    sizes = np.bincount(group.codes)
    noun = data.rows if data.rows == TURNS else "conversation"
    return f"Rows per {who} run from {sizes.min():,} to {plural(int(sizes.max()), noun)}; those with more weigh more."


def _ceiling(data: ModelData, fit: LinearMixedFit) -> str:
    if not fit.has_rows or isinstance(data.formula.response, Call):
        return ""
    y = fit.design.y
    share = float((y == y.max()).mean())
    return f"{format_percent(share)} of the rows stand at the highest value, {y.max():g}: a ceiling, if the scale ends there."


def term_labels(fit: LinearMixedFit) -> dict[str, str]:
    """Return each term for people: `Assistant model: GPT-4`, `Turn × Assistant model: GPT-4`."""
    labels = {}
    for recipe in fit.design.recipes:
        pieces = [variable_label(str(variable)) for variable in recipe.numeric]
        pieces += [f"{variable_label(str(variable))}: {level}" for variable, level in recipe.levels]
        labels[recipe.name] = " × ".join(pieces) or "Intercept"
    return labels


def short_labels(fit: LinearMixedFit) -> dict[str, str]:
    """Return each term as figures call it, where the reference level above it names the factor: `GPT-4`, `Turn × GPT-4`."""
    labels = {}
    for recipe in fit.design.recipes:
        pieces = [variable_label(str(variable)) for variable in recipe.numeric]
        labels[recipe.name] = " × ".join([*pieces, *(level for _, level in recipe.levels)]) or "Intercept"
    return labels


def variable_label(name: str) -> str:
    """Return a predictor as tables and figures call it."""
    return column(name).label if name.isidentifier() else name
