"""The command line's contract: exit status, what goes where, names and columns that others script against."""

import json
import os
import socket
import subprocess
import sys

import pandas as pd
import pytest

from dashboard.analyses import on_page
from dashboard.paths import SAMPLE

COLUMNS = {
    "dataset_overview": ["measure", "value"],
    "applicability": ["dimension", "n_rated", "n_not_applicable", "n_missing", "share_applicable"],
    "ground_truth": ["conversation", "participant", "task", "model", "n_turns", "ground_truth"],
    "participant_ratings": [
        "participant",
        "n_turns",
        "n_conversations",
        "mean",
        "std_dev",
        "median",
        "iqr",
        "minimum",
        "maximum",
        "entropy",
        "share_extreme",
        "share_midpoint",
        "share_low",
        "relative_std_dev",
        "rmssd",
        "inertia",
        "longest_run",
    ],
}


def is_refusal(result, *words):
    status, out, err = result
    return status == 2 and out == "" and "Traceback" not in err and all(word in err for word in words)


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_that_others_build_on_have_their_columns(sense7, name):
    status, out, _ = sense7("table", name, "--format", "json")
    assert status == 0
    rows = json.loads(out)
    assert [column for column in rows[0] if column in COLUMNS[name]] == COLUMNS[name]


def test_every_table_of_the_overview_prints(sense7):
    for one in on_page("Overview"):
        for name in one.tables:
            status, out, err = sense7("table", name)
            assert status == 0, (name, err)
            assert out.count("\n") >= 2, name


def test_numbers_are_unrounded_and_unknown_is_null(sense7):
    rows = json.loads(sense7("table", "ground_truth", "--format", "json")[1])
    known = [row["ground_truth"] for row in rows if row["ground_truth"] is not None]
    assert len(known) < len(rows)
    assert max(len(str(value)) for value in known) > 12


def test_filters_repeat_and_split_at_the_first_equals_sign(sense7):
    _, one, _ = sense7("table", "ground_truth", "-p", "task=Ode to a potato")
    _, two, _ = sense7("table", "ground_truth", "-p", "task=Ode to a potato", "-p", "task=Homesick on Mars")
    assert one.count("\n") < two.count("\n")
    assert is_refusal(sense7("table", "ground_truth", "-p", "task=a=b"), "'a=b'", "Ode to a potato")


class TestRefusals:
    def test_unknown_names_come_with_those_that_exist(self, sense7):
        assert is_refusal(sense7("table", "grund_truth"), "grund_truth", "ground_truth")
        assert is_refusal(sense7("table", "ground_truth.x"), "ground_truth.x", "ground_truth.distribution")
        assert is_refusal(sense7("table", "ground_truth", "-p", "model=GPT-9"), "GPT-9", "Llama2-70B")
        assert is_refusal(sense7("table", "participant_ratings", "-p", "outcome=warmth"), "warmth", "affective")
        assert is_refusal(sense7("table", "applicability", "-p", "by=moon"), "moon", "task", "turn")
        assert is_refusal(sense7("table", "ground_truth", "-p", "colour=red"), "colour", "task")
        assert is_refusal(sense7("table", "ground_truth", "--format", "xls"), "xls", "csv")
        assert is_refusal(sense7("query", "nonsense"), "nonsense", "ground_truth")

    def test_values_that_cannot_be_read(self, sense7):
        assert is_refusal(sense7("table", "ground_truth", "-p", "task"), "KEY=VALUE", "'task'")
        assert is_refusal(sense7("table", "ground_truth", "-p", "min_rated_turns=two"), "whole number", "'two'")
        assert is_refusal(sense7("table", "ground_truth", "-p", "min_rated_turns=-1"), "at least 0")
        assert is_refusal(sense7("table", "ground_truth", "-p", "exclude_flagged=maybe"), "true or false")
        assert is_refusal(sense7("table", "ground_truth", "-p", "desired_empathy=nan"), "a number")
        assert is_refusal(sense7("table", "ground_truth", "-p", "desired_empathy=7"), "'7'", "'1', '2', '3'")

    def test_a_selection_that_leaves_nothing(self, sense7):
        result = sense7("table", "ground_truth", "-p", "min_rated_turns=1000")
        assert is_refusal(result, "No conversation is left")

    def test_a_folder_that_is_not_ours(self, sense7, tmp_path):
        assert is_refusal(sense7("table", "ground_truth", "--data", tmp_path), "sense7 import", str(tmp_path))
        assert is_refusal(sense7("check", "--data", tmp_path / "absent", "--json"), "does not exist")
        assert is_refusal(sense7("run", "--data", tmp_path / "absent"), "sense7 import")

    def test_a_port_that_is_taken(self, sense7):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert is_refusal(sense7("run", "--headless", "--port", port), str(port), "--port")

    def test_a_file_that_cannot_be_written_leaves_nothing(self, sense7, tmp_path):
        result = sense7("table", "ground_truth", "-o", tmp_path / "absent" / "x.csv")
        assert is_refusal(result, "x.csv", "No such file")
        assert list(tmp_path.iterdir()) == []

    def test_a_broken_table(self, sense7, tmp_path):
        import shutil

        folder = tmp_path / "broken"
        shutil.copytree(SAMPLE, folder)
        (folder / "ratings.parquet").write_bytes(b"PAR1 this is no parquet PAR1")
        assert is_refusal(sense7("table", "ground_truth", "--data", folder), "sense7 import", "ratings")


