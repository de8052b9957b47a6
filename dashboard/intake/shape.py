"""Which columns of which sheets mean what: the common description that the released shape and a mapping both give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dashboard.intake.cells import ScaleReader
from dashboard.intake.dataset import Scale
from dashboard.intake.sheet import Sheet

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass
class Measure:
    """A measure and the column that holds it.

    Attributes
    ----------
    scale
        Name, kind, ends and wording.
    place
        Place of the column in its sheet.
    column
        The column's name in the source, for reports.
    mapping_key
        What a mapping's ``[labels.…]`` calls the column.
    reader
        Reads its cells.
    only_unknown_label
        The level that a label means which is the only unknown one of the column; None where there is no such rule.
    """

    scale: Scale
    place: int
    column: str
    mapping_key: str
    reader: ScaleReader
    only_unknown_label: float | None = None


@dataclass
class Shape:
    """How to read a source.

    Attributes
    ----------
    conversations, turns
        The sheet with a row per conversation, and the one with a row per message.
    conversation_fields
        ``conversation, participant, task, model`` → place in `conversations`.
    turn_fields
        ``conversation, order, role, text, seconds, retry, comment`` → place in `turns`.
    roles
        Key of a role's name → role; None takes every name as it is, in lower case.
    rated_role
        The role whose rows count as turns and carry the ratings.
    ratings, survey
        The measures, in the order of display.
    participant_required
        Whether every conversation must name its participant.
    participant_sheets
        Sheets with a row per participant, and the place of the id.
    others
        Every further sheet.
    """

    conversations: Sheet
    turns: Sheet
    conversation_fields: Mapping[str, int]
    turn_fields: Mapping[str, int]
    roles: Mapping[str, str] | None
    rated_role: str
    ratings: list[Measure] = field(default_factory=list)
    survey: list[Measure] = field(default_factory=list)
    participant_required: bool = True
    participant_sheets: list[tuple[Sheet, int]] = field(default_factory=list)
    others: list[Sheet] = field(default_factory=list)

    def scales(self) -> list[Scale]:
        """Return the scales of the measures in the order of display, the mean of the dimensions after the ratings."""
        scales = [measure.scale for measure in self.ratings]
        dimensions = [scale for scale in scales if scale.score == "dimension"]
        if dimensions:
            scales.append(mean_of(dimensions))
        return scales + [measure.scale for measure in self.survey]


def mean_of(dimensions: list[Scale]) -> Scale:
    """Return the scale of the mean of the dimensions of a turn."""
    first = dimensions[0]
    return Scale(
        measure="turn_mean",
        label="Mean of the dimensions",
        kind="rating",
        score="turn_mean",
        minimum=min(scale.minimum for scale in dimensions),
        maximum=max(scale.maximum for scale in dimensions),
        step=None,
        minimum_label=first.minimum_label,
        maximum_label=first.maximum_label,
        rated_role=first.rated_role,
    )


def snake_case(name: str) -> str:
    """Return a name in lower snake case, letters of any script kept.

    Examples
    --------
    >>> snake_case("PreTaskChoice"), snake_case("BFI_Agreeableness"), snake_case(" Session ID")
    ('pre_task_choice', 'bfi_agreeableness', 'session_id')
    """
    parted = _CAMEL.sub("_", name.strip())
    words = re.sub(r"\W+", "_", parted).lower()
    plain = re.sub(r"_+", "_", words).strip("_")
    return f"x_{plain}" if not plain or plain[0].isdigit() else plain


def unique_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, each that is taken already with a number behind it."""
    seen, result = set(taken), []
    for name in names:
        candidate, number = name, 2
        while candidate in seen:
            candidate, number = f"{name}_{number}", number + 1
        seen.add(candidate)
        result.append(candidate)
    return result
