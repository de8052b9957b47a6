"""Names, labels, units and formats of data columns and result columns; and what the project calls a refusal."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass


class Refused(ValueError):
    """Input that cannot be used. The message says what must hold, what came, and where."""


class NotInThisData(Refused):
    """An analysis asks for a measure that this data does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Not in this data: {what}")


class TooLittleData(Refused):
    """The measure exists, but the selection leaves too little of it to answer the question."""


def unknown_name(kind: str, name: object, existing: Iterable[str]) -> Refused:
    """Return the refusal for a name that does not exist: which, what exists, and the nearest.

    Parameters
    ----------
    kind
        What the name should have named, e.g. ``"analysis"``.
    name
        What came.
    existing
        The names that exist, in the order to print them.
    """
    names = [str(item) for item in existing]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(repr(item) for item in names[:60]) or "none"
    more = f" and {len(names) - 60} more" if len(names) > 60 else ""
    return Refused(f"There is no {kind} {str(name)!r}.{hint} There are: {listed}{more}.")


@dataclass(frozen=True)
class Column:
    """How a result column is called and printed.

    Attributes
    ----------
    label
        Heading for people, in sentence case.
    format
        One of ``text``, ``count``, ``rating`` (two decimals), ``number`` (three significant decimals),
        ``percent`` (a share printed as a whole percent), ``percent1`` (with one decimal, beside published figures),
        ``p`` (APA).
    help
        One sentence, shown as a tooltip.
    """

    label: str
    format: str = "text"
    help: str = ""


