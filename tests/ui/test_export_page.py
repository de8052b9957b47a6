"""The page Export in every state: empty, filled, ordered, renamed, at work, stopped, done, and without a browser."""

import io
import json
import time
import zipfile

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.analyses import analysis
from dashboard.paths import APP, SAMPLE
from dashboard.ui.export_job import Job, Stopped
from dashboard.vocabulary import Refused

EXPORT = "ui/pages/export.py"


@pytest.fixture
def visit(monkeypatch):
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.setenv("SENSE7_PUBLIC", "")

    def opened(page=EXPORT, **query):
        app = AppTest.from_file(str(APP), default_timeout=120)
        for key, value in query.items():
            app.query_params[key] = value
        return app.switch_page(page).run() if page else app.run()

    return opened


def add(app, name, *parts):
    """Open the panel of an analysis on the page that is shown, choose parts, and add them."""
    app.button_group(key=f"panel.{name}").set_value("Add to export").run()
    if parts:
        app.button_group(key=f"add.{name}").set_value(list(parts)).run()
    app.button(key=f"add_now.{name}").click().run()
    assert not app.exception
    return app


@pytest.fixture
def filled(visit):
    """An export of the ground truth's figure and table with a filter, and of a table of applicability."""
    app = add(visit(page=None, task="Ode to a potato"), "ground_truth")
    app = add(app, "applicability", ("table", "applicability"))
    return app.switch_page(EXPORT).run()


def labels(app):
    return [one.value for one in app.main.markdown if one.value.startswith("**")]


def names(app):
    return [one.placeholder for one in app.main.text_input]


def finish(app):
    deadline = time.monotonic() + 90
    while app.session_state["export_job"].running and time.monotonic() < deadline:
        app.session_state["export_job"].wait(5)
    return app.run()


def opened(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_empty_export_says_what_to_do(visit):
    app = visit()
    assert not app.exception
    assert "Add to export" in app.info[0].value
    assert any(one.value.startswith("sense7 export") for one in app.code)
    assert not [one for one in app.button if one.key == "export.make"]


def test_what_is_added_is_remembered_as_it_was_seen(filled):
    assert not filled.exception
    assert labels(filled) == ["**Figure 1**", "**Table 1**", "**Table 2**"]
    assert names(filled) == ["ground_truth", "ground_truth", "applicability"]
    told = [one.value.replace("\\", "") for one in filled.main.caption]
    assert sum("task = Ode to a potato" in one for one in told) == 3


def test_the_download_panel_has_the_draft_of_the_caption(visit):
    app = visit(page=None, task="Ode to a potato")
    app.button_group(key="panel.ground_truth").set_value("Download").run()
    said = [one.value for one in app.code if one.value.startswith("Conversations by ground truth.")]
    assert len(said) == 1 and "81 rated conversations" in said[0] and "SYNTHETIC" in said[0]


def test_added_twice_is_there_once_and_another_filter_makes_another_entry(visit):
    app = add(visit(page=None), "ground_truth")
    app = add(app, "ground_truth")
    assert any("In the export already" in one.value and "2 entries" in one.value for one in app.caption)
    app.multiselect(key="task").set_value(["Ode to a potato"]).run()
    app = add(app, "ground_truth", ("figure", "ground_truth"))
    assert any("1 added" in one.value and "3 entries" in one.value for one in app.caption)


def test_filters_of_the_moment_change_nothing_in_the_export(filled):
    filled.multiselect(key="task").set_value([]).run()
    filled.number_input(key="min_rated_turns").set_value(9999).run()
    assert "No conversation is left" in filled.info[0].value
    assert labels(filled) == ["**Figure 1**", "**Table 1**", "**Table 2**"]


def test_entries_are_ordered_renamed_and_taken_out(filled):
    assert filled.button(key="export.up.1").disabled and filled.button(key="export.down.3").disabled
    filled.text_input(key="export.title.3").set_value("Which dimensions apply?").run()
    filled.button(key="export.up.3").click().run()
    filled.button(key="export.up.3").click().run()
    assert names(filled) == ["applicability", "ground_truth", "ground_truth"]
    assert filled.main.text_input[0].value == "Which dimensions apply?"
    filled.button(key="export.remove.1").click().run()
    assert labels(filled) == ["**Table 1**", "**Table 2**"]
    filled.switch_page("ui/pages/overview.py").run()
    filled.switch_page(EXPORT).run()
    assert filled.main.text_input[0].value == "Which dimensions apply?"
    filled.button(key="export.empty").click().run()
    assert "Add to export" in filled.info[0].value


def test_the_zip_is_made_with_these_settings_and_its_texts_can_be_copied(filled):
    filled.button_group(key="export.figures").set_value(["json", "csv"]).run()
    filled.button_group(key="export.tables").set_value(["latex"]).run()
    filled.button_group(key="export.width").set_value("own").run()
    filled.number_input(key="export.mm").set_value(120.0).run()
    filled.button_group(key="export.style").set_value("nature").run()
    filled.button(key="export.make").click().run()
    app = finish(filled)
    assert not app.exception
    files = opened(app.session_state["export_job"].result)
    assert set(files) == {
        "manifest.json",
        "captions.md",
        "methods.md",
        "figures/figure-1-ground_truth.json",
        "figures/figure-1-ground_truth_SYNTHETIC.csv",
        "tables/table-1-ground_truth.tex",
        "tables/table-2-applicability.tex",
    }
    manifest = json.loads(files["manifest.json"])
    assert (manifest["print"]["style"], manifest["print"]["width_mm"]) == ("nature", 120)
    assert {one["selection"]["task"][0] for one in manifest["items"]} == {"Ode to a potato"}
    shown = [one.value for one in app.code]
    assert files["captions.md"].decode().strip() in [one.strip() for one in shown]
    assert files["methods.md"].decode().strip() in [one.strip() for one in shown]
    # What was made is for this basket: another order asks anew.
    app.button(key="export.down.1").click().run()
    assert app.button(key="export.make")


def test_work_shows_what_it_makes_and_can_be_stopped(filled, monkeypatch):
    import dashboard.ui.export_page as page

    def slow(data, entries, settings, *, run, progress):
        for step in range(1000):
            progress(step, 1000, "figures/figure-1-ground_truth.pdf")
            time.sleep(0.02)
        return b""

    monkeypatch.setattr(page, "basket_zip", slow)
    filled.button_group(key="export.figures").set_value(["html"]).run()
    filled.button(key="export.make").click().run()
    job = filled.session_state["export_job"]
    filled.run()
    assert not filled.exception and job.running
    assert not [one for one in filled.button if one.key == "export.make"]
    filled.button(key="export.stop").click().run()
    assert filled.button(key="export.make")
    job.wait(5)
    assert job.result is None and not job.running


def test_without_a_browser_it_says_what_to_install_and_the_rest_works(filled, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    filled.button_group(key="export.figures").set_value(["pdf"]).run()
    assert "apt\\-get install chromium" in filled.info[0].value
    assert filled.button(key="export.make").disabled
    filled.button_group(key="export.figures").set_value(["html"]).run()
    assert not filled.info
    filled.button(key="export.make").click().run()
    assert "figures/figure-1-ground_truth.html" in opened(finish(filled).session_state["export_job"].result)


def test_what_cannot_be_made_is_told_in_words(filled):
    filled.button_group(key="export.tables").set_value([]).run()
    filled.button_group(key="export.figures").set_value(["json"]).run()
    filled.button(key="export.make").click().run()
    app = finish(filled)
    assert "at least one format for tables" in app.info[0].value
    app.button_group(key="export.tables").set_value(["csv"]).run()
    assert not app.info


def test_data_that_was_replaced_is_told(filled, monkeypatch, tmp_path):
    import shutil

    folder = tmp_path / "data"
    shutil.copytree(SAMPLE, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"data_sha256": "0" * 64}))
    monkeypatch.setenv("SENSE7_DATA", str(folder))
    filled.run()
    assert "3 entries were added" in filled.warning[0].value


