"""A mapping brings other rated conversations into the same tables."""

from pathlib import Path

import pytest

from dashboard.paths import MAPPINGS

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
BASIC = """
title = "Chats"
licence = "CC0"

[source]
turns = "turns"
conversations = "chats"
rated_role = "seeker"

[columns]
conversation = "chat"
order = "n"
role = "speaker"
text = "words"
task = "topic"

[ratings.warmth]
column = "warm"
minimum = 0
maximum = 10
step = 0.5
score = "dimension"
label = "Warmth"

[ratings.overall]
column = "stars"
minimum = 1
maximum = 4

[pre.hope]
column = "hope"
minimum = 0
maximum = 100
step = 0

[post.liked]
column = "liked"
score = "satisfaction"

[labels.liked]
"Not at all" = 1
"So, so" = 2
"A lot" = 3
"Did not say" = "not applicable"
"""
TURNS = [
    ["chat", "n", "speaker", "words", "stars", "warm", "topic"],
    ["b", 2, "Supporter", "hello", None, 9, "y"],
    ["b", 1, "Seeker", "hi", 4, 2.5, "y"],
    ["a", 1, "seeker ", "hm", None, None, "x"],
    ["a", 2, "SEEKER", "ah", 1, "N/A", "x"],
]
CHATS = [["chat", "hope", "liked", "age"], ["a", 33.3, "so, SO", 30], ["b", None, "Did not say", 31]]


@pytest.fixture
def folder(tmp_path, kit):
    (tmp_path / "data").mkdir()
    kit.write_table(tmp_path / "data" / "turns.csv", TURNS)
    kit.write_table(tmp_path / "data" / "chats.csv", CHATS)
    return tmp_path / "data"


@pytest.fixture
def mapping(tmp_path):
    def write(text=BASIC):
        path = tmp_path / "mapping.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


