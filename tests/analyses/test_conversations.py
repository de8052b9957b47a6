"""The list, the transcript and the search say what the turns say, by independent computation."""

import pandas as pd
import pytest

from dashboard.analyses import registry
from dashboard.analyses.breakdown_rows import DEFINITIONS, BreakdownParameters, read_breakdowns
from dashboard.analyses.conversations import ConversationParameters
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.analyses.message_search import SearchParameters, excerpt, find_hits
from dashboard.analyses.transcript import TranscriptParameters, breakdown_turns
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import run_query
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData


def ask(data, name, parameters, selection=None):
    return run_analysis(data, registry()[name], selection or Selection(), parameters)


@pytest.fixture
def two(given):
    turns = [
        # 5, blank, 3, 4, 1: against the mean of the earlier ones 3 drops by 2, 4 by 0, and 1 by 3.
        *({"conversation": "a", "overall": value, "text": f"a{value}"} for value in (5, None, 3, 4, 1)),
        {"conversation": "b", "overall": "n/a", "affective": 1},
        {"conversation": "b", "overall": 2},
        {"conversation": "c"},
    ]
    return given(turns, [{"conversation": name, "participant": f"p{name}", "task": "t"} for name in "abc"])


class TestTheList:
    def test_says_lowest_deepest_drop_and_breakdown_turns(self, two):
        table = ask(two, "conversations", ConversationParameters()).table.set_index("conversation")
        assert table.loc["a", ["turns", "n_rated", "mean", "lowest", "lowest_turn", "drop", "drop_turn"]].tolist() == [
            *(5, 4, 3.25, 1, 5, 3, 5)
        ]
        assert table.loc["b", ["turns", "n_rated", "lowest", "lowest_turn"]].tolist() == [2, 1, 2, 2]
        assert pd.isna(table.loc["b", "drop"])
        assert table.loc["c", ["turns", "n_rated", "breakdowns"]].tolist() == [1, 0, 0]
        assert pd.isna(table.loc["c", "lowest"])
        assert table["breakdown_turns"].fillna("none").tolist() == ["5", "2", "none"]

    @pytest.mark.parametrize(
        ("given_parameters", "expected"),
        [
            ({"order": "lowest rating"}, ["a", "b", "c"]),
            ({"order": "shortest"}, ["c", "b", "a"]),
            ({"order": "deepest drop"}, ["a", "b", "c"]),
            ({"broken_only": True}, ["a", "b"]),
            ({"lowest_at_most": 1.0}, ["a"]),
            ({"drop_at_least": 3.0}, ["a"]),
            ({"turns_at_least": 2}, ["a", "b"]),
            ({"definition": "drop", "drop": 3.0, "broken_only": True}, ["a"]),
        ],
    )
    def test_is_ordered_and_filtered(self, two, given_parameters, expected):
        table = ask(two, "conversations", ConversationParameters(**given_parameters)).table
        assert table["conversation"].tolist() == expected

    def test_that_its_own_filters_empty_says_what_to_do(self, two):
        with pytest.raises(TooLittleData, match="None of 3 conversations is left by the filters of this list"):
            ask(two, "conversations", ConversationParameters(turns_at_least=99))

    def test_agrees_with_pandas_on_the_sample(self, sample):
        table = ask(sample, "conversations", ConversationParameters()).table.set_index("conversation")
        rows = sample.cursor().execute("select * from stg_ratings where outcome = 'overall' and answer = 'rated'").df()
        rows = rows.sort_values(["conversation", "turn"])
        by = rows.groupby("conversation")["value"]
        earlier = by.transform(lambda one: one.expanding().mean().shift())
        drop = (earlier - rows["value"]).groupby(rows["conversation"]).max()
        pd.testing.assert_series_equal(table["lowest"].dropna().sort_index(), by.min(), check_names=False)
        pd.testing.assert_series_equal(table["drop"].dropna().sort_index(), drop.dropna(), check_names=False)
        pd.testing.assert_series_equal(
            table.loc[by.size().index, "breakdowns"].astype(int),
            (rows["value"] <= 2).groupby(rows["conversation"]).sum(),
            check_names=False,
        )

    def test_holds_conversations_without_any_ratings(self, unrated_folder):
        found = ask(connect(unrated_folder, public=False), "conversations", ConversationParameters())
        assert len(found.table) == 4
        assert "without ratings" in found.headline


@pytest.fixture(scope="module")
def everything(sample):
    """Messages and ratings of every conversation, and the outcomes."""
    parts = (
        dict(list(run_query(sample, name).groupby("conversation"))) for name in ("transcript", "transcript_ratings")
    )
    return *parts, run_query(sample, "outcomes").set_index("outcome")


