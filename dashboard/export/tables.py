"""Tables leave the dashboard: csv, json and parquet with unrounded numbers; Markdown, LaTeX, HTML and Word as printed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from dashboard.export.archive import zip_bytes
from dashboard.export.latex import latex_text
from dashboard.vocabulary import column, column_formats, format_number, unknown_name

if TYPE_CHECKING:
    import pandas as pd

TEXT_FORMATS = ("csv", "json", "md", "latex", "html")
BINARY_FORMATS = ("docx", "parquet")
TABLE_FORMATS = TEXT_FORMATS + BINARY_FORMATS
_RUNS_IN_A_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")


def table_text(frame: pd.DataFrame, format: str, *, caption: str = "") -> str:
    """Return a table as text in one of the text formats.

    Parameters
    ----------
    frame
        A tidy table.
    format
        ``csv`` and ``json`` hold unrounded numbers, NaN as an empty cell and as null; ``md``, ``latex`` (booktabs) and
        ``html`` print numbers as the pages do.
    caption
        Caption for LaTeX and HTML.
    """
    if format == "csv":
        return spreadsheet_safe(frame).to_csv(index=False, lineterminator="\n")
    if format == "json":
        return json.dumps(records(frame), ensure_ascii=False, allow_nan=False) + "\n"
    printed = printed_table(frame)
    if format == "md":
        return _markdown(printed)
    if format == "latex":
        return _latex(printed, frame, caption)
    if format == "html":
        return _html(printed, caption)
    raise unknown_name("text format", format, TEXT_FORMATS)


def table_bytes(frame: pd.DataFrame, format: str, *, caption: str = "") -> bytes:
    """Return a table as the bytes of a file in any of the formats."""
    if format == "docx":
        return _docx(printed_table(frame), frame, caption)
    if format == "parquet":
        return _parquet(frame)
    return table_text(frame, format, caption=caption).encode("utf-8")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one dict per row with plain Python values; NaN and infinities become None."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict(orient="records")]


def spreadsheet_safe(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with an apostrophe before text that a spreadsheet would run as a formula."""
    safe = frame.copy()
    for name in safe.columns:
        if safe[name].dtype.kind not in "ifub":
            safe[name] = [_neutral(value) for value in safe[name]]
    return safe.rename(columns={name: _neutral(name) for name in safe.columns})


def printed_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as people read it: headings from the vocabulary, numbers rounded, unknown as an en dash."""
    import pandas as pd

    printed = {}
    formats = column_formats([str(name) for name in frame.columns])
    for name in frame.columns:
        kind = formats[str(name)] if frame[name].dtype.kind in "ifub" else "text"
        printed[str(name)] = [format_number(_plain(value), kind) for value in frame[name]]
    result = pd.DataFrame(printed, index=range(len(frame)))
    result.columns = _unique([column(str(name)).label for name in frame.columns])
    return result


def _unique(labels: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    for place, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[place] = f"{label} ({seen[label]})"
    return labels


def _neutral(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_RUNS_IN_A_SPREADSHEET):
        return "'" + value
    return value


def _plain(value: Any) -> Any:
    """Return a numpy or pandas scalar as a Python value, and None for the unknown."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, str | int | float | bool):
        return value
    return None if str(value) in {"<NA>", "NaT"} else str(value)


def _markdown(printed: pd.DataFrame) -> str:
    escaped = [[_markdown_cell(cell) for cell in row] for row in [list(printed.columns), *printed.to_numpy().tolist()]]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    lines.insert(1, "|" + "---|" * len(printed.columns))
    return "\n".join(lines) + "\n"


def _markdown_cell(cell: str) -> str:
    for character in "\\`*_{}[]<>#|$:!~":
        cell = cell.replace(character, "\\" + character)
    return " ".join(cell.split())


def _latex(printed: pd.DataFrame, frame: pd.DataFrame, caption: str) -> str:
    alignment = "".join("r" if frame.iloc[:, place].dtype.kind in "ifub" else "l" for place in range(frame.shape[1]))
    rows = [" & ".join(latex_text(cell) for cell in row) + r" \\" for row in printed.to_numpy().tolist()]
    head = " & ".join(latex_text(str(name)) for name in printed.columns) + r" \\"
    body = [
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption:
        body = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(caption)}}}", *body, r"\end{table}"]
    return "\n".join(body) + "\n"


def _html(printed: pd.DataFrame, caption: str) -> str:
    import html

    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "\n".join(row(cells, "td") for cells in printed.to_numpy().tolist())
    return f"<table>{head}\n<thead>{row(list(printed.columns), 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def _parquet(frame: pd.DataFrame) -> bytes:
    import io

    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _docx(printed: pd.DataFrame, frame: pd.DataFrame, caption: str) -> bytes:
    """Return a Word document with the table in APA's manner: rules above, below the head and at the foot only."""
    import datetime
    import io

    from docx import Document
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    document = Document()
    # A date of its own would make two exports of the same table differ.
    document.core_properties.created = document.core_properties.modified = datetime.datetime(2000, 1, 1)
    document.core_properties.author = "sense7-dashboard"
    if caption:
        document.add_paragraph().add_run(_xml_text(caption)).italic = True
    table = document.add_table(rows=1 + len(printed), cols=len(printed.columns))
    numeric = [frame.iloc[:, place].dtype.kind in "ifub" for place in range(frame.shape[1])]
    for place, name in enumerate(printed.columns):
        table.rows[0].cells[place].paragraphs[0].add_run(_xml_text(str(name))).bold = True
    for line, cells in zip(list(table.rows)[1:], printed.to_numpy().tolist(), strict=True):
        for place, (cell, text) in enumerate(zip(line.cells, cells, strict=True)):
            cell.paragraphs[0].add_run(_xml_text(text))
            if numeric[place]:
                cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
    _rule(table.rows[0], "top", "bottom")
    _rule(table.rows[-1], "bottom")
    buffer = io.BytesIO()
    document.save(buffer)
    return _fixed_zip(buffer.getvalue())


def _xml_text(text: str) -> str:
    """Drop the control characters that XML cannot hold."""
    return "".join(character for character in text if character >= " " or character in "\t\n")


def _rule(row: Any, *edges: str) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for cell in row.cells:
        borders = OxmlElement("w:tcBorders")
        for edge in edges:
            line = OxmlElement(f"w:{edge}")
            for key, value in (("val", "single"), ("sz", "8"), ("space", "0"), ("color", "000000")):
                line.set(qn(f"w:{key}"), value)
            borders.append(line)
        cell._tc.get_or_add_tcPr().append(borders)


def _fixed_zip(content: bytes) -> bytes:
    """Write a zip again with constant dates, so that the same table gives the same bytes."""
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as old:
        names = sorted(old.namelist(), key=lambda one: (one != "[Content_Types].xml", one))
        return zip_bytes((name, old.read(name)) for name in names)