class TestAMappedFolder:
    def test_has_turns_on_the_rated_role(self, folder, mapping, take):
        found = take(folder, mapping=mapping())
        rows = found.rows("messages")
        assert [(row["conversation"], row["message_id"], row["role"], row["turn"]) for row in rows] == [
            ("a", "1", "seeker", 1),
            ("a", "2", "seeker", 2),
            ("b", "1", "seeker", 1),
            ("b", "2", "supporter", None),
        ]
        assert found.ratings("warmth") == {("a", 1): "missing", ("a", 2): "not_applicable", ("b", 1): 2.5}
        assert found.ratings("overall") == {("a", 1): "missing", ("a", 2): 1, ("b", 1): 4}
        assert found.ratings("turn_mean") == {("a", 1): "missing", ("a", 2): "missing", ("b", 1): 2.5}
        assert found.noted("role supporter", "ignored")

    def test_has_its_own_scales(self, folder, mapping, take):
        scales = {row["measure"]: row for row in take(folder, mapping=mapping()).rows("scales")}
        assert list(scales) == ["warmth", "overall", "turn_mean", "hope", "liked"]
        warmth, liked, hope = scales["warmth"], scales["liked"], scales["hope"]
        assert (warmth["minimum"], warmth["maximum"], warmth["step"], warmth["score"]) == (0, 10, 0.5, "dimension")
        assert (warmth["rated_role"], liked["rated_role"], warmth["label"]) == ("seeker", None, "Warmth")
        assert (liked["minimum"], liked["maximum"], liked["minimum_label"]) == (1, 3, "Not at all")
        assert hope["step"] is None
        assert (scales["turn_mean"]["minimum"], scales["turn_mean"]["maximum"]) == (0, 10)

    def test_has_its_survey_and_no_participants(self, folder, mapping, take):
        found = take(folder, mapping=mapping())
        assert found.survey("hope") == {"a": 33.3, "b": "missing"}
        assert found.survey("liked") == {"a": 2, "b": "not_applicable"}
        assert found.report.participants is None
        assert found.table("participants").column_names == ["participant"]
        assert [row["participant"] for row in found.rows("conversations")] == [None, None]

    def test_keeps_what_no_field_took(self, folder, mapping, take):
        found = take(folder, mapping=mapping())
        assert [(row["task"], row["age"]) for row in found.rows("conversations")] == [("x", "30"), ("y", "31")]

    def test_says_where_it_comes_from(self, folder, mapping, take):
        manifest = take(folder, mapping=mapping()).manifest
        assert (manifest["origin"], manifest["title"], manifest["licence"]) == ("mapping", "Chats", "CC0")
        assert manifest["mapping"]["ratings"]["warmth"]["maximum"] == 10
        assert manifest["sheets"] == {"chats": {"rows": 2, "file": None}, "turns": {"rows": 4, "file": None}}

    def test_is_refused_case_by_case(self, folder, mapping, refuse, kit):
        rows = [list(row) for row in TURNS]
        rows[2][4], rows[4][5] = 5, 2.25
        rows.append(["zz", 1, "seeker", "lost", None, None, "x"])
        kit.write_table(folder / "turns.csv", rows)
        said = refuse(folder, mapping=mapping())
        for case in ('turns, row 3, stars: "5"', 'turns, row 5, warm: "2.25"', 'turns, row 6, chat: "zz"'):
            assert case in said

    def test_prints_labels_that_would_accept(self, folder, mapping, refuse, kit):
        chats = [list(row) for row in CHATS]
        chats[1][2] = "Enormously"
        kit.write_table(folder / "chats.csv", chats)
        said = refuse(folder, mapping=mapping())
        assert "[labels.liked]" in said
        assert '"Enormously" = "not applicable"' in said

    def test_may_be_a_workbook(self, mapping, take, study):
        study.sheets = {"Chats": CHATS, "Turns": TURNS, "Codebook": [["a"], ["b"]]}
        found = take(study, mapping=mapping())
        assert found.report.conversations == 2
        assert found.manifest["sheets"]["Codebook"]["file"]

    def test_may_repeat_its_conversations_on_the_turns(self, mapping, take, kit, tmp_path):
        chats = {row[0]: row for row in CHATS}
        rows = [[*row, *chats[row[0]][1:]] for row in TURNS]
        text = BASIC.replace('conversations = "chats"\n', "")
        found = take(kit.write_table(tmp_path / "one.csv", rows), mapping=mapping(text))
        assert found.survey("hope") == {"a": 33.3, "b": "missing"}
        assert [row["task"] for row in found.rows("conversations")] == ["y", "x"]
        assert found.report.rated_turns == 2

    def test_names_roles_and_participants(self, folder, mapping, take, kit):
        kit.write_table(folder / "people.csv", [["who", "Age"], ["q", "40"], ["p", "39"]])
        kit.write_table(folder / "chats.csv", [[*CHATS[0], "who"], [*CHATS[1], "p"], [*CHATS[2], "q"]])
        text = BASIC.replace('rated_role = "seeker"', 'participants = "people"\nrated_role = "assistant"')
        text = text.replace(
            "[columns]", '[roles]\nSeeker = "assistant"\nsupporter = "user"\n[columns]\nparticipant = "who"'
        )
        found = take(folder, mapping=mapping(text))
        assert found.rows("participants") == [{"participant": "p", "age": 39}, {"participant": "q", "age": 40}]
        assert {row["role"] for row in found.rows("messages")} == {"assistant", "user"}
        assert found.report.assistant_turns == 3

    def test_may_say_synthetic(self, folder, mapping, take):
        assert take(folder, mapping=mapping("synthetic = true\n" + BASIC)).manifest["synthetic"]


class TestAMappingIsRefused:
    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            ('turns = "turns"', 'turns = "nowhere"', "nowhere"),
            ('role = "speaker"', 'role = "who"', "who"),
            ('order = "n"', 'sequence = "n"', "sequence"),
            ('text = "words"', 'text = "absent"', "absent"),
            ('rated_role = "seeker"', 'rated_role = "therapist"', "therapist"),
            ("maximum = 10", "maximum = -1", "below maximum"),
            ("maximum = 4", 'maximum = "four"', "as a number"),
            ("step = 0.5", "step = 0.3", "whole number of steps"),
            ('score = "dimension"', 'score = "dimensions"', "dimensions"),
            ("[ratings.warmth]", "[ratings.turn]", "ratings.turn"),
            ("[ratings.warmth]", "[ratings.Warmth]", "snake case"),
            ("[ratings.warmth]", "[ratings.liked]", "twice"),
            ('column = "stars"', 'column = "none"', "none"),
            ("[labels.liked]", "[labels.lked]", "labels.lked"),
            ('"So, so" = 2', '"So, so" = 2.5', "no level"),
            ('column = "liked"\n', 'column = "liked"\nminimun = 1\n', "minimun"),
            ("minimum = 1\nmaximum = 4", "", "minimum"),
            ("[ratings.overall]", "[ratings.stars]\nscore = 'overall'", "called overall"),
        ],
    )
    def test_that_says_what_cannot_be(self, folder, mapping, refuse, old, new, says):
        assert old in BASIC
        assert says in refuse(folder, mapping=mapping(BASIC.replace(old, new)))

    def test_whose_dimensions_have_two_scales(self, folder, mapping, refuse):
        text = BASIC + '\n[ratings.calm]\ncolumn = "stars"\nminimum = 1\nmaximum = 4\nscore = "dimension"\n'
        assert "one scale" in refuse(folder, mapping=mapping(text))

    def test_whose_rows_cannot_be_chosen(self, folder, mapping, refuse):
        text = BASIC.replace("[columns]", '[source.where]\nage = "99"\n[columns]')
        said = refuse(folder, mapping=mapping(text))
        assert "'99'" in said
        assert "'30'" in said


