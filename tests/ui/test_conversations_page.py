"""The reader opens what it is asked for, shows text as it is, and says what it cannot follow."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.paths import APP, SAMPLE
from dashboard.ui.reader_text import clock


@pytest.fixture
def read(monkeypatch):
    """Return a function that opens the page on a data folder with a query."""

    def opened(folder=SAMPLE, *, public=False, **query):
        monkeypatch.setenv("SENSE7_DATA", str(folder))
        monkeypatch.setenv("SENSE7_PUBLIC", "1" if public else "")
        app = AppTest.from_file(str(APP), default_timeout=120)
        for key, value in query.items():
            app.query_params[key.replace("__", ".")] = value
        return sound(app.switch_page("ui/pages/conversations.py").run())

    return opened


def sound(app):
    assert not app.exception, app.exception
    assert not app.error, [one.value for one in app.error]
    return app


def turns(app):
    return [one.value for one in app.subheader]


def said(app):
    return [one.value for one in app.text]


def headline(app):
    return next(one.value for one in app.markdown if one.value.startswith("Conversation ")).replace("\\", "")


def asked(app, key):
    """What the address says of a key: AppTest gives one value as it is or as a list, by who wrote it."""
    value = app.query_params[key]
    return value[0] if isinstance(value, list) else value


def press(app, key):
    return sound(app.button(key=key).click().run())


@pytest.fixture
def long_folder(given):
    """One conversation of 45 turns with breakdowns on 3, 21 and 45, and a short one after it."""
    low = {3, 21, 45}
    long = [{"conversation": "long", "text": f"reply {n}", "overall": 1 if n in low else 4} for n in range(1, 46)]
    return given([*long, {"conversation": "short", "text": "only", "overall": 5}]).folder


def test_a_link_opens_exactly_this_turn_on_its_page_of_twenty(read, long_folder):
    app = read(long_folder, conversation="long", turn="21")
    assert turns(app) == [f"Turn {n}" for n in range(21, 41)]
    # The chosen turn by itself under the course, then the page that holds it.
    assert said(app) == ["reply 21", *(f"reply {n}" for n in range(21, 41))]
    assert any("conversation=long&turn=21" in one.value for one in app.code)
    assert any("Turns 21–40 of 45" in one.value for one in app.caption)
    marked = [one.value for one in app.markdown if "Chosen" in one.value]
    assert len(marked) == 2 and all("Breakdown" in one for one in marked)
    assert marked[0].startswith("**Turn 21**")


def test_breakdowns_and_conversations_are_stepped_through(read, long_folder):
    app = read(long_folder)
    places = []
    for key in ("step.N", "step.N", "step.N", "step.P"):
        press(app, key)
        places.append((asked(app, "conversation"), asked(app, "turn")))
    assert places == [("long", turn) for turn in ("3", "21", "45", "21")]
    assert app.button(key="step.K").disabled
    press(app, "step.J")
    assert asked(app, "conversation") == "short" and "turn" not in app.query_params
    assert said(app) == ["only"]
    for key in ("step.J", "step.N", "step.P"):
        assert app.button(key=key).disabled
    press(app, "step.K")
    assert turns(app)[0] == "Turn 1"
    press(app, "page.Later turns")
    assert turns(app)[0] == "Turn 21"


def test_each_turn_can_be_chosen(read):
    app = press(read(conversation="C0003"), "choose.7")
    assert asked(app, "turn") == "7"
    assert any(one.value.endswith("conversation=C0003&turn=7#turn-7") for one in app.code)


def test_the_keys_are_on_the_buttons(read):
    app = read()
    assert {key: app.button(key=f"step.{key}").proto.shortcut for key in "JKNP"} == {key: key.lower() for key in "JKNP"}


def test_the_definition_of_a_breakdown_changes_what_is_marked(read):
    app = read(conversation="C0131")
    assert "breakdown on turns 9, 10, 13" in headline(app)
    sound(app.segmented_control(key="definition").set_value("error or retry").run())
    assert asked(app, "definition") == "error or retry"
    assert "breakdown on turns 9, 10, 13" not in headline(app)


def test_what_a_link_asks_in_vain_is_named(read):
    app = read(conversation="C9999", turn="5")
    assert any("There is no conversation 'C9999'" in one.value.replace("\\", "") for one in app.info)
    app = read(conversation="C0003", turn="99")
    assert any("Turn 99 is asked for" in one.value for one in app.caption)
    app = read(conversation="C0003", turn="seven")
    assert "turn=seven" in app.warning[0].value.replace("\\", "")


def test_an_id_can_be_typed(read):
    app = read()
    sound(app.text_input(key="reader.id").set_value("C0042").run())
    assert headline(app).startswith("Conversation C0042 ")


def test_ratings_tell_level_not_applicable_and_missing_apart(read, given):
    data = given([{"conversation": "c", "overall": 2, "affective": "n/a", "cognitive": 5}])
    app = read(data.folder)
    shown = next(
        one.value for one in app.markdown if "Overall perceived empathy" in one.value and "color[" in one.value
    )
    assert ':color[ **2** ]{foreground="#000000" background="#d8a35d"} Overall perceived empathy' in shown
    assert ':color[ **5** ]{foreground="#ffffff" background="#01665e"} Cognitive understanding' in shown
    assert ":gray[○ n/a Affective understanding]" in shown
    assert "Left blank: Response appropriateness, Prosocial expression" in shown


def test_text_is_literal(read, given, nasty_texts):
    long = "x" * 32_000
    data = given([{"conversation": "c", "text": text, "overall": 3} for text in (*nasty_texts, long)])
    app = read(data.folder)
    assert said(app) == [*nasty_texts, long]


def test_a_search_is_counted_marked_escaped_and_leads_to_the_turn(read, given, nasty_texts):
    data = given([{"conversation": "c", "text": text} for text in ("nothing", *nasty_texts)])
    app = read(data.folder, message_search__text="<script>")
    assert any("1 hit in 1 of 12 messages" in one.value.replace("\\", "") for one in app.markdown)
    marked = [one.proto.body for one in app.get("html")]
    assert len(marked) == 2
    assert all("<mark>&lt;script&gt;</mark>window.hacked = 1&lt;/script&gt;" in one for one in marked)
    press(app, "hit.c.4")
    assert asked(app, "turn") == "4"


def test_the_raw_view_is_the_export(read):
    app = read(conversation="C0017", turn="2")
    sound(app.button_group(key="reader.view").set_value("Raw").run())
    raw = next(json.loads(one.value) for one in app.code if one.value.startswith("{"))
    assert raw["conversation"] == "C0017"
    assert any(one["comment"] == "[synthetic] costs $5-$6, it said" for one in raw["messages"])


def test_public_mode_shows_no_text_no_comment_and_no_search(read):
    app = read(public=True, conversation="C0017", message_search__text="synthetic")
    everything = [one.value for kind in ("text", "markdown", "caption", "code") for one in app.get(kind)]
    assert not any("[synthetic]" in str(one).replace("\\", "") for one in everything)
    assert any("texts are hidden" in one.value for one in app.info)
    sound(app.button_group(key="reader.view").set_value("Raw").run())
    assert not any("[synthetic]" in one.value for one in app.code)


def test_what_is_listed_is_what_is_saved(read, given):
    from dashboard.analyses.findings import Selection
    from dashboard.ui.reader_list import _jsonl

    data = given([{"conversation": "a", "affective": 4}, {"conversation": "b", "overall": 4}])
    app = read(data.folder, outcome="affective", min_rated_turns="1")
    assert any("None of" in one.value or "No conversation" in one.value for one in app.info) is False
    assert headline(app).startswith("Conversation a")
    assert b'"a"' in _jsonl(["a"], Selection(min_rated_turns=1))


def test_a_list_too_long_to_be_sent_whole_is_paged(read, monkeypatch):
    from dashboard.ui import reader_list

    monkeypatch.setattr(reader_list, "MOST_ROWS", 100)
    monkeypatch.setattr(reader_list, "PAGE_ROWS", 300)
    app = read(conversation="C0131")
    listed = app.dataframe[0].value
    assert listed["conversation"].tolist() == [f"C{n:04}" for n in range(1, 301)]
    assert app.button(key="list.Earlier rows").disabled
    press(app, "list.Later rows")
    press(app, "list.Later rows")
    assert app.dataframe[0].value["conversation"].tolist() == [f"C{n:04}" for n in range(601, 673)]
    assert app.button(key="list.Later rows").disabled
    assert any("Rows 601–672 of 672" in one.value for one in app.caption)
    # Another order begins at its first row.
    sound(app.selectbox(key="conversations.order").set_value("lowest rating").run())
    assert app.dataframe[0].value["lowest"].tolist() == [1.0] * 15 + app.dataframe[0].value["lowest"].tolist()[15:]
    assert app.button(key="list.Earlier rows").disabled


def test_an_empty_list_says_so_and_the_reader_stays(read):
    app = read(conversations__turns_at_least="99", conversation="C0003")
    assert any("is left by the filters of this list" in one.value for one in app.info)
    assert turns(app)[0] == "Turn 1"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (65.9, "1:05"), (3725, "1:02:05"), (-61, "−1:01"), (float("nan"), ""), (None, "")],
)
def test_offsets_read_as_a_clock(seconds, shown):
    assert clock(seconds) == shown