class TestOutput:
    def test_binary_formats_go_to_a_named_file(self, sense7, tmp_path):
        status, out, err = sense7("table", "applicability", "--format", "parquet")
        assert (status, out) == (0, "")
        assert "applicability.parquet" in err
        assert len(pd.read_parquet(tmp_path / "applicability.parquet")) == 7

    def test_o_writes_the_same_bytes_as_standard_output(self, sense7, tmp_path):
        _, out, _ = sense7("table", "applicability")
        sense7("table", "applicability", "-o", tmp_path / "a.csv")
        assert (tmp_path / "a.csv").read_bytes() == out.encode()

    def test_queries_run_and_print(self, sense7):
        status, out, _ = sense7("query", "ground_truth", "-p", "model=GPT-4")
        assert status == 0
        assert set(pd.read_csv(pd.io.common.StringIO(out))["model"]) == {"GPT-4"}
        _, sql, _ = sense7("query", "ground_truth", "-p", "model=GPT-4", "--sql")
        assert "['GPT-4']" in sql
        assert "$model" not in sql

    def test_list_names_page_tables_and_parameters(self, sense7):
        described = {one["name"]: one for one in json.loads(sense7("list", "--json")[1])}
        assert described["applicability"]["page"] == "Overview"
        assert "applicability.by" in described["applicability"]["tables"]
        assert "by" in [item["name"] for item in described["applicability"]["parameters"]]
        _, text, _ = sense7("list")
        assert all(name in text for name in described)


class TestSample:
    def test_writes_a_folder_that_the_other_commands_take(self, sense7, tmp_path):
        status, out, _ = sense7("sample", tmp_path / "made", "--no-text", "--seed", "3")
        assert status == 0
        assert "SYNTHETIC" in out
        assert sense7("table", "dataset_overview", "--data", tmp_path / "made")[0] == 0

    def test_refuses_a_folder_with_other_things_in_it(self, sense7, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.docx").write_text("precious")
        assert is_refusal(sense7("sample", tmp_path / "mine"), "mine")
        assert (tmp_path / "mine" / "thesis.docx").read_text() == "precious"


def test_check_of_the_sample_finds_no_error(sense7):
    status, out, _ = sense7("check", "--json")
    assert status == 0
    assert isinstance(json.loads(out), dict | list)


def test_as_a_process_a_refusal_is_a_sentence_and_a_closed_pipe_is_no_error():
    environment = os.environ | {"SENSE7_DATA": str(SAMPLE)}
    command = [sys.executable, "-m", "dashboard.cli"]
    refused = subprocess.run(
        [*command, "table", "nothing"], capture_output=True, text=True, env=environment, check=False
    )
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("sense7: There is no analysis 'nothing'")
    process = subprocess.Popen(
        [*command, "table", "ground_truth"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_public_mode_hides_text_in_tables_and_queries(sense7, monkeypatch):
    _, shown, _ = sense7("table", "codebook")
    monkeypatch.setenv("SENSE7_PUBLIC", "1")
    _, hidden, _ = sense7("table", "codebook")
    assert "[synthetic]" in shown
    assert "[synthetic]" not in hidden
