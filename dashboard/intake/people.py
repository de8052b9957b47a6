"""The participants' covariates, and the sheets that are kept as they came."""

from __future__ import annotations

import pyarrow as pa

from dashboard.intake.arrays import number_array, table_of, text_array
from dashboard.intake.cells import as_number, as_text, is_blank, stripped
from dashboard.intake.dataset import SCHEMAS
from dashboard.intake.findings import Findings, listed
from dashboard.intake.ids import IdReader
from dashboard.intake.shape import snake_case, unique_names
from dashboard.intake.sheet import Broken, Cell, Dated, Sheet

# A covariate may not be called like what a model formula or a table already calls something else.
RESERVED = frozenset(
    {
        "participant",
        "conversation",
        "task",
        "model",
        "turn",
        "message",
        "position",
        "outcome",
        "value",
        "answer",
        "role",
        "seconds",
        "text",
        "importance",
        "desired_empathy",
        "experienced_empathy",
        "satisfaction",
        "ground_truth",
        "overall",
        "turn_mean",
        "minimum",
        "maximum",
        "source_row",
    }
)


def participants_table(
    sheets: list[tuple[Sheet, int]],
    participants: list[str],
    reader: IdReader,
    findings: Findings,
    *,
    measures: frozenset[str] = frozenset(),
) -> pa.Table:
    """Return one row per participant who has a conversation, with the covariates of the participants' sheets.

    Parameters
    ----------
    sheets
        Sheets with a row per participant, and the place of the id.
    participants
        The participants in order, each once.
    reader
        Reads their ids.
    findings
        Takes faults and notes.
    measures
        Names of the measures, which no covariate may have.
    """
    table = table_of({"participant": participants}, SCHEMAS["participants"])
    for sheet, place in sheets:
        rows = _rows_by_participant(sheet, place, reader, findings)
        _note_partners(sheet, rows, participants, findings)
        heads = [name for at, name in enumerate(sheet.columns) if at != place]
        places = [at for at in range(len(sheet.columns)) if at != place]
        for name, at in zip(_names(heads, table.column_names, measures), places, strict=True):
            cells = [sheet.rows[rows[one]][at] if one in rows else None for one in participants]
            table = table.append_column(name, _covariate(sheet, at, cells, findings))
    return table


def _names(heads: list[str], taken: list[str], measures: frozenset[str]) -> list[str]:
    plain = [snake_case(head) for head in heads]
    reserved = RESERVED | measures
    return unique_names((f"participant_{name}" if name in reserved else name for name in plain), taken)


def _rows_by_participant(sheet: Sheet, place: int, reader: IdReader, findings: Findings) -> dict[str, int]:
    rows: dict[str, int] = {}
    blank = []
    for at, row in enumerate(sheet.rows):
        if is_blank(row[place]):
            blank.append(sheet.numbers[at])
            continue
        found = reader.read_required(sheet, at, place, findings)
        if found is not None:
            rows.setdefault(found, at)
    if blank:
        findings.note(f"{sheet.name}: rows without {sheet.columns[place]} are no participants (row {listed(blank)}).")
    return rows


def _note_partners(sheet: Sheet, rows: dict[str, int], participants: list[str], findings: Findings) -> None:
    known = set(participants)
    strangers = [one for one in rows if one not in known]
    if strangers:
        findings.note(f"{sheet.name}: no conversation of {listed(strangers)}; not among the participants.")
    absent = [one for one in participants if one not in rows]
    if absent:
        findings.note(f"{sheet.name}: no row for {listed(absent)}; covariates missing.")


def _covariate(sheet: Sheet, place: int, cells: list[Cell], findings: Findings) -> pa.Array:
    """Return numbers where every filled cell is one, else texts without surrounding blanks."""
    broken = sum(isinstance(cell, Broken) for cell in cells)
    if broken:
        findings.note(f"{sheet.name}, {sheet.columns[place]}: {broken} cells without a value are missing.")
    filled = [None if is_blank(cell) or isinstance(cell, Broken) else cell for cell in cells]
    if any(cell is not None for cell in filled) and all(cell is None or _is_number(cell) for cell in filled):
        return number_array([as_number(cell) for cell in filled], pa.float64())
    return text_array([stripped(as_text(cell) or "") or None for cell in filled])


def _is_number(cell: Cell) -> bool:
    if isinstance(cell, (bool, Dated)):
        return False
    if isinstance(cell, str):
        text = stripped(cell)
        if len(text) > 1 and text[0] == "0" and text[1] not in ".,":
            return False  # a code such as 007
        if text.startswith("1900-"):
            return False
    try:
        as_number(cell)
    except ValueError:
        return False
    return True


def sheet_table(sheet: Sheet, findings: Findings) -> pa.Table:
    """Return a sheet as it came: text columns under their own names, and `source_row`."""
    names = unique_names(sheet.columns, ("source_row",))
    broken = [
        f"{sheet.columns[place]} in row {number}"
        for number, row in zip(sheet.numbers, sheet.rows, strict=True)
        for place, cell in enumerate(row)
        if isinstance(cell, Broken)
    ]
    if broken:
        findings.note(f"{sheet.name}: errors, or formulas without a stored value: {listed(broken)}.")
    columns = [text_array(_texts(sheet.column(place))) for place in range(len(names))]
    rows = number_array(sheet.numbers, pa.int32())
    return pa.Table.from_arrays([*columns, rows], names=[*names, "source_row"])


def _texts(cells: list[Cell]) -> list[str | None]:
    return [None if isinstance(cell, Broken) and cell.what == "formula" else as_text(cell) for cell in cells]
