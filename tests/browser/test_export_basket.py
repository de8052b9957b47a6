"""From an analysis through the page Export to a zip on the disk, and the zip opened again."""

import io
import json
import zipfile
from pathlib import Path

import pytest

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    context.close()


def settle(page):
    """Wait until the page rests: a click while it is drawn anew may meet a button that is being replaced."""
    for _ in range(2):
        page.wait_for_function(IDLE)
        page.wait_for_timeout(1_000)
    page.wait_for_function(IDLE)


def test_what_was_added_is_saved_as_it_was_seen(page, app_server):
    page.goto(f"{app_server}/?task=Ode+to+a+potato")
    page.wait_for_selector(".st-key-analysis-ground_truth")
    settle(page)
    shown = page.locator(".st-key-analysis-ground_truth")
    shown.get_by_role("button", name="Add to export").or_(
        shown.get_by_role("radio", name="Add to export")
    ).first.click()
    settle(page)
    opened = page.locator(".st-key-opened-ground_truth")
    opened.get_by_role("button", name="Add", exact=True).click()
    settle(page)
    opened.get_by_role("link", name="Open the export").click()
    page.wait_for_selector(".st-key-entry-2")
    settle(page)
    name = page.get_by_role("textbox", name="Name of Figure 1")
    name.fill("../The truth: <b>of odes</b>")
    name.press("Enter")
    settle(page)
    # The table first: another order than the one in which they were added.
    page.get_by_role("button", name="arrow_upward").nth(1).click()
    settle(page)
    page.get_by_role("button", name="Make the zip").click()
    page.get_by_role("button", name="Save the zip").wait_for()
    settle(page)
    with page.expect_download() as told:
        page.get_by_role("button", name="Save the zip").click()
    assert told.value.suggested_filename == "sense7_export_SYNTHETIC.zip"
    with zipfile.ZipFile(io.BytesIO(Path(told.value.path()).read_bytes())) as archive:
        assert archive.testzip() is None
        files = {one: archive.read(one) for one in archive.namelist()}
    assert list(files)[3:] == [
        "tables/table-1-ground_truth_SYNTHETIC.csv",
        "figures/figure-1-The-truth-b-of-odes-b.pdf",
    ]
    assert files["figures/figure-1-The-truth-b-of-odes-b.pdf"].startswith(b"%PDF")
    manifest = json.loads(files["manifest.json"])
    assert [one["selection"]["task"] for one in manifest["items"]] == [["Ode to a potato"]] * 2
    assert page.url.split("?")[0].endswith("/export")