COLUMNS: dict[str, Column] = {
    # identity
    "participant": Column("Participant"),
    "conversation": Column("Conversation"),
    "task": Column("Task"),
    "model": Column("Assistant model"),
    "turn": Column("Turn", "count", "Position among the conversation's rated-role messages, from 1, rated or not."),
    "message": Column("Message", "count", "Position among all messages of the conversation, from 1."),
    "outcome": Column("Outcome", "text", "What was rated: the overall impression, one dimension, or their mean."),
    "dimension": Column("Dimension"),
    "measure": Column("Measure"),
    "label": Column("Label"),
    "level": Column("Level"),
    "group": Column("Group"),
    "item": Column("Item"),
    "phase": Column("Phase", "text", "Asked before (pre) or after (post) the conversation."),
    "answer": Column("Answer", "text", "Rated, stated not applicable, or missing."),
    "importance": Column("Importance", "rating"),
    "desired_empathy": Column("Desired empathy", "rating"),
    "experienced_empathy": Column(
        "Experienced empathy", "rating", "Mean of the conversation's empathy items after the task."
    ),
    "satisfaction": Column("Satisfaction", "rating", "Mean of the conversation's experience items after the task."),
    "ground_truth": Column(
        "Ground truth",
        "rating",
        "Mean over turns of the mean of the dimensions that carry a number (the official definition).",
    ),
    "ground_truth_complete": Column(
        "Ground truth, complete turns",
        "rating",
        "The same over turns on which every dimension carries a number.",
    ),
    # counts
    "n": Column("n", "count"),
    "n_turns": Column("Turns", "count", "Rated turns."),
    "n_rated": Column("Rated", "count"),
    "n_not_applicable": Column("Not applicable", "count", "The rater said that this does not apply."),
    "n_missing": Column("Missing", "count", "Left blank."),
    "n_conversations": Column("Conversations", "count"),
    "n_participants": Column("Participants", "count"),
    "n_observations": Column("Observations", "count"),
    "n_groups": Column("Groups", "count"),
    "n_answers": Column("Answers", "count"),
    "n_levels": Column("Levels", "count"),
    # statistics
    "term": Column("Term"),
    "contrast": Column("Contrast"),
    "estimate": Column("Estimate", "number"),
    "std_error": Column("Standard error", "number"),
    "statistic": Column("Statistic", "number"),
    "df": Column("df", "number", "Degrees of freedom."),
    "p_value": Column("p", "p"),
    "p_adjusted": Column("p, adjusted", "p"),
    "conf_low": Column("Interval, low", "number", "Lower end of the 95 % interval."),
    "conf_high": Column("Interval, high", "number", "Upper end of the 95 % interval."),
    "conf_level": Column("Interval level", "percent"),
    "method": Column("Method"),
    "variance": Column("Variance", "number"),
    "std_dev": Column("SD", "rating", "Standard deviation (n − 1)."),
    "correlation": Column("Correlation", "number"),
    "share": Column("Share", "percent"),
    "share_applicable": Column("Applicable", "percent", "Rated / (rated + not applicable)."),
    "mean": Column("Mean", "rating"),
    "median": Column("Median", "rating"),
    "iqr": Column("IQR", "rating", "Interquartile range (type 7 quantiles)."),
    "minimum": Column("Minimum", "rating"),
    "maximum": Column("Maximum", "rating"),
    "entropy": Column("Entropy", "rating", "Evenness of the use of levels: 0 one level only, 1 all equally often."),
    "share_extreme": Column("Extreme", "percent", "Share of ratings at either end of the scale."),
    "share_midpoint": Column("Midpoint", "percent", "Share of ratings at the middle of a scale with odd many levels."),
    "share_low": Column("Low", "percent", "Share of ratings in the lowest quarter of the scale (POMP ≤ 25)."),
    "relative_std_dev": Column(
        "Relative SD",
        "rating",
        "SD over the largest SD possible at this mean on this scale (Mestdagh et al. 2018).",
    ),
    "rmssd": Column("RMSSD", "rating", "Root mean square of differences between successive rated turns."),
    "inertia": Column("Inertia", "rating", "Correlation of a rating with the next turn's."),
    "longest_run": Column("Longest run", "count", "Longest run of equal ratings within one conversation."),
    "shrunken_mean": Column("Shrunken mean", "rating", "Prediction of the person's mean from the mixed model (BLUP)."),
    "share_straight_lining": Column(
        "Straight-lining",
        "percent",
        "Share of turns with three or more answered dimensions that are all equal.",
    ),
    "flagged": Column("Flagged", "text", "Straight-lining on at least 90 % of five or more turns."),
    # expectations
    "desired_pomp": Column("Desired, of 100", "rating", "On the common scale that the mapping gives."),
    "experienced_pomp": Column("Experienced, of 100", "rating", "On the common scale that the mapping gives."),
    "gap": Column("Gap", "rating", "Experienced − desired, in points of 100."),
    "share_unmet": Column("Unmet", "percent"),
    "share_met": Column("Met", "percent"),
    "share_exceeded": Column("Exceeded", "percent"),
    "rank_biserial": Column("Rank-biserial r", "rating", "(W₊ − W₋)/(W₊ + W₋), from −1 to 1."),
    "n_zero": Column("Zeros", "count", "Values of exactly zero, which the signed-rank test drops."),
    "epsilon_squared": Column("ε²", "rating", "H/(n − 1): effect size of Kruskal–Wallis."),
    "robust_std_error": Column("Robust SE", "number", "Cluster-robust (CR2), the participant as the cluster."),
    "df_denominator": Column("df, denominator", "number", "Denominator degrees of freedom (Satterthwaite)."),
    "third": Column("Third", "count", "First, middle or last third of a conversation's turns."),
    "mapping": Column("Mapping"),
    "verdict": Column("Against the average"),
    # classifier
    "file": Column("File"),
    "judge": Column("Judge", "text", "The classifier that made the predictions, as its file names it."),
    "predictions": Column("Predictions"),
    "metric": Column("Metric"),
    "accuracy": Column("Accuracy", "number", "Share of conversations whose level, rounded half to even, is right."),
    "macro_f1": Column("Macro-F1", "number", "Mean F1 over the levels seen in either column."),
    "within_1": Column("Within one", "number", "Share of conversations whose level is off by one at most."),
    "mae": Column("MAE", "number", "Mean absolute error of the unrounded values."),
    "spearman": Column("Spearman's rho", "number", "Rank correlation of the unrounded values."),
    "spearman_p": Column("p (Spearman)", "p", "Takes conversations as independent."),
    "n_fallback": Column("Fallbacks", "count", "The judge gave no level, and 3 was recorded."),
    "n_failed": Column("Failed", "count", "Rows with PROCESSING_FAILED; they drop out."),
    "n_rows": Column("Rows", "count"),
    "n_files": Column("Files", "count"),
    "n_truth_differs": Column(
        "Truth differs", "count", "Rows whose ground truth is not the one computed from this data."
    ),
    "always_mode": Column("Always the mode", "number", "What saying the commonest true level every time reaches."),
    "true_level": Column("True level", "count"),
    "predicted_level": Column("Predicted level", "count"),
    "n_true": Column("True", "count", "Rows whose true level this is."),
    "n_predicted": Column("Predicted", "count", "Rows predicted to have this level."),
    "mean_error": Column("Mean error", "rating", "Predicted minus ground truth; above 0 is too high."),
    "baseline": Column("Baseline"),
    # breakdowns
    "n_with_breakdown": Column("With a breakdown", "count"),
    "n_breakdown_turns": Column("Breakdown turns", "count"),
    "n_at_risk": Column("At risk", "count", "Still without a breakdown before this turn, and not ended."),
    "n_events": Column("Break down", "count"),
    "n_censored": Column("Censored", "count", "Ended here without a breakdown."),
    "survival": Column("Survival", "percent", "Kaplan–Meier estimate of the share still without the event."),
    "cumulative_incidence": Column("Broken down so far", "percent", "Of all conversations; ending competes."),
    "hazard_ratio": Column("Hazard ratio", "rating", "Against the first level; above 1 breaks down sooner."),
    "offset": Column("Turns from it", "plain", "0 is the turn of the first breakdown; −1 the turn before."),
    "series": Column("Series"),
    "hedges_g": Column("Hedges' g", "rating"),
    "n_with": Column("With", "count"),
    "n_without": Column("Without", "count"),
    # quality and overview
    "value": Column("Value", "number"),
    "claim": Column("The papers' claim"),
    "reported": Column("Reported"),
    "this_data": Column("This data"),
    "interval": Column("95 % interval"),
    "basis": Column("Based on"),
    "severity": Column("Severity"),
    "check": Column("Check"),
    "detail": Column("What it means"),
    "examples": Column("Examples"),
    "column": Column("Column"),
    "table": Column("Table"),
    "type": Column("Type"),
    "share_filled": Column("Filled", "percent"),
    "n_distinct": Column("Distinct", "count"),
    "wording": Column("Wording"),
    "kind": Column("Kind"),
    "score": Column("Counts towards"),
    "note": Column("Note"),
}


