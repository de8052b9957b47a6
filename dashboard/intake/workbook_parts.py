"""The parts of an .xlsx file beside its sheets: relations, list of sheets, shared texts, number formats."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import IO, Any
from xml.parsers import expat

from dashboard.intake.sheet import whole_characters
from dashboard.vocabulary import Refused

CELLS_LIMIT = 1_500_000
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
# Built-in number formats that show a date or a time (ECMA-376 part 1, 18.8.30).
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
Start = Callable[[str, dict[str, str]], None]


class Stop(Exception):
    """Ends a parse that has seen enough."""


def parse_part(file: IO[bytes], start: Start, **handlers: Any) -> None:
    """Feed a part of the archive to handlers: `start`, and `end`, `text`, `reader` by name. Doctypes are refused."""
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse_doctype(*_: object) -> None:
        raise ValueError("its XML declares a document type, which workbooks do not")

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    if handlers.get("end"):
        parser.EndElementHandler = handlers["end"]
    if handlers.get("text"):
        parser.CharacterDataHandler = handlers["text"]
    if handlers.get("reader") is not None:
        handlers["reader"].parser = parser
    try:
        while piece := file.read(1 << 18):
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except Stop:
        return


def local_name(name: str) -> str:
    """Return an element's name without its prefix."""
    return name.rpartition(":")[2]


def first_target(feed: Callable[..., None], part: str, kind: str) -> str:
    """Return the path of the first relation of a kind."""
    found = [path for type_, path in targets_of(feed, part, "").values() if type_.lower().endswith(kind)]
    return found[0] if found else "xl/workbook.xml"


def targets_of(feed: Callable[..., None], part: str, folder: str) -> dict[str, tuple[str, str]]:
    """Return relation id → (type, path in the archive)."""
    found: dict[str, tuple[str, str]] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        if local_name(name) == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes["Target"].replace("\\", "/")
            path = target if target.startswith("/") else posixpath.join(folder, target)
            found[attributes["Id"]] = (attributes["Type"], posixpath.normpath(path).lstrip("/"))

    feed(part, start)
    return found


def listed_sheets(feed: Callable[..., None], book: str) -> tuple[list[tuple[str, str]], bool]:
    """Return (name, relation id) of each sheet, and whether dates count from 1904."""
    listed: list[tuple[str, str]] = []
    base_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal base_1904
        if local_name(name) == "sheet":
            relation = next(value for key, value in attributes.items() if key.endswith(":id"))
            listed.append((unescaped(attributes["name"]), relation))
        elif local_name(name) == "workbookPr":
            base_1904 = attributes.get("date1904", "0").lower() in {"1", "true"}

    feed(book, start)
    return listed, base_1904


def _part_of(targets: dict[str, tuple[str, str]], kind: str) -> str | None:
    return next((path for type_, path in targets.values() if type_.endswith(kind)), None)


def shared_strings(
    feed: Callable[..., None], targets: dict[str, tuple[str, str]], has: Callable[[str], bool]
) -> list[str]:
    """Return the texts that cells refer to by number; formatting and phonetic hints are left out."""
    part = _part_of(targets, "/sharedStrings")
    if part is None or not has(part):
        return []
    strings: list[str] = []
    pieces: list[str] = []
    phonetic = collecting = False

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal phonetic, collecting
        name = local_name(name)
        if name == "si":
            pieces.clear()
        elif name == "rPh":
            phonetic = True
        elif name == "t":
            collecting = not phonetic

    def text(data: str) -> None:
        if collecting:
            pieces.append(data)

    def end(name: str) -> None:
        nonlocal phonetic, collecting
        name = local_name(name)
        if name == "si":
            strings.append(unescaped("".join(pieces)))
            if len(strings) > CELLS_LIMIT:
                raise too_many(f"{CELLS_LIMIT:,} texts")
        elif name == "rPh":
            phonetic = False
        elif name == "t":
            collecting = False

    feed(part, start, end=end, text=text)
    return strings


def too_many(what: str) -> Refused:
    """Return the refusal of a workbook that is absurdly large."""
    return Refused(
        f"The workbook holds more than {what}; the released data has under 100,000 cells, "
        "so this is probably not the file you mean."
    )


def date_styles(feed: Callable[..., None], targets: dict[str, tuple[str, str]], has: Callable[[str], bool]) -> set[str]:
    """Return the numbers of the cell styles that show a number as a date or a time."""
    part = _part_of(targets, "/styles")
    if part is None or not has(part):
        return set()
    custom: dict[int, bool] = {}
    dates: set[str] = set()
    inside, place = False, -1

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside, place
        name = local_name(name)
        if name == "numFmt":
            custom[int(attributes["numFmtId"])] = shows_date(attributes.get("formatCode", ""))
        elif name in {"cellStyleXfs", "cellXfs"}:
            inside = name == "cellXfs"
        elif name == "xf" and inside:
            place += 1
            number = int(attributes.get("numFmtId", "0"))
            if custom.get(number, number in _DATE_FORMATS):
                dates.add(str(place))
        elif name == "cellStyles":
            raise Stop

    feed(part, start)
    return dates


def shows_date(code: str) -> bool:
    """Say whether a number format shows a date or a time.

    Literal text, escapes, colours and conditions are left out before looking for date letters.
    """
    bare = _NOT_FORMAT.sub("", code.split(";")[0])
    return bare.strip().lower() != "general" and bool(re.search("[dmyhs]", bare, re.IGNORECASE))


def unescaped(text: str) -> str:
    """Undo ``_x000D_``: how the format writes what XML cannot hold."""
    if "_x" not in text:
        return text
    return whole_characters(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text))


def column_number(letters: str) -> int:
    """Return the number from 0 of a column such as ``AB``."""
    if not (0 < len(letters) <= 3 and letters.isascii() and letters.isalpha()):
        raise ValueError(f"no column is called {letters[:10]!r}")
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
