"""Workbooks are read as a spreadsheet shows them; what is none, damaged, locked or absurdly large is refused quickly."""

import io
import json
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from python_calamine import CalamineWorkbook

from dashboard.intake.sheet import Broken, Dated
from dashboard.intake.workbook import read_workbook
from dashboard.intake.workbook_parts import shows_date
from dashboard.vocabulary import Refused

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
OLE = bytes.fromhex("D0CF11E0A1B11AE1")


def cells_of(path):
    return {
        (grid.name, row, place): cell
        for grid in read_workbook(path)
        for row, cells in grid.rows.items()
        for place, cell in cells.items()
        if not (isinstance(cell, str) and not cell.strip())
    }


def calamine_cells(path):
    book = CalamineWorkbook.from_path(path)
    return {
        (name, row, place): cell
        for name in book.sheet_names
        for row, cells in enumerate(book.get_sheet_by_name(name).to_python(skip_empty_area=False), 1)
        for place, cell in enumerate(cells)
        if not (isinstance(cell, str) and not cell.strip())
    }


class TestAgainstCalamine:
    """Another reader sees the same cells (it does not see errors and formulas without a value)."""

    def test_what_openpyxl_writes(self, study, tmp_path):
        path = study.to_openpyxl(tmp_path / "a.xlsx")
        assert cells_of(path) == calamine_cells(path)

    @pytest.mark.parametrize("options", [{}, {"constant_memory": True}, {"strings_to_numbers": True}])
    def test_what_xlsxwriter_writes(self, study, tmp_path, options):
        study.set("Messages", 2, "Content", "a_x000D_b _x0041_ <&> \U0001f642\r\n end")
        path = study.to_xlsxwriter(tmp_path / "b.xlsx", **options)
        assert cells_of(path) == calamine_cells(path)

    @pytest.mark.skipif(not SHARED.is_dir(), reason="the shared workbooks are not here")
    @pytest.mark.parametrize("name", ["sense7_release_shaped.xlsx", "messy/plain.xlsx", "messy/numbers.xlsx"])
    def test_shared_workbooks(self, name):
        assert cells_of(SHARED / name) == calamine_cells(SHARED / name)


class TestXml:
    def read(self, kit, tmp_path, rows, **parts):
        path = tmp_path / "x.xlsx"
        path.write_bytes(kit.workbook_bytes({"S": rows}, **parts))
        return read_workbook(path)[0].rows

    def test_prefixed_namespaces_and_missing_references(self, kit, tmp_path):
        xml = (
            f'<x:worksheet xmlns:x="{kit.MAIN}"><x:sheetData><x:row><x:c><x:v>1</x:v></x:c><x:c t="inlineStr"><x:is>'
            "<x:t>two</x:t></x:is></x:c></x:row><x:row><x:c/><x:c><x:v>4</x:v></x:c></x:row></x:sheetData></x:worksheet>"
        )
        rows = self.read(kit, tmp_path, [], more=[("xl/worksheets/sheet1.xml", xml)])
        assert rows == {1: {0: 1.0, 1: "two"}, 2: {1: 4.0}}

    def test_rich_and_phonetic_text(self, kit, tmp_path):
        cell = '<is><r><t>Very </t></r><r><t>good</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is>'
        assert self.read(kit, tmp_path, [[kit.Xml(f't="inlineStr"|{cell}')]]) == {1: {0: "Very good"}}

    def test_kinds_of_cells(self, kit, tmp_path):
        row = [
            kit.Xml('t="b"|<v>1</v>'),
            kit.Xml('t="e"|<v>#N/A</v>'),
            kit.Xml("|<f>A1</f>"),
            kit.Xml('t="str"|<f>A1</f><v>x</v>'),
            kit.Xml('t="d"|<v>1900-01-04</v>'),
            kit.Xml('s="1"|<v>4</v>'),
            kit.Xml('s="2"|<v>4</v>'),
            kit.Xml('s="0"|<v>4</v>'),
            kit.Xml("|<v></v>"),
            kit.Xml("|<v>four</v>"),
        ]
        found = self.read(kit, tmp_path, [row], styles=kit.DATE_STYLES)[1]
        assert found[0] is True
        assert found[1] == Broken("error", "#N/A")
        assert found[2].what == "formula"
        assert found[3] == "x"
        assert [type(found[place]) for place in (4, 5, 6, 7)] == [Dated, Dated, Dated, float]
        assert [found[place] for place in (4, 5, 6, 7)] == [4, 4, 4, 4]
        assert 8 not in found
        assert found[9] == "four"

    @pytest.mark.parametrize(
        ("code", "date"),
        [
            ("General", False),
            ("0.00", False),
            ("yyyy-mm-dd", True),
            ("[h]:mm:ss", True),
            ('0 "days"', False),
            ("[Red]0", False),
            ("#,##0 \\d", False),
            ("[$-409]d mmm;@", True),
            ("0.0E+00", False),
            ("_-* #,##0_-", False),
            ("@", False),
            ("h:mm AM/PM", True),
        ],
    )
    def test_number_formats_that_show_dates(self, code, date):
        assert shows_date(code) is date

    @pytest.mark.parametrize(
        "row",
        [
            '<row r="99999999999"><c><v>1</v></c></row>',
            '<row r="0"><c><v>1</v></c></row>',
            '<row><c r="ABCDE1"><v>1</v></c></row>',
            '<row><c r="1"><v>1</v></c></row>',
            '<row><c t="s"><v>-1</v></c></row>',
            '<row><c t="s"><v>5</v></c></row>',
        ],
    )
    def test_cells_without_a_possible_place_or_text_are_damage(self, kit, tmp_path, row):
        xml = f'<worksheet xmlns="{kit.MAIN}"><sheetData>{row}</sheetData></worksheet>'
        with pytest.raises(Refused, match="damaged"):
            self.read(kit, tmp_path, [], more=[("xl/worksheets/sheet1.xml", xml)])

    def test_a_document_type_is_refused(self, kit, tmp_path):
        laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
        xml = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><worksheet xmlns="{kit.MAIN}">&a11;</worksheet>'
        with pytest.raises(Refused, match="document type"):
            self.read(kit, tmp_path, [], more=[("xl/worksheets/sheet1.xml", xml)])