def column(name: str) -> Column:
    """Return the entry of a result column; unlisted ones get a label made from their name."""
    return COLUMNS.get(name) or Column(name.replace("_", " ").capitalize(), "plain")


GLOSSARY: dict[str, str] = {
    "turn": "A message of the rated role (the assistant in SENSE-7), counted from 1 within its conversation.",
    "rated turn": "A turn whose chosen outcome carries a number.",
    "not applicable": "The rater said that the question does not apply to this turn; not the same as a blank.",
    "missing": "Left blank; neither a rating nor a statement that it does not apply.",
    "applicability": "Rated / (rated + not applicable): how often a dimension could be rated when it was answered.",
    "ground truth": (
        "A conversation's mean over turns of the mean of the dimensions that carry a number: "
        "the official definition of the release's classifier evaluation."
    ),
    "participant as unit": (
        "Turns of one person resemble each other, so intervals are computed from participants, "
        "not from turns: they are wider, and honest."
    ),
    "cluster-robust interval": (
        "An interval whose standard error sums deviations by participant first, with t on participants − 1."
    ),
    "POMP": "Percent of the maximum possible: 100 · (x − minimum)/(maximum − minimum); puts scales on one footing.",
    "straight-lining": "Giving every dimension of a turn the same rating; flagged at 90 % of five or more turns.",
    "BLUP": "Best linear unbiased prediction: a person's mean pulled towards everyone's by how little is known of it.",
    "REML": "Restricted maximum likelihood: variance estimates that account for the estimated fixed effects.",
    "ICC": "Intraclass correlation: the share of variance that lies between groups.",
    "macro-F1": "F1 of each level (harmonic mean of precision and sensitivity), averaged over levels, rare ones alike.",
    "fallback": "A row in which the judge gave no readable level, so that 3 was recorded instead.",
    "kappa": "Agreement beyond chance: 0 as chance would, 1 complete; weighted kappas count near misses less.",
    "Krippendorff's alpha": "Agreement among repeated judgements beyond chance, whatever is missing; 1 is complete.",
    "calibration": "Whether a predicted level means what it says: the mean ground truth where that level was predicted.",
    "Wilson interval": "An interval for a share that stays inside 0–100 %; here on the effective sample size.",
    "desired empathy": "What the participant wanted, answered once before the conversation.",
    "experienced empathy": "Mean of the empathy items answered after the conversation.",
    "gap": "Experienced minus desired empathy on a common scale from 0 to 100; below 0 is less than was wanted.",
    "response surface": (
        "Satisfaction as a quadratic function of desired and experienced empathy together; tests of congruence read its shape."
    ),
    "breakdown": (
        "A rated turn whose rating lies in the lowest quarter of its scale (2 or 1 of 5), unless another definition is chosen."
    ),
    "Kaplan–Meier": (
        "The share still without an event by each turn, if conversations went on: those that end leave the count, and ending "
        "is taken as unrelated to the event."
    ),
    "cumulative incidence": "The share of all conversations that had the event by each turn; those that ended stay counted.",
    "hazard": "The chance of a first breakdown on a turn, among conversations still without one.",
    "risk set": "Conversations of the same task still without a breakdown up to and including a turn, rated on it.",
    "order reference": (
        "What alignment alone produces: each conversation's ratings in random order, aligned at their first breakdown again."
    ),
    "Holm": "An adjustment of p values for the number of tests: the smallest is multiplied by their number, and so on.",
}


