"""Tables leave whole, safe and repeatable; files are opened again."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from dashboard.export import TABLE_FORMATS, records, table_bytes, table_text
from dashboard.files import write_whole
from dashboard.vocabulary import Refused

NASTY = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\tx", "$5-$6 & 50 % _a_ {b} ~ ^ \\", "<script>|:red[x]", "مرحبا 你好", None]


@pytest.fixture
def frame():
    n = len(NASTY)
    return pd.DataFrame(
        {
            "task": NASTY,
            "mean": np.linspace(1, 5, n),
            "share": [0.0, 0.001, 0.5, 0.999, 1.0, np.nan, 0.25, 0.125, 0.75],
            "n_turns": np.arange(n) * 1000,
        }
    )


def test_csv_keeps_numbers_unrounded_and_no_cell_runs(frame):
    back = pd.read_csv(io.StringIO(table_text(frame, "csv")), keep_default_na=False)
    assert back["mean"].tolist() == frame["mean"].tolist()
    assert not back["task"].str.startswith(("=", "+", "-", "@", "\t")).any()
    assert back["share"][5] == ""


def test_csv_leaves_negative_numbers_alone():
    assert table_text(pd.DataFrame({"gap": [-1.5]}), "csv") == "gap\n-1.5\n"


def test_json_is_an_array_of_objects_without_nan(frame):
    rows = json.loads(table_text(frame, "json"), parse_constant=lambda name: pytest.fail(name))
    assert rows[5]["share"] is None
    assert [row["task"] for row in rows] == NASTY
    assert rows == records(frame)


def test_parquet_comes_back_the_same(frame):
    back = pd.read_parquet(io.BytesIO(table_bytes(frame, "parquet")))
    assert back["mean"].tolist() == frame["mean"].tolist()
    assert back["n_turns"].tolist() == frame["n_turns"].tolist()


def test_markdown_prints_as_pages_do_and_shows_text_literally(frame):
    lines = table_text(frame, "md").splitlines()
    assert lines[0] == "| Task | Mean | Share | Turns |"
    assert "| 1.00 | 0 % | 0 |" in lines[2]
    assert "<1 %" in lines[3]
    assert ">99 %" in lines[5]
    assert "| – |" in lines[7]
    assert "| 8,000 |" in lines[-1]
    assert r"\<script\>\|\:red\[x\]" in lines[8]


def test_latex_escapes_every_special_character(frame):
    text = table_text(frame, "latex", caption="5 % of 3 & 4")
    assert r"\toprule" in text
    assert r"\$5-\$6 \& 50 \% \_a\_ \{b\} \textasciitilde{} \textasciicircum{} \textbackslash{}" in text
    assert r"\caption{5 \% of 3 \& 4}" in text
    assert text.count(r"\\") == 1 + len(frame)


def test_html_runs_nothing(frame):
    text = table_text(frame, "html")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_word_opens_again_with_rules_and_right_aligned_numbers(frame):
    from docx import Document

    document = Document(io.BytesIO(table_bytes(frame.assign(task=[str(t) for t in NASTY]), "docx", caption="A table")))
    table = document.tables[0]
    assert [cell.text for cell in table.rows[0].cells] == ["Task", "Mean", "Share", "Turns"]
    assert len(table.rows) == 1 + len(frame)
    assert table.rows[6].cells[2].text == "–"
    assert document.paragraphs[0].text == "A table"


@pytest.mark.parametrize("format", TABLE_FORMATS)
def test_the_same_table_gives_the_same_bytes(frame, format):
    assert table_bytes(frame, format) == table_bytes(frame.copy(), format)


def test_word_files_hold_no_clock(frame):
    with zipfile.ZipFile(io.BytesIO(table_bytes(frame, "docx"))) as document:
        assert {entry.date_time for entry in document.infolist()} == {(2000, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("format", TABLE_FORMATS)
def test_an_empty_table_is_a_table(format):
    assert table_bytes(pd.DataFrame({"task": [], "mean": []}), format)


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    write_whole(path, b"new")
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["a.csv"]
    with pytest.raises(Refused, match="must be writable"):
        write_whole(tmp_path / "absent" / "a.csv", b"x")
