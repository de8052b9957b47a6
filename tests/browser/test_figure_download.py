"""The Download panel gives figures for print, made when asked."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    context.close()


IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


def settle(page):
    """Wait until the page rests: a click while it is drawn anew may meet a button that is being replaced."""
    for _ in range(2):
        page.wait_for_function(IDLE)
        page.wait_for_timeout(1_000)
    page.wait_for_function(IDLE)


def test_a_figure_is_saved_as_pdf_and_json_at_the_chosen_width(page, app_server):
    page.goto(f"{app_server}/?task=Ode+to+a+potato")
    page.wait_for_selector(".st-key-analysis-ground_truth")
    settle(page)
    analysis = page.locator(".st-key-analysis-ground_truth")
    analysis.get_by_role("button", name="Download").or_(analysis.get_by_role("radio", name="Download")).first.click()
    opened = page.locator(".st-key-opened-ground_truth")
    settle(page)
    opened.get_by_text("double", exact=True).click()
    settle(page)
    with page.expect_download() as told:
        opened.get_by_role("button", name="JSON").click()
    found = json.loads(Path(told.value.path()).read_text())["layout"]
    assert round(found["width"]) == round(182 / 25.4 * 96)
    assert "task=Ode to a potato" in found["meta"]["provenance"]["command"]
    settle(page)
    with page.expect_download() as told:
        opened.get_by_role("button", name="PDF").click()
    assert told.value.suggested_filename == "ground_truth_SYNTHETIC.pdf"
    assert Path(told.value.path()).read_bytes().startswith(b"%PDF")