class TestTheTranscript:
    def test_opens_the_first_conversation_of_the_selection_unless_told(self, sample):
        task = Selection(task=("Ode to a potato",))
        first = run_query(sample, "conversations", task=["Ode to a potato"])["conversation"].iloc[0]
        found = ask(sample, "transcript", TranscriptParameters(), task)
        assert set(found.table["conversation"]) == {first}

    def test_holds_every_message_as_it_came(self, sample):
        found = ask(sample, "transcript", TranscriptParameters(conversation="C0506"))
        source = (
            sample.cursor().execute("select * from raw.messages where conversation = 'C0506' order by message").df()
        )
        assert found.table["text"].tolist() == source["text"].tolist()
        assert found.table["text"].str.len().max() > 32_000

    def test_names_a_conversation_that_is_not_there(self, sample):
        with pytest.raises(Refused, match="no conversation 'C9999'"):
            ask(sample, "transcript", TranscriptParameters(conversation="C9999"))

    def test_says_that_the_turn_is_not_there_or_the_filters_leave_it_out(self, two):
        found = ask(two, "transcript", TranscriptParameters(conversation="b", turn=40))
        assert found.warnings == ("Turn 40 is asked for, but this conversation has 2 turns.",)
        found = ask(two, "transcript", TranscriptParameters(conversation="b"), Selection(participant=("pa",)))
        assert "filters leave this conversation out" in found.warnings[0]

    @pytest.mark.parametrize("definition", DEFINITIONS)
    def test_marks_the_breakdowns_of_the_page_on_breakdowns(self, sample, everything, definition):
        parameters = BreakdownParameters(definition=definition)
        all_of_them = read_breakdowns(sample, Selection(), parameters)
        names = all_of_them.conversations["conversation"].to_numpy()
        broken = all_of_them.courses.broken
        expected = pd.Series(all_of_them.courses.turn[broken]).groupby(names[all_of_them.courses.conversation[broken]])
        expected = {name: sorted(map(int, turns)) for name, turns in expected}
        messages, ratings, outcomes = everything
        found = {
            name: breakdown_turns(messages[name], ratings[name], outcomes, "overall", parameters)
            # One conversation in four, and every one that breaks down.
            for place, name in enumerate(names)
            if name in ratings and (place % 4 == 0 or name in expected)
        }
        assert {name: turns for name, turns in found.items() if turns} == expected
        assert expected

    def test_keeps_not_applicable_apart_from_missing_in_the_figure(self, two):
        drawing = ask(two, "transcript", TranscriptParameters(conversation="b", turn=1)).figures["transcript"]
        from dashboard.figures.template import Template

        traces = {trace.name: trace for trace in drawing.figure(Template()).data if trace.name}
        assert traces["Not applicable"].marker.symbol == "circle-open"
        assert [point[0] for point in traces["Not applicable"].customdata] == [1]
        assert [point[0] for point in traces["Breakdown"].customdata] == [2]
        assert traces["Breakdown"].marker.color == ("#d8a35d",)


def test_rated_turns_are_those_of_the_outcome(given):
    data = given([{"conversation": "a", "overall": 4}, {"conversation": "b", "overall": 4, "affective": 4}])
    once = Selection(min_rated_turns=1)
    table = ask(data, "conversations", ConversationParameters(outcome="affective"), once).table
    assert table["conversation"].tolist() == ["b"]
    for name, parameters in (
        ("conversations", ConversationParameters(outcome="relational")),
        ("transcript", TranscriptParameters(outcome="relational")),
    ):
        with pytest.raises(TooLittleData, match="so many turns rated on this outcome"):
            ask(data, name, parameters, once)


class TestPublicMode:
    def test_holds_no_text_anywhere(self):
        hidden = connect(SAMPLE, public=True)
        found = ask(hidden, "transcript", TranscriptParameters(conversation="C0017"))
        assert not {"text", "comment"} & {name for table in found.tables.values() for name in table}
        assert "[synthetic]" not in "".join(table.to_csv() for table in found.tables.values())
        with pytest.raises(NotInThisData, match="texts are hidden"):
            ask(hidden, "message_search", SearchParameters(text="the"))


class TestTheSearch:
    @pytest.mark.parametrize(
        "asked",
        [
            {"text": "the"},
            {"text": "the", "whole_word": True},
            {"text": "The", "match_case": True, "role": "assistant"},
            {"text": "<b>"},
            {"text": "竜"},
            {"text": "$5"},
        ],
    )
    def test_marks_as_many_hits_as_it_counts(self, sample, asked):
        parameters = SearchParameters(**asked)
        found = ask(sample, "message_search", parameters)
        messages = sample.cursor().execute("select role, text from stg_messages where text is not null").df()
        if parameters.role != "any":
            messages = messages[messages["role"] == parameters.role]
        marked = messages["text"].map(lambda text: len(find_hits(text, parameters)))
        assert found.table["n_hits"].sum() == marked.sum() > 0
        assert f" in {(marked > 0).sum():,} of {len(messages):,} message" in found.headline

    def test_shows_the_words_around_a_hit(self):
        text = "x " * 200 + "needle" + " y" * 200
        cut = excerpt(text, find_hits(text, SearchParameters(text="needle")))
        assert "needle" in cut
        assert cut.startswith("…") and cut.endswith("…")
        assert len(cut) < 200

    def test_that_finds_nothing_says_so(self, sample):
        assert (
            "finds nothing in 9,509 messages" in ask(sample, "message_search", SearchParameters(text="qqqq")).headline
        )
