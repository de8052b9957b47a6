"""Finds the header of a sheet, and the columns behind the names one looks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dashboard.intake.cells import as_text, is_blank, name_key, stripped
from dashboard.intake.findings import listed
from dashboard.intake.sheet import Cell, Grid, Sheet
from dashboard.vocabulary import Refused

_ROWS_SEARCHED = 100


def with_header(grid: Grid, names: Collection[str], *, spread: Collection[str] = (), only_table: bool = False) -> Sheet:
    """Return the grid as a sheet with columns.

    The header is the row, among the first hundred filled ones, that shows the most of `names`; without any
    it is the first filled row. Blank rows and columns are left out. Rows above the header are its title.

    Parameters
    ----------
    grid
        The raw cells.
    names
        Keys (`name_key`) of the names that are looked for.
    spread
        Keys of the columns in which a merged cell speaks for every row it covers.
    only_table
        Leave out rows that are filled only beside the table, in columns without a heading.

    Raises
    ------
    Refused
        If a row of a text file has more fields than the header: its cells have shifted.
    """
    if grid.header is not None:
        heads = dict(enumerate(grid.header))
        return _sheet(grid, heads, list(grid.rows))
    filled = [number for number, row in grid.rows.items() if not all(map(is_blank, row.values()))]
    if not filled:
        return Sheet(grid.name, [], [], [], notes=list(grid.notes))
    header = _header_row(grid, filled[:_ROWS_SEARCHED], names)
    heads = {place: stripped(as_text(cell) or "") for place, cell in grid.rows[header].items() if not is_blank(cell)}
    below = filled[filled.index(header) + 1 :]
    notes = _spread_merged(grid, heads, below, spread)
    notes += _check_widths(grid, header, below)
    if only_table:
        below, beside = _parted(grid, heads, below)
        if beside:
            notes.append(f"{grid.name}: filled only beside the table, and left out: row {listed(beside)}.")
    sheet = _sheet(grid, heads, below)
    sheet.notes += notes
    for number in filled[: filled.index(header)]:
        sheet.title += [as_text(cell) or "" for cell in grid.rows[number].values() if not is_blank(cell)]
    return sheet


def _parted(grid: Grid, heads: Mapping[int, str], rows: list[int]) -> tuple[list[int], list[int]]:
    """Return the rows that have a cell under a heading, and those that have none."""
    inside = {number for number in rows if any(not is_blank(grid.rows[number].get(place)) for place in heads)}
    return [number for number in rows if number in inside], [number for number in rows if number not in inside]


def _header_row(grid: Grid, rows: list[int], names: Collection[str]) -> int:
    def shown_names(number: int) -> int:
        texts = {name_key(cell) for cell in grid.rows[number].values() if isinstance(cell, str)}
        return len(texts & set(names))

    return max(rows, key=lambda number: (shown_names(number), -number))


def _sheet(grid: Grid, heads: Mapping[int, str], rows: list[int]) -> Sheet:
    used = set(heads)
    for number in rows:
        used.update(place for place, cell in grid.rows[number].items() if place not in used and not is_blank(cell))
    places = sorted(used)
    columns = [heads.get(place) or f"column_{column_letters(place)}" for place in places]
    cells: list[list[Cell]] = []
    for number in rows:
        row = grid.rows[number]
        cells.append([row.get(place) for place in places])
    return Sheet(grid.name, columns, list(rows), cells, notes=list(grid.notes))


def column_letters(place: int) -> str:
    """Return what a spreadsheet calls the column with this number from 0."""
    letters = ""
    number = place + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _spread_merged(grid: Grid, heads: Mapping[int, str], below: list[int], spread: Collection[str]) -> list[str]:
    wanted = {place for place, head in heads.items() if name_key(head) in spread}
    rows, told = set(below), []
    for top, bottom, left, right in grid.merged:
        if left != right or top == bottom or left not in wanted or top not in rows:
            continue
        cell = grid.rows[top].get(left)
        covered = [number for number in below if top < number <= bottom and is_blank(grid.rows[number].get(left))]
        if is_blank(cell) or not covered:
            continue
        for number in covered:
            grid.rows[number][left] = cell
        told.append(f"rows {top} to {bottom} of {heads[left]}")
    if not told:
        return []
    return [f"{grid.name}: merged cells speak for every row they cover ({listed(told)})."]


def _check_widths(grid: Grid, header: int, below: list[int]) -> list[str]:
    if not grid.widths:
        return []
    width = grid.widths[header]
    long = [number for number in below if grid.widths[number] > width]
    if long:
        fields = grid.widths[long[0]]
        raise Refused(
            f"{grid.name}: every row must have the header's {width} fields; row {long[0]} has {fields}, so its cells "
            f"have shifted (an unquoted delimiter?). Such rows: {listed(long)}."
        )
    short = [number for number in below if grid.widths[number] < width]
    if not short:
        return []
    return [f"{grid.name}: rows that end early are blank to their right (rows {listed(short)})."]


def find_columns(sheet: Sheet, wanted: Mapping[str, Collection[str]], *, by_beginning: bool = False) -> dict[str, int]:
    """Return which column answers to which name.

    Parameters
    ----------
    sheet
        The sheet.
    wanted
        Our name → keys (`name_key`) it may have in the sheet.
    by_beginning
        Whether a column also answers that merely begins with a key.

    Returns
    -------
    dict
        Our name → place in `sheet.columns`; names without a column are absent.

    Raises
    ------
    Refused
        If two columns answer to one name.
    """
    found: dict[str, int] = {}
    for place, column in enumerate(sheet.columns):
        key = name_key(column)
        for name, keys in wanted.items():
            if key not in keys and not (by_beginning and key.startswith(tuple(keys))):
                continue
            if name in found:
                raise Refused(
                    f"Sheet {sheet.name}: exactly one column may be {name}; {sheet.columns[found[name]]!r} and "
                    f"{column!r} both answer to it. Rename or remove one."
                )
            found[name] = place
    return found
