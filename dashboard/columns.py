"""Names of data columns and result columns: what each is called for people, how it is printed, in which unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """How a result column is called and printed.

    Attributes
    ----------
    label
        Heading for people, in sentence case.
    format
        One of ``text``, ``count``, ``rating`` (two decimals), ``number`` (three significant decimals),
        ``plain`` (the same, where a sign is meant to stay), ``percent`` (a share printed as a whole percent), ``percent1`` (with one
        decimal, beside published figures), ``p`` (APA).
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
    # search and reader
    "role": Column("Said by"),
    "text": Column("Text"),
    "comment": Column("Comment", "text", "What the rater wrote about the turn."),
    "retry": Column("Retry", "text", "Whether the message was asked for again, as the source gave it."),
    "seconds": Column("Time, s", "number", "Seconds since the participant's first input."),
    "near_turn": Column(
        "At turn", "count", "The message's turn or, for a message that is none, the turn that follows."
    ),
    "is_breakdown": Column("Breakdown", "text", "Whether the turn counts as a breakdown by the definition in force."),
    "n_messages": Column("Messages", "count"),
    "n_hits": Column("Hits", "count", "How often it is there; hits do not overlap."),
    "turns": Column("Turns", "count", "Turns of the rated role, rated or not."),
    "lowest": Column("Lowest rating", "rating", "In points of the outcome's scale."),
    "lowest_turn": Column("Lowest at turn", "count"),
    "drop": Column(
        "Deepest drop",
        "rating",
        "How far a rating lies below the mean of the conversation's earlier ratings, in points, at its deepest.",
    ),
    "drop_turn": Column("Deepest drop at turn", "count"),
    "breakdowns": Column("Breakdown turns", "count"),
    "breakdown_turns": Column("Breakdown at turns"),
    # breakdowns, further
    "n_running": Column("Still running", "count", "Conversations that have this turn, rated or not."),
    "fitted": Column("Model's value", "rating"),
    "fitted_low": Column("Model, low", "rating", "Lower end of the 95 % interval."),
    "fitted_high": Column("Model, high", "rating", "Upper end of the 95 % interval."),
    "base_rate": Column("Base rate", "percent", "Share of all turns on which the dimension is low."),
    "base_low": Column("Base rate, low", "percent", "Lower end of the 95 % interval."),
    "base_high": Column("Base rate, high", "percent", "Upper end of the 95 % interval."),
    "difference": Column("Difference", "number", "In the unit of what is compared; of shares, as a share of 1."),
    "difference_low": Column("Difference, low", "number", "Lower end of the 95 % interval."),
    "difference_high": Column("Difference, high", "number", "Upper end of the 95 % interval."),
    "n_low": Column("Low", "count", "Breakdown turns on which the dimension is low."),
    "n_turns_all": Column("All turns", "count", "Turns with a rating of the outcome and of the dimension."),
    "n_first": Column(
        "First to fall", "count", "Conversations in which no dimension is low earlier; ties count for each."
    ),
    "n_first_alone": Column("First alone", "count", "Conversations in which it alone is the first."),
    "share_first": Column("First to fall, share", "percent", "Ties are shared among those that fall together."),
    "breakdown": Column("At the breakdown", "number", "Mean on the turn of the first breakdown."),
    "matched": Column("Comparable turns", "number", "Mean of the risk set: same task and turn, still unbroken."),
    "seen": Column("Seen", "rating", "Mean rating around first breakdowns, in points."),
    "recovery": Column("Recovered when"),
    "turns_after": Column("Turns after", "count", "Turns after the first breakdown."),
    "n_recovered": Column("Recovered", "count"),
    "n_without_earlier": Column("Nothing earlier", "count", "No rated turn before the breakdown to go back to."),
    "n_without_later": Column("Nothing later", "count", "No rated turn after the breakdown."),
    "fifth": Column("Fifth", "count", "Fifth of a conversation of at least five turns."),
    "mean_with": Column("Mean with", "rating", "Mean of conversations with a breakdown."),
    "mean_without": Column("Mean without", "rating", "Mean of conversations without a breakdown."),
    "pooled_std_dev": Column("Pooled SD", "rating", "Standard deviation within the two groups."),
    "total_std_dev": Column("Total SD", "rating", "By which the estimate is divided to standardise it."),
    "standardised": Column("Standardised", "rating", "The estimate in total standard deviations."),
    "n_varying": Column("Informative", "count", "Participants with conversations both with and without a breakdown."),
    # variability
    "component": Column("Component", "text", "Participant, conversation within participant, or turn."),
    "variance_unadjusted": Column("Variance, unadjusted", "number", "Without task and model."),
    "change": Column("Change", "number"),
    "df1": Column("df, numerator", "number"),
    "df2": Column("df, denominator", "number"),
    "index": Column("Index"),
    "covariate": Column("Covariate"),
    "range": Column("Range", "rating", "Maximum − minimum, in points."),
    "n_pairs": Column("Pairs", "count", "Pairs of successive turns, both rated."),
    "n_turns_answered": Column("Turns answered", "count", "Turns with three or more rated dimensions."),
    "r_half": Column("Correlation of halves", "rating", "Between odd and even conversations, before Spearman–Brown."),
    "reliability": Column("Reliability wanted", "rating"),
    "dependability": Column("Dependability", "rating", "Share of true variance in a mean over so many conversations."),
    "conversations_needed": Column("Conversations needed", "count"),
    "turns_per_conversation": Column("Turns per conversation", "number"),
    "turns_needed": Column("Turns needed", "number"),
    "scale": Column("Computed on"),
    "alpha_if_dropped": Column("Alpha without it", "rating"),
    "item_rest_correlation": Column("Item–rest correlation", "rating"),
    "x": Column("One"),
    "y": Column("Other", "rating"),
    "weights": Column("Weights", "text", "How much a near miss counts: not at all, by distance, by squared distance."),
    "share_equal": Column("Equal", "percent", "Share of turns with the same level of both."),
    "everyone_quarter": Column("Everyone, first quartile", "rating"),
    "everyone_median": Column("Everyone, median", "rating"),
    "everyone_three_quarters": Column("Everyone, third quartile", "rating"),
    "share_below": Column("Below", "percent", "Share of participants below this one; ties count half."),
    "share_everyone": Column("Everyone's share", "percent"),
    "number": Column("No.", "count", "In the order of the source."),
    "odds_ratio": Column("Odds ratio", "rating", "Above 1 makes 'not applicable' likelier."),
    "mean_rated": Column("Mean where rated", "rating", "Of the overall rating."),
    "mean_not_applicable": Column("Mean where not applicable", "rating", "Of the overall rating."),
    # expectations, further
    "gap_first": Column("Gap, first third", "rating", "Experienced − desired, in points of 100."),
    "gap_last": Column("Gap, last third", "rating", "Experienced − desired, in points of 100."),
    "rating_pomp": Column("Rating, of 100", "rating"),
    "rule": Column("Rule"),
    "holds": Column("Holds", "text"),
    # models
    "formula": Column("Formula"),
    "compared_with": Column("Compared with"),
    "part": Column("Part"),
    "factor": Column("Factor"),
    "is_reference": Column("Reference", "text", "Whether this is the level that others are compared with."),
    "n_parameters": Column("Parameters", "count"),
    "log_likelihood": Column("Log-likelihood", "number"),
    "log_likelihood_without": Column(
        "Log-likelihood without", "number", "Without the correlation of successive turns."
    ),
    "aic": Column("AIC", "number"),
    "aic_difference": Column("AIC, difference", "number", "To the lowest."),
    "bic": Column("BIC", "number"),
    "r2_marginal": Column("R², marginal", "rating", "Share of variance of the fixed part."),
    "r2_conditional": Column("R², conditional", "rating", "Share of variance of the fixed and the random part."),
    "fixed": Column("Fixed part", "rating", "Expected without the random effects."),
    "observed": Column("Observed", "number"),
    "theoretical": Column("Expected if normal", "number"),
    "residual": Column("Residual", "rating"),
    "residual_scaled": Column("Residual, in SD", "rating"),
    "change_scaled": Column(
        "Change, in SE", "rating", "Estimate with everyone minus without this one, in standard errors."
    ),
    "cooks_distance": Column("Cook's distance", "number"),
    "if_model_holds": Column("If the model holds"),
    "estimate_linear": Column("Estimate, linear", "number"),
    "std_error_linear": Column("SE, linear", "number"),
    "statistic_linear": Column("Statistic, linear", "number"),
    "conf_low_linear": Column("Interval, low, linear", "number"),
    "conf_high_linear": Column("Interval, high, linear", "number"),
    "excludes_0_linear": Column("Excludes 0, linear", "text"),
    "estimate_ordinal": Column("Estimate, ordinal", "number", "On the scale of cumulative log-odds."),
    "std_error_ordinal": Column("SE, ordinal", "number"),
    "statistic_ordinal": Column("Statistic, ordinal", "number"),
    "conf_low_ordinal": Column("Interval, low, ordinal", "number"),
    "conf_high_ordinal": Column("Interval, high, ordinal", "number"),
    "excludes_0_ordinal": Column("Excludes 0, ordinal", "text"),
    "same_sign": Column("Same sign", "text"),
    "agrees": Column("Agrees", "text", "Same sign, and both intervals exclude 0 or neither does."),
    # overview, further
    "analysis": Column("Question"),
    "page": Column("Page"),
    "source": Column("Source"),
    "rated_role": Column("Rated role"),
    "step": Column("Step", "number", "Distance between neighbouring levels."),
    "minimum_label": Column("Lowest means"),
    "maximum_label": Column("Highest means"),
    "low": Column("From", "rating"),
    "high": Column("To", "rating"),
}


# Formats in which an estimate is printed together with its interval, and what may stand between the two.
_WITH_INTERVAL = ("percent", "percent1", "rating")
_BETWEEN = ("std_error", "df", "statistic")


def column_formats(names: Sequence[str]) -> dict[str, str]:
    """Return how each column of a table is printed: an interval as the estimate it belongs to, the last one before it."""
    formats: dict[str, str] = {}
    estimate = "number"
    for name in names:
        own = column(name).format
        is_end = name.startswith(("conf_low", "conf_high"))
        formats[name] = estimate if is_end and estimate in _WITH_INTERVAL else own
        if not is_end and name not in _BETWEEN and own in {*_WITH_INTERVAL, "number"}:
            estimate = own
    return formats


def column(name: str) -> Column:
    """Return the entry of a result column; unlisted ones get a label made from their name."""
    return COLUMNS.get(name) or Column(name.replace("_", " ").capitalize(), "plain")
