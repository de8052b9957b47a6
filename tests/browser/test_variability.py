"""The Variability page in a real browser: long work says how far it is, gives way to a filter, and can be stopped."""

import re

import pytest

RESTS = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
# A quarter of an hour of work, were it not stopped.
LONG = "variability?variance_components.intervals=bootstrap&variance_components.n_boot=20000"


@pytest.fixture
def tab(browser):
    """A tab that is closed whatever happens: work that goes on behind it would slow down the next test."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    yield opened
    opened.close()


def test_a_long_bootstrap_says_how_far_it_is_gives_way_to_a_filter_and_can_be_stopped(app_server, tab):
    tab.goto(f"{app_server}/{LONG}")
    place = tab.locator(".st-key-analysis-variance_components")
    far = re.compile(r"Bootstrap of outcome \d of 9: [\d,]+ of 20,000")
    place.get_by_text(far).wait_for(timeout=240_000)
    place.get_by_text("question 5 of 10").wait_for(timeout=60_000)
    tab.get_by_text("3 High", exact=True).click()
    tab.get_by_text(re.compile(r"\d+ of 109 participants")).first.wait_for(timeout=60_000)
    tab.get_by_role("button", name="Stop").click(timeout=60_000)
    tab.wait_for_function(RESTS, timeout=60_000)


def test_each_conversation_of_a_person_opens_in_the_reader(app_server, tab):
    tab.goto(f"{app_server}/variability?participant_profile.person=S001")
    listed = tab.locator(".st-key-person-conversations")
    listed.get_by_role("button", name="C0002", exact=True).first.click(timeout=60_000)
    tab.wait_for_url("**/conversations?conversation=C0002", timeout=60_000)
    tab.locator(".st-key-reader-steps").wait_for(timeout=60_000)
