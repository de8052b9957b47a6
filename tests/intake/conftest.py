"""A small study in the released shape, and ways to write it as files, damaged in one place or not at all."""

import copy
import csv
import io
import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboard.intake import import_source
from dashboard.vocabulary import Refused

DIMENSIONS = ("Affective", "Cognitive", "Response", "Prosocial", "Interest", "Contextual", "Relational")
TASKS_HEADER = [
    *("PID", "Model", "TaskId", "PreTaskChoice", "PreTaskImportance", "PreTaskDesiredEmpathy"),
    *(f"PostTaskExperience_{name}" for name in ("Successful", "Engaged", "PositiveInteraction", "UseAgain")),
    *(f"PostTaskEmpathy_{name}" for name in DIMENSIONS),
]
MESSAGES_HEADER = [
    *("TaskId", "MessageId", "TimeOffsetSeconds", "Role", "Content", "Retry", "EmpathyOverall"),
    *DIMENSIONS,
    "Comment",
]
LABELS = {1: "Very poor", 2: "Poor", 3: "Neutral", 4: "Good", 5: "Very good"}
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


class Xml(str):
    """A cell given as the XML that stands inside ``<c …>``; its attributes come before a bar: ``t="e"|<v>#N/A</v>``."""


def column_letters(place):
    return chr(65 + place) if place < 26 else chr(64 + place // 26) + chr(65 + place % 26)


class Study:
    """The sheets of a study: name → rows of cells, the header first. Rows count as a spreadsheet counts, from 1."""

    def __init__(self):
        self.sheets = {"Tasks": [list(TASKS_HEADER)], "Messages": [list(MESSAGES_HEADER)]}
        self.extra_xml = {}
        for number in range(1, 5):
            person = f"P{(number + 1) // 2}"
            task = ["Planning", "Venting"][number % 2]
            post = [1 + (number + place) % 5 for place in range(11)]
            self.sheets["Tasks"].append(
                [person, "GPT-4" if number < 3 else "GPT-3.5", f"T{number}", task, number, 1 + number % 3, *post]
            )
            for turn in range(2):
                overall = 1 + (number * 2 + turn) % 5
                ratings = [1 + (overall + place) % 5 for place in range(7)]
                self.sheets["Messages"] += [
                    [f"T{number}", 2 * turn + 1, 30.0 * turn, "user", f"question {number}{turn}", 0],
                    [
                        *(f"T{number}", 2 * turn + 2, 30.0 * turn + 5, "assistant", f"answer {number}{turn}", 0),
                        *(LABELS[rating] for rating in (overall, *ratings)),
                    ],
                ]
        for rows in self.sheets.values():
            for row in rows[1:]:
                row += [None] * (len(rows[0]) - len(row))

    def copy(self):
        return copy.deepcopy(self)

    def place(self, sheet, column):
        return self.sheets[sheet][0].index(column)

    def set(self, sheet, row, column, cell):
        """Change the cell of a row, counted as a spreadsheet counts."""
        self.sheets[sheet][row - 1][self.place(sheet, column)] = cell
        return self

    def get(self, sheet, row, column):
        return self.sheets[sheet][row - 1][self.place(sheet, column)]

    def map_column(self, sheet, column, change):
        place = self.place(sheet, column)
        for row in self.sheets[sheet][1:]:
            row[place] = change(row[place])
        return self

    def drop_column(self, sheet, column):
        place = self.place(sheet, column)
        for row in self.sheets[sheet]:
            del row[place]
        return self

    def rename(self, sheet, column, name):
        self.sheets[sheet][0][self.place(sheet, column)] = name
        return self

    def to_xlsx(self, path, **parts):
        """Write a workbook by hand: texts inline, numbers as numbers, `Xml` cells as they are."""
        path = Path(path)
        path.write_bytes(workbook_bytes(self.sheets, self.extra_xml, **parts))
        return path

    def to_openpyxl(self, path, *, formulas=False):
        """Write with openpyxl, which takes a text that begins with = or # for a formula or an error unless told not to."""
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in self.sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
            texts = (cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str) and not formulas)
            for cell in texts:
                cell.data_type = "s"
        book.save(path)
        return Path(path)

    def to_xlsxwriter(self, path, **options):
        import xlsxwriter

        with xlsxwriter.Workbook(path, options) as book:
            for name, rows in self.sheets.items():
                sheet = book.add_worksheet(name)
                for number, row in enumerate(rows):
                    for place, cell in enumerate(row):
                        if cell is not None:
                            (sheet.write_string if isinstance(cell, str) else sheet.write)(number, place, cell)
        return Path(path)

    def to_folder(self, folder, ending="csv", encoding="utf-8", delimiter=","):
        folder = Path(folder)
        folder.mkdir()
        for name, rows in self.sheets.items():
            write_table(folder / f"{name}.{ending}", rows, encoding=encoding, delimiter=delimiter)
        return folder

    def joined(self):
        """Return the messages with the columns of Tasks repeated on each."""
        tasks = {row[2]: row for row in self.sheets["Tasks"][1:]}
        header = self.sheets["Messages"][0] + [name for name in TASKS_HEADER if name != "TaskId"]
        rows = [row + [cell for at, cell in enumerate(tasks[row[0]]) if at != 2] for row in self.sheets["Messages"][1:]]
        return [header, *rows]


