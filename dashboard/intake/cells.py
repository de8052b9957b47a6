"""Reads single cells: ids, numbers, labels, roles, answers on a scale. Pure functions, no file in sight."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.intake.sheet import Broken, Cell, Dated, serial_of
from dashboard.vocabulary import Refused

RATED, NOT_APPLICABLE, MISSING, UNREADABLE = "rated", "not_applicable", "missing", "unreadable"

# Blanks that people paste without seeing them: zero-width characters, joiners, byte-order and direction marks.
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202c"))
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_UNTYPOGRAPHIC = {**_UNSEEN, **_FULL_WIDTH}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,([0-9]{1,2}|[0-9]{4,})")
_WHOLE_AS_DECIMAL = re.compile(r"(0|-?[1-9][0-9]*)\.0+")
_DATE_1900 = re.compile(r"1900-0[12]-[0-3][0-9]([ T]00:00(:00(\.0+)?)?)?")
_EXACT_WHOLE = 2**53
_TOLERANCE = 1e-9

_NOT_APPLICABLE_SPELLINGS = ("Unknown", "N/A", "NA", "N.A.", "Not applicable", "Not-applicable", "Not_applicable")
# What programs write for nothing, errors and truth values; never somebody's choice of a label.
_NO_LABEL = {"nan", "null", "none", "nil", "nat", "inf", "-inf", "infinity", "true", "false"}

QUALITY = {"Very poor": 1, "Poor": 2, "Neutral": 3, "Good": 4, "Very good": 5}
AGREEMENT = {
    "Strongly disagree": 1,
    "Disagree": 2,
    "Neutral": 3,
    "Neither agree nor disagree": 3,
    "Agree": 4,
    "Strongly agree": 5,
}
IMPORTANCE = {
    "Not at all": 1,
    "Not at all important": 1,
    "Slightly": 2,
    "Slightly important": 2,
    "Somewhat": 2,
    "Somewhat important": 2,
    "Moderately": 3,
    "Moderately important": 3,
    "Very": 4,
    "Very important": 4,
    "Extremely": 5,
    "Extremely important": 5,
}
DESIRED = {"Minimal": 1, "Minimal empathy": 1, "High": 3, "High empathy": 3}
ROLES = ("user", "assistant", "error", "system", "tool")


def key_of(text: str) -> str:
    r"""Return what makes two labels, sheets or columns the same: letters and digits in any case, blanks aside.

    Examples
    --------
    >>> key_of(" Very\u00a0GOOD ") == key_of("very good")
    True
    """
    return "".join(text.translate(_UNTYPOGRAPHIC).casefold().split())


def name_key(text: str) -> str:
    """Return `key_of` a sheet's or column's name, underscores and hyphens aside."""
    return key_of(text).replace("_", "").replace("-", "")


def stripped(text: str) -> str:
    """Return the text without surrounding blanks, unseen ones too; what is inside stays."""
    if text.isascii():  # nothing unseen in there, and the quick way for nearly every cell
        return text.strip()
    start, end = 0, len(text)
    while start < end and (text[start].isspace() or ord(text[start]) in _UNSEEN):
        start += 1
    while end > start and (text[end - 1].isspace() or ord(text[end - 1]) in _UNSEEN):
        end -= 1
    return text[start:end]


def is_blank(cell: Cell) -> bool:
    """Say whether there is nothing in the cell, or nothing but blanks."""
    return cell is None or (isinstance(cell, str) and not (cell[:1].isalnum() or stripped(cell)))


def as_text(cell: Cell) -> str | None:
    """Return a cell as text, untouched: whole numbers without a decimal point, dates in ISO form."""
    if cell is None or isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and not isinstance(cell, Dated):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell)


def shown(cell: Cell) -> str:
    """Return a cell as a refusal prints it."""
    if isinstance(cell, Dated):
        return f"{cell} (as a number {float(cell):g})"
    text = as_text(cell)
    return "" if text is None else text


def as_id(cell: Cell, *, decimals_are_ids: bool = False) -> str | None:
    """Return an id as text, or None for a blank.

    The numbers 1 and 1.0 and the texts "1" and "1.0" are the id ``1``; ``007`` stays ``007`` and is another
    id than 7. Surrounding blanks are removed.

    Parameters
    ----------
    cell
        The raw cell.
    decimals_are_ids
        Whether ids with a decimal part, such as 1.5, occur, so that the text "1.0" stays as it is.

    Raises
    ------
    ValueError
        If the cell is an error, a truth value, or a number that has lost digits.
    """
    if cell is None:
        return None
    if isinstance(cell, str):
        text = stripped(cell)
        whole = None if decimals_are_ids else _WHOLE_AS_DECIMAL.fullmatch(text)
        return (whole[1] if whole else text) or None
    if isinstance(cell, Broken):
        raise ValueError(f"{cell.what} cell" if cell.what == "error" else "formula without a stored value")
    if isinstance(cell, bool):
        raise ValueError("is a truth value, not an id")
    if isinstance(cell, int):
        return str(cell)
    if cell != cell or abs(cell) > _EXACT_WHOLE:
        raise ValueError("is a number too long to have kept its digits: store ids as text")
    return str(int(cell)) if float(cell).is_integer() else repr(float(cell))


def as_number(cell: Cell) -> float | None:
    """Return the number in a cell, None for a blank.

    Taken: numbers, numbers as text (surrounding blanks, full-width digits, ``4.0``, ``4e0``, a decimal comma),
    and the serial number of a cell shown as a date, be it a spreadsheet's or the text ``1900-01-04``.

    Raises
    ------
    ValueError
        If there is something else in the cell; the message says why.
    """
    if isinstance(cell, str):
        return _number_in_text(cell)
    if cell is None:
        return None
    if isinstance(cell, Broken):
        raise ValueError("is an error" if cell.what == "error" else "has no stored value")
    if isinstance(cell, bool):
        raise ValueError("is a truth value, not a number")
    if cell != cell or cell in (float("inf"), float("-inf")):
        raise ValueError("is not a finite number")
    return float(cell)


def _number_in_text(cell: str) -> float | None:
    text = stripped(cell).translate(_UNTYPOGRAPHIC).strip()
    if not text:
        return None
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise ValueError("is not a finite number")
        return number
    if _DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(",", "."))
    if _DATE_1900.fullmatch(text):
        return _serial_in_text(text)
    raise ValueError("is not a number")


def _serial_in_text(text: str) -> float:
    return serial_of(dt.date.fromisoformat(text[:10]))


def shown_as_date(cell: Cell) -> bool:
    """Say whether a cell that `as_number` can read is a number shown as a date."""
    if isinstance(cell, str):
        return bool(_DATE_1900.fullmatch(stripped(cell).translate(_UNTYPOGRAPHIC).strip()))
    return isinstance(cell, Dated)


@dataclass(frozen=True)
class Reading:
    """What a cell says: `answer`, its number if it is `rated`, and why it is unreadable if it is."""

    answer: str
    value: float | None = None
    why: str = ""
    dated: bool = False
    label: str = ""


_BLANK = Reading(MISSING)
_STATED = Reading(NOT_APPLICABLE)


@dataclass
class ScaleReader:
    """Reads the cells of one measure; each distinct cell is read once.

    Parameters
    ----------
    minimum, maximum
        Ends of the scale.
    step
        Distance of neighbouring levels from `minimum` on; None for a continuous scale.
    labels
        Label → number, ``"not applicable"`` or ``"missing"``; in any case, blanks aside.
    """

    minimum: float
    maximum: float
    step: float | None = 1.0
    labels: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._labels: dict[str, Reading] = {key_of(name): _STATED for name in _NOT_APPLICABLE_SPELLINGS}
        for name, meaning in self.labels.items():
            self._labels[key_of(name)] = self._meaning(meaning)
        self._seen: dict[tuple[type, Cell], Reading] = {}

    @staticmethod
    def _meaning(meaning: float | str) -> Reading:
        if isinstance(meaning, str):
            return _STATED if key_of(meaning) in {"notapplicable", "n/a"} else _BLANK
        return Reading(RATED, float(meaning))

    def refuse_labels_off_scale(self, where: str) -> None:
        """Refuse a label that means a number which is no level of the scale.

        Raises
        ------
        Refused
            With the label, what it means, and the scale's ends.
        """
        for label, meaning in self.labels.items():
            if isinstance(meaning, (int, float)) and self._on_scale(float(meaning), False).value is None:
                raise Refused(
                    f"{where}: the label {label!r} means {meaning:g}, which is no level from {self.minimum:g} to "
                    f"{self.maximum:g}."
                )

    def read(self, cell: Cell) -> Reading:
        """Return what the cell says."""
        if cell is None:
            return _BLANK
        known = self._seen.get((type(cell), cell))
        if known is None:
            known = self._seen[type(cell), cell] = self._read(cell)
        return known

    def learn(self, label: str, value: float) -> None:
        """Take a further label from now on."""
        self._labels[key_of(label)] = Reading(RATED, value)
        self._seen.clear()

    def _read(self, cell: Cell) -> Reading:
        if isinstance(cell, str):
            found = self._labels.get(key_of(cell))
            if found is not None:
                return found
        try:
            number = as_number(cell)
        except ValueError as error:
            if isinstance(cell, str):
                return Reading(UNREADABLE, why="is neither a number nor a known label", label=_label_in(cell))
            return Reading(UNREADABLE, why=str(error))
        if number is None:
            return _BLANK
        return self._on_scale(number, shown_as_date(cell))

    def _on_scale(self, number: float, dated: bool) -> Reading:
        ends = f"{self.minimum:g} to {self.maximum:g}"
        if self.step is not None:
            steps = (number - self.minimum) / self.step
            if abs(steps - round(steps)) > _TOLERANCE:
                return Reading(UNREADABLE, why=f"lies between the levels of the scale {ends}")
            number = self.minimum + round(steps) * self.step
        if not self.minimum <= number <= self.maximum:
            return Reading(UNREADABLE, why=f"is outside the scale {ends}")
        return Reading(RATED, number, dated=dated)


def _label_in(cell: str) -> str:
    """Return the text if somebody may have chosen it as a label, else an empty text.

    A label is not what a program writes for an error, a formula or nothing.
    """
    text = stripped(cell)
    return "" if not text or text[0] in "#=" or key_of(text) in _NO_LABEL else text


def may_mean(label: str, level: float) -> bool:
    """Return whether an unknown label can be taken for a level.

    It begins with a letter, unlike a number that somebody wrote on (``2 delete``), and has no digits but the level's own.
    """
    return label[:1].isalpha() and all(float(number) == level for number in re.findall(r"\d+", label))
