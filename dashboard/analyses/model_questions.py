"""Formulas as a form sees them: outcome, terms, random parts; and the questions that are asked most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.analyses.model_frame import NOT_APPLICABLE, ModelNames
from dashboard.stats.formula import Formula
from dashboard.stats.formula_syntax import Name, term_label

NO_INTERCEPT = "0"
RANDOM_PARTS: Mapping[str, str] = {
    "(1 | participant/conversation)": "participant, and conversations within",
    "(1 | participant)": "participant",
    "(1 | conversation)": "conversation",
    "(1 + turn | participant)": "participant, with a slope of turn",
    "(1 | task)": "task, crossed",
    "(1 | model)": "assistant model, crossed",
}


@dataclass(frozen=True)
class Parts:
    """A formula taken apart: what the fields of a form hold.

    Attributes
    ----------
    outcome
        What stands before the ~.
    terms
        Fixed terms of one variable (and ``0`` where there is no intercept).
    interactions
        Fixed terms of several.
    random
        Random parts as written in parentheses.
    """

    outcome: str
    terms: tuple[str, ...]
    interactions: tuple[str, ...]
    random: tuple[str, ...]


def take_apart(formula: Formula) -> Parts:
    """Return the parts of a formula; :func:`compose` puts them together again."""
    single = tuple(term_label(term) for term in formula.terms if len(term) == 1)
    return Parts(
        outcome=formula.outcome,
        terms=single if formula.intercept else (NO_INTERCEPT, *single),
        interactions=tuple(term_label(term) for term in formula.terms if len(term) > 1),
        random=tuple(str(bar) for bar in formula.bars),
    )


def compose(parts: Parts) -> str:
    """Return the text of a formula from its parts."""
    fixed = [*parts.terms, *parts.interactions]
    fixed = fixed or ["1"]
    return f"{parts.outcome} ~ {' + '.join([*fixed, *parts.random])}"


def fixed_options(names: ModelNames, parts: Parts) -> list[str]:
    """Return the terms that a form offers for an outcome: those of its rows, and what the formula holds already."""
    per_turn = parts.outcome in names.per_turn
    offered = [*(("turn",) if per_turn and names.outcomes else ()), *names.properties, *names.covariates, *names.scores]
    offered += list(names.outcomes) if per_turn else []
    return list(dict.fromkeys([*(name for name in offered if name != parts.outcome), *parts.terms]))


def interaction_options(parts: Parts) -> list[str]:
    """Return every pair of the chosen terms, and the interactions that the formula holds already."""
    single = [term for term in parts.terms if term != NO_INTERCEPT]
    pairs = [f"{one}:{other}" for index, one in enumerate(single) for other in single[index + 1 :]]
    return list(dict.fromkeys([*parts.interactions, *pairs]))


def random_options(names: ModelNames, parts: Parts) -> list[str]:
    """Return the random parts that a form offers, and those that the formula holds already."""
    per_turn = parts.outcome in names.per_turn
    offered = []
    for text in RANDOM_PARTS:
        needs_people = "participant" in text and "participant" not in names.groups
        needs_turns = not per_turn and ("conversation" in text or "turn" in text)
        if not needs_people and not needs_turns:
            offered.append(text)
    return list(dict.fromkeys([*offered, *parts.random]))


def without_lost_terms(parts: Parts) -> Parts:
    """Return the parts without interactions of terms that were taken away."""
    kept = tuple(one for one in parts.interactions if all(piece in parts.terms for piece in one.split(":")))
    return Parts(parts.outcome, parts.terms, kept, parts.random)


def fitting_parts(names: ModelNames, outcome: str, parts: Parts) -> Parts:
    """Return the parts with another outcome, without what its rows do not have."""
    changed = Parts(outcome, parts.terms, parts.interactions, parts.random)
    if outcome in names.per_turn:
        terms = tuple(term for term in parts.terms if term != outcome)
        nested = _persons_part(names)
        random = parts.random if "conversation" in " ".join(parts.random) or parts.outcome in names.per_turn else nested
        return without_lost_terms(Parts(outcome, terms, parts.interactions, random))
    offered = set(fixed_options(names, Parts(outcome, (), (), ()))) | {NO_INTERCEPT}
    terms = tuple(term for term in changed.terms if term in offered)
    return without_lost_terms(Parts(outcome, terms, changed.interactions, ("(1 | participant)",)))


def _persons_part(names: ModelNames) -> tuple[str, ...]:
    return ("(1 | participant/conversation)",) if "participant" in names.groups else ("(1 | conversation)",)


def is_plain(formula: Formula) -> bool:
    """Return whether a formula has names only, no functions."""
    return isinstance(formula.response, Name) and all(isinstance(one, Name) for term in formula.terms for one in term)


def ready_questions(names: ModelNames, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the questions that this data can answer, with their formulas."""
    if not names.outcomes:
        return {}
    outcome = "overall" if "overall" in names.outcomes else next(iter(names.outcomes))
    nested = _persons_part(names)[0]
    slope = "(1 + turn | participant) + (1 | conversation)" if "participant" in names.groups else "(1 | conversation)"
    questions = {
        "Does empathy fade over turns?": f"{outcome} ~ turn + {slope}",
        "Do models differ?": f"{outcome} ~ model + turn + task + {nested}",
    }
    wanted = [name for name in ("desired_empathy", "importance") if name in names.properties]
    if wanted:
        questions["Do expectations matter?"] = f"{outcome} ~ {' + '.join(wanted)} + turn + task + {nested}"
    least = _least_applicable(names, manifest)
    if least:
        questions["Is not applicable a matter of task?"] = f"{least} ~ task + turn + {nested}"
    return questions


def _least_applicable(names: ModelNames, manifest: Mapping[str, Any]) -> str | None:
    """Return the outcome that was said not to apply most often."""
    stated: Sequence[tuple[int, str]] = [
        (int(counts.get("not_applicable") or 0), f"{name}{NOT_APPLICABLE}")
        for name, counts in (manifest.get("answers") or {}).items()
        if f"{name}{NOT_APPLICABLE}" in names.not_applicable
    ]
    return max(stated)[1] if stated else None
