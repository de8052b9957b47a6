"""The server has the first page's answers on their way before its first reader."""

import shutil
import threading
import time

import pytest

from dashboard.analyses import on_page, registry
from dashboard.analyses.findings import Selection
from dashboard.paths import SAMPLE
from dashboard.ui import cache, memory, warm
from dashboard.ui.warm import let_draw, reading, warm_up


@pytest.fixture
def fresh(monkeypatch):
    """Start with empty caches; afterwards any analysis that is not remembered fails."""
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.setattr(warm, "QUIET_SECONDS", 0)
    monkeypatch.setattr(warm, "_readers", warm._Readers())
    monkeypatch.setattr(warm.st, "session_state", {})
    cache.st.cache_resource.clear()

    def close():
        monkeypatch.setattr(cache, "run_analysis", lambda *_: pytest.fail("asked anew"))
        monkeypatch.setattr(cache.claims, "claims_table", lambda *_, **__: pytest.fail("asked anew"))

    yield close
    cache.st.cache_resource.clear()


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


def test_known_claims_need_no_others(fresh):
    assert [name for name, _ in warm._first_page()] == [*(one.name for one in on_page("Overview")[1:]), "claims"]


def test_claims_that_are_not_known_come_after_what_they_need(fresh, monkeypatch, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "mine")
    monkeypatch.setenv("SENSE7_DATA", str(tmp_path / "mine"))
    *asked, last = [name for name, _ in warm._first_page()]
    assert last == "claims"
    assert {one.name for one in registry().values() if one.claims} <= set(asked)


def _claims(selection):
    return cache.analyse("claims", selection, registry()["claims"].parameters())


def test_each_page_s_first_question_is_known_in_large_data(fresh, monkeypatch):
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    monkeypatch.setattr(warm, "WARMING_SECONDS", 600)
    warm_up()
    fresh()
    for page in ("Variability", "Expectations", "Breakdowns", "Classifier"):
        one = on_page(page)[0]
        assert cache.analyse(one.name, Selection(), one.parameters()).name == one.name


def test_large_data_is_asked_for_some_seconds_only(fresh, monkeypatch):
    asked = []
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    monkeypatch.setattr(warm, "WARMING_SECONDS", 0.2)
    monkeypatch.setattr(
        warm.cache, "analyse", lambda name, *_: asked.append(name) or time.sleep(0.3) or cache.Findings(name, "", {})
    )
    warm_up()
    assert len(asked) == 1


def test_data_larger_than_that_is_opened_only(fresh, monkeypatch):
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    monkeypatch.setattr(warm, "WARMED_ROWS", 0)
    fresh()
    warm_up()


def test_a_folder_that_is_not_ours_is_left_to_the_page(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("SENSE7_DATA", str(tmp_path))
    warm_up()


def test_it_waits_while_somebody_reads(fresh, monkeypatch):
    asked, first = [], threading.Event()
    reader = reading()

    def analyse(name, *_):
        asked.append(name)
        if not first.is_set():
            reader.__enter__()
            first.set()
        return cache.Findings(name=name, headline="", tables={})

    monkeypatch.setattr(warm.cache, "analyse", analyse)
    warming = threading.Thread(target=warm_up)
    warming.start()
    assert first.wait(10)
    warming.join(0.3)
    assert warming.is_alive()
    assert len(asked) == 1
    reader.__exit__(None, None, None)
    warming.join(10)
    assert not warming.is_alive()
    assert set(asked) >= {one.name for one in registry().values() if one.claims}


def test_it_stays_idle_as_long_as_the_first_reader_may_be_coming(fresh, monkeypatch):
    asked = []
    monkeypatch.setattr(warm.cache, "analyse", lambda name, *_: asked.append(name) or cache.Findings(name, "", {}))
    monkeypatch.setattr(warm, "QUIET_SECONDS", 0.5)
    warming = threading.Thread(target=warm_up)
    warming.start()
    warming.join(0.25)
    assert asked == [*(one.name for one in on_page("Overview")[1:]), "claims"]
    assert warm._readers.is_warming
    warming.join(10)
    assert len(asked) > len(on_page("Overview"))
    assert not warm._readers.is_warming


def test_a_reader_who_leaves_by_an_error_has_left(fresh, monkeypatch):
    with pytest.raises(ValueError, match="away"), reading():
        raise ValueError("away")
    warm._readers.wait()


@pytest.fixture
def slept(monkeypatch):
    """Return the pauses made."""
    pauses = []
    monkeypatch.setattr(warm.time, "sleep", pauses.append)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    return pauses


def _come():
    with reading():
        let_draw()
        let_draw()


def test_an_early_reader_gets_a_figure_before_the_rest_is_worked_on(fresh, slept):
    _come()
    assert slept == []
    warm._readers.is_warming = True
    _come()
    _come()
    assert slept == [warm.DRAWING_SECONDS]


def test_a_reader_who_comes_when_all_is_known_waits_for_nothing(fresh, slept, monkeypatch):
    monkeypatch.setattr(warm.cache, "analyse", lambda name, *_: cache.Findings(name, "", {}))
    warm_up()
    _come()
    assert slept == []


def test_nobody_pauses_on_larger_machines(fresh, slept, monkeypatch):
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    warm._readers.is_warming = True
    _come()
    assert slept == []


def test_large_data_is_worked_on_when_a_page_has_its_first_figure(fresh, slept, monkeypatch):
    monkeypatch.setattr(memory, "HELD_ROWS", 0)
    _come()
    _come()
    assert slept == [warm.DRAWING_LARGE_SECONDS, warm.REDRAWING_SECONDS]
