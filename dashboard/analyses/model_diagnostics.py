"""Can the model be trusted: its residuals, its random effects, and the weight of single participants?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.analyses.model_parameters import ModelParameters, fitted_model
from dashboard.analyses.model_words import described_rows, signed
from dashboard.database import Database
from dashboard.figures.diagnostics import draw_influence, draw_quantiles, draw_residuals
from dashboard.vocabulary import Refused, format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

NAME = "model_diagnostics"
NOTABLE_CHANGE = 1.0
SHOWN_GROUPS = 12


def analyse(database: Database, selection: Selection, parameters: ModelParameters) -> Findings:
    """Check residuals, random effects and the influence of each group of the outermost factor."""
    from dashboard.stats.linear_mixed_predict import fitted_values
    from dashboard.stats.mixed_diagnostics import effect_quantiles, influence, residual_quantiles

    data, fit = fitted_model(database, selection, parameters)
    if fit.ar1 is not None:
        raise Refused(
            "Diagnostics are of the model without autocorrelated residuals. Leave AR(1) out to see them; what it changes in "
            "the terms is above."
        )
    if not fit.has_rows:
        raise Refused(
            "Diagnostics need every turn; this model was fitted from sums per conversation. Filter conversations to look at "
            "the residuals of some."
        )
    rows = fitted_values(fit).drop(columns="row")
    effects = effect_quantiles(fit)
    moved = influence(fit)
    by_group = residuals_by_group(fit, rows)
    checks = described_checks(fit, rows, effects, moved)
    return Findings(
        name=NAME,
        headline=_headline(moved, rows, described_rows(data)),
        tables={
            NAME: checks,
            f"{NAME}.residuals": rows,
            f"{NAME}.quantiles": residual_quantiles(fit),
            f"{NAME}.effects": effects,
            f"{NAME}.influence": moved,
            f"{NAME}.groups": by_group,
        },
        figures=_figures(fit, rows, effects, moved),
        warnings=_warnings(moved, rows),
        notes=fit.notes,
        counts=data.counts,
        queries=data.queries,
    )


def residuals_by_group(fit: LinearMixedFit, rows: pd.DataFrame) -> pd.DataFrame:
    """Return number, mean and SD of the residuals of each group of the outermost factor."""
    import numpy as np
    import pandas as pd

    label, group = min(fit.design.groups.items(), key=lambda item: item[1].n_groups)
    table = pd.DataFrame(
        {"group": label, "level": np.array(group.labels, dtype=object)[group.codes], "value": rows["residual"]}
    )
    found = table.groupby(["group", "level"], sort=True)["value"].agg(["size", "mean", "std"]).reset_index()
    return found.rename(columns={"size": "n", "std": "std_dev"})


def described_checks(
    fit: LinearMixedFit, rows: pd.DataFrame, effects: pd.DataFrame, moved: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per check: what was computed, its value, what a model that holds would give, and what it means."""
    import pandas as pd

    scaled = rows["residual_scaled"]
    strongest = moved.loc[moved["change_scaled"].abs().idxmax()]
    checks = [
        (
            "Skewness of residuals",
            _skewness(scaled),
            "0",
            "Below 0: ratings fall further below what is expected than above.",
        ),
        (
            "Share of residuals beyond ±3 SD",
            float((scaled.abs() > 3).mean()),
            "0.003",
            "More: single turns stand out more than a normal distribution allows.",
        ),
        (
            "SD of residuals, highest over lowest fifth of fitted values",
            _spread_ratio(rows),
            "1",
            "Below 1: less spread where ratings are high, as a ceiling makes it.",
        ),
        ("Straightness of the residuals' Q–Q line", _straightness(scaled), "1", "Correlation with normal quantiles."),
    ]
    checks += [
        (
            f"Straightness of the Q–Q line of {_effect_name(str(group), str(term))}",
            _correlation(part["theoretical"], part["observed"]),
            "1",
            "Correlation of predicted effects with normal quantiles; predictions are pulled together, so look at outliers.",
        )
        for (group, term), part in effects.groupby(["group", "term"], sort=False)
    ]
    checks += [
        (
            f"Largest change without one {strongest['group']} ({strongest['level']}, {strongest['term']})",
            float(strongest["change_scaled"]),
            "0",
            "In standard errors of the coefficient, at unchanged variance ratios.",
        ),
        (
            "Largest Cook's distance",
            float(moved["cooks_distance"].max()),
            "0",
            f"Over {plural(len(fit.columns), 'coefficient')}.",
        ),
    ]
    return pd.DataFrame(checks, columns=["check", "value", "if_model_holds", "detail"])


def _skewness(values: pd.Series) -> float:
    centred = values - values.mean()
    return float((centred**3).mean() / (centred**2).mean() ** 1.5)


def _spread_ratio(rows: pd.DataFrame) -> float:
    low, high = rows["fitted"].quantile(0.2), rows["fitted"].quantile(0.8)
    spread = [float(rows.loc[part, "residual"].std()) for part in (rows["fitted"] >= high, rows["fitted"] <= low)]
    return spread[0] / spread[1] if spread[1] > 0 else float("nan")


