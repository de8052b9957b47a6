"""Messages are sought as typed, in any script, and every hit is counted."""

import re

import pytest

from dashboard.analyses.findings import Selection
from dashboard.analyses.message_search import MOST, Listener, SearchParameters, find_hits, roles_of, search
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import run_query, run_watched
from dashboard.vocabulary import Refused

TEXTS = (
    "no no, NO-no no_no know",
    "Costs $5-$6 (50%) a.c abc",
    "Über über ÜBERALL, kann éan an’an",
    "日本語の日本",
    "שלום עולם שלום",
    "it's 'quoted'; drop table x",
    None,
    "",
)


@pytest.fixture
def texts(given):
    return given([{"conversation": "c1", "text": text} for text in TEXTS])


def hits(data, text, **asked):
    rows = run_query(data, "message_search", text=text, **asked)
    return dict(zip(rows["message"], rows["n_hits"], strict=True))


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        # "no no, NO-no no_no know": no, no, NO, no, no, no and the one in "know".
        ("no", {}, {1: 7}),
        ("no", {"match_case": True}, {1: 6}),
        # The underscore belongs to a word, so that no_no and know hold none; neighbours share the blank between them.
        ("no", {"whole_word": True}, {1: 4}),
        ("no", {"whole_word": True, "match_case": True}, {1: 3}),
        ("no no", {"whole_word": True}, {1: 1}),
        ("$5-$6", {}, {2: 1}),
        ("a.c", {}, {2: 1}),
        ("%", {}, {2: 1}),
        ("über", {}, {3: 3}),
        ("über", {"whole_word": True}, {3: 2}),
        # Neither kann nor éan; the curly quote is no letter.
        ("an", {"whole_word": True}, {3: 2}),
        ("ÜBER", {"match_case": True}, {3: 1}),
        ("日本", {}, {4: 2}),
        ("שלום", {"whole_word": True}, {5: 2}),
        ("'; drop table x", {}, {6: 1}),
        ("absent", {}, {}),
        ("no", {"role": "user"}, {}),
        ("no", {"role": "assistant"}, {1: 7}),
    ],
)
def test_hits_are_counted_by_hand(texts, text, asked, expected):
    assert hits(texts, text, **asked) == expected


def test_counts_by_role_are_those_of_python(sample):
    messages = sample.cursor().execute("select role, text, conversation from stg_messages").df()
    counts = run_query(sample, "message_search_counts", text="the", whole_word=True).set_index("role")
    word = re.compile(r"(?<!\w)the(?!\w)", re.IGNORECASE)
    n_hits = messages["text"].map(lambda text: len(word.findall(text)) if isinstance(text, str) else 0)
    for role, row in counts.iterrows():
        own = messages["role"] == role
        assert row["n_messages"] == own.sum()
        assert row["n_hits"] == n_hits[own].sum()
        assert row["n_with"] == (n_hits[own] > 0).sum()
        assert row["n_conversations"] == messages.loc[own & (n_hits > 0), "conversation"].nunique()
    assert counts["n_hits"].sum() > 500


def test_a_hit_leads_to_the_turn_that_it_stands_before(sample):
    rows = run_query(sample, "message_search", text="the", role="user", most=50)
    turns = sample.cursor().execute("select conversation, message, turn from stg_messages where turn is not null").df()
    for _, row in rows.iterrows():
        own = turns[turns["conversation"] == row["conversation"]]
        after = own.loc[own["message"] > row["message"], "turn"]
        assert row["near_turn"] == (after.min() if len(after) else own["turn"].max())


def test_the_first_hits_come_in_the_order_of_the_source(sample):
    some = run_query(sample, "message_search", text="the", most=7)
    more = run_query(sample, "message_search", text="the", most=20)
    assert len(some) == 7
    assert some.equals(more.head(7))


