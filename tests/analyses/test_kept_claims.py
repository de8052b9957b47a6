"""The claims' answers are kept for exactly the data, the prediction files and the code that they came from."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from dashboard.analyses import kept_claims
from dashboard.analyses.claims import claims_table
from dashboard.analyses.findings import Selection
from dashboard.analyses.kept_claims import FILE, find_claims, keep_claims, keep_sample_claims
from dashboard.database import connect
from dashboard.paths import SAMPLE, SAMPLE_CLAIMS

TABLE = pd.DataFrame(
    [["It rains", "often", "12 %", "8 to 17 %", "of 9 “days”", "a paper", "weather", "Overview"]],
    columns=["claim", "reported", "this_data", "interval", "basis", "source", "analysis", "page"],
)


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a data folder of one's own."""
    folder = tmp_path / "mine"
    shutil.copytree(SAMPLE, folder)
    return lambda: connect(folder, public=False)


def test_the_sample_s_answers_are_what_asking_finds_with_and_without_texts():
    kept = find_claims(connect(SAMPLE, public=False))
    assert kept is not None, "run python -m dashboard.analyses.kept_claims"
    anew = claims_table(connect(SAMPLE, public=True), Selection())
    pd.testing.assert_frame_equal(kept, anew, obj="data/sample-claims.json (python -m dashboard.analyses.kept_claims)")


def test_the_sample_s_file_is_written_byte_for_byte(tmp_path):
    database = connect(SAMPLE, public=False)
    again = tmp_path / "again.json"
    keep_sample_claims(database, find_claims(database), again)
    assert again.read_bytes() == SAMPLE_CLAIMS.read_bytes()


def test_the_sample_s_folder_is_not_written_into():
    before = sorted(path.name for path in SAMPLE.iterdir())
    keep_claims(connect(SAMPLE, public=False), TABLE)
    assert sorted(path.name for path in SAMPLE.iterdir()) == before


def test_what_was_kept_is_found(opened):
    assert find_claims(opened()) is None
    keep_claims(opened(), TABLE)
    pd.testing.assert_frame_equal(find_claims(opened()), TABLE)


def _exchange_a_table(folder):
    table = pd.read_parquet(folder / "ratings.parquet")
    table.iloc[:-1].to_parquet(folder / "ratings.parquet")


def _add_predictions(folder):
    (folder / "predictions" / "more.csv").write_text("TaskId\n")


def _change_predictions(folder):
    path = next(iter(sorted((folder / "predictions").iterdir())))
    path.write_bytes(path.read_bytes() + b" ")


def _import_other_data(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"data_sha256": "0" * 64}))


@pytest.mark.parametrize("change", [_exchange_a_table, _add_predictions, _change_predictions, _import_other_data])
def test_changed_data_is_asked_anew(opened, change):
    keep_claims(opened(), TABLE)
    change(opened().folder)
    assert find_claims(opened()) is None


def test_another_program_asks_anew(opened, monkeypatch):
    keep_claims(opened(), TABLE)
    monkeypatch.setattr(kept_claims, "_code", lambda: ("another",))
    assert find_claims(opened()) is None


def test_the_code_that_counts_holds_analyses_statistics_and_queries():
    assert len(kept_claims._code()) > 150


@pytest.mark.parametrize("content", ["", "[]", "{", '{"key": 1}', "\x00", '{"key": null, "claims": [{}]}'])
def test_what_cannot_be_read_is_asked_anew(opened, content):
    (opened().folder / FILE).write_text(content)
    assert find_claims(opened()) is None


def test_a_file_of_the_right_key_without_its_columns_is_asked_anew(opened):
    keep_claims(opened(), TABLE)
    path = opened().folder / FILE
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"claims": [{"claim": "It rains"}]}))
    assert find_claims(opened()) is None


def test_a_folder_that_cannot_be_written_stays_as_it_is(opened, monkeypatch):
    before = sorted(path.name for path in opened().folder.iterdir())

    def fail(*_):
        raise OSError("full")

    monkeypatch.setattr(Path, "replace", fail)
    keep_claims(opened(), TABLE)
    assert sorted(path.name for path in opened().folder.iterdir()) == before
