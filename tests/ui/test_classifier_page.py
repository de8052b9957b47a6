"""The page Classifier: files are added, chosen, refused with a sentence; a link names the data's own files only."""

import shutil

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.paths import APP, SAMPLE
from dashboard.ui.address import existing_pages

JUDGES = SAMPLE / "predictions"
FILE = next(file for title, file in existing_pages() if title == "Classifier")


@pytest.fixture
def visit(monkeypatch):
    """Return a function that opens the page with a query."""

    def opened(folder=SAMPLE, *, public=False, **query):
        monkeypatch.setenv("SENSE7_DATA", str(folder))
        monkeypatch.setenv("SENSE7_PUBLIC", "1" if public else "")
        app = AppTest.from_file(str(APP), default_timeout=180)
        for key, value in query.items():
            app.query_params[key] = value
        app.switch_page(str(FILE.relative_to(APP.parent))).run()
        assert not app.exception and not app.error
        return app

    return opened


def linked(app):
    """What the address says of prediction files; a list of one comes as text."""
    found = app.query_params.get("predictions", [])
    return [found] if isinstance(found, str) else found


def first_headline(app):
    return next(one.value for one in app.main.markdown if one.value.startswith("Judge")).replace("\\", "")


def test_a_link_chooses_files_and_the_choice_is_in_the_address(visit):
    app = visit(predictions=["synthetic_birch-rubric-iter1.csv"])
    assert "synthetic_birch reaches" in first_headline(app) and "alder" not in first_headline(app)
    assert linked(app) == ["synthetic_birch-rubric-iter1.csv"]
    app.multiselect(key="predictions").set_value(["synthetic_alder-rubric-iter2.csv"]).run()
    assert "synthetic_alder reaches" in first_headline(app)
    assert linked(app) == ["synthetic_alder-rubric-iter2.csv"]


def test_a_link_makes_the_server_read_no_file_that_is_not_on_offer(visit):
    app = visit(predictions=["/etc/passwd", "synthetic_birch-rubric-iter1.csv"])
    said = " ".join(one.value for one in app.warning).replace("\\", "")
    assert "passwd is not here" in said
    assert "synthetic_birch reaches" in first_headline(app)
    assert linked(app) == ["synthetic_birch-rubric-iter1.csv"]


def test_a_file_is_added_by_its_path_and_refused_with_a_sentence(visit, tmp_path):
    shutil.copy(JUDGES / "synthetic_alder-rubric-iter1.csv", tmp_path / "mine.csv")
    app = visit()
    app.text_input(key="predictions_path").set_value(str(tmp_path / "mine.csv")).run()
    assert not app.exception
    (chosen,) = app.multiselect(key="predictions").value
    assert chosen.endswith("mine.csv")
    assert "synthetic_alder reaches" in first_headline(app)
    assert linked(app) == []
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    app.text_input(key="predictions_path").set_value(str(tmp_path / "other.csv")).run()
    assert not app.exception
    said = " ".join(one.value for one in app.warning).replace("\\", "")
    assert "other.csv must have the columns TaskId, IS_EMPATHY" in said.replace("\u2060", "")
    assert app.multiselect(key="predictions").value == [chosen]


def test_files_are_uploaded_and_those_that_are_none_refused_with_a_sentence(visit):
    app = visit()
    good = (JUDGES / "synthetic_birch-rubric-iter1.csv").read_bytes()
    app.file_uploader(key="predictions_upload").set_value(
        [("mine.csv", good, "text/csv"), ("broken.xlsx", b"PK nothing", "application/octet-stream")]
    ).run()
    assert not app.exception and not app.error
    (chosen,) = app.multiselect(key="predictions").value
    assert chosen.endswith("mine.csv")
    assert "synthetic_birch reaches" in first_headline(app)
    assert "broken.xlsx" in " ".join(one.value for one in app.warning).replace("\\", "")


def test_a_public_host_offers_no_path(visit):
    app = visit(public=True)
    assert "predictions_path" not in {one.key for one in app.text_input}


def test_data_without_predictions_says_what_to_do(visit, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("predictions"))
    app = visit(folder)
    said = " ".join(one.value for one in app.info).replace("\\", "")
    assert "Not in this data: predictions of a classifier" in said
    assert any("Without a judge" in one.value for one in app.main.markdown)
