"""What the project calls a refusal, the glossary, and how numbers are printed; columns are in ``columns``."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

from dashboard.columns import COLUMNS as COLUMNS
from dashboard.columns import Column as Column
from dashboard.columns import column as column
from dashboard.columns import column_formats as column_formats


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
    if isinstance(value, bool):
        return "yes" if value else "no"
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
        return _signed(f"{100 * number:.1f} %")
    if kind == "p":
        return format_p(number).removeprefix("p ").removeprefix("= ")
    if kind == "rating":
        return _signed(f"{number:.2f}")
    if number == int(number) and abs(number) < 1e15:
        return _signed(f"{number:,.0f}")
    return _signed(f"{number:,.3f}" if abs(number) < 1000 else f"{number:,.1f}")


def _signed(text: str) -> str:
    """Print a minus as a minus, and none before what rounds to zero."""
    if not text.startswith("-"):
        return text
    return f"−{text[1:]}" if any(digit in text for digit in "123456789") else text[1:]


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
    """Return ``3.41–3.72``, ``24–39 %`` or ``−0.02 to 0.07``; empty where there is no interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    first, last = format_number(low, kind), format_number(high, kind)
    between = " to " if "−" in first + last else "–"
    return f"{first.removesuffix(' %')}{between}{last}"


def with_interval(value: float, low: float, high: float, kind: str = "rating") -> str:
    """Return ``3.57 (95 % interval 3.41–3.72)``, or the value alone where there is no interval."""
    interval = format_interval(low, high, kind)
    return format_number(value, kind) + (f" (95 % interval {interval})" if interval else "")


def plural(n: int, noun: str, plural_form: str | None = None) -> str:
    """Return ``1 turn`` or ``4,556 turns``."""
    return f"{n:,} {noun if n == 1 else plural_form or noun + 's'}"
