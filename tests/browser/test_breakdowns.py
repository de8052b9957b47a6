"""The page Breakdowns in a real browser: a line opens its conversation, the definition goes along from page to page."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
FIRST_POINT = """(chart) => {
    const plot = chart.querySelector('.js-plotly-plot'), layout = plot._fullLayout, box = plot.getBoundingClientRect();
    const lines = plot.data.find(one => one.customdata && typeof one.customdata[0][0] === 'string');
    return [box.x + layout.xaxis._offset + layout.xaxis.d2p(lines.x[0]), box.y + layout.yaxis._offset + layout.yaxis.d2p(lines.y[0])];
}"""


@pytest.fixture
def tab(browser, app_server):
    """Open a page of the dashboard and wait until all of it is drawn."""
    opened = browser.new_page(viewport={"width": 1200, "height": 7000})

    def visit(path):
        opened.goto(f"{app_server}/{path}")
        settle(opened)
        return opened

    yield visit
    opened.close()


def settle(tab):
    tab.wait_for_selector("h1", timeout=180_000)
    tab.wait_for_timeout(300)
    tab.wait_for_function(IDLE, timeout=180_000)
    tab.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=180_000)


def test_a_click_on_a_line_opens_its_conversation_at_that_turn(tab, sample):
    page = tab("breakdowns")
    chart = page.locator(".st-key-analysis-rating_trajectories [data-testid=stPlotlyChart]").first
    page.wait_for_function(
        "document.querySelector('.st-key-analysis-rating_trajectories .js-plotly-plot')?._fullLayout"
    )
    x, y = chart.evaluate(FIRST_POINT)
    page.mouse.move(x, y)
    page.wait_for_timeout(300)
    page.mouse.click(x, y)
    page.wait_for_url(re.compile("/conversations"), timeout=60_000)
    settle(page)
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["turn"] == ["1"]
    known = sample.cursor().execute("select conversation from raw.conversations").fetchall()
    assert (asked["conversation"][0],) in known


def test_the_definition_holds_on_every_question_and_comes_along_from_the_reader(tab):
    page = tab("conversations?threshold=50")
    page.get_by_test_id("stSidebar").get_by_text("Breakdowns").click()
    page.wait_for_url(re.compile("/breakdowns"), timeout=60_000)
    settle(page)
    assert parse_qs(urlsplit(page.url).query) == {"threshold": ["50"]}
    assert page.get_by_label("Low, % of the scale", exact=True).input_value() == "50"
    for name in ("breakdown_rate", "breakdown_survival", "breakdown_alignment", "breakdown_impact"):
        assert "≤ 3" in page.locator(f".st-key-analysis-{name}").inner_text()