class TestJob:
    def test_a_fault_is_logged_and_told_in_words(self, caplog):
        def broken(progress):
            raise ZeroDivisionError("secret")

        job = Job("key", broken)
        job.wait(5)
        assert job.result is None and "fault of the dashboard" in job.refusal and "secret" not in job.refusal
        assert "secret" in caplog.text

    def test_a_refusal_is_its_sentence(self):
        def refused(progress):
            raise Refused("No.")

        job = Job("key", refused)
        job.wait(5)
        assert job.refusal == "No."

    def test_stopped_work_ends_at_its_next_step_and_frees_its_place(self):
        steps = []

        def endless(progress):
            while True:
                progress(len(steps), 10, "x")
                steps.append(1)
                time.sleep(0.01)

        jobs = [Job(place, endless) for place in range(4)]
        time.sleep(0.1)
        for job in jobs:
            job.stop()
        for job in jobs:
            job.wait(5)
            assert not job.running and job.result is None and not job.refusal
        last = Job("last", lambda progress: b"done")
        last.wait(5)
        assert last.result == b"done"
        assert issubclass(Stopped, Exception)


def test_eight_sessions_export_at_once_and_get_their_own(visit, sample):
    tasks = [
        row[0] for row in sample.cursor().execute("select distinct task from raw.conversations order by 1").fetchall()
    ]
    sessions = []
    for task in tasks[:8]:
        app = add(visit(page="ui/pages/conversations.py", task=task), "transcript", ("figure", "transcript"))
        app.switch_page(EXPORT).run()
        app.button_group(key="export.figures").set_value(["json"]).run()
        sessions.append(app.button(key="export.make").click().run())
    assert len(sessions) == 8
    question = analysis("transcript").question
    for task, app in zip(tasks, sessions, strict=False):
        manifest = json.loads(opened(finish(app).session_state["export_job"].result)["manifest.json"])
        assert [one["selection"]["task"] for one in manifest["items"]] == [[task]]
        assert manifest["items"][0]["question"] == question
