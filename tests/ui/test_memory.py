"""Holding data in memory changes no answer."""

import pandas as pd
import pytest

from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import report, report_names, run_query
from dashboard.ui.memory import RememberingDatabase, _Answers, hold_in_memory


@pytest.fixture(scope="module")
def held():
    return hold_in_memory(connect(SAMPLE, public=False))


@pytest.mark.parametrize("name", report_names())
def test_every_query_answers_alike(sample, held, name):
    values = {"task": ["Ode to a potato"]} if "task" in report(name).parameters else {}
    expected = run_query(sample, name, **values)
    for _ in range(2):
        pd.testing.assert_frame_equal(run_query(held, name, **values), expected)


def test_an_answer_that_was_changed_is_not_what_the_next_reader_gets(held):
    first = run_query(held, "outcomes")
    first.loc[:, "label"] = "spoilt"
    assert "spoilt" not in set(run_query(held, "outcomes")["label"])


def test_other_values_get_other_answers(held):
    everything = run_query(held, "selection_counts")
    some = run_query(held, "selection_counts", task=["Ode to a potato"])
    assert int(some["n_conversations"].iloc[0]) < int(everything["n_conversations"].iloc[0])


def test_public_mode_holds_no_text():
    public = hold_in_memory(connect(SAMPLE, public=True))
    assert isinstance(public, RememberingDatabase)
    assert public.cursor().execute("select count(text) from raw.messages").fetchone() == (0,)


def test_large_data_stays_in_its_files_and_its_answers_are_remembered(sample, monkeypatch):
    monkeypatch.setattr("dashboard.ui.memory.HELD_ROWS", 10)
    opened = hold_in_memory(sample)
    kinds = "select distinct table_type from information_schema.tables where table_name = 'messages'"
    assert opened.cursor().execute(kinds).fetchall() == [("VIEW",)]
    expected = run_query(opened, "outcomes")
    monkeypatch.setattr(opened.answers, "put", lambda *_: pytest.fail("asked anew"))
    pd.testing.assert_frame_equal(run_query(opened, "outcomes"), expected)


@pytest.mark.parametrize(("n_answers", "n_rows", "known"), [(2, 100, [1, 2]), (10, 25, [1, 2]), (10, 30, [0, 1, 2])])
def test_the_oldest_answers_are_forgotten(monkeypatch, n_answers, n_rows, known):
    monkeypatch.setattr("dashboard.ui.memory._ANSWERS", n_answers)
    monkeypatch.setattr("dashboard.ui.memory._ALL_ROWS", n_rows)
    answers = _Answers()
    for number in range(3):
        answers.put(str(number), pd.DataFrame({"number": [number] * 10}))
    assert [number for number in range(3) if answers.get(str(number)) is not None] == known
