"""The reader in a real browser: keys, clicks on the course and on the list, hits, and text that does nothing."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from dashboard.intake.dataset import SENSE7_SCALES

LONG = "long" * 8_000
IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


class Reader:
    """A tab on the page Conversations that keeps what it asked of the network."""

    def __init__(self, tab, address):
        self.tab = tab
        self.address = address
        self.asked = []
        tab.on("request", lambda request: self.asked.append(request.url))

    def open(self, **query):
        self.tab.goto(f"{self.address}/conversations?{urlencode(query)}")
        return self.settle()

    def settle(self):
        self.tab.wait_for_selector(".st-key-reader-steps", timeout=60_000)
        # Idle twice a second apart: between two parts of a page the script rests for a moment, and keys would be lost.
        for _ in range(2):
            self.tab.wait_for_function(IDLE, timeout=60_000)
            self.tab.wait_for_timeout(1_000)
        self.tab.wait_for_function(IDLE, timeout=60_000)
        return self

    def wait_for(self, words):
        self.tab.wait_for_function(f"location.search.includes('{words}')")
        return self.settle()

    @property
    def headings(self):
        return self.tab.get_by_role("heading", name=re.compile(r"^Turn \d+$")).all_inner_texts()

    def strangers(self):
        own = (self.address, "data:", "blob:", self.address.replace("http", "ws"))
        return [url for url in self.asked if not url.startswith(own)]


@pytest.fixture
def reader(browser):
    """Return a function that opens the reader on an address."""
    contexts = []

    def opened(address, **query):
        context = browser.new_context(viewport={"width": 1440, "height": 2400})
        context.set_default_timeout(60_000)
        contexts.append(context)
        return Reader(context.new_page(), address).open(**query)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def nasty_reader_folder(given, nasty_texts):
    rated = {one.measure: 3 for one in SENSE7_SCALES if one.kind == "rating"}
    return given([{"conversation": "c", "text": text} | rated for text in (*nasty_texts, LONG)]).folder


def test_keys_lead_to_the_next_breakdown_and_conversation_and_back(reader, app_server):
    page = reader(app_server, conversation="C0131")
    for key, expected in (
        ("n", "turn=9"),
        ("n", "turn=10"),
        ("p", "turn=9"),
        ("j", "conversation=C0132"),
        ("k", "C0131"),
    ):
        page.tab.keyboard.press(key)
        page.wait_for(expected)
    page.tab.get_by_role("textbox", name="Search in messages").press_sequentially("nj")
    page.tab.wait_for_timeout(300)
    assert "conversation=C0131" in page.tab.url and "turn=" not in page.tab.url


FOCUSED = "() => { const one = document.activeElement; return `${one.tagName} ${one.getAttribute('aria-label') || one.innerText || ''}` }"


def tab_to(tab, words, *, at_most=120):
    """Press Tab until what has these words has the focus."""
    for _ in range(at_most):
        tab.keyboard.press("Tab")
        if words in tab.evaluate(FOCUSED):
            return
    raise AssertionError(f"Tab does not reach {words!r} in {at_most} steps; it ended on {tab.evaluate(FOCUSED)!r}")


def test_the_keyboard_alone_searches_opens_a_hit_and_steps_on(reader, app_server):
    page = reader(app_server)
    tab_to(page.tab, "INPUT Search in messages")
    page.tab.keyboard.type("napkin")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_function("document.body.innerText.includes('The search for “napkin” finds')")
    page.settle()
    tab_to(page.tab, "· turn")
    hit = page.tab.evaluate(FOCUSED)
    conversation, turn = re.search(r"(C\d{4}) · turn (\d+)", hit).groups()
    page.tab.keyboard.press("Enter")
    page.wait_for(f"turn={turn}")
    assert f"conversation={conversation}" in page.tab.url
    chosen = page.tab.locator(".st-key-chosen-turn")
    expect(chosen.locator("mark").first).to_have_text("napkin", ignore_case=True)
    page.tab.keyboard.press("Escape")
    page.tab.keyboard.press("j")
    following = f"C{int(conversation[1:]) + 1:04}"
    page.wait_for(f"conversation={following}")


def test_the_link_of_a_turn_leads_another_reader_to_it(reader, app_server):
    first = reader(app_server, conversation="C0131", turn="13")
    link = first.tab.locator(".st-key-chosen-turn code").inner_text().strip()
    assert link == f"{app_server}/conversations?conversation=C0131&turn=13#turn-13"
    second = reader(app_server)
    second.tab.set_viewport_size({"width": 1440, "height": 900})
    second.tab.goto("about:blank")
    second.tab.goto(link)
    second.settle()
    heading = second.tab.get_by_role("heading", name="Turn 13", exact=True)
    assert heading.count() == 1
    second.tab.wait_for_function(
        "one => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight }",
        arg=heading.element_handle(),
    )


def test_a_point_of_the_course_opens_its_turn_and_back_undoes_it(reader, app_server):
    page = reader(app_server, conversation="C0131")
    marks = page.tab.locator(".st-key-analysis-transcript .js-plotly-plot .scatterlayer .trace .points path")
    # The first trace with marks holds the turns that are no breakdowns: 1 to 8, 11 …
    marks.nth(2).click(force=True)
    page.wait_for("turn=3")
    assert page.tab.locator(".st-key-chosen-turn-3").count() == 1
    page.tab.go_back()
    page.tab.wait_for_function("!location.search.includes('turn=')")
    page.settle()
    assert page.tab.locator("[class*=st-key-chosen-turn]").count() == 0


def test_a_turn_chosen_by_key_is_seen_where_it_was_chosen(reader, app_server):
    page = reader(app_server, conversation="C0131")
    page.tab.set_viewport_size({"width": 1440, "height": 900})
    page.tab.locator(".st-key-reader-steps").scroll_into_view_if_needed()
    page.tab.locator(".st-key-reader-steps").evaluate("one => one.scrollIntoView()")
    for turn in (9, 10):
        page.tab.keyboard.press("n")
        page.wait_for(f"turn={turn}")
        chosen = page.tab.locator(".st-key-chosen-turn").get_by_text(f"Turn {turn}", exact=True)
        box = chosen.bounding_box()
        assert 0 < box["y"] < 900
        assert page.tab.locator(f".st-key-chosen-turn-{turn}").count() == 1


def test_a_click_on_the_list_opens_the_conversation(reader, app_server):
    page = reader(app_server)
    grid = page.tab.locator(".st-key-analysis-conversations").get_by_test_id("stDataFrame").first
    # The header and three rows, 35 px each; the fourth is C0004.
    grid.click(position={"x": 120, "y": 35 * 4 + 17})
    page.wait_for("conversation=C0004")
    assert page.tab.get_by_text("Conversation C0004 (").count() == 1


def test_hits_and_transcript_are_literal_and_fetch_nothing(reader, serve, nasty_texts, nasty_reader_folder):
    page = reader(serve(nasty_reader_folder), conversation="c", **{"message_search.text": "http"})
    messages = page.tab.locator(".st-key-transcript-messages")
    expect(messages).to_contain_text(LONG, timeout=60_000)
    shown = messages.inner_text()
    for text in (*nasty_texts, LONG):
        assert text in shown
    assert page.headings == [f"Turn {number}" for number in range(1, len(nasty_texts) + 2)]
    assert page.tab.locator("mark").count() == 2 * sum(text.count("http") for text in nasty_texts)
    assert page.tab.evaluate("window.hacked") is None
    assert page.tab.locator("img[src*='//example.invalid'], a[href*='//example.invalid']").count() == 0
    assert page.strangers() == []
    page.tab.get_by_role("button", name="c · turn 5").first.click()
    page.wait_for("turn=5")
    assert page.tab.locator(".st-key-chosen-turn-5").count() == 1
