"""The dashboard in a real browser: it draws, it stays at home, its links and its back button mean what they say."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from dashboard.analyses import on_page
from dashboard.ui.address import existing_pages

PAGES = [title for title, _ in existing_pages()]
IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
each_page = pytest.mark.parametrize("title", PAGES)


class Visit:
    """A browser tab that keeps what it asked of the network and what its console complained of."""

    def __init__(self, tab, address):
        self.tab = tab
        self.address = address
        self.asked = []
        self.complaints = []
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("console", self._hear)
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, line):
        # Opened on a page, Streamlit's own probe for its base path misses once; that is no complaint of ours.
        if line.type == "error" and "/_stcore/" not in line.location["url"]:
            self.complaints.append(line.text)

    def open(self, path="", **query):
        self.tab.goto(f"{self.address}/{path}{'?' + urlencode(query, doseq=True) if query else ''}")
        self.settle()
        return self

    def settle(self):
        """Wait until the script has run and what is loaded lazily is there."""
        self.tab.wait_for_selector("h1", timeout=180_000)
        self.tab.wait_for_timeout(150)
        self.tab.wait_for_function(IDLE, timeout=180_000)
        self.tab.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=180_000)
        return self

    @property
    def sidebar(self):
        return self.tab.get_by_test_id("stSidebar")

    @property
    def counts(self):
        """The sidebar's line of how much remains."""
        return self.sidebar.get_by_text(re.compile("conversation.*turn")).first.inner_text()

    def press(self, name, *, within=None, role="button"):
        (within or self.tab).get_by_role(role, name=name, exact=True).click()
        return self.settle()

    def strangers(self):
        """Requests that left for another host."""
        return [
            url
            for url in self.asked
            if not url.startswith((self.address, "data:", "blob:", self.address.replace("http", "ws")))
        ]


