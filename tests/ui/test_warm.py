"""The server has the first page's answers on their way before its first reader."""

import shutil

import pytest

from dashboard.analyses import on_page, registry
from dashboard.analyses.findings import Selection
from dashboard.paths import SAMPLE
from dashboard.ui import cache, memory, warm
from dashboard.ui.warm import give_way, let_draw, warm_up


@pytest.fixture
def fresh(monkeypatch):
    """Start with empty caches; afterwards any analysis that is not remembered fails."""
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    cache.st.cache_resource.clear()

    def close():
        monkeypatch.setattr(cache, "run_analysis", lambda *_: pytest.fail("asked anew"))
        monkeypatch.setattr(cache.claims, "claims_table", lambda *_, **__: pytest.fail("asked anew"))

    yield close
    cache.st.cache_resource.clear()
    warm._CAME_EARLY.clear()


def test_everything_the_first_page_asks_is_remembered(fresh):
    warm_up()
    fresh()
    for one in on_page("Overview"):
        assert cache.analyse(one.name, Selection(), one.parameters()).name == one.name


def test_the_sample_s_claims_are_known_before_anything_is_asked(fresh):
    fresh()
    assert cache.are_claims_known(Selection())
    assert len(_claims(Selection()).table) > 10


def test_claims_under_a_filter_are_asked(fresh):
    chosen = Selection(desired_empathy=(3.0,))
    assert not cache.are_claims_known(chosen)
    assert _claims(chosen).table["this_data"].tolist() != _claims(Selection()).table["this_data"].tolist()


def test_claims_are_asked_once_of_data_of_ones_own(fresh, monkeypatch, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "mine")
    monkeypatch.setenv("SENSE7_DATA", str(tmp_path / "mine"))
    assert not cache.are_claims_known(Selection())
    found = _claims(Selection())
    fresh()
    assert cache.are_claims_known(Selection())
    # As after a new start.
    cache.st.cache_resource.clear()
    assert cache.are_claims_known(Selection())
    assert _claims(Selection()).table.equals(found.table)


def test_claims_that_are_known_come_before_what_others_need(fresh):
    assert [name for name, _ in warm._questions()].index("claims") == len(on_page("Overview")) - 1


def test_claims_that_are_not_known_come_last(fresh, monkeypatch, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "mine")
    monkeypatch.setenv("SENSE7_DATA", str(tmp_path / "mine"))
    assert warm._questions()[-1][0] == "claims"


def _claims(selection):
    return cache.analyse("claims", selection, registry()["claims"].parameters())


def test_large_data_is_opened_only(fresh, monkeypatch):
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    fresh()
    warm_up()


def test_a_folder_that_is_not_ours_is_left_to_the_page(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("SENSE7_DATA", str(tmp_path))
    warm_up()


def test_it_gives_way_to_a_reader(fresh, monkeypatch):
    asked = []

    def analyse_and_be_read(name, *_):
        asked.append(name)
        give_way()
        return cache.Findings(name=name, headline="", tables={})

    monkeypatch.setattr(warm.cache, "analyse", analyse_and_be_read)
    warm_up()
    assert len(asked) == 1


@pytest.mark.parametrize(("processors", "pauses"), [(2, [warm.DRAWING_SECONDS]), (8, [])])
def test_an_early_reader_gets_a_figure_before_the_rest_is_worked_on(fresh, monkeypatch, processors, pauses):
    slept = []
    monkeypatch.setattr(warm.time, "sleep", slept.append)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: processors)
    monkeypatch.setattr(warm.cache, "analyse", lambda name, *_: give_way() or cache.Findings(name, "", {}))
    let_draw()
    assert slept == []
    warm_up()
    let_draw()
    let_draw()
    assert slept == pauses
    monkeypatch.setattr(warm, "_questions", list)
    warm_up()
    let_draw()
    assert slept == pauses


def test_large_data_is_worked_on_when_a_visit_has_its_first_figure(fresh, monkeypatch):
    slept, visit = [], {}
    monkeypatch.setattr(warm.time, "sleep", slept.append)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(warm.st, "session_state", visit)
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    let_draw()
    let_draw()
    assert slept == [warm.DRAWING_SECONDS]
    visit.clear()
    let_draw()
    assert len(slept) == 2