def format_number(value: object, kind: str = "number") -> str:
    """Format one value for people; unknown values become an en dash.

    ``kind`` is a :attr:`Column.format`. Rounding happens here and nowhere else.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, str) or kind == "text":
        return str(value)
    number = float(value)  # type: ignore[arg-type]
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if kind == "count":
        return f"{number:,.0f}"
    if kind == "percent":
        return format_percent(number)
    if kind == "percent1":
        return f"{100 * number:.1f} %"
    if kind == "p":
        return format_p(number).removeprefix("p ").removeprefix("= ")
    if kind == "rating":
        return f"{number:.2f}"
    if number == int(number) and abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:,.3f}" if abs(number) < 1000 else f"{number:,.1f}"


def format_percent(share: float) -> str:
    """Format a share as a whole percent; shares that are not 0 or 1 never print as 0 % or 100 %."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def format_p(p: float) -> str:
    """Format a p value as APA does: ``p = .032``, ``p < .001``."""
    if math.isnan(p):
        return "p –"
    if p < 0.001:
        return "p < .001"
    if p > 0.999:
        return "p > .999"
    return f"p = {p:.3f}".replace("0.", ".")


def format_interval(low: float, high: float, kind: str = "rating") -> str:
    """Return ``3.41–3.72`` or ``24–39 %``; empty where there is no interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    first, last = format_number(low, kind), format_number(high, kind)
    return f"{first.removesuffix(' %')}–{last}"


def with_interval(value: float, low: float, high: float, kind: str = "rating") -> str:
    """Return ``3.57 (95 % interval 3.41–3.72)``, or the value alone where there is no interval."""
    interval = format_interval(low, high, kind)
    return format_number(value, kind) + (f" (95 % interval {interval})" if interval else "")


def plural(n: int, noun: str, plural_form: str | None = None) -> str:
    """Return ``1 turn`` or ``4,556 turns``."""
    return f"{n:,} {noun if n == 1 else plural_form or noun + 's'}"