@pytest.fixture
def tab(browser):
    """Return a function that opens a tab on an address."""
    contexts = []

    def opened(address, *, width=1440, height=900, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(180_000)
        contexts.append(context)
        return Visit(context.new_page(), address)

    yield opened
    for context in contexts:
        context.close()


def path_of(title):
    return "" if title == PAGES[0] else title.lower().replace(" ", "_")


@each_page
def test_a_page_draws_without_complaint_and_asks_nobody_else(tab, app_server, title):
    visit = tab(app_server).open(path_of(title))
    for analysis in on_page(title):
        assert visit.tab.get_by_role("heading", name=analysis.question, exact=True).count() == 1
        block = visit.tab.locator(f".st-key-analysis-{analysis.name}")
        block.scroll_into_view_if_needed()
        visit.settle()
    assert visit.complaints == []
    assert visit.strangers() == []


@each_page
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [800, 1440])
def test_a_page_fits_its_window(tab, app_server, title, width, dark):
    visit = tab(app_server, width=width, dark=dark).open(path_of(title))
    main = visit.tab.get_by_test_id("stMain")
    assert main.evaluate("one => one.scrollWidth <= one.clientWidth")
    ground = visit.tab.get_by_test_id("stApp").evaluate("one => getComputedStyle(one).backgroundColor")
    assert ground == ("rgb(14, 17, 23)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_figures_are_drawn_for_the_readers_theme_from_the_start(tab, app_server, dark):
    visit = tab(app_server, dark=dark).open()
    first_tick = visit.tab.locator(".js-plotly-plot .xtick text").first
    # A figure that is drawn anew while one looks has no style for a moment.
    expect(first_tick).to_have_css("fill", "rgb(242, 242, 242)" if dark else "rgb(26, 26, 26)", timeout=20_000)


def test_a_link_reproduces_the_view(tab, app_server):
    first = tab(app_server).open()
    everything = first.counts
    first.press("3 High", within=first.sidebar).press("Model", role="radio")
    query = first.tab.url.split("?", 1)[1]
    assert "desired_empathy=3" in query
    assert "applicability.by=model" in query
    second = tab(app_server)
    second.tab.goto(first.tab.url)
    second.settle()
    assert second.counts == first.counts != everything
    assert second.tab.url == first.tab.url
    control = second.tab.get_by_role("radiogroup", name="Split by")
    assert control.get_by_role("radio", checked=True).inner_text() == "Model"


def test_copy_link_gives_the_address_of_the_view_at_the_question(tab, app_server):
    visit = tab(app_server).open(desired_empathy="3")
    block = visit.tab.locator(".st-key-analysis-dataset_overview")
    visit.press("Copy link", within=block, role="radio")
    assert block.locator("code").inner_text().strip() == f"{app_server}/?desired_empathy=3#dataset_overview"


def test_back_and_forward_step_through_filters(tab, app_server):
    visit = tab(app_server).open()
    everything = visit.counts
    high = visit.press("3 High", within=visit.sidebar).counts
    both = visit.press("1 Minimal", within=visit.sidebar).counts
    assert len({everything, high, both}) == 3
    visit.tab.go_back()
    visit.tab.wait_for_function("!location.search.includes('desired_empathy=1')")
    assert visit.settle().counts == high
    assert visit.tab.get_by_role("button", name="Desired empathy: 3 High empathy").count() == 1
    visit.tab.go_back()
    visit.tab.wait_for_function("location.search === ''")
    assert visit.settle().counts == everything
    visit.tab.go_forward()
    visit.tab.wait_for_function("location.search !== ''")
    assert visit.settle().counts == high


@pytest.mark.skipif(len(PAGES) < 2, reason="there is one page so far")
def test_filters_go_along_to_other_pages_and_back(tab, app_server):
    visit = tab(app_server).open(desired_empathy="3")
    filtered = visit.counts
    visit.sidebar.get_by_role("link", name=PAGES[1]).click()
    visit.tab.wait_for_url(f"**/{path_of(PAGES[1])}?*")
    assert visit.settle().counts == filtered
    assert "desired_empathy=3" in visit.tab.url
    visit.tab.go_back()
    visit.tab.wait_for_url("**/?*")
    assert visit.settle().counts == filtered


def test_chips_and_reset_take_filters_away(tab, app_server):
    visit = tab(app_server).open(desired_empathy=["1", "3"], min_rated_turns="3")
    filtered = visit.counts
    visit.tab.get_by_role("button", name=re.compile("Desired empathy: 1 Minimal empathy")).click()
    visit.tab.wait_for_function("!location.search.includes('desired_empathy=1')")
    assert visit.settle().counts != filtered
    visit.press("Reset")
    visit.tab.wait_for_function("location.search === ''")
    assert " of " not in visit.settle().counts


def test_typing_finds_a_participant(tab, app_server):
    visit = tab(app_server).open()
    visit.sidebar.get_by_label("Participants", exact=True).fill("s10")
    visit.settle()
    box = visit.sidebar.get_by_label("Chosen participants")
    box.click()
    offered = visit.tab.get_by_role("option")
    offered.first.wait_for()
    assert 0 < offered.count() <= 50
    assert all("s10" in one.lower() for one in offered.all_inner_texts())
    offered.first.click()
    visit.tab.wait_for_function("location.search.includes('participant=')")
    assert visit.settle().counts.startswith("1 of 109 participants")


def test_every_question_can_be_reached_by_keyboard(tab, app_server):
    visit = tab(app_server).open()
    visit.tab.get_by_role("button", name="On this page").focus()
    visit.tab.keyboard.press("Enter")
    link = visit.tab.get_by_role("link", name=on_page(PAGES[0])[2].question)
    link.wait_for()
    link.focus()
    visit.tab.keyboard.press("Enter")
    visit.tab.wait_for_function(f"location.hash === '#{on_page(PAGES[0])[2].name}'")


@each_page
def test_nasty_names_are_shown_as_they_are_and_do_nothing(tab, serve, nasty_folder, nasty_texts, title):
    visit = tab(serve(nasty_folder), height=6000).open(path_of(title), task=list(nasty_texts))
    chips = visit.tab.locator(".st-key-chips").inner_text().replace("\u2060", "")
    for text in nasty_texts:
        assert f"Task: {text}" in chips
    for analysis in on_page(title):
        for panel in ("Data", "How this is computed"):
            block = visit.tab.locator(f".st-key-analysis-{analysis.name}")
            if block.get_by_role("radio", name=panel, exact=True).count():
                visit.press(panel, within=block, role="radio")
    assert visit.tab.evaluate("window.hacked") is None
    assert visit.tab.locator("img[src*='//example.invalid'], a[href*='//example.invalid']").count() == 0
    assert visit.strangers() == []
    assert visit.complaints == []


def test_nasty_links_are_named_as_they_are_and_do_nothing(tab, serve, nasty_folder, nasty_texts):
    visit = tab(serve(nasty_folder)).open(
        task=[f"not {text}" for text in nasty_texts], **{nasty_texts[1]: nasty_texts[2]}
    )
    said = visit.tab.locator(".st-key-unfollowed").inner_text().replace("\u2060", "")
    for text in nasty_texts:
        assert f"not {text}" in said
    assert f"{nasty_texts[1]}={nasty_texts[2]}" in said
    assert visit.tab.evaluate("window.hacked") is None
    assert visit.tab.locator("img[src*='//example.invalid'], a[href*='//example.invalid']").count() == 0
    assert visit.strangers() == []


def test_notes_and_codebook_are_literal(tab, serve, nasty_folder, nasty_texts):
    visit = tab(serve(nasty_folder), height=8000).open()
    body = visit.tab.get_by_test_id("stMain")
    for summary in body.locator("summary").all():
        summary.click()
    visit.settle()
    text = body.inner_text().replace("\u2060", "")
    for one in nasty_texts:
        assert one in text
    assert visit.tab.evaluate("window.hacked") is None
    assert visit.strangers() == []


def test_what_waited_for_an_answer_gives_way_to_it(tab, app_server):
    visit = tab(app_server).open()
    visit.tab.wait_for_function("!document.body.innerText.includes('Asking this data')", timeout=180_000)
    claims = visit.tab.locator(".st-key-analysis-claims")
    assert claims.get_by_role("table").count() == 1
    assert "…" not in claims.get_by_role("table").inner_text()
    assert visit.tab.get_by_role("heading", name="The papers' claims, checked here").count() == 1


def test_a_download_is_made_when_it_is_asked_for(tab, app_server):
    visit = tab(app_server).open()
    block = visit.tab.locator(".st-key-analysis-dataset_overview")
    visit.press("Data", within=block, role="radio")
    with visit.tab.expect_download() as waiting:
        block.get_by_role("button", name="CSV", exact=True).click()
    assert waiting.value.suggested_filename == "dataset_overview_SYNTHETIC.csv"
    content = waiting.value.path().read_bytes()
    assert content.startswith(b"\xef\xbb\xbfmeasure,value\n")