class TestNoWorkbook:
    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("empty.xlsx", b"", "empty"),
            ("text.xlsx", b"TaskId,Role\n", "no workbook"),
            ("page.xlsx", b"<!DOCTYPE html><html>", "web page"),
            ("locked.xlsx", OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600), "password"),
            ("old.xls", OLE + bytes(2000), ".xls"),
            ("noise.xlsx", b"PK\x03\x04" + bytes(range(256)) * 20, "damaged"),
            ("zip.xlsx", b"PK\x05\x06" + bytes(18), "part of it is missing"),
            ("readme.pdf", b"%PDF-1.7", "must be a workbook"),
        ],
    )
    def test_is_refused_in_words(self, refuse, tmp_path, name, content, says):
        path = tmp_path / name
        path.write_bytes(content)
        said = refuse(path)
        assert says in said
        assert name in said

    def test_nothing_there(self, refuse, tmp_path):
        assert "nothing.xlsx" in refuse(tmp_path / "nothing.xlsx")

    def test_open_document_and_binary_workbooks(self, refuse, tmp_path):
        for name, member, says in [("a.ods", "content.xml", ".ods"), ("a.xlsb", "xl/workbook.bin", ".xlsb")]:
            with zipfile.ZipFile(tmp_path / name, "w") as archive:
                archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
                archive.writestr(member, "x")
            assert says in refuse(tmp_path / name)

    def test_an_encrypted_zip(self, study, refuse, tmp_path):
        data = bytearray(study.to_xlsx(tmp_path / "a.xlsx").read_bytes())
        for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
            at = data.find(signature)
            while at >= 0:
                data[at + offset] |= 1
                at = data.find(signature, at + 4)
        (tmp_path / "b.xlsx").write_bytes(data)
        assert "password" in refuse(tmp_path / "b.xlsx")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_a_workbook_cut_short(self, study, refuse, tmp_path, share):
        data = study.to_xlsx(tmp_path / "a.xlsx").read_bytes()
        (tmp_path / "b.xlsx").write_bytes(data[: int(len(data) * share)])
        assert "damaged" in refuse(tmp_path / "b.xlsx")

    @pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet2.xml", "xl/_rels/workbook.xml.rels"])
    def test_a_workbook_without_one_of_its_parts(self, study, refuse, tmp_path, part):
        with (
            zipfile.ZipFile(study.to_xlsx(tmp_path / "a.xlsx")) as old,
            zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new,
        ):
            for member in old.infolist():
                if member.filename != part:
                    new.writestr(member, old.read(member))
        assert "missing" in refuse(tmp_path / "b.xlsx")

    def test_damage_anywhere_is_refused_or_harmless(self, study, tmp_path):
        data = study.to_xlsx(tmp_path / "a.xlsx").read_bytes()
        chance = random.Random(7)
        outcomes = set()
        for _ in range(300):
            damaged = bytearray(data)
            for _ in range(chance.choice([1, 1, 3, 20])):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            (tmp_path / "b.xlsx").write_bytes(damaged)
            try:
                read_workbook(tmp_path / "b.xlsx")
                outcomes.add("read")
            except Refused as error:
                assert "b.xlsx" in str(error)
                outcomes.add("refused")
        assert outcomes == {"read", "refused"}


PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from dashboard.intake import import_source
from dashboard.vocabulary import Refused
start = time.perf_counter()
try:
    import_source(Path(sys.argv[1]), Path(sys.argv[2]))
    said = "taken"
except Refused as error:
    said = str(error)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"said": said, "seconds": time.perf_counter() - start, "peak_mb": peak}))
"""


def measured(source, tmp_path):
    """Import in a process of its own, and return what it said, its seconds and its greatest memory."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(source), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def stuffed(study, path, name, pieces):
    """Write the study's workbook with one more member, given piece by piece."""
    study.to_xlsx(path)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        for piece in pieces:
            member.write(piece)
    return path


class TestAbsurdlyLarge:
    """Refused within 1 GB and seconds; the bound on time is generous, since other work shares the processor."""

    def check(self, source, tmp_path, says):
        found = measured(source, tmp_path)
        assert says in found["said"]
        assert found["peak_mb"] < 1000
        assert found["seconds"] < 40

    def test_a_bomb_that_says_so(self, study, tmp_path):
        path = stuffed(study, tmp_path / "bomb.xlsx", "xl/media/image1.xml", [bytes(10_000_000)] * 31)
        self.check(path, tmp_path, "300 MB")

    def test_a_bomb_that_lies(self, study, tmp_path):
        path = stuffed(study, tmp_path / "liar.xlsx", "xl/media/image1.xml", [bytes(10_000_000)] * 31)
        data = bytearray(path.read_bytes())
        size = (310_000_000).to_bytes(4, "little")
        assert data.count(size) >= 1
        while (at := data.find(size)) >= 0:
            data[at : at + 4] = (1000).to_bytes(4, "little")
        path.write_bytes(data)
        self.check(path, tmp_path, "300 MB")

    def test_too_many_cells(self, study, kit, tmp_path):
        cells = b"".join(b"<c><v>1</v></c>" for _ in range(16_000))
        row = b"<row>" + cells + b"</row>"
        start = f'<worksheet xmlns="{kit.MAIN}"><sheetData>'.encode()
        path = tmp_path / "cells.xlsx"
        out = io.BytesIO(kit.workbook_bytes({"Tasks": [], "Messages": []}))
        path.write_bytes(out.getvalue())
        rebuilt = tmp_path / "cells2.xlsx"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(rebuilt, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
            for member in old.infolist():
                if member.filename != "xl/worksheets/sheet1.xml":
                    new.writestr(member, old.read(member))
            with new.open("xl/worksheets/sheet1.xml", "w") as sheet:
                sheet.write(start)
                for _ in range(1000):
                    sheet.write(row)
                sheet.write(b"</sheetData></worksheet>")
        self.check(rebuilt, tmp_path, "filled cells")

    def test_one_long_text_a_hundred_thousand_times(self, study, kit, tmp_path):
        long = "x" * 32_000
        rows = study.sheets["Messages"]
        shared = f'<sst xmlns="{kit.MAIN}"><si><t>{long}</t></si></sst>'
        for number in range(100_000):
            rows.append(["T1", 10 + number, 1.0, "user", kit.Xml('t="s"|<v>0</v>'), *[None] * 10])
        data = io.BytesIO(kit.workbook_bytes(study.sheets, more=[("xl/sharedStrings.xml", shared)]))
        path = tmp_path / "repeated.xlsx"
        with zipfile.ZipFile(data) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for member in old.infolist():
                content = old.read(member)
                if member.filename == "xl/_rels/workbook.xml.rels":
                    link = (
                        b'<Relationship Id="rIdT" Type="x/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
                    )
                    content = content.replace(b"</Relationships>", link)
                new.writestr(member, content)
        self.check(path, tmp_path, "texts")


def test_hidden_sheets_are_read(study, tmp_path, take):
    path = study.to_xlsx(tmp_path / "a.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for member in old.infolist():
            new.writestr(member, old.read(member).replace(b'sheetId="2"', b'sheetId="2" state="veryHidden"'))
    assert take(tmp_path / "b.xlsx").report.messages == 16


def test_a_workbook_under_another_ending_is_told_by_its_first_bytes(study, tmp_path, take):
    start = time.perf_counter()
    path = study.to_xlsx(tmp_path / "a.xlsx").rename(tmp_path / "data.csv")
    assert take(path).report.origin == "workbook"
    assert time.perf_counter() - start < 30
