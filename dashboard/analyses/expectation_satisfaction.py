"""Does meeting the expectation go with being satisfied?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.expectation_rows import (
    ORDINAL_NOTE,
    ScoreScale,
    describe_basis,
    knows_participants,
    read_conversations,
    score_scale,
)
from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.surface import draw_level_curves, draw_response_surface
from dashboard.figures.template import diverging, escape
from dashboard.stats.response_surface import Surface, centred, fit_surface, quadratic
from dashboard.vocabulary import NotInThisData, TooLittleData, format_p, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "expectation_satisfaction"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Fit satisfaction as a quadratic function of desired and experienced empathy."""
    scales = {name: score_scale(database, name) for name in ("desired_empathy", "experienced_empathy", "satisfaction")}
    if not knows_participants(database):
        raise NotInThisData("participants, whose intercept the surface takes.")
    refuse_empty(counts := count_selection(database, selection))
    conversations = read_conversations(database, selection)
    rows = surface_rows(conversations, scales)
    if rows.empty:
        raise TooLittleData(
            "No conversation of this selection has all three answers. Take a filter away, or reset them all."
        )
    surface = fit_surface(rows)
    if surface.reason:
        raise TooLittleData(
            f"No surface can be fitted. {_sentence(surface.reason)} Take a filter away, or reset them all."
        )
    return Findings(
        name=NAME,
        headline=_headline(surface, scales, describe_basis(rows, participants=True)),
        tables={
            NAME: surface.terms,
            f"{NAME}.rules": surface.rules,
            f"{NAME}.tests": surface.tests,
            f"{NAME}.curves": surface.curves,
        },
        figures=_figures(surface, rows, scales),
        warnings=(_reading(surface),),
        notes=(
            "Experienced empathy and satisfaction are answered in the same survey at the same moment: what they share may be "
            "the mood of that moment. This is an association.",
            f"Desired empathy has {rows['level'].nunique()} levels only; between them the surface is interpolated, and the "
            "second figure, with desired as a factor, shows what is known.",
            ORDINAL_NOTE,
        ),
        counts=counts,
        queries={"expectation_gap": selection.query_parameters()},
    )


def surface_rows(conversations: pd.DataFrame, scales: dict[str, ScoreScale]) -> pd.DataFrame:
    """Return cluster, x, y, level, satisfaction of the conversations that have all three answers."""
    import pandas as pd

    full = conversations.dropna(subset=["desired_empathy", "experienced_empathy", "satisfaction"])
    return pd.DataFrame(
        {
            "cluster": full["cluster"].to_numpy(),
            "x": centred(full["desired_empathy"].to_numpy(), scales["desired_empathy"].scale),
            "y": centred(full["experienced_empathy"].to_numpy(), scales["experienced_empathy"].scale),
            "level": full["desired_empathy"].to_numpy(dtype=float),
            "satisfaction": full["satisfaction"].to_numpy(dtype=float),
        }
    )


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _figures(surface: Surface, rows: pd.DataFrame, scales: dict[str, ScoreScale]) -> dict[str, Drawing]:
    import numpy as np

    desired, experienced, satisfaction = (
        scales[name] for name in ("desired_empathy", "experienced_empathy", "satisfaction")
    )
    grid = np.linspace(-1, 1, 33)
    x, y = np.meshgrid(grid, grid)
    heights = (quadratic(x.ravel(), y.ravel()) @ surface.coefficients).reshape(x.shape)
    corner = {(a, b): _height(surface, a, b) for a in (-1, 1) for b in (-1, 1)}
    levels = sorted(rows["level"].unique())
    titles = ("Desired empathy", "Experienced empathy", "Satisfaction")
    return {
        NAME: Drawing(
            draw=draw_response_surface,
            arguments={
                "grid": grid,
                "heights": heights,
                "points": rows.rename(columns={"satisfaction": "z"})[["x", "y", "z"]],
                "ticks": (_ticks(desired), _ticks(experienced)),
                "titles": titles,
            },
            alt=(
                "Fitted satisfaction over desired and experienced empathy: "
                f"{corner[-1, -1]:.2f} where both are lowest, {corner[1, 1]:.2f} where both are highest, "
                f"{corner[1, -1]:.2f} where most was desired and least experienced, {corner[-1, 1]:.2f} where least was "
                "desired and most experienced."
            ),
        ),
        f"{NAME}.curves": Drawing(
            draw=draw_level_curves,
            arguments={
                "frame": surface.curves,
                "level_labels": {level: f"Desired {level:g}" for level in levels},
                "colors": diverging(len(levels)),
                "ticks": _ticks(experienced, words=True),
                "titles": ("Experienced empathy", f"Satisfaction, {satisfaction.range_text}"),
                "limits": (satisfaction.minimum, satisfaction.maximum),
            },
            alt="Fitted satisfaction against experienced empathy, one curve with its 95 % interval for each desired level, "
            "over the range seen there.",
        ),
    }


