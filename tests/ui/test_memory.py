"""Holding data in memory changes no answer."""

import pandas as pd
import pytest

from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import report, report_names, run_query
from dashboard.ui.memory import RememberingDatabase, hold_in_memory


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


def test_large_data_stays_in_its_files(sample, monkeypatch):
    monkeypatch.setattr("dashboard.ui.memory.HELD_ROWS", 10)
    assert hold_in_memory(sample) is sample
