"""Checks find what was damaged by hand, and say what an analyst should know of the answers."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboard.intake import check_dataset
from dashboard.intake.checks import CHECKS
from dashboard.paths import QUERIES, SAMPLE
from dashboard.vocabulary import Refused


def found(folder):
    """Return check → (severity, n) of all but those that passed."""
    return {row.check: (row.severity, row.n) for row in check_dataset(folder).checks if row.severity != "ok"}


@pytest.fixture
def folder(study, take):
    return take(study).folder


@pytest.fixture
def damage(folder):
    """Change the rows of a table by hand."""

    def change(table, edit):
        path = folder / f"{table}.parquet"
        old = pq.read_table(path)
        rows = old.to_pylist()
        edit(rows)
        pq.write_table(pa.Table.from_pylist(rows, schema=old.schema), path)
        return folder

    return change


def test_what_an_import_wrote_has_no_errors_or_warnings(folder):
    report = check_dataset(folder)
    assert found(folder) == {}
    assert not report.has_errors
    assert "0 errors, 0 warnings" in report.to_text()
    assert set(report.to_json()["checks"][0]) == {"severity", "check", "n", "detail", "examples"}
    json.dumps(report.to_json())


def test_the_sample_has_no_errors():
    assert not check_dataset(SAMPLE).has_errors


def set_to(place, **values):
    return lambda rows: rows[place].update(values)


@pytest.mark.parametrize(
    ("table", "edit", "checks"),
    [
        ("conversations", lambda rows: rows.append(dict(rows[0])), {"keys", "counts"}),
        ("conversations", lambda rows: rows.pop(0), {"orphans", "counts"}),
        ("conversations", set_to(0, conversation=None), {"keys", "orphans"}),
        ("conversations", set_to(0, participant="P9"), {"orphans", "counts"}),
        ("messages", lambda rows: rows.pop(1), {"orphans", "turns", "counts"}),
        ("messages", set_to(1, turn=7), {"turns", "orphans", "complete_ratings"}),
        ("messages", lambda rows: rows.append(dict(rows[0])), {"keys", "turns", "counts"}),
        ("messages", set_to(0, text="other words"), set()),
        ("ratings", set_to(0, value=9.0), {"ranges"}),
        ("ratings", set_to(0, value=1.5), {"ranges"}),
        ("ratings", set_to(0, value=float("nan")), {"answers"}),
        ("ratings", set_to(0, answer="perhaps"), {"answers"}),
        ("ratings", set_to(0, value=None), {"answers"}),
        ("ratings", set_to(0, outcome="charm"), {"orphans", "complete_ratings"}),
        ("ratings", lambda rows: rows.pop(0), {"complete_ratings"}),
        ("ratings", lambda rows: rows.append(dict(rows[0])), {"keys"}),
        ("ratings", set_to(-1, value=2.5), {"means"}),
        ("survey", set_to(0, item="mood"), {"orphans", "complete_survey"}),
        ("survey", set_to(0, value=6.0), {"ranges"}),
        ("survey", lambda rows: rows.pop(0), {"complete_survey"}),
        ("participants", lambda rows: rows.pop(0), {"orphans"}),
        ("participants", lambda rows: rows.append({"participant": "P9"}), {"orphans"}),
        ("scales", set_to(0, minimum=9.0), {"scales", "ranges"}),
        ("scales", set_to(0, rated_role=None), {"scales"}),
    ],
)
def test_damage_by_hand_gives_errors(damage, table, edit, checks):
    errors = {name for name, (severity, _) in found(damage(table, edit)).items() if severity == "error"}
    assert checks | {"content"} <= errors


def test_changed_tables_are_told_by_their_hash_alone(damage):
    assert found(damage("messages", set_to(0, text="other words"))) == {"content": ("error", 1)}


def test_a_missing_column_a_wrong_type_and_a_broken_file_are_errors(folder):
    path = folder / "ratings.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["answer"]), path)
    survey = pq.read_table(folder / "survey.parquet")
    value = pa.array([str(one) for one in survey["value"].to_pylist()])
    pq.write_table(survey.set_column(3, "value", value), folder / "survey.parquet")
    (folder / "scales.parquet").write_bytes(b"PAR1 nonsense")
    report = check_dataset(folder)
    assert [(row.check, row.severity, row.n) for row in report.checks] == [("columns", "error", 3)]
    for word in ("ratings has no column answer", "survey.value is string", "scales.parquet cannot be read"):
        assert word in report.checks[0].examples


def test_a_folder_that_is_not_ours_is_refused(tmp_path):
    with pytest.raises(Refused, match="sense7 import"):
        check_dataset(tmp_path)


class TestWarnings:
    def test_of_conversations_without_messages_and_ratings(self, study, take, kit):
        study.sheets["Messages"] = [row for row in study.sheets["Messages"] if row[0] != "T4"]
        for row in (3, 5):
            for column in ("EmpathyOverall", *kit.DIMENSIONS):
                study.set("Messages", row, column, None)
        assert found(take(study).folder) == {"without_messages": ("warning", 1), "unrated": ("warning", 2)}

    def test_of_straight_lining(self, study, take, kit):
        for turn in range(6):
            study.sheets["Messages"].append(
                ["T1", 10 + turn, 100.0 + turn, "assistant", f"more {turn}", 0, "Good", *["Poor"] * 7, None]
            )
        study.set("Messages", 3, "EmpathyOverall", "Poor")
        for row in (3, 5, 7, 9):
            for column in kit.DIMENSIONS:
                study.set("Messages", row, column, "Good")
        report = check_dataset(take(study).folder)
        straight = next(row for row in report.checks if row.check == "straight_lining")
        # P1 has 4 + 6 turns, all with one rating throughout
        assert (straight.severity, straight.n, straight.examples) == ("warning", 1, "P1 (100 % of 10 turns)")

    def test_of_conversations_that_are_there_twice_under_two_names(self, study, take):
        copied = [["T3", *row[1:]] for row in study.sheets["Messages"] if row[0] == "T1"]
        for turn in range(4):
            for name in ("T1", "T3"):
                ratings = ["Good", "Poor", "Neutral", "Good", "Poor", "Good", "Good", "Very good"]
                row = [name, 10 + turn, 100.0 + turn, "assistant", f"more {turn}", 0, *ratings, None]
                (copied if name == "T3" else study.sheets["Messages"]).append(row)
        study.sheets["Messages"] = [row for row in study.sheets["Messages"] if row[0] != "T3"] + copied
        assert found(take(study).folder) == {"same_text": ("warning", 1), "same_ratings": ("warning", 1)}

    def test_of_messages_out_of_time(self, study, take):
        study.set("Messages", 4, "TimeOffsetSeconds", 1.0)
        assert found(take(study).folder) == {"time": ("warning", 1)}

    def test_of_what_a_lenient_import_let_pass(self, study, take):
        study.set("Messages", 3, "Affective", 9).sheets["Messages"].append(["T9", 1, 0, "user", "x", 0, *[None] * 9])
        assert found(take(study, lenient=True).folder) == {"unreadable": ("warning", 1), "set_aside": ("warning", 1)}


def test_every_check_has_its_file_and_every_file_its_check():
    assert {one.name for one in CHECKS} == {path.stem for path in (QUERIES / "checks").glob("*.sql")}
