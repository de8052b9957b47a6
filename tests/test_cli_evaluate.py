"""`sense7 evaluate`: the official metrics on hand-made files with every trap, and a sentence for every file that does not fit."""

import csv
import json
import statistics

import numpy as np
import openpyxl
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import f1_score

from dashboard.database import connect
from dashboard.intake.predictions import COLUMNS
from dashboard.paths import SAMPLE
from dashboard.queries import run_query

METRICS = ["file", "n", "accuracy", "macro_f1", "within_1", "mae", "spearman", "spearman_p", "n_fallback", "n_failed"]
JUDGES = SAMPLE / "predictions"


@pytest.fixture(scope="module")
def truth():
    """Ground truth of the sample's conversations by id, unrated ones left out."""
    rows = run_query(connect(SAMPLE, public=False), "ground_truth")
    known = rows[rows["ground_truth"].notna()]
    return dict(zip(known["conversation"], known["ground_truth"], strict=True))


def row(conversation, prediction, truth, output=None, **other):
    """One row of the official form."""
    filled = dict.fromkeys(COLUMNS, "EMPTY") | {"TaskId": conversation, "IS_EMPATHY": prediction, "Model": "judge"}
    filled["Output"] = f"<S0>why</S0><S2>{prediction}</S2>" if output is None else output
    return filled | {"ground-truth": truth, "PID": "EMPTY"} | other


