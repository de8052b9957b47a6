"""The output folder changes as a whole or not at all, and only if it is ours."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dashboard.intake import folders as folders_module
from dashboard.intake import import_source
from dashboard.intake.folders import guard_output_folder, replacing_folder
from dashboard.vocabulary import Refused

# Imports, and is stopped inside at a chosen step: `write` before a table is written, `swap` before the folders swap.
PROGRAM = """
import sys, time
from pathlib import Path
from dashboard.intake import dataset, folders, import_source
def wait(*arguments, **options):
    print("here", flush=True)
    time.sleep(60)
where = sys.argv[3]
if where == "write":
    dataset.write_manifest = wait
elif where == "swap":
    folders._swap = wait
else:
    folders._exchange = lambda one, other: False
    Path.rename_for_real = Path.rename
    def rename(self, target):
        if ".part-" in self.name:
            wait()
        return self.rename_for_real(target)
    Path.rename = rename
import_source(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def source(study, tmp_path):
    return study.to_xlsx(tmp_path / "study.xlsx")


@pytest.fixture
def other(study, tmp_path):
    study.set("Messages", 2, "Content", "changed")
    return study.to_xlsx(tmp_path / "other.xlsx")


def killed_import(source, out, where, how):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(source), str(out), where], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(how)
        process.wait(timeout=20)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class TestAllOrNothing:
    def test_an_import_replaces_what_an_import_wrote(self, source, other, tmp_path):
        out = tmp_path / "deep" / "down" / "out"
        first = import_source(source, out)
        second = import_source(other, out)
        assert first.data_sha256 != second.data_sha256
        assert json.loads((out / "manifest.json").read_text())["source"] == "other.xlsx"
        assert hidden(out.parent) == []

    def test_a_refused_import_leaves_what_was_there(self, study, source, tmp_path):
        out = tmp_path / "out"
        import_source(source, out)
        before = contents(out)
        bad = study.set("Messages", 3, "EmpathyOverall", 9).to_xlsx(tmp_path / "bad.xlsx")
        with pytest.raises(Refused):
            import_source(bad, out)
        assert contents(out) == before
        assert hidden(tmp_path) == []

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    @pytest.mark.parametrize("where", ["write", "swap"])
    def test_a_killed_import_leaves_what_was_there(self, source, other, tmp_path, where, how):
        out = tmp_path / "out"
        import_source(source, out)
        before = contents(out)
        killed_import(other, out, where, how)
        assert contents(out) == before
        import_source(other, out)
        assert hidden(tmp_path) == []
        assert json.loads((out / "manifest.json").read_text())["source"] == "other.xlsx"

    def test_a_first_import_that_is_killed_leaves_nothing_that_counts(self, source, tmp_path):
        out = tmp_path / "out"
        killed_import(source, out, "write", signal.SIGKILL)
        assert not out.exists()
        assert len(hidden(tmp_path)) == 1
        import_source(source, out)
        assert hidden(tmp_path) == []

    def test_a_kill_between_two_renames_is_mended_by_the_next_run(self, source, other, tmp_path):
        out = tmp_path / "out"
        import_source(source, out)
        before = contents(out)
        killed_import(other, out, "between", signal.SIGKILL)
        assert not out.exists()
        guard_output_folder(out)
        assert contents(out) == before
        import_source(other, out)
        assert hidden(tmp_path) == []

    def test_an_interrupted_block_leaves_no_trace(self, tmp_path):
        def interrupted():
            with replacing_folder(tmp_path / "a" / "b" / "out") as part:
                (part / "file").write_text("x")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert list(tmp_path.iterdir()) == []

    def test_a_run_still_at_work_is_left_alone(self, source, tmp_path):
        out = tmp_path / "out"
        with replacing_folder(out) as part:
            (part / "manifest.json").write_text('{"format": 1, "data_sha256": ""}')
            import_source(source, out)
            assert part.exists()

    def test_without_an_exchange_two_renames_do(self, source, other, tmp_path, monkeypatch):
        monkeypatch.setattr(folders_module, "_exchange", lambda one, other: False)
        out = tmp_path / "out"
        import_source(source, out)
        import_source(other, out)
        assert json.loads((out / "manifest.json").read_text())["source"] == "other.xlsx"
        assert hidden(tmp_path) == []


class TestWhatMayBeReplaced:
    def test_an_empty_folder(self, source, tmp_path):
        (tmp_path / "out").mkdir()
        import_source(source, tmp_path / "out")
        assert (tmp_path / "out" / "manifest.json").exists()

    @pytest.mark.parametrize("file", ["notes.txt", "manifest.json"])
    def test_no_folder_of_somebody_else(self, source, tmp_path, file):
        out = tmp_path / "out"
        out.mkdir()
        (out / file).write_text('{"name": "my app"}')
        with pytest.raises(Refused, match="not empty"):
            import_source(source, out)
        assert (out / file).read_text() == '{"name": "my app"}'

    def test_no_file(self, source, tmp_path):
        (tmp_path / "out").write_text("x")
        with pytest.raises(Refused, match="is a file"):
            import_source(source, tmp_path / "out")

    def test_no_folder_that_holds_the_source(self, source, study, tmp_path):
        out = tmp_path / "out"
        import_source(source, out)
        inside = study.to_xlsx(out / "study.xlsx")
        with pytest.raises(Refused, match="inside the output folder"):
            import_source(inside, out)
        assert inside.exists()

    def test_a_link_is_followed(self, source, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        import_source(source, tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real" / "manifest.json").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_no_folder_that_may_not_be_written(self, source, tmp_path):
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(Refused, match="cannot be written"):
            import_source(source, tmp_path / "closed" / "out")

    def test_a_parent_that_is_a_file_is_refused(self, source, tmp_path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(Refused, match="cannot be written"):
            import_source(source, tmp_path / "file" / "out")

    def test_the_folder_has_ordinary_permissions(self, source, tmp_path):
        import_source(source, tmp_path / "out")
        (tmp_path / "plain").mkdir()
        assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


class TestSameAgain:
    def test_the_same_source_gives_the_same_bytes(self, source, tmp_path):
        import_source(source, tmp_path / "a")
        time.sleep(0.01)
        import_source(source, tmp_path / "b")
        assert contents(tmp_path / "a") == contents(tmp_path / "b")

    def test_the_hash_names_the_content_not_the_file(self, study, source, tmp_path):
        one = import_source(source, tmp_path / "a")
        two = import_source(study.to_openpyxl(tmp_path / "again.xlsx"), tmp_path / "b")
        assert one.source_sha256 != two.source_sha256
        assert one.data_sha256 == two.data_sha256
