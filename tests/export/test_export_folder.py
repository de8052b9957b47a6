"""``sense7 figure`` and ``sense7 export``: whole folders, the same twice, refusals in words, and nothing half-written."""

import csv
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import docx
import duckdb
import pytest

from dashboard.database import connect
from dashboard.export.figures import Print
from dashboard.export.folder import Order, export_folder, read_formats
from dashboard.paths import SAMPLE
from dashboard.vocabulary import Refused

ONLY = ("variance_components", "ground_truth.distribution", "applicability")


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class TestExport:
    def test_a_folder_holds_what_its_manifest_says_and_is_the_same_twice(self, sample, tmp_path, chromium):
        order = Order(only=ONLY, formats=("pdf", "svg", "csv", "latex", "docx"), how=Print(width="double"))
        manifest = export_folder(sample, tmp_path / "a", order)
        export_folder(sample, tmp_path / "b", order)
        found = contents(tmp_path / "a")
        assert found == contents(tmp_path / "b")
        named = {name: digest for one in manifest["items"] for name, digest in one["files"].items()}
        assert named.items() <= found.items()
        others = {name for name in found if name not in named and not name.endswith(".caption.txt")}
        assert others == {"manifest.json", "captions.md", "methods.md"}
        assert "figures/variance_components.pdf" in named and "tables/applicability.tex" in named
        assert "tables/ground_truth.csv" not in named
        # What bears no mark inside bears it in its name.
        assert "tables/applicability_SYNTHETIC.csv" in named and "figures/variance_components_SYNTHETIC.csv" in named
        assert json.loads((tmp_path / "a" / "manifest.json").read_text()) == json.loads(json.dumps(manifest))

    def test_everything_has_a_caption_and_the_command_that_makes_it_again(self, sample, sense7, tmp_path):
        order = Order(
            only=("applicability",), formats=("csv", "docx"), given=(("task", "Ode to a potato"), ("by", "model"))
        )
        manifest = export_folder(sample, tmp_path / "a", order)
        assert manifest["data_sha256"] == sample.manifest["data_sha256"]
        assert manifest["synthetic"] is True
        for one in manifest["items"]:
            assert "SYNTHETIC" in one["caption"] and one["caption"] in (tmp_path / "a" / "captions.md").read_text()
            assert one["selection"]["task"] == ["Ode to a potato"]
        main = next(one for one in manifest["items"] if (one["kind"], one["name"]) == ("table", "applicability"))
        assert main["parameters"]["by"] == "model"
        status, out, _ = sense7(*shlex.split(main["command"])[1:])
        assert status == 0
        assert out.encode() == (tmp_path / "a" / "tables" / "applicability_SYNTHETIC.csv").read_bytes()
        docx.Document(tmp_path / "a" / "tables" / "applicability.docx")

    def test_what_the_data_lacks_is_skipped_and_listed(self, mapped_folder, tmp_path):
        data = connect(mapped_folder, public=False)
        manifest = export_folder(data, tmp_path / "a", Order(only=("codebook", "expectation_gap"), formats=("csv",)))
        assert [one["name"] for one in manifest["skipped"]] == ["expectation_gap"]
        assert "Not in this data" in manifest["skipped"][0]["reason"]
        with pytest.raises(Refused, match=r"nothing to export.*Not in this data"):
            export_folder(data, tmp_path / "b", Order(only=("expectation_gap",), formats=("csv",)))
        assert not (tmp_path / "b").exists()

    def test_an_earlier_export_is_replaced_and_nothing_else(self, sample, tmp_path):
        order = Order(only=("applicability",), formats=("csv",))
        out = tmp_path / "a"
        export_folder(sample, out, order)
        (out / "mine.txt").write_text("gone with the next export, as it says")
        export_folder(sample, out, order)
        assert not (out / "mine.txt").exists()
        other = tmp_path / "other"
        other.mkdir()
        (other / "thesis.tex").write_text("years of work")
        with pytest.raises(Refused, match="left alone"):
            export_folder(sample, other, order)
        data = tmp_path / "data"
        shutil.copytree(SAMPLE, data)
        before = contents(data)
        with pytest.raises(Refused, match="holds data"):
            export_folder(connect(data, public=False), data, order)
        assert contents(data) == before

    def test_what_stops_it_leaves_everything_as_it_was(self, sample, tmp_path):
        out = tmp_path / "a"
        export_folder(sample, out, Order(only=("applicability",), formats=("csv",)))
        before = contents(tmp_path)

        def stop(done, total, what):
            if done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            export_folder(sample, out, Order(only=("ground_truth", "applicability"), formats=("csv",)), progress=stop)
        assert contents(tmp_path) == before
        assert [one.name for one in tmp_path.iterdir()] == ["a"]

    def test_progress_names_what_comes_and_ends_at_its_total(self, sample, tmp_path):
        told = []
        order = Order(only=("ground_truth",), formats=("csv",))
        export_folder(sample, tmp_path / "a", order, progress=lambda *step: told.append(step))
        assert [step[0] for step in told] == sorted(step[0] for step in told)
        assert told[-1][0] == told[-1][1] == told[0][1]
        assert {"ground_truth", "ground_truth.distribution"} <= {step[2] for step in told}

    def test_cells_that_begin_like_formulas_do_not_run(self, nasty_folder, tmp_path):
        data = connect(nasty_folder, public=False)
        export_folder(data, tmp_path / "a", Order(only=("ground_truth", "codebook"), formats=("csv", "latex")))
        for path in (tmp_path / "a" / "tables").glob("*.csv"):
            with path.open(newline="") as file:
                for row in csv.reader(file):
                    assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in row), path.name

    def test_public_data_leaks_no_text(self, tmp_path):
        """Every table of a folder whose messages hold a mark of their own."""
        manifest = export_folder(
            connect(SAMPLE, public=True), tmp_path / "a", Order(only=("transcript", "conversations"), formats=("csv",))
        )
        texts = duckdb.sql(f"select text from '{SAMPLE}/messages.parquet' where length(text) > 60 limit 400").fetchall()
        written = "".join(path.read_text() for path in (tmp_path / "a").rglob("*") if path.is_file())
        assert manifest["items"] and texts
        assert not [text for (text,) in texts if text in written or text[:60] in written]