def write(path, rows, columns=COLUMNS, delimiter=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, columns, delimiter=delimiter, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_workbook(path, rows, sheets=("results",)):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        sheet.append(list(COLUMNS))
        for one in rows:
            sheet.append([one[column] for column in COLUMNS])
    book.save(path)
    return path


def official(rows):
    """The official evaluation in a few lines of its own: numbers where both are, rounded half to even, clipped."""
    pairs = []
    for one in rows:
        try:
            pairs.append((float(one["IS_EMPATHY"]), float(one["ground-truth"])))
        except ValueError:
            continue
    predicted, true = np.array(pairs).T
    said, was = (np.clip(np.round(side), 1, 5).astype(int) for side in (predicted, true))
    found = spearmanr(predicted, true)
    return {
        "n": len(pairs),
        "accuracy": float(np.mean(said == was)),
        "macro_f1": float(f1_score(was, said, average="macro", zero_division=0)),
        "within_1": float(np.mean(abs(said - was) <= 1)),
        "mae": float(np.mean(abs(predicted - true))),
        "spearman": float(found.statistic),
        "spearman_p": float(found.pvalue),
    }


def evaluated(sense7, *files, status=0):
    code, out, err = sense7("evaluate", *files, "--json")
    assert code == status, err
    return json.loads(out)


def assert_official(found, rows):
    for name, value in official(rows).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@pytest.fixture
def trapped(truth):
    """Rows with every trap, and how many fallbacks and failed rows they hold."""
    ids = iter(truth)

    def own(prediction, output=None, truth_is=None):
        one = next(ids)
        if output is None and prediction not in (1, 2, 3, 4, 5):
            output = "<S2>4</S2>"
        return row(one, prediction, repr(truth[one]) if truth_is is None else truth_is, output)

    rows = [own(level) for level in (1, 2, 3, 4, 5) * 6]
    rows += [own("3.5"), own("2.5"), own("4.5"), own("0"), own("7")]
    rows += [own(1, "<S0>ten</S0><S2>10</S2>"), own(5, "<S2>5 out of 5</S2>"), own(4, "<S2>\nLevel 4\n</S2>")]
    fallbacks = [
        own(3, "ERROR: timed out"),
        own(3, "ERROR: <S2>5</S2>"),
        own(3, "<S0>no level</S0>"),
        own(3, "<S2></S2>"),
        own(3, "<S2>six</S2>"),
        own(3, "<S2>0</S2>"),
        own(3, "EMPTY"),
        own(3, ""),
    ]
    failed = [own("PROCESSING_FAILED", "PROCESSING_FAILED") for _ in range(3)]
    dropped = [own("EMPTY"), own(4, truth_is="EMPTY"), own(""), own(2, truth_is="")]
    halves = [own(level, truth_is=text) for level, text in ((2, "2.5"), (4, "3.5"), (4, "4.5"), (1, "0.5"), (5, "5.7"))]
    return rows + fallbacks + failed + dropped + halves, len(fallbacks), len(failed)


def test_metrics_equal_the_official_logic_on_a_file_with_every_trap(sense7, tmp_path, trapped):
    rows, n_fallback, n_failed = trapped
    found = evaluated(sense7, write(tmp_path / "judge-prompt-iter1.csv", rows))["files"][0]
    assert [key for key in found if key in METRICS] == METRICS
    assert_official(found, rows)
    assert found["n"] == len(rows) - n_failed - 4
    assert (found["n_fallback"], found["n_failed"]) == (n_fallback, n_failed)


def test_metrics_without_fallbacks_leave_exactly_those_out(sense7, tmp_path, trapped):
    rows, n_fallback, _ = trapped
    found = evaluated(sense7, write(tmp_path / "a-iter1.csv", rows))
    kept = [
        one
        for one in rows
        if "<S2>" in one["Output"] and one["Output"] not in ("<S2></S2>", "<S2>six</S2>", "<S2>0</S2>")
    ]
    kept = [one for one in kept if not one["Output"].startswith("ERROR:")]
    assert found["without_fallbacks"][0]["n"] == found["files"][0]["n"] - n_fallback
    assert_official(found["without_fallbacks"][0], kept)


@pytest.mark.parametrize("form", ["workbook", "semicolons", "utf-16", "windows-1252", "tabs", "shuffled columns"])
def test_every_form_of_a_file_gives_the_same(sense7, tmp_path, trapped, form):
    rows, _, _ = trapped
    rows[0]["CoT"] = 'Fühlt "mit",\nja; doch'
    plain = evaluated(sense7, write(tmp_path / "plain.csv", rows))
    path = tmp_path / "other.csv"
    if form == "workbook":
        numbers = [
            one | {"ground-truth": float(one["ground-truth"])} if one["ground-truth"][:1].isdigit() else one
            for one in rows
        ]
        path = write_workbook(tmp_path / "other.xlsx", numbers, sheets=("results", "notes"))
    elif form == "semicolons":
        write(path, rows, delimiter=";")
    elif form == "tabs":
        write(path, rows, delimiter="\t")
    elif form == "shuffled columns":
        write(path, rows, columns=COLUMNS[::-1])
    else:
        write(path, rows, encoding="utf-16" if form == "utf-16" else "cp1252")
    other = evaluated(sense7, path)
    for name in METRICS[1:]:
        assert other["files"][0][name] == pytest.approx(plain["files"][0][name], abs=1e-12)


def test_the_summary_is_mean_and_sample_sd_over_files_in_the_order_given(sense7):
    names = ["synthetic_alder-rubric-iter2.csv", "synthetic_alder-rubric-iter1.csv"]
    found = evaluated(sense7, *(JUDGES / name for name in names))
    assert [one["file"] for one in found["files"]] == names
    for metric in ("accuracy", "macro_f1", "within_1", "mae", "spearman"):
        values = [one[metric] for one in found["files"]]
        assert found["summary"][metric]["mean"] == pytest.approx(statistics.mean(values), abs=1e-12)
        assert found["summary"][metric]["std_dev"] == pytest.approx(statistics.stdev(values), abs=1e-12)


def test_one_file_has_no_sd(sense7):
    found = evaluated(sense7, JUDGES / "synthetic_birch-rubric-iter1.csv")
    assert found["summary"]["accuracy"]["std_dev"] is None


@pytest.mark.parametrize(("judge", "fallbacks", "failed"), [("synthetic_alder", 9, 3), ("synthetic_birch", 11, 1)])
def test_the_samples_planted_faults_are_counted(sense7, judge, fallbacks, failed):
    for iteration in (1, 2):
        path = JUDGES / f"{judge}-rubric-iter{iteration}.csv"
        found = evaluated(sense7, path)["files"][0]
        assert (found["n_fallback"], found["n_failed"]) == (fallbacks, failed)
        with path.open() as file:
            assert_official(found, list(csv.DictReader(file)))


def test_the_same_as_the_table(sense7):
    names = ["synthetic_birch-rubric-iter2.csv", "synthetic_alder-rubric-iter1.csv"]
    chosen = [word for name in names for word in ("-p", f"predictions={JUDGES / name}")]
    status, out, _ = sense7("table", "classifier_metrics", *chosen, "--format", "json")
    assert status == 0
    assert json.loads(out) == evaluated(sense7, *(JUDGES / name for name in names))["files"]


def test_a_file_that_lies_with_the_data_is_found_by_its_name(sense7):
    assert evaluated(sense7, "synthetic_birch-rubric-iter2.csv")["files"][0]["n"] == 664


def test_another_ground_truth_is_shown_beside_and_does_not_replace_the_files(sense7, tmp_path, truth):
    rows = [
        row(one, 1 + place % 5, repr(value + (0.5 if place < 10 else 4e-7)))
        for place, (one, value) in enumerate(truth.items())
    ]
    found = evaluated(sense7, write(tmp_path / "a.csv", rows))
    assert_official(found["files"][0], rows)
    assert found["files"][0]["n_truth_differs"] == 10
    ours = [one | {"ground-truth": repr(truth[one["TaskId"]])} for one in rows]
    for name in ("n", "accuracy", "macro_f1", "within_1"):
        assert found["recomputed"][0][name] == pytest.approx(official(ours)[name], abs=1e-12)
    assert any("10 rows whose ground truth differs" in note for note in found["notes"])


def test_the_files_own_ground_truth_is_not_questioned_where_it_agrees(sense7):
    assert "recomputed" not in evaluated(sense7, JUDGES / "synthetic_birch-rubric-iter1.csv")


def test_a_filter_evaluates_those_conversations_only(sense7, truth):
    status, out, _ = sense7(
        "evaluate", JUDGES / "synthetic_alder-rubric-iter1.csv", "-p", "task=Ode to a potato", "--json"
    )
    assert status == 0
    with (JUDGES / "synthetic_alder-rubric-iter1.csv").open() as file:
        rows = list(csv.DictReader(file))
    chosen = run_query(connect(SAMPLE, public=False), "ground_truth", task=["Ode to a potato"])
    assert_official(json.loads(out)["files"][0], [one for one in rows if one["TaskId"] in set(chosen["conversation"])])


class TestFilesThatDoNotFit:
    def refused(self, sense7, *files, words):
        status, out, err = sense7("evaluate", *files, "--json")
        assert (status, out) == (2, "")
        assert "Traceback" not in err
        for word in words:
            assert word in err
        return err

    def test_other_conversations(self, sense7, tmp_path):
        path = write(tmp_path / "a.csv", [row(f"X{place}", 3, "3.5") for place in range(9)])
        self.refused(sense7, path, words=["a.csv", "none of its 9 TaskIds", "'X0'", "672"])

    def test_some_other_conversations_are_named_and_count_as_published(self, sense7, tmp_path, truth):
        rows = [row(one, 1 + place % 5, repr(value)) for place, (one, value) in enumerate(truth.items())][:30]
        rows += [row("X1", 2, "4.5"), row("X2", 5, "1.5")]
        found = evaluated(sense7, write(tmp_path / "a.csv", rows))
        assert_official(found["files"][0], rows)
        assert any("2 rows with a TaskId that this data does not have" in note for note in found["notes"])

    def test_two_judges_in_one_file(self, sense7, tmp_path, truth):
        rows = [
            row(one, 3, value, Model="alder" if place < 4 else "birch")
            for place, (one, value) in enumerate(truth.items())
        ]
        self.refused(
            sense7, write(tmp_path / "a.csv", rows[:6]), words=["one judge", "'alder' (4 rows)", "'birch' (2 rows)"]
        )

    def test_two_judges_in_two_files_are_said_and_kept_apart(self, sense7):
        found = evaluated(
            sense7, JUDGES / "synthetic_alder-rubric-iter1.csv", JUDGES / "synthetic_birch-rubric-iter1.csv"
        )
        assert any("2 judges" in note for note in found["notes"])
        assert list(found["judges"]) == ["synthetic_alder", "synthetic_birch"]
        assert found["judges"]["synthetic_alder"]["accuracy"]["mean"] == found["files"][0]["accuracy"]

    @pytest.mark.parametrize("column", ["TaskId", "IS_EMPATHY", "Output", "ground-truth"])
    def test_a_missing_column(self, sense7, tmp_path, truth, column):
        rows = [row(one, 3, value) for one, value in truth.items()]
        path = write(tmp_path / "a.csv", rows, columns=[one for one in COLUMNS if one != column])
        self.refused(sense7, path, words=["a.csv", f"missing: {column}"])

    def test_columns_that_nothing_needs_may_be_missing(self, sense7, tmp_path, truth):
        rows = [row(one, 1 + place % 5, repr(value)) for place, (one, value) in enumerate(truth.items())]
        found = evaluated(
            sense7, write(tmp_path / "a.csv", rows, columns=["TaskId", "IS_EMPATHY", "Output", "ground-truth"])
        )
        assert found["files"][0]["judge"] == "a"
        assert_official(found["files"][0], rows)

    def test_no_row(self, sense7, tmp_path):
        self.refused(sense7, write(tmp_path / "a.csv", []), words=["0 rows"])

    def test_an_empty_file(self, sense7, tmp_path):
        (tmp_path / "a.csv").touch()
        self.refused(sense7, tmp_path / "a.csv", words=["a.csv is empty"])

    def test_no_row_with_both_numbers(self, sense7, tmp_path, truth):
        rows = [row(one, "PROCESSING_FAILED", value, "PROCESSING_FAILED") for one, value in truth.items()]
        self.refused(sense7, write(tmp_path / "a.csv", rows), words=["both a prediction and a ground truth", "none"])

    def test_a_workbook_without_a_results_sheet(self, sense7, tmp_path, truth):
        rows = [row(one, 3, value) for one, value in truth.items()]
        path = write_workbook(tmp_path / "a.xlsx", rows, sheets=("first", "second"))
        self.refused(sense7, path, words=["results", "first, second"])

    def test_no_file_a_folder_and_one_given_twice(self, sense7, tmp_path):
        self.refused(sense7, "gone.csv", words=["no prediction file gone.csv", "synthetic_alder-rubric-iter1.csv"])
        self.refused(sense7, tmp_path, words=["is a folder"])
        path = JUDGES / "synthetic_alder-rubric-iter1.csv"
        self.refused(sense7, path, path, words=["came twice"])

    def test_a_binary_file(self, sense7, tmp_path):
        (tmp_path / "a.csv").write_bytes(bytes(range(256)) * 50)
        self.refused(sense7, tmp_path / "a.csv", words=["a.csv"])

    def test_text_where_numbers_belong_drops_out_and_is_counted(self, sense7, tmp_path, truth):
        rows = [row(one, 1 + place % 5, repr(value)) for place, (one, value) in enumerate(truth.items())]
        rows[3]["IS_EMPATHY"] = "four"
        found = evaluated(sense7, write(tmp_path / "a.csv", rows))
        assert_official(found["files"][0], rows)
        assert any("1 row with text that is no number in IS_EMPATHY" in note for note in found["notes"])

    def test_a_repeated_conversation_counts_twice_and_is_said(self, sense7, tmp_path, truth):
        rows = [row(one, 1 + place % 5, repr(value)) for place, (one, value) in enumerate(truth.items())]
        rows += rows[:3]
        found = evaluated(sense7, write(tmp_path / "a.csv", rows))
        assert_official(found["files"][0], rows)
        assert any("3 rows that repeat a TaskId" in note for note in found["notes"])

    def test_data_without_predictions_is_told_how_to_give_them(self, sense7, monkeypatch, given):
        data = given([{"conversation": "c1", "participant": "p", "affective": 3}])
        monkeypatch.setenv("SENSE7_DATA", str(data.folder))
        status, out, err = sense7("table", "classifier_metrics")
        assert (status, out) == (2, "")
        assert "Not in this data" in err and "-p predictions=FILE" in err


def test_people_read_a_table_with_the_reported_figures(sense7):
    status, out, err = sense7("evaluate", JUDGES / "synthetic_alder-rubric-iter1.csv")
    assert (status, err) == (0, "")
    for words in ("SYNTHETIC", "As published", "Without the fallbacks", "[0.369]", "[0.487]", "0.3478"):
        assert words in out
