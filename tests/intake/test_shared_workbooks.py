"""The shared workbooks give exactly their true values: a whole release-shaped one, and 18 damaged each in one way."""

import json
import math
import statistics
from pathlib import Path

import pytest

from dashboard.intake import import_source

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared workbooks are not here")
EXPECTED = json.loads((SHARED / "messy" / "expected.json").read_text()) if SHARED.is_dir() else {}


@pytest.mark.parametrize("name", sorted(EXPECTED))
class TestMessyWorkbooks:
    def compare(self, found, expected):
        ratings = found.ratings("overall").values()
        values = [value for value in ratings if not isinstance(value, str)]
        got = {
            "rated_turns": found.report.rated_turns,
            "overall_sum": sum(values),
            "conversations": found.report.conversations,
            "participants": found.report.participants,
            "relational_not_applicable": found.report.answers["relational"]["not_applicable"],
            "relational_missing": found.report.answers["relational"]["missing"],
            "participant_ids": [row["participant"] for row in found.rows("participants")],
            "text": found.rows("messages")[0]["text"],
            "unreadable": [[one["sheet"], one["row"], one["column"]] for one in found.report.unreadable],
            "set_aside": [[one["sheet"], one["row"]] for one in found.report.set_aside],
        }
        known = {key: value for key, value in expected.items() if key in got}
        assert known
        assert {key: got[key] for key in known} == known
        assert expected.get("note", "") in " ".join(found.report.notes)

    def test_strictly(self, name, take, refuse):
        expected = EXPECTED[name]
        if expected["strict"] == "ok":
            self.compare(take(SHARED / "messy" / name), expected)
        else:
            said = refuse(SHARED / "messy" / name)
            assert all(word in said for word in expected["says"])

    def test_leniently(self, name, take, refuse):
        expected = EXPECTED[name]
        if expected["strict"] == "ok":
            self.compare(take(SHARED / "messy" / name, lenient=True), expected)
        elif "lenient" in expected:
            self.compare(take(SHARED / "messy" / name, lenient=True), expected["lenient"])
        else:
            assert refuse(SHARED / "messy" / name, lenient=True)


@pytest.fixture(scope="module")
def truth():
    return json.loads((SHARED / "sense7_release_shaped.truth.json").read_text())


@pytest.fixture(scope="module")
def found(plain, tmp_path_factory):
    out = tmp_path_factory.mktemp("release") / "out"
    return type(plain)(import_source(SHARED / "sense7_release_shaped.xlsx", out), out)


class TestReleaseShapedWorkbook:
    def test_counts(self, found, truth):
        for name in ("conversations", "participants", "messages", "assistant_turns", "rated_turns"):
            assert getattr(found.report, name) == truth[name]
        assert found.manifest["synthetic"]

    def test_ground_truth_of_every_conversation(self, found, truth):
        turns = {}
        for (conversation, _), value in found.ratings("turn_mean").items():
            if not isinstance(value, str):
                turns.setdefault(conversation, []).append(value)
        scores = {conversation: statistics.fmean(values) for conversation, values in turns.items()}
        assert len(scores) == truth["ground_truth_n"]
        assert math.isclose(statistics.fmean(scores.values()), truth["ground_truth_mean"], abs_tol=1e-12)
        for conversation, score in truth["ground_truth_first5"].items():
            assert math.isclose(scores[conversation], score, abs_tol=1e-12)

    def test_overall_mean_and_applicability(self, found, truth):
        overall = [value for value in found.ratings("overall").values() if not isinstance(value, str)]
        assert math.isclose(statistics.fmean(overall), truth["overall_mean"], abs_tol=1e-12)
        for dimension, share in truth["applicable_share"].items():
            counts = found.report.answers[dimension.lower()]
            stated = counts["rated"] + counts["not_applicable"]
            assert math.isclose(counts["rated"] / stated, share, abs_tol=1e-12)

    def test_desired_level_of_every_task(self, found, truth):
        desired, tasks = found.survey("desired_empathy"), {}
        for row in found.rows("conversations"):
            tasks.setdefault(row["task"], []).append(desired[row["conversation"]])
        assert {task: pytest.approx(statistics.fmean(values)) for task, values in tasks.items()} == truth[
            "desired_mean_by_task"
        ]

    def test_covariates(self, found):
        row = found.rows("participants")[0]
        assert row == {"participant": "P001", "age": 28, "gender": "Woman", "bfi_agreeableness": 1.41}
