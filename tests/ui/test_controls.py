"""Filters, chips and parameters: what they set, what the address then says, and back."""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.analyses.findings import Counts
from dashboard.paths import APP, SAMPLE
from dashboard.ui.address import existing_pages
from dashboard.ui.controls import LISTED, describe_remaining, find_participants


@pytest.fixture
def app(monkeypatch):
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.delenv("SENSE7_PUBLIC", raising=False)
    return AppTest.from_file(str(APP), default_timeout=120)


def test_a_filter_goes_into_the_address_under_its_name_on_the_command_line(app):
    app.run()
    tasks = app.multiselect(key="task").options
    app.multiselect(key="task").set_value([tasks[0], tasks[2]])
    app.button_group(key="desired_empathy").set_value(["3"])
    app.number_input(key="min_rated_turns").set_value(4)
    app.toggle(key="exclude_flagged").set_value(True).run()
    assert app.query_params == {
        "task": [tasks[0], tasks[2]],
        "desired_empathy": "3",
        "min_rated_turns": "4",
        "exclude_flagged": "true",
    }


def test_an_address_sets_the_filters(app):
    app.query_params["desired_empathy"] = ["1.0", "3"]
    app.query_params["min_rated_turns"] = "2"
    app.query_params["exclude_flagged"] = "1"
    app.query_params["applicability.by"] = "model"
    app.run()
    assert app.button_group(key="desired_empathy").value == ["1", "3"]
    assert app.number_input(key="min_rated_turns").value == 2
    assert app.toggle(key="exclude_flagged").value is True
    assert app.button_group(key="applicability.by").value == "model"
    # Written as this page writes it.
    assert app.query_params["desired_empathy"] == ["1", "3"]
    assert app.query_params["applicability.by"] == "model"


def test_a_parameter_goes_into_the_address_and_its_default_does_not(app):
    app.run()
    app.button_group(key="applicability.by").set_value("turn").run()
    assert app.query_params == {"applicability.by": "turn"}
    app.button_group(key="applicability.by").set_value("task").run()
    assert app.query_params == {}


def test_each_chip_takes_its_filter_away_and_reset_takes_all(app):
    app.run()
    tasks = app.multiselect(key="task").options
    app.multiselect(key="task").set_value(tasks[:2])
    app.number_input(key="min_rated_turns").set_value(3).run()
    app.button(key=f"chip.task.{tasks[0]}").click().run()
    assert app.multiselect(key="task").value == [tasks[1]]
    app.button(key="chip.min_rated_turns.None").click().run()
    assert app.number_input(key="min_rated_turns").value is None
    assert app.query_params == {"task": tasks[1]}
    app.button(key="filters.reset").click().run()
    assert app.query_params == {}
    assert app.multiselect(key="task").value == []


def test_participants_are_found_by_typing_and_the_chosen_stay(app):
    app.run()
    listed = app.multiselect(key="participant").options
    assert len(listed) == LISTED
    app.multiselect(key="participant").set_value([listed[0]]).run()
    app.text_input(key="participant_search").set_value("s109").run()
    assert app.multiselect(key="participant").options == [listed[0], "S109"]
    assert app.multiselect(key="participant").value == [listed[0]]


def test_find_participants_lists_those_that_begin_with_it_first():
    everyone = ["a12", "b1", "1a", "12b", "c"]
    assert find_participants(" 1", everyone) == ["1a", "12b", "a12", "b1"]
    assert find_participants("", everyone) == everyone
    assert find_participants("B1", everyone) == ["b1"]
    assert find_participants("zz", everyone) == []


def test_remaining_says_of_how_many():
    everything = Counts(participants=109, conversations=672, turns=4734)
    assert describe_remaining(everything, everything) == "109 participants · 672 conversations · 4,734 turns"
    some = Counts(participants=1, conversations=84, turns=1600)
    assert (
        describe_remaining(some, everything) == "1 of 109 participants · 84 of 672 conversations · 1,600 of 4,734 turns"
    )
    unknown = Counts(participants=None, conversations=2, turns=3)
    assert describe_remaining(unknown, unknown) == "2 conversations · 3 turns"


@pytest.mark.skipif(len(existing_pages()) < 2, reason="no page of one outcome is built yet")
def test_the_outcome_is_one_for_all_pages_and_its_default_is_not_written(app):
    app.query_params["outcome"] = "affective"
    app.run()
    assert app.query_params == {"outcome": "affective"}
    app.switch_page("ui/pages/variability.py").run()
    chosen = app.selectbox(key="outcome")
    assert chosen.value == "affective"
    assert any("rate Affective understanding" in one.value for one in app.main.markdown)
    chosen.set_value("overall").run()
    assert app.query_params == {}
    assert app.selectbox(key="outcome").value == "overall"