def write_table(path, rows, *, encoding="utf-8", delimiter=","):
    """Write rows, the header first, as csv, jsonl or parquet."""
    if path.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter).writerows(rows)
        path.write_bytes(text.getvalue().encode(encoding))
    elif path.suffix == ".jsonl":
        records = (dict(zip(rows[0], row, strict=True)) for row in rows[1:])
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    else:
        columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
        plain = {name: mixed_as_text(cells) for name, cells in columns.items()}
        pq.write_table(pa.table(plain), path)
    return path


def mixed_as_text(cells):
    if len({type(cell) for cell in cells if cell is not None} & {str, int, float}) > 1 and any(
        isinstance(cell, str) for cell in cells
    ):
        return [None if cell is None else str(cell) for cell in cells]
    return cells


def cell_xml(reference, cell):
    if isinstance(cell, Xml):
        attributes, _, inside = cell.partition("|")
        return f'<c r="{reference}" {attributes}>{inside}</c>'
    if isinstance(cell, bool):
        return f'<c r="{reference}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, int | float):
        return f'<c r="{reference}"><v>{cell!r}</v></c>'
    return f'<c r="{reference}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'


def sheet_xml(rows, after=""):
    lines = []
    for number, row in enumerate(rows, 1):
        cells = [
            cell_xml(f"{column_letters(place)}{number}", cell) for place, cell in enumerate(row) if cell is not None
        ]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData>{after}</worksheet>'


def workbook_bytes(sheets, extra_xml=None, *, styles=None, book_properties="", more=(), sheet_kinds=None):
    """Return an .xlsx file. `more` are further parts: (name, content)."""
    extra_xml, sheet_kinds = extra_xml or {}, sheet_kinds or {}
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>' for number, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{RELATIONS}/{sheet_kinds.get(name, "worksheet")}" '
        f'Target="worksheets/sheet{number}.xml"/>'
        for number, name in enumerate(sheets, 1)
    )
    if styles:
        links += f'<Relationship Id="rIdS" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{book_properties}'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
    }
    if styles:
        parts["xl/styles.xml"] = styles
    for number, (name, rows) in enumerate(sheets.items(), 1):
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet_xml(rows, extra_xml.get(name, ""))
    parts.update(more)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


DATE_STYLES = (
    f'<styleSheet xmlns="{MAIN}"><numFmts count="1"><numFmt numFmtId="170" formatCode="[$-409]d\\ mmm;@"/></numFmts>'
    '<cellStyleXfs count="1"><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="46"/></cellXfs>'
    "</styleSheet>"
)


class Imported:
    """The report of an import and the rows it wrote."""

    def __init__(self, report, folder):
        self.report, self.folder = report, folder
        self.manifest = json.loads((folder / "manifest.json").read_text())

    def rows(self, table):
        return pq.read_table(self.folder / f"{table}.parquet").to_pylist()

    def table(self, table):
        return pq.read_table(self.folder / f"{table}.parquet")

    def ratings(self, outcome):
        """Return (conversation, turn) → value, or the answer where there is none."""
        return {
            (row["conversation"], row["turn"]): row["answer"] if row["value"] is None else row["value"]
            for row in self.rows("ratings")
            if row["outcome"] == outcome
        }

    def survey(self, item):
        return {
            row["conversation"]: row["answer"] if row["value"] is None else row["value"]
            for row in self.rows("survey")
            if row["item"] == item
        }

    def noted(self, *words):
        """Return the notes that say all the words."""
        return [note for note in self.report.notes if all(word in note for word in words)]


@pytest.fixture
def study():
    return Study()


@pytest.fixture
def take(tmp_path):
    """Import a study or a path, and return what came of it."""
    made = []

    def run(source, **options):
        made.append(source)
        if isinstance(source, Study):
            source = source.to_xlsx(tmp_path / f"study{len(made)}.xlsx")
        out = tmp_path / f"imported{len(made)}"
        return Imported(import_source(source, out, **options), out)

    return run


@pytest.fixture
def refuse(tmp_path):
    """Import a study or a path that must be refused, see that nothing was written, and return what was said."""

    def run(source, **options):
        if isinstance(source, Study):
            source = source.to_xlsx(tmp_path / "refused.xlsx")
        with pytest.raises(Refused) as caught:
            import_source(source, tmp_path / "never", **options)
        assert not (tmp_path / "never").exists()
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".never")]
        return str(caught.value)

    return run


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """What the undamaged study gives."""
    folder = tmp_path_factory.mktemp("plain")
    source = Study().to_xlsx(folder / "plain.xlsx")
    return Imported(import_source(source, folder / "out"), folder / "out")


@pytest.fixture(scope="session")
def kit():
    """What tests use beside the fixtures."""
    return Kit


class Kit:
    Study = Study
    Xml = Xml
    LABELS = LABELS
    DIMENSIONS = DIMENSIONS
    DATE_STYLES = DATE_STYLES
    TASKS_HEADER = TASKS_HEADER
    MAIN = MAIN
    write_table = staticmethod(write_table)
    workbook_bytes = staticmethod(workbook_bytes)
    sheet_xml = staticmethod(sheet_xml)