def test_filters_hold_for_the_search_too(sample):
    task = sample.cursor().execute("select min(task) from stg_conversations").fetchone()[0]
    kept = set(
        sample.cursor()
        .execute("select conversation from stg_conversations where task = ?", [task])
        .df()["conversation"]
    )
    found = run_query(sample, "message_search", text="the", task=[task], most=100_000)
    assert set(found["conversation"]) <= kept
    counts = run_query(sample, "message_search_counts", text="the", task=[task])
    assert counts["n_with"].sum() == len(found)


def test_messages_are_stored_in_the_order_of_the_source(sample):
    """The unfiltered search rests on it: it ends at the first hits that it meets."""
    stored = sample.cursor().execute("select conversation, message from raw.messages").fetchall()
    ordered = sample.cursor().execute(
        "select conversation, message from raw.messages join raw.conversations using (conversation) order by position, message"
    ).fetchall()  # fmt: skip
    assert stored == ordered


def test_a_filter_that_keeps_everything_finds_the_same_first_hits(sample):
    everywhere = run_query(sample, "message_search", text="about", most=150)
    assert len(everywhere) == 150
    assert run_query(sample, "message_search", text="about", most=150, min_rated_turns=0).equals(everywhere)


def test_letters_are_alike_as_unicode_folds_them(given):
    """Every letter that has another case is sought in all of them, by DuckDB and by what marks the hits."""
    cased = [chr(code) for code in range(1, 0x1F000) if not 0xD800 <= code < 0xE000]
    cased = [one for one in cased if len({one, one.lower(), one.upper(), one.casefold()}) > 1]
    text = " ".join(cased)
    data = given([{"conversation": "c", "text": text}])
    for letter in [*"iIİıΐΐﬅkKsſßẞσς", *cased[::900]]:
        marked = len(find_hits(text, SearchParameters(text=letter)))
        assert hits(data, letter) == {1: marked}, letter
        assert hits(data, letter, whole_word=True) == {1: marked}, letter
        assert hits(data, letter, match_case=True) == {1: 1}, letter


@pytest.mark.parametrize(
    "asked", [{"text": "the"}, {"text": "breakfast"}, {"text": "the", "role": "user"}, {"text": "zzz"}]
)
def test_counts_are_the_same_whether_all_hits_are_at_hand_or_not(sample, asked):
    found = search(sample, Selection(), SearchParameters(**asked))
    parameters = {"role": None} | asked
    assert (len(found.hits) < MOST) == (asked["text"] != "the")
    assert found.by_role.equals(run_query(sample, "message_search_counts", **parameters))


def test_a_search_tells_its_hits_before_it_has_counted_all():
    # Opened anew: what was sought before is remembered.
    sample, told = connect(SAMPLE, public=False), []
    listener = Listener(
        searching=lambda share: told.append("searching"),
        found=lambda hits: told.append(len(hits)),
        counting=lambda share: told.append("counting"),
    )
    parameters = SearchParameters(text="the", whole_word=True)
    found = search(sample, Selection(), parameters, listener)
    assert told.index(MOST) < told.index("counting")
    assert told[0] == "searching"
    told.clear()
    assert search(sample, Selection(), parameters, listener) is found
    assert told == [MOST]


def test_what_watches_a_query_sees_how_far_it_is_and_can_stop_it(sample):
    shares = []
    rows = run_watched(sample, "message_search_counts", text="the", watch=shares.append, every_seconds=0.001)
    assert rows.equals(run_query(sample, "message_search_counts", text="the"))
    assert shares and all(0 <= share <= 1 for share in shares)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(sample, "message_search_counts", text="the", watch=stop, every_seconds=0.001)
    with pytest.raises(Refused, match="parameter of the query"):
        run_watched(sample, "message_search_counts", colour="red", watch=shares.append)


def test_roles_are_those_of_the_data(sample, unrated_folder):
    assert roles_of(sample) == ["assistant", "error", "user"]
    with pytest.raises(Refused, match="no role 'usr'.*Did you mean 'user'.*'any', 'assistant', 'error', 'user'"):
        search(sample, Selection(), SearchParameters(text="a", role="usr"))
    found = search(sample, Selection(), SearchParameters(text="the", role="error"))
    assert found.by_role["role"].tolist() == ["error"]