class TestCommands:
    def test_a_figure_goes_to_a_named_file_and_its_caption_is_told(self, sense7, tmp_path, chromium):
        status, out, err = sense7("figure", "variance_components")
        assert (status, out) == (0, "")
        assert (tmp_path / "variance_components.pdf").read_bytes().startswith(b"%PDF")
        assert "variance" in err and "SYNTHETIC" in err

    def test_json_goes_to_standard_output_and_needs_no_browser(self, sense7, monkeypatch, tmp_path):
        monkeypatch.setenv("BROWSER_PATH", "/nowhere")
        status, out, _ = sense7("figure", "ground_truth", "-p", "task=Ode to a potato", "--format", "json")
        assert status == 0
        told = json.loads(out)["layout"]["meta"]["provenance"]
        assert told["command"] == (
            "sense7 figure ground_truth -p 'task=Ode to a potato' --format json --width single --style ieee"
        )
        status, out, err = sense7("figure", "ground_truth")
        assert (status, out) == (2, "") and "apt-get install chromium" in err
        status, out, err = sense7("export", "out", "--only", "ground_truth")
        assert (status, out) == (2, "") and "apt-get install chromium" in err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("figure", "codebook"), ("has no figure", "sense7 table codebook")),
            (("figure", "ground_truth.x"), ("ground_truth.x", "'ground_truth'")),
            (("figure", "ground_truth", "--style", "lancet"), ("lancet", "ieee")),
            (("figure", "ground_truth", "--width", "3"), ("60 to 400 mm", "'3'")),
            (("figure", "ground_truth", "--format", "gif"), ("gif", "pdf")),
            (("figure", "ground_truth", "-p", "task=None"), ("None", "Ode to a potato")),
            (("export", "out", "--only", "grund_truth"), ("grund_truth", "ground_truth")),
            (("export", "out", "--formats", "pdf,xls"), ("xls", "docx")),
            (("export", "out", "--formats", ","), ("format", "pdf")),
            (("export", "out", "--formats", "csv", "-p", "colour=red"), ("colour", "outcome")),
            (("export", "out", "--formats", "csv", "-p", "task=None"), ("None", "Ode to a potato")),
        ],
        ids=" ".join,
    )
    def test_refusals_leave_nothing(self, sense7, tmp_path, arguments, words):
        status, out, err = sense7(*arguments)
        assert (status, out) == (2, "") and "Traceback" not in err
        assert all(word in err for word in words), err
        assert list(tmp_path.iterdir()) == []

    def test_export_prints_what_it_wrote(self, sense7, tmp_path):
        status, out, err = sense7("export", "out", "--only", "applicability", "--formats", "csv", "--json")
        assert status == 0
        assert json.loads(out)["items"][0]["name"] == "applicability"
        assert "applicability" in err
        assert (tmp_path / "out" / "tables" / "applicability_SYNTHETIC.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_is_one_sentence_and_leaves_an_earlier_export_as_it_was(tmp_path):
    """In a process of its own, stopped while it works on the second analysis."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "dashboard.cli", "export", str(out), "--data", str(SAMPLE), "--formats", "csv"]
    subprocess.run([*command, "--only", "applicability"], check=True, capture_output=True, timeout=120)
    before = contents(tmp_path)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = [process.stderr.readline()]
    while not told[-1].startswith("[2/"):
        told.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    printed, rest = process.communicate(timeout=60)
    last = [line for line in rest.splitlines() if not line.startswith("[")]
    assert (process.returncode, printed, last) == (130, "", ["sense7: stopped; nothing was half-written."])
    assert contents(tmp_path) == before
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("ask", ["execute({0!r}).df()", "sql({0!r}).to_arrow_table()"])
def test_ctrl_c_while_a_query_runs_is_the_same_sentence(ask):
    """Whichever of DuckDB's threads has the work: there is some for each."""
    half = "select sum(sqrt(range)) from range(100000000000)"
    long = ask.format(f"{half} union all {half} union all {half} union all {half}")
    code = (
        "import sys; from pathlib import Path; from dashboard import cli\n"
        "from dashboard.database import connect\n"
        "database = connect(Path(sys.argv[1]), public=False)\n"
        "def work(**_):\n"
        "    print('working', flush=True)\n"
        f"    cursor = database.cursor(); cursor.{long}\n"
        "cli.app = work\n"
        "cli.main()"
    )
    command = [sys.executable, "-c", code, str(SAMPLE)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "working\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.splitlines()) == (130, ["sense7: stopped; nothing was half-written."])


def test_formats_are_read_once_each_and_in_order():
    assert read_formats(" pdf,CSV, pdf") == ("pdf", "csv")
