"""Every page in every state: it says what it found or why it cannot, and never shows a fault."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.analyses import on_page, registry
from dashboard.paths import APP, SAMPLE
from dashboard.ui.address import existing_pages

PAGES = existing_pages()
page_files = pytest.mark.parametrize(("title", "file"), PAGES, ids=[title for title, _ in PAGES])


@pytest.fixture
def visit(monkeypatch):
    """Return a function that opens a page on a data folder with a query, and returns it as it was drawn."""

    def opened(title, file, folder=SAMPLE, *, public=False, **query):
        monkeypatch.setenv("SENSE7_DATA", str(folder))
        monkeypatch.setenv("SENSE7_PUBLIC", "1" if public else "")
        app = AppTest.from_file(str(APP), default_timeout=120)
        for key, value in query.items():
            app.query_params[key] = value
        if title != PAGES[0][0]:
            app.switch_page(str(file.relative_to(APP.parent)))
        return app.run()

    return opened


def assert_sound(app, title):
    assert not app.exception, app.exception
    assert not app.error, [one.value for one in app.error]
    assert [one.value for one in app.title] == [title]


def headings(app):
    return [one.value for one in app.header]


def shown_counts(app):
    """How many participants, conversations and turns the sidebar says remain."""
    line = next(one.value for one in app.sidebar.markdown if "conversation" in one.value)
    return [int(number.replace(",", "")) for number in re.findall(r"(?<![\d,])([\d,]+)(?= of |\s(?!of))", line)]


def test_the_overview_is_the_first_page():
    assert PAGES[0][0] == "Overview"


@page_files
def test_a_page_shows_every_one_of_its_questions_and_that_the_sample_is_synthetic(visit, title, file):
    app = visit(title, file)
    assert_sound(app, title)
    assert [one.question for one in on_page(title)] == [
        heading for heading in headings(app) if heading in {one.question for one in registry().values()}
    ]
    assert ("Read with care" in headings(app)) == (title in {"Variability", "Expectations", "Breakdowns"})
    assert any("SYNTHETIC" in one.value for one in app.main.markdown)
    assert not any("of 695" in one.value for one in app.main.markdown)


@page_files
def test_a_filter_leaves_fewer_conversations(visit, title, file, sample):
    task = sample.cursor().execute("select min(task) from stg_conversations").fetchone()[0]
    app = visit(title, file, task=task)
    assert_sound(app, title)
    n = sample.cursor().execute("select count(*) from stg_conversations where task = ?", [task]).fetchone()[0]
    assert f"{n} of 672 conversations" in "".join(one.value for one in app.sidebar.markdown)
    assert app.multiselect(key="task").value == [task]


@page_files
def test_an_empty_selection_is_told_with_a_way_out(visit, title, file):
    app = visit(title, file, min_rated_turns="9999")
    assert_sound(app, title)
    assert "No conversation is left" in app.info[0].value
    app.button(key="reset.empty").click().run()
    assert_sound(app, title)
    assert not any("No conversation is left" in one.value for one in app.info)
    assert "min_rated_turns" not in app.query_params


@page_files
def test_a_single_participant_is_no_fault(visit, title, file, sample):
    person = sample.cursor().execute("select min(participant) from stg_conversations").fetchone()[0]
    app = visit(title, file, participant=person)
    assert_sound(app, title)
    assert "1 of 109 participants" in "".join(one.value for one in app.sidebar.markdown)


@page_files
def test_what_a_link_asks_in_vain_is_named(visit, title, file):
    app = visit(title, file, task=["No such task", "Nor this"], outcome="warmth", exclude_flagged="perhaps", bogus="1")
    assert_sound(app, title)
    said = app.warning[0].value.replace("\\", "")
    for word in ("No such task", "Nor this", "warmth", "perhaps", "bogus"):
        assert word in said
    assert app.query_params == {}
    app.button(key="unfollowed.seen").click().run()
    assert not any("No such task" in one.value.replace("\\", "") for one in app.warning)


@page_files
def test_public_mode_hides_texts(visit, title, file):
    app = visit(title, file, public=True)
    assert_sound(app, title)
    assert any("texts hidden" in one.value for one in app.main.markdown)


@page_files
@pytest.mark.parametrize("folder", ["nasty_folder", "mapped_folder", "unrated_folder"])
def test_other_data_is_no_fault(visit, title, file, folder, request):
    app = visit(title, file, request.getfixturevalue(folder))
    assert_sound(app, title)
    if folder == "unrated_folder" and on_page(title):
        assert any(one.value.startswith("Not in this data") for one in app.info)
    if folder != "nasty_folder":
        assert not any("SYNTHETIC" in one.value for one in app.main.markdown)


@page_files
def test_the_release_alone_says_672_of_695(visit, title, file, tmp_path):
    import json
    import shutil

    folder = tmp_path / "release"
    shutil.copytree(SAMPLE, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"release": True, "synthetic": False}))
    app = visit(title, file, folder)
    assert any("672 of 695 conversations" in one.value for one in app.main.markdown)


@page_files
def test_every_panel_of_every_analysis_opens(visit, title, file):
    """A panel is opened under all analyses of a page at once."""
    names = [one.name for one in on_page(title)]
    app = visit(title, file)
    for panel in ("Data", "How this is computed", "Download", "Copy link", "Add to export"):
        for name in names:
            app.button_group(key=f"panel.{name}").set_value(panel)
        app.run()
        assert_sound(app, title)
        shown = [one.value for one in app.code]
        for name in names:
            if panel == "How this is computed":
                assert any(re.match(rf"sense7 table {name}(\s|$)", one) for one in shown), name
            if panel == "Copy link":
                assert any(one.endswith(f"#{name}") for one in shown), name


def test_a_folder_that_is_not_ours_is_told_what_to_do(visit, tmp_path):
    app = visit(*PAGES[0], tmp_path)
    assert not app.exception
    assert "sense7 import" in app.info[0].value.replace("\\", "")