def _height(surface: Surface, x: float, y: float) -> float:
    import numpy as np

    return float((quadratic(np.array([x]), np.array([y])) @ surface.coefficients)[0])


def _ticks(scale: ScoreScale, *, words: bool = False) -> tuple[list[float], list[str]]:
    levels = scale.levels()[:12] or [scale.minimum, scale.maximum]
    texts = [f"{level:g}" for level in levels]
    for index, word in ((0, scale.ends[0]), (-1, scale.ends[1])):
        if words and word:
            texts[index] += f"<br>{escape(word)}"
    return [2 * (level - scale.minimum) / (scale.maximum - scale.minimum) - 1 for level in levels], texts


def _headline(surface: Surface, scales: dict[str, ScoreScale], basis: str) -> str:
    terms, test = surface.terms.set_index("term"), surface.tests.iloc[0]
    # b2 is per half of the scale of experienced empathy, in the middle of both scales.
    half = (scales["experienced_empathy"].maximum - scales["experienced_empathy"].minimum) / 2
    b2 = terms.loc["b2", ["estimate", "conf_low", "conf_high"]] / half
    slope = with_interval(*b2)
    ratio = f"χ²({test['df']:.0f}) = {test['statistic']:.2f}, {format_p(test['p_value'])}"
    if surface.rules["holds"].all():
        return (
            "Satisfaction is highest where experienced empathy meets desired: every condition for congruence holds "
            f"({ratio} for the desired terms); {basis}."
        )
    lead = f"Satisfaction goes with experienced empathy, {slope} for each of its points in the middle of both scales"
    if b2["conf_low"] <= 0 <= b2["conf_high"]:
        lead = f"Satisfaction does not clearly go with experienced empathy, {slope} for each of its points"
    if test["p_value"] >= 0.05:
        return f"{lead}; desired empathy adds nothing that can be told ({ratio}), so meeting the expectation as such shows no association; {basis}."
    return f"{lead}; desired empathy adds to it ({ratio}), but not in the shape that congruence would have; {basis}."


def _reading(surface: Surface) -> str:
    failed = list(surface.rules.loc[~surface.rules["holds"].astype(bool), "rule"])
    if not failed:
        return "All five conditions for reading the surface as congruence hold; it remains an association."
    n = len(surface.rules)
    return f"Congruence must not be read from this surface: {len(failed)} of {n} conditions fail ({'; '.join(failed)})."


ANALYSIS = Analysis(
    name=NAME,
    page="Expectations",
    position=6,
    question="Does meeting the expectation go with being satisfied?",
    analyse=analyse,
    tables={
        NAME: "Coefficients b0–b5, shape a1–a5 and principal axis of the response surface",
        f"{NAME}.rules": "What must hold before congruence may be claimed",
        f"{NAME}.tests": "Does desired empathy improve the fit?",
        f"{NAME}.curves": "Fitted satisfaction within each desired level",
    },
    figures={
        NAME: "Fitted satisfaction over desired and experienced empathy",
        f"{NAME}.curves": "Satisfaction against experienced empathy within each desired level",
    },
    method=(
        "x is desired and y experienced empathy, each from −1 at the minimum to 1 at the maximum of its scale (desired − 2 and "
        "(experienced − 3)/2 in this study). satisfaction = b0 + b1 x + b2 y + b3 x² + b4 xy + b5 y² with an intercept per "
        "participant, by REML with Satterthwaite's degrees of freedom. a1 = b1 + b2 and a2 = b3 + b4 + b5 are slope and "
        "curvature along the line of congruence (x = y), a3 = b1 − b2 and a4 = b3 − b4 + b5 along the line of "
        "incongruence, a5 = b3 − b5. p10 and p11 are intercept and slope of the first principal axis, their intervals by "
        "the delta method (normal). Beside the model's standard errors stand CR2 errors by participant, which hold if its "
        "variances are wrong. Congruence is claimed only if p10 = 0 and p11 = 1 lie inside their intervals, the "
        "interval of a4 lies below 0, a3 = 0 lies inside its own, and x, x² and xy improve the fit (likelihood "
        "ratio on ML refits, 3 degrees of freedom). Beside it desired as a factor × (y, y²). Same survey, same moment: an association."
    ),
    references=(
        "Edwards, J. R., & Parry, M. E. (1993). On the use of polynomial regression equations as an alternative to difference "
        "scores in organizational research. Academy of Management Journal, 36.",
        "Pustejovsky, J. E., & Tipton, E. (2018). Small-sample methods for cluster-robust variance estimation. Journal of "
        "Business & Economic Statistics, 36.",
        "Humberg, S., Nestler, S., & Back, M. D. (2019). Response surface analysis in personality and social psychology: "
        "Checklist and clarifications for the case of congruence hypotheses. Social Psychological and Personality Science, 10.",
    ),
)
