"""Do the dimensions measure one thing?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Counts,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.analyses.rated_turns import RatingMatrix, read_matrix
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.queries import run_query
from dashboard.stats.alpha_bases import (
    OMEGA_BOOT,
    LevelReliability,
    item_dropped,
    level_reliabilities,
    pairwise_reliability,
)
from dashboard.stats.bootstrap import N_BOOT
from dashboard.stats.reliability import feldt_interval, is_positive_definite, pairwise_covariance
from dashboard.stats.state_reliability import StateReliability, fit_state_reliability
from dashboard.vocabulary import NotInThisData, TooLittleData, format_interval, format_number, plural, with_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "rating_reliability"
COMPLETE, PAIRWISE, POST, STATE = "complete turns", "pairwise covariances", "post-task items", "state of a turn"
REPORTED = {COMPLETE: 0.961, POST: 0.94}
# The state model takes this many participants at most, evenly spaced.
STATE_PEOPLE = 2000


@dataclass(frozen=True)
class ReliabilityParameters(Parameters):
    """How many samples of participants the intervals rest on."""

    n_boot: int = parameter(
        N_BOOT, label="Bootstrap samples", help="Samples of whole participants.", minimum=0, maximum=20_000, more=True
    )


def analyse(database: Database, selection: Selection, parameters: ReliabilityParameters) -> Findings:
    """Compute alpha and omega of the dimensions on each data basis and at each level."""
    outcomes = run_query(database, "outcomes")
    dimensions = outcomes.loc[outcomes["score"] == "dimension", "outcome"].tolist()
    if len(dimensions) < 2:
        raise NotInThisData("two or more dimensions of the turn rating.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    matrix = read_matrix(database, chosen, outcomes)
    values = matrix.columns(dimensions)
    dropped = least_rated(values)
    rows = [
        *_turn_rows(matrix, values, dimensions, dropped, parameters.n_boot),
        *_pairwise_rows(matrix, values, parameters.n_boot),
    ]
    rows += _post_rows(run_query(database, "post_task_items", **chosen), parameters.n_boot)
    state = _state(matrix, values)
    rows += _state_rows(state, values)
    table = _table(rows)
    if table["estimate"].isna().all():
        raise TooLittleData(
            "No two turns of this selection carry a rating of all dimensions. Take a filter away, or reset them all."
        )
    labels = dict(zip(outcomes["outcome"], outcomes["label"], strict=True))
    complete = _complete(values)
    headline, seen = _headline(table, len(dimensions)), _size(matrix, complete)
    tables = {NAME: table, f"{NAME}.item_dropped": _item_dropped(values[complete], dimensions, labels)}
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(seen)} with all of them, of {plural(len(values), 'rated turn')}.",
        tables=tables,
        figures=_figures(table, headline),
        warnings=_warnings(table, values, complete, state),
        notes=_notes(table, state),
        counts=counts,
        queries={"rated_turns": chosen, "post_task_items": chosen},
    )


def least_rated(values: np.ndarray) -> int:
    """Return the column that is rated least often."""
    import numpy as np

    return int(np.isfinite(values).sum(axis=0).argmin())


def _complete(values: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.isfinite(values).all(axis=1)


def _size(matrix: RatingMatrix, rows: np.ndarray) -> Counts:
    import numpy as np

    return Counts(len(np.unique(matrix.unit[rows])), len(np.unique(matrix.conversation[rows])), int(rows.sum()))


def _turn_rows(
    matrix: RatingMatrix, values: np.ndarray, dimensions: list[str], dropped: int, n_boot: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    without = [index for index in range(len(dimensions)) if index != dropped]
    bases = {COMPLETE: list(range(len(dimensions)))}
    if len(dimensions) > 2:
        bases[f"without {dimensions[dropped]}"] = without
    for basis, columns in bases.items():
        used = _complete(values[:, columns])
        found = level_reliabilities(
            values[used][:, columns], matrix.unit[used], matrix.conversation[used], n_boot=n_boot
        )
        rows += _rows(basis, found)
        if found:
            low, high = feldt_interval(found[0].alpha, found[0].n_observations, len(columns))
            rows.append(
                _row(basis, "alpha_feldt", found[0].alpha, low, high, found[0].n_observations, found[0].n_groups)
                | {"note": "Feldt’s interval: turns as independent"}
            )
    return rows


def _rows(basis: str, found: list[LevelReliability]) -> list[dict[str, Any]]:
    rows = []
    for one in found:
        scale = basis if one.level == "total" else f"{basis}, {one.level}"
        size = (one.n_observations, one.n_groups)
        rows.append(_row(scale, "alpha", one.alpha, one.conf_low, one.conf_high, *size) | {"note": one.note})
        rows.append(_row(scale, "omega", one.omega, one.omega_low, one.omega_high, *size) | {"note": one.note})
    return rows


def _row(scale: str, statistic: str, estimate: float, low: float, high: float, n: int, groups: int) -> dict[str, Any]:
    return {
        "scale": scale,
        "statistic": statistic,
        "estimate": estimate,
        "conf_low": low,
        "conf_high": high,
        "n_observations": n,
        "n_groups": groups,
        "note": "",
    }


def _pairwise_rows(matrix: RatingMatrix, values: np.ndarray, n_boot: int) -> list[dict[str, Any]]:
    """Alpha and omega on pairwise covariances; refused where these are not positive definite."""
    import numpy as np

    rated = np.isfinite(values).any(axis=1)
    size = (int(rated.sum()), len(np.unique(matrix.unit[rated])))
    if not rated.any() or (np.isfinite(values).sum(axis=0) < 2).any():
        return []
    covariance, fewest = pairwise_covariance(values)
    if fewest < 2 or not is_positive_definite(covariance):
        note = f"pairwise covariances are not positive definite; smallest pair {fewest:,} turns"
        return [_row(PAIRWISE, "alpha", math.nan, math.nan, math.nan, *size) | {"note": note}]
    note = f"smallest pair {fewest:,} turns"
    found = pairwise_reliability(values, matrix.unit, n_boot=n_boot)
    return [
        _row(PAIRWISE, "alpha", found.alpha, found.conf_low, found.conf_high, *size) | {"note": note},
        _row(PAIRWISE, "omega", found.omega, found.omega_low, found.omega_high, *size) | {"note": note},
    ]


def _post_rows(items: pd.DataFrame, n_boot: int) -> list[dict[str, Any]]:
    """Alpha and omega of the items after the task, conversations as rows."""
    import pandas as pd

    if items["item"].nunique() < 2:
        return []
    wide = items.pivot(index=["conversation", "cluster"], columns="item", values="value").dropna()
    if len(wide) < 2:
        return []
    codes = pd.factorize(wide.index.get_level_values("cluster"))[0]
    return _rows(POST, level_reliabilities(wide.to_numpy(dtype=float), codes, None, n_boot=n_boot))


def _state(matrix: RatingMatrix, values: np.ndarray) -> StateReliability:
    import numpy as np

    units = np.unique(matrix.unit)
    if len(units) > STATE_PEOPLE:
        chosen = units[np.linspace(0, len(units) - 1, STATE_PEOPLE).round().astype(int)]
        kept = np.isin(matrix.unit, chosen)
        return fit_state_reliability(values[kept], matrix.unit[kept], matrix.conversation[kept])
    return fit_state_reliability(values, matrix.unit, matrix.conversation)


def _state_rows(state: StateReliability, values: np.ndarray) -> list[dict[str, Any]]:
    import numpy as np

    if state.problem:
        return []
    k = values.shape[1]
    answered = state.n_observations / state.n_turns
    rated = int((np.isfinite(values).sum(axis=0) > 0).sum())
    rows = []
    for number, note in (
        (float(k), f"mean of all {rated} dimensions"),
        (answered, f"mean of the {answered:.1f} rated on average"),
    ):
        statistic = "state_reliability" if number == k else "state_reliability_as_rated"
        row = _row(
            STATE, statistic, state.reliability(number), math.nan, math.nan, state.n_observations, state.n_participants
        )
        rows.append(row | {"note": note})
    return rows


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    columns = ["scale", "statistic", "estimate", "conf_low", "conf_high", "n_observations", "n_groups", "note"]
    return pd.DataFrame(rows, columns=columns)


def _item_dropped(values: np.ndarray, dimensions: list[str], labels: dict[str, str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    k = len(dimensions)
    alphas, correlations = np.full(k, np.nan), np.full(k, np.nan)
    if len(values) > 1:
        alphas, correlations = item_dropped(np.cov(values.T))
    return pd.DataFrame(
        {
            "dimension": dimensions,
            "label": [labels[name] for name in dimensions],
            "alpha_if_dropped": alphas,
            "item_rest_correlation": correlations,
            "n_observations": len(values),
        }
    )


def _one(table: pd.DataFrame, scale: str, statistic: str = "alpha") -> pd.Series | None:
    part = table[(table["scale"] == scale) & (table["statistic"] == statistic) & table["estimate"].notna()]
    return None if part.empty else part.iloc[0]


def _headline(table: pd.DataFrame, k: int) -> str:
    total, within = _one(table, COMPLETE), _one(table, f"{COMPLETE}, within conversations")
    if total is None:
        return f"Too few turns carry all {k} dimensions for an alpha of them"
    lead = (
        f"The {k} dimensions move together: alpha is {with_interval(total['estimate'], total['conf_low'], total['conf_high'], 'number')}"
        if total["estimate"] >= 0.8
        else f"The {k} dimensions are only loosely one thing: alpha is "
        f"{with_interval(total['estimate'], total['conf_low'], total['conf_high'], 'number')}"
    )
    if within is None:
        return lead
    return f"{lead}, and {format_number(within['estimate'], 'number')} from turn to turn within conversations"


def _figures(table: pd.DataFrame, headline: str) -> dict[str, Drawing]:
    shown = table[(table["statistic"].isin(["alpha", "state_reliability"])) & table["estimate"].notna()]
    if shown.empty:
        return {}
    low = min(float(shown["estimate"].min()), float(shown["conf_low"].min(skipna=True)), 0.9)
    high = max(1.0, float(shown["estimate"].max()))
    labels = {name: _label(name) for name in shown["scale"]}
    return {
        NAME: Drawing(
            draw=draw_intervals,
            arguments={
                "frame": shown,
                "row": "scale",
                "estimate": "estimate",
                "labels": labels,
                "unit": "Alpha; of a turn’s state, reliability",
                "axis_range": (math.floor(10 * low - 0.2) / 10, high + 0.01),
                "reported": {scale: value for scale, value in REPORTED.items() if scale in set(shown["scale"])},
            },
            alt=f"Alpha of the dimensions on each data basis and at each level, with published figures beside. {headline}.",
        )
    }


def _label(scale: str) -> str:
    """Return a basis as a heading, and a level of it as a line below."""
    basis, _, level = scale.partition(", ")
    return f"– {level}" if level else basis[:1].upper() + basis[1:]


def _warnings(
    table: pd.DataFrame, values: np.ndarray, complete: np.ndarray, state: StateReliability
) -> tuple[str, ...]:
    warnings = []
    if len(values) and complete.mean() < 0.5:
        warnings.append(
            f"All dimensions are rated on {plural(int(complete.sum()), 'turn')} of {len(values):,}: alpha on complete turns speaks "
            "of these only, and not being applicable is not random."
        )
    refused = table[(table["scale"] == PAIRWISE) & table["estimate"].isna()]
    warnings += [f"Refused: {note}." for note in refused.drop_duplicates("note")["note"]]
    if state.problem:
        warnings.append(f"No state reliability: {state.problem}")
    return tuple(warnings)


def _notes(table: pd.DataFrame, state: StateReliability) -> tuple[str, ...]:
    notes = [
        "Published as 0.961 per turn and 0.94 after the task. Comparable are our alphas on complete turns and of the post-task "
        "items, each in total; how the authors treated turns with a dimension not applicable is not stated."
    ]
    if not state.problem:
        parts = ", ".join(f"{name} {value:.3f}" for name, value in state.variances.items())
        notes.append(f"State reliability rests on these variances: {parts}.")
        if state.n_participants == STATE_PEOPLE:
            notes.append(f"It was fitted to {STATE_PEOPLE:,} evenly spaced participants.")
    return tuple(notes)


def _check(scale: str, basis: str) -> Any:
    def check(findings: Findings) -> Checked:
        row = _one(findings.table, scale)
        if row is None:
            raise NotInThisData(f"enough {basis} for an alpha.")
        return Checked(
            value=f"{row['estimate']:.3f}",
            interval=format_interval(row["conf_low"], row["conf_high"], "number"),
            basis=f"{row['n_observations']:,} {basis}",
        )

    return check


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=7,
    question="Do the dimensions measure one thing?",
    analyse=analyse,
    parameters=ReliabilityParameters,
    tables={
        NAME: "Alpha, omega and state reliability on each data basis and at each level",
        f"{NAME}.item_dropped": "Alpha without each dimension",
    },
    figures={NAME: "Alpha on each data basis and at each level"},
    method=(
        "**Alpha** is computed on turns with all dimensions rated, on turns with all but the least often rated one, on "
        "pairwise covariances (refused where these are not positive definite), and on the post-task items; each in total, "
        "*within participants* and *within conversations* (pooled covariances around their means) and *between participants* "
        "(the component (S_B − S_W)/n0, which may lack an omega). Total alpha mixes differences between people into the "
        "consistency of dimensions; within conversations is that of turns. Intervals: bootstrap of whole participants "
        f"({OMEGA_BOOT} samples for omega); "
        "Feldt's, which takes turns as independent, is a row of its own. **Omega**: one factor by maximum likelihood on the "
        "covariances. **State reliability** is V_turn/(V_turn + V_residual/k) in a mixed model of all answered "
        "ratings with the dimension fixed and intercepts of participant, participant × dimension, conversation and turn."
    ),
    references=(
        "Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika, 16.",
        "Feldt, L. S., Woodruff, D. J., & Salih, F. A. (1987). Statistical inference for coefficient alpha. Applied "
        "Psychological Measurement, 11.",
        "Geldhof, G. J., Preacher, K. J., & Zyphur, M. J. (2014). Reliability estimation in a multilevel confirmatory factor "
        "analysis framework. Psychological Methods, 19.",
        "Shrout, P. E., & Lane, S. P. (2012). Psychometrics. In M. R. Mehl & T. S. Conner (Eds.), Handbook of research "
        "methods for studying daily life. Guilford.",
    ),
    claims=(
        Claim(
            claim="The seven dimensions are consistent per turn (Cronbach's alpha)",
            reported="0.961",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_check(COMPLETE, "turns with all dimensions rated"),
            parameters=ReliabilityParameters(n_boot=400),
        ),
        Claim(
            claim="The post-task empathy items are consistent (Cronbach's alpha)",
            reported="0.94",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_check(POST, "conversations with all items answered"),
            parameters=ReliabilityParameters(n_boot=400),
        ),
    ),
)
