"""In a real browser: the form and the formula edit each other, and the back button undoes it."""

import re

import pytest

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


@pytest.fixture
def tab(browser, app_server):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{app_server}/mixed_models")
    settle(page)
    yield page
    context.close()


def settle(page):
    page.wait_for_selector("h1", timeout=60_000)
    page.wait_for_timeout(200)
    page.wait_for_function(IDLE, timeout=90_000)


def formula(page):
    return page.get_by_role("textbox", name="Formula")


def test_form_and_formula_edit_each_other_and_back_undoes_it(tab):
    assert formula(tab).input_value() == "overall ~ turn + model + (1 | participant/conversation)"
    formula(tab).fill("overall ~ task + (1|participant)")
    formula(tab).press("Enter")
    settle(tab)
    form = tab.get_by_test_id("stMain")
    assert form.get_by_test_id("stMultiSelect").first.inner_text().count("Task") == 1
    assert "overall+%7E+task" in tab.url or "overall%20~%20task" in tab.url or "task" in tab.url
    tab.get_by_role("button", name="Do models differ?").click()
    settle(tab)
    assert formula(tab).input_value().startswith("overall ~ model + turn + task")
    tab.go_back()
    settle(tab)
    assert re.sub(r"\s", "", formula(tab).input_value()) == "overall~task+(1|participant)"


def test_nonsense_runs_nothing_and_is_shown_as_text(tab):
    formula(tab).fill("overall ~ <img src=x onerror='window.hacked=1'> + $5-$6")
    formula(tab).press("Enter")
    settle(tab)
    assert tab.evaluate("window.hacked") is None
    assert tab.get_by_text("has no meaning in a formula").count() == 1