# Lookalikes of the two real data sets, which the documented mappings load.
ESCONV_TURNS = [
    ["conversation_id", "turn_index", "speaker", "rating", "strategy", "task", "emotion", "text"],
    [0, 0, "seeker", None, None, "x", "fear", "Hey\n"],
    [0, 1, "supporter", None, "Other", "x", "fear", "hi"],
    [0, 2, "seeker", 4, None, "x", "fear", "ok"],
    [1, 0, "seeker", 1, None, "y", "anger", "hm"],
]
ESCONV_CHATS = [
    [
        *("conversation_id", "problem_type", "pre_emotion_intensity", "post_emotion_intensity"),
        *("post_empathy", "post_relevance"),
    ],
    [0, "breakup", 5, 4, 1, 2],
    [1, "job crisis", 3, None, None, None],
]
CASINO_TURNS = [
    ["conversation_id", "split", "turn_index", "speaker", "text"],
    [7, "train", 0, "mturk_agent_1", "Hello"],
    [7, "train", 1, "mturk_agent_2", "Hi"],
    [7, "train", 2, "mturk_agent_1", "Wood?"],
]
CASINO_PEOPLE = [
    ["conversation_id", "agent", "satisfaction", "opponent_likeness", "age"],
    [7, "mturk_agent_1", "Extremely satisfied", "Slightly dislike", 36],
    [7, "mturk_agent_2", "Undecided", "Undecided", 47],
]


class TestDocumentedMappings:
    def test_failed_esconv(self, kit, take, tmp_path):
        (tmp_path / "data").mkdir()
        kit.write_table(tmp_path / "data" / "turns.csv", ESCONV_TURNS)
        kit.write_table(tmp_path / "data" / "conversations.csv", ESCONV_CHATS)
        found = take(tmp_path / "data", mapping=MAPPINGS / "failed_esconv.toml")
        assert found.ratings("overall") == {("0", 1): "missing", ("0", 2): 4, ("1", 1): 1}
        assert found.survey("post_empathy") == {"0": 1, "1": "missing"}
        scores = {row["measure"]: row["score"] for row in found.rows("scales")}
        assert scores["post_empathy"] == "experienced_empathy"
        assert scores["pre_emotion_intensity"] is None
        assert [row["task"] for row in found.rows("conversations")] == ["breakup", "job crisis"]

    @pytest.mark.parametrize(("side", "satisfaction", "liking", "turns"), [(1, 5, 2, 1), (2, 3, 3, 2)])
    def test_casino(self, kit, take, tmp_path, side, satisfaction, liking, turns):
        (tmp_path / "data").mkdir()
        kit.write_table(tmp_path / "data" / "turns.csv", CASINO_TURNS)
        kit.write_table(tmp_path / "data" / "participants.csv", CASINO_PEOPLE)
        found = take(tmp_path / "data", mapping=MAPPINGS / f"casino_agent_{side}.toml")
        assert found.survey("satisfaction") == {"7": satisfaction}
        assert found.survey("liking") == {"7": liking}
        assert (found.report.assistant_turns, found.report.rated_turns) == (turns, 0)
        assert found.table("ratings").num_rows == 0
        assert found.report.sheets["participants"] == 2

    @pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
    def test_the_real_failed_esconv(self, take):
        found = take(SHARED / "failed_esconv", mapping=MAPPINGS / "failed_esconv.toml")
        assert (found.report.conversations, found.report.messages, found.report.rated_turns) == (196, 5230, 987)
        assert found.report.participants is None
        answered = [answer for answer in found.survey("post_empathy").values() if answer != "missing"]
        assert len(answered) == 196 - 54
        assert found.noted("3 conversations have no rating")

    @pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
    @pytest.mark.parametrize("side", [1, 2])
    def test_the_real_casino(self, take, side):
        found = take(SHARED / "casino", mapping=MAPPINGS / f"casino_agent_{side}.toml")
        assert (found.report.conversations, found.report.messages, found.report.rated_turns) == (1030, 14297, 0)
        assert "missing" not in found.survey("satisfaction").values()
        assert {row["kind"] for row in found.rows("scales")} == {"post"}

    def test_every_one_is_described(self):
        described = (MAPPINGS / "README.md").read_text()
        for path in MAPPINGS.glob("*.toml"):
            assert path.name in described