def _straightness(values: pd.Series) -> float:
    from dashboard.stats.mixed_diagnostics import normal_quantiles

    table = normal_quantiles(values.to_numpy())
    return _correlation(table["theoretical"], table["observed"])


def _correlation(x: pd.Series, y: pd.Series) -> float:
    return float(x.corr(y)) if y.std() > 0 else float("nan")


def _headline(moved: pd.DataFrame, rows: pd.DataFrame, counted: str) -> str:
    one = moved.loc[moved["change_scaled"].abs().idxmax()]
    change = signed(abs(one["change_scaled"]), 2)
    who = f"{one['group']} {one['level']}"
    if abs(one["change_scaled"]) < NOTABLE_CHANGE:
        first = f"No single {one['group']} moves any coefficient by as much as one of its standard errors; the most is {change} ({one['term']} without {who})"
    else:
        first = f"Without {who}, {one['term']} would change by {change} of its standard errors, the most of any {one['group']}"
    beyond = format_percent(float((rows["residual_scaled"].abs() > 3).mean()))
    return f"{first}; {beyond} of residuals lie beyond three standard deviations, where a normal distribution has 0.3 %; {counted}."


def _warnings(moved: pd.DataFrame, rows: pd.DataFrame) -> tuple[str, ...]:
    said = []
    strong = moved.loc[moved["change_scaled"].abs() >= NOTABLE_CHANGE]
    if len(strong):
        listed = ", ".join(dict.fromkeys(f"{row.level} ({row.term})" for row in strong.head(6).itertuples()))
        said.append(f"Look at the model without {listed}: a coefficient moves by a standard error or more.")
    ratio = _spread_ratio(rows)
    if ratio == ratio and ratio < 0.67:
        said.append(
            f"Residuals spread {signed(ratio, 2)} times as much where fitted ratings are high as where they are low: a ceiling. "
            "Standard errors are averages over both; the ordinal check does not need equal spread."
        )
    return tuple(said)


def _figures(fit: LinearMixedFit, rows: pd.DataFrame, effects: pd.DataFrame, moved: pd.DataFrame) -> dict[str, Drawing]:
    from dashboard.stats.mixed_diagnostics import residual_quantiles

    strongest = moved.groupby("level")["change_scaled"].apply(lambda part: part.abs().max())
    shown = moved[moved["level"].isin(strongest.nlargest(SHOWN_GROUPS).index) & (moved["term"] != "(Intercept)")]
    shown = shown if len(shown) else moved[moved["level"].isin(strongest.nlargest(SHOWN_GROUPS).index)]
    return {
        NAME: Drawing(
            draw=draw_residuals,
            arguments={"frame": rows},
            alt="Residuals against fitted values, with their mean and spread per twentieth of the fitted values.",
        ),
        f"{NAME}.quantiles": Drawing(
            draw=draw_quantiles,
            arguments={"series": {"Residuals": residual_quantiles(fit)} | _effect_series(effects)},
            alt="Normal quantile plots of the residuals and of the predicted random effects.",
        ),
        f"{NAME}.influence": Drawing(
            draw=draw_influence,
            arguments={"frame": shown, "group": str(moved["group"].iloc[0])},
            alt="How far each coefficient moves, in standard errors, without each of the groups that move one most.",
        ),
    }


def _effect_name(group: str, term: str) -> str:
    who = "conversation within participant" if group == "participant:conversation" else group
    return f"{'intercept' if term == '(Intercept)' else f'slope of {term}'} by {who}"


def _effect_series(effects: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        _effect_name(str(group), str(term)): part
        for (group, term), part in effects.groupby(["group", "term"], sort=False)
    }


ANALYSIS = Analysis(
    name=NAME,
    page="Mixed models",
    position=4,
    question="Can the model be trusted?",
    analyse=analyse,
    parameters=ModelParameters,
    tables={
        NAME: "What was checked, and what a model that holds would give",
        f"{NAME}.residuals": "Observed, fitted, residual per row",
        f"{NAME}.quantiles": "Normal quantiles of the residuals",
        f"{NAME}.effects": "Normal quantiles of the predicted random effects",
        f"{NAME}.influence": "Every coefficient without each group",
        f"{NAME}.groups": "Mean and SD of the residuals per group",
    },
    figures={
        NAME: "Residuals against fitted values",
        f"{NAME}.quantiles": "Normal quantiles of residuals and of random effects",
        f"{NAME}.influence": "What changes without one group",
    },
    method=(
        "Residuals are conditional: observed minus fixed part and predicted random effects. Ratings are whole numbers, so "
        "they lie on parallel lines; look at the mean and the spread across fitted values instead. Influence: every "
        "coefficient is estimated anew without each group of the outermost random factor, by subtracting its sufficient "
        "statistics and keeping the variance ratios; changes are in standard errors. A share of residuals beyond ±3 SD and "
        "a bent Q–Q line bear on tests of single turns more than on the coefficients, which average over many."
    ),
    references=(
        "Demidenko, E., & Stukel, T. A. (2005). Influence analysis for linear mixed-effects models. Statistics in Medicine, 24.",
    ),
)
