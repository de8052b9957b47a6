"""Quirks of real workbooks are taken, some with a note, and the tables are exactly those of the tidy workbook."""

import pytest

TABLES = ("conversations", "messages", "ratings", "survey", "participants", "scales")


def same_tables(one, other, without=()):
    """Compare all tables; `without` names columns that may differ."""
    for name in TABLES:
        drop = [column for column in without if column in one.table(name).column_names]
        assert one.table(name).drop_columns(drop).to_pylist() == other.table(name).drop_columns(drop).to_pylist(), name


class TestThePlainStudy:
    def test_gives_every_table(self, plain):
        assert plain.report.conversations == 4
        assert plain.report.participants == 2
        assert plain.report.messages == 16
        assert (plain.report.assistant_turns, plain.report.rated_turns) == (8, 8)
        assert plain.report.notes == []
        assert plain.report.sheets == {"Tasks": 4, "Messages": 16}
        # overall of conversation n, turn t: 1 + (2 n + t) % 5 with t from 0
        expected = {(f"T{n}", t + 1): 1.0 + (2 * n + t) % 5 for n in range(1, 5) for t in range(2)}
        assert plain.ratings("overall") == expected

    def test_gives_the_mean_of_the_dimensions(self, plain):
        # T1, turn 1: overall 3, dimensions 1 + (3 + k) % 5 for k = 0..6: 4 5 1 2 3 4 5, mean 24/7
        assert plain.ratings("turn_mean")["T1", 1] == 24 / 7

    def test_gives_the_survey_as_numbers(self, plain):
        assert plain.survey("importance") == {"T1": 1, "T2": 2, "T3": 3, "T4": 4}
        assert plain.survey("desired_empathy") == {"T1": 2, "T2": 3, "T3": 1, "T4": 2}
        assert plain.survey("post_relational")["T1"] == 1 + 11 % 5

    def test_keeps_text_and_order(self, plain):
        rows = plain.rows("messages")[:4]
        assert [row["text"] for row in rows] == ["question 10", "answer 10", "question 11", "answer 11"]
        assert [row["turn"] for row in rows] == [None, 1, None, 2]
        assert [row["source_row"] for row in rows] == [2, 3, 4, 5]
        assert [row["seconds"] for row in rows] == [0, 5, 30, 35]

    def test_says_where_it_comes_from(self, plain):
        manifest = plain.manifest
        assert (manifest["origin"], manifest["source"], manifest["format"]) == ("workbook", "plain.xlsx", 1)
        assert not manifest["synthetic"]
        assert not manifest["release"]
        assert manifest["sheets"] == {"Tasks": {"rows": 4, "file": None}, "Messages": {"rows": 16, "file": None}}
        assert set(manifest["answers"]) == {
            *("affective", "cognitive", "response", "prosocial", "interest", "contextual", "relational")
        }
        assert set(manifest["software"]) == {"sense7-dashboard", "pyarrow"}

    def test_reports_in_json_what_scripts_rely_on(self, plain):
        assert {
            *("out", "source_sha256", "origin", "conversations", "participants", "messages", "assistant_turns"),
            *("rated_turns", "sheets", "answers", "unreadable", "set_aside", "notes"),
        } <= set(plain.report.to_json())

    def test_reports_to_people(self, plain):
        text = plain.report.to_text()
        assert "4 conversations, 2 participants, 16 messages, 8 turns, 8 of them rated" in text
        assert plain.report.source_sha256 in text


class TestOtherWriters:
    def test_openpyxl(self, study, plain, take, tmp_path):
        same_tables(take(study.to_openpyxl(tmp_path / "a.xlsx")), plain)

    @pytest.mark.parametrize("constant_memory", [False, True])
    def test_xlsxwriter(self, study, plain, take, tmp_path, constant_memory):
        same_tables(take(study.to_xlsxwriter(tmp_path / "b.xlsx", constant_memory=constant_memory)), plain)


class TestSpellings:
    @pytest.mark.parametrize(
        "write",
        [
            str.upper,
            str.lower,
            lambda text: f"  {text}\u00a0",
            lambda text: text.replace(" ", "\u00a0"),
            lambda text: f"\u200b{text}\ufeff",
            lambda text: text.replace(" ", "  "),
        ],
    )
    def test_of_labels(self, study, plain, take, kit, write):
        for column in ("EmpathyOverall", *kit.DIMENSIONS):
            study.map_column("Messages", column, lambda cell: cell and write(cell))
        same_tables(take(study), plain)

    @pytest.mark.parametrize(
        "write", [float, str, lambda n: f"{n}.0", lambda n: f" {n} ", lambda n: chr(0xFF10 + n), lambda n: n]
    )
    def test_of_numbers(self, study, plain, take, kit, write):
        numbers = {label: number for number, label in kit.LABELS.items()}
        for column in ("EmpathyOverall", *kit.DIMENSIONS):
            study.map_column("Messages", column, lambda cell: cell and write(numbers[cell]))
        for column in kit.TASKS_HEADER[4:]:
            study.map_column("Tasks", column, write)
        same_tables(take(study), plain)

    def test_of_the_survey_as_labels(self, study, plain, take, kit):
        importance = ["Not at all important", "Somewhat important", "MODERATELY important ", "Very important"]
        agreement = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"]
        study.map_column("Tasks", "PreTaskImportance", lambda n: importance[n - 1])
        study.map_column("Tasks", "PreTaskDesiredEmpathy", lambda n: ["minimal empathy", 2, "High  Empathy"][n - 1])
        for column in kit.TASKS_HEADER[6:]:
            study.map_column("Tasks", column, lambda n: agreement[n - 1])
        same_tables(take(study), plain)

    @pytest.mark.parametrize(
        "write", [str.upper, lambda name: name.replace("Id", " _id"), lambda name: f" {name}\u00a0"]
    )
    def test_of_columns(self, study, plain, take, write):
        for sheet in study.sheets.values():
            sheet[0] = [write(name) for name in sheet[0]]
        same_tables(take(study), plain)

    def test_of_sheets(self, study, plain, take):
        study.sheets = {" TASKS": study.sheets["Tasks"], "mess ages_": study.sheets["Messages"]}
        same_tables(take(study), plain)

    def test_of_roles(self, study, plain, take):
        study.map_column("Messages", "Role", lambda role: f" {role.upper()}\u00a0")
        same_tables(take(study), plain)

    def test_of_post_items_by_their_beginning(self, study, plain, take, kit):
        ends = ["Understanding", " understanding", "_Appropriateness", "Expression", "", "Understanding", "Continuity"]
        for name, end in zip(kit.DIMENSIONS, ends, strict=True):
            study.rename("Tasks", f"PostTaskEmpathy_{name}", f"PostTaskEmpathy_{name}{end}")
        same_tables(take(study), plain)

    @pytest.mark.parametrize("spelling", ["Unknown", "N/A", "NA", "Not applicable", " not\u00a0APPLICABLE"])
    def test_of_not_applicable_apart_from_blank(self, study, take, spelling):
        study.set("Messages", 3, "Relational", spelling)
        study.set("Messages", 5, "Relational", " ")
        study.set("Tasks", 2, "PreTaskImportance", spelling)
        study.set("Tasks", 3, "PreTaskImportance", None)
        found = take(study)
        assert found.ratings("relational")["T1", 1] == "not_applicable"
        assert found.ratings("relational")["T1", 2] == "missing"
        assert found.report.answers["relational"] == {"rated": 6, "not_applicable": 1, "missing": 1}
        assert found.survey("importance") == {"T1": "not_applicable", "T2": "missing", "T3": 3, "T4": 4}
        # the mean leaves both out: dimensions 4 5 1 2 3 4 without the last
        assert found.ratings("turn_mean")["T1", 1] == 19 / 6


class TestIds:
    @pytest.mark.parametrize("there", [int, float, str, lambda n: f" {n} ", lambda n: f"{n}.0"])
    def test_of_two_sheets_are_one_however_stored(self, study, take, there):
        study.map_column("Tasks", "TaskId", lambda name: int(name[1:]))
        study.map_column("Messages", "TaskId", lambda name: there(int(name[1:])))
        study.map_column("Tasks", "PID", lambda name: int(name[1:]))
        study.sheets["People"] = [["PID", "Age"], [there(1), 30], [there(2), 40]]
        found = take(study)
        assert [row["conversation"] for row in found.rows("conversations")] == ["1", "2", "3", "4"]
        assert found.report.messages == 16
        assert found.rows("participants") == [{"participant": "1", "age": 30}, {"participant": "2", "age": 40}]

    def test_keep_leading_zeros(self, study, take):
        for sheet in ("Tasks", "Messages"):
            study.map_column(sheet, "TaskId", lambda name: f"00{name[1:]}")
        study.map_column("Tasks", "PID", lambda name: f"00{name[1:]}")
        found = take(study)
        assert {row["participant"] for row in found.rows("conversations")} == {"001", "002"}
        assert {row["conversation"] for row in found.rows("messages")} == {"001", "002", "003", "004"}

    def test_007_and_7_are_two(self, study, take):
        study.map_column("Tasks", "PID", lambda name: "007" if name == "P1" else 7)
        assert [row["participant"] for row in take(study).rows("participants")] == ["007", "7"]

    def test_with_decimals_stay(self, study, take):
        for sheet in ("Tasks", "Messages"):
            study.map_column(sheet, "TaskId", lambda name: f"1.{int(name[1:]) - 1}")
        found = take(study)
        assert [row["conversation"] for row in found.rows("conversations")] == ["1.0", "1.1", "1.2", "1.3"]

    def test_that_differ_only_in_spelling_are_noted(self, study, take):
        study.set("Tasks", 2, "PID", "p1")
        found = take(study)
        assert found.report.participants == 3
        assert found.noted("'p1'", "'P1'")

    def test_called_na_or_none_are_ids(self, study, take):
        study.map_column("Tasks", "PID", lambda name: {"P1": "NA", "P2": "None"}[name])
        assert [row["participant"] for row in take(study).rows("participants")] == ["NA", "None"]

    def test_in_merged_cells_speak_for_the_rows_they_cover(self, study, plain, take):
        for row in range(3, 6):
            study.set("Messages", row, "TaskId", None)
        study.extra_xml["Messages"] = '<mergeCells count="1"><mergeCell ref="A2:A5"/></mergeCells>'
        found = take(study)
        same_tables(found, plain)
        assert found.noted("merged", "rows 2 to 5")


class TestLayout:
    def test_title_rows_above_the_header(self, study, plain, take):
        for sheet in study.sheets.values():
            sheet[:0] = [["SENSE-7 export, 2025"], [], [None, "PID and more"]]
        found = take(study)
        same_tables(found, plain, without=["source_row"])
        assert found.rows("messages")[0]["source_row"] == 5
        assert found.noted("Tasks", "SENSE-7 export, 2025")

    def test_blank_rows_and_columns(self, study, plain, take):
        for name, sheet in study.sheets.items():
            study.sheets[name] = [
                [None, *row[:3], None, " ", *row[3:], None, "\u00a0"]
                for row in [sheet[0], [None] * 15, *sheet[1:], [" "]]
            ]
            study.sheets[name].insert(9, [])
            study.sheets[name][0] = [cell if cell and cell.strip() else None for cell in study.sheets[name][0]]
        found = take(study)
        same_tables(found, plain, without=["source_row"])
        assert found.report.notes == []

    def test_a_stray_cell_far_away_costs_nothing(self, study, plain, take, kit, tmp_path):
        xml = kit.sheet_xml(study.sheets["Messages"]).replace(
            "</sheetData>", '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t> </t></is></c></row></sheetData>'
        )
        source = study.to_xlsx(tmp_path / "far.xlsx", more=[("xl/worksheets/sheet2.xml", xml)])
        same_tables(take(source), plain)

    def test_what_stands_beside_the_table_only_is_left_out_with_a_note(self, study, plain, take):
        study.sheets["Messages"] += [[], [*[None] * 16, "checked by AB"]]
        found = take(study)
        same_tables(found, plain, without=["column_q"])
        assert found.noted("Messages", "beside the table", "row 19")

    def test_other_sheets_are_kept_as_they_came(self, study, take):
        study.sheets["Notes & more"] = [
            ["Item", "Item", None, "Value"],
            ["a", None, "side", 4.0],
            [],
            [" b ", "x", None, 4.5],
        ]
        study.sheets["Empty"] = []
        found = take(study)
        import pyarrow.parquet as pq

        file = found.manifest["sheets"]["Notes & more"]["file"]
        assert pq.read_table(found.folder / file).to_pylist() == [
            {"Item": "a", "Item_2": None, "column_C": "side", "Value": "4", "source_row": 2},
            {"Item": " b ", "Item_2": "x", "column_C": None, "Value": "4.5", "source_row": 4},
        ]
        assert found.report.sheets == {"Tasks": 4, "Messages": 16, "Notes & more": 2, "Empty": 0}

    def test_chart_sheets_are_passed_over(self, study, plain, take, kit, tmp_path):
        sheets = {"Chart": [], **study.sheets}
        source = tmp_path / "chart.xlsx"
        source.write_bytes(kit.workbook_bytes(sheets, sheet_kinds={"Chart": "chartsheet"}))
        same_tables(take(source), plain)

    def test_further_columns_are_kept(self, study, take):
        for row, cell in zip(study.sheets["Tasks"], ["Session Id", 1.0, None, "x ", True], strict=True):
            row.append(cell)
        for row in study.sheets["Messages"]:
            row += ["TurnLatency" if row[0] == "TaskId" else 0.5]
        found = take(study)
        assert [row["session_id"] for row in found.rows("conversations")] == ["1", None, "x ", "TRUE"]
        assert {row["turn_latency"] for row in found.rows("messages")} == {"0.5"}

    def test_text_is_untouched(self, study, take):
        texts = [
            "=== my list ===",
            " two\n\nlines ",
            "<b>&amp;</b> 日本語 🙂",
            "=SUM(A1)",
            "_x0041_",
            "007",
            "NA",
            "\u200f",
        ]
        for row, text in enumerate(texts, 2):
            study.set("Messages", row, "Content", text.replace("_x0041_", "_x005F_x0041_"))
        assert [row["text"] for row in take(study).rows("messages")][: len(texts)] == texts

    def test_a_blank_content_is_null(self, study, take):
        study.set("Messages", 2, "Content", None)
        assert take(study).rows("messages")[0]["text"] is None


class TestOrder:
    def test_messages_are_ordered_by_message_id(self, study, plain, take):
        study.sheets["Messages"][1:] = reversed(study.sheets["Messages"][1:])
        found = take(study)
        same_tables(found, plain, without=["source_row"])
        assert found.noted("not in the order of MessageId")

    @pytest.mark.parametrize("write", [str, lambda n: f"m{n}", lambda n: f"T1-{n}.0"[:-2], lambda n: f"{n}.0"])
    def test_numbers_in_text_order_as_numbers(self, study, take, write):
        study.map_column("Messages", "MessageId", lambda n: write(n + 7))
        study.sheets["Messages"][1:] = reversed(study.sheets["Messages"][1:])
        rows = take(study).rows("messages")[:4]
        assert [row["text"] for row in rows] == ["question 10", "answer 10", "question 11", "answer 11"]

    def test_without_message_id_the_rows_order(self, study, plain, take):
        study.drop_column("Messages", "MessageId")
        found = take(study)
        same_tables(found, plain, without=["message_id"])
        assert found.noted("Messages", "MessageId")

    def test_one_message_id_on_several_rows_keeps_them_in_row_order(self, study, plain, take):
        study.map_column("Messages", "MessageId", lambda n: (n + 1) // 2)
        found = take(study)
        same_tables(found, plain, without=["message_id"])
        assert found.report.messages == 16

    def test_names_without_an_order_leave_the_rows_and_are_noted(self, study, plain, take):
        study.map_column("Messages", "MessageId", lambda n: ["zeta", "beta", "alpha", "omega"][n - 1])
        found = take(study)
        same_tables(found, plain, without=["message_id"])
        assert found.noted("gives no order")

    def test_a_blank_message_id_stays_after_the_row_above(self, study, plain, take):
        study.set("Messages", 3, "MessageId", None)
        found = take(study)
        same_tables(found, plain, without=["message_id"])
        assert found.noted("MessageId is blank", "row 3")


class TestDuplicates:
    def test_exact_ones_are_dropped_with_a_note(self, study, plain, take):
        study.sheets["Messages"] += [list(study.sheets["Messages"][4]), list(study.sheets["Messages"][1])]
        study.sheets["Tasks"].append(list(study.sheets["Tasks"][2]))
        found = take(study)
        same_tables(found, plain)
        assert found.noted("Messages", "2 exact duplicate rows", "18, 19")
        assert found.noted("Tasks", "1 exact duplicate row", "row 6")

    def test_retries_are_kept(self, study, take):
        again = list(study.sheets["Messages"][2])
        again[study.place("Messages", "Retry")] = 1
        study.sheets["Messages"].insert(3, again)
        found = take(study)
        assert (found.report.messages, found.report.assistant_turns) == (17, 9)
        assert [row["retry"] for row in found.rows("messages")][:3] == ["0", "0", "1"]

    def test_equal_messages_that_nothing_tells_apart_are_messages(self, study, take):
        study.drop_column("Messages", "MessageId").drop_column("Messages", "TimeOffsetSeconds")
        study.sheets["Messages"].append(list(study.sheets["Messages"][-1]))
        assert take(study).report.messages == 17


class TestDates:
    @pytest.mark.parametrize("style", [1, 2, 3])
    def test_the_serial_number_is_the_rating(self, study, plain, take, kit, tmp_path, style):
        numbers = {label: number for number, label in kit.LABELS.items()}
        study.map_column("Messages", "Cognitive", lambda cell: cell and kit.Xml(f's="{style}"|<v>{numbers[cell]}</v>'))
        study.map_column("Tasks", "PreTaskImportance", lambda n: kit.Xml(f's="{style}"|<v>{n}</v>'))
        found = take(study.to_xlsx(tmp_path / "dates.xlsx", styles=kit.DATE_STYLES))
        same_tables(found, plain)
        assert found.noted("Messages", "Cognitive", "8 answers are shown as dates")
        assert found.noted("Tasks", "PreTaskImportance", "serial number")

    def test_from_1904_too(self, study, plain, take, kit, tmp_path):
        study.set("Messages", 3, "EmpathyOverall", kit.Xml('s="1"|<v>3</v>'))
        properties = '<workbookPr date1904="1"/>'
        found = take(study.to_xlsx(tmp_path / "mac.xlsx", styles=kit.DATE_STYLES, book_properties=properties))
        same_tables(found, plain)

    def test_a_date_in_a_covariate_is_text(self, study, take, kit, tmp_path):
        study.sheets["People"] = [["PID", "Born"], ["P1", kit.Xml('s="1"|<v>45000</v>')], ["P2", None]]
        found = take(study.to_xlsx(tmp_path / "born.xlsx", styles=kit.DATE_STYLES))
        assert [row["born"] for row in found.rows("participants")] == ["2023-03-15", None]


class TestFormulas:
    def test_with_a_stored_value_are_their_value(self, study, plain, take, kit):
        study.set("Messages", 3, "EmpathyOverall", kit.Xml("|<f>1+2</f><v>3</v>"))
        study.set("Messages", 3, "Affective", kit.Xml('t="str"|<f>A1</f><v>Good</v>'))
        study.set("Messages", 3, "TaskId", kit.Xml('t="str"|<f>A2</f><v>T1</v>'))
        same_tables(take(study), plain)

    def test_whose_stored_value_is_an_empty_text_are_blank_with_a_note(self, study, take, kit):
        study.set("Messages", 3, "EmpathyOverall", kit.Xml('t="str"|<f>IF(A1="","","x")</f><v></v>'))
        found = take(study)
        assert found.ratings("overall")["T1", 1] == "missing"
        assert found.noted("empty text", "rows 3")


class TestDesiredEmpathy:
    def test_exactly_one_unknown_label_is_the_middle(self, study, plain, take):
        labels = {1: "Minimal empathy", 2: "Moderate empathy", 3: "High empathy"}
        study.map_column("Tasks", "PreTaskDesiredEmpathy", labels.get)
        study.set("Tasks", 2, "PreTaskDesiredEmpathy", " moderate  EMPATHY")
        found = take(study)
        same_tables(found, plain)
        assert found.noted("PreTaskDesiredEmpathy", "taken as 2")

    def test_labels_and_numbers_mix(self, study, plain, take):
        study.set("Tasks", 2, "PreTaskDesiredEmpathy", "Some")
        same_tables(take(study), plain)


class TestRolesAndRatings:
    @pytest.mark.parametrize("role", ["error", "System", "TOOL"])
    def test_rows_of_other_roles_are_no_turns(self, study, take, role):
        study.set("Messages", 3, "Role", role)
        found = take(study)
        assert (found.report.messages, found.report.assistant_turns) == (16, 7)
        assert [row["turn"] for row in found.rows("messages")][:4] == [None, None, None, 1]
        assert found.noted("role", role.lower(), "ignored", "row 3")

    @pytest.mark.parametrize("cell", ["Good", 7, "nonsense", "N/A"])
    def test_ratings_on_user_rows_are_ignored_with_a_note(self, study, plain, take, cell):
        study.set("Messages", 2, "EmpathyOverall", cell)
        found = take(study)
        same_tables(found, plain)
        assert found.noted("role user", "ignored", "row 2")

    def test_a_conversation_without_messages_or_ratings_is_noted(self, study, take, kit):
        study.sheets["Messages"] = [row for row in study.sheets["Messages"] if row[0] != "T4"]
        for row in (3, 5):
            for column in ("EmpathyOverall", *kit.DIMENSIONS):
                study.set("Messages", row, column, None)
        found = take(study)
        assert found.report.conversations == 4
        assert found.noted("no message", "T4")
        assert found.noted("no rating", "T1, T4")


class TestAbsentColumns:
    def test_optional_ones_are_noted_and_their_measures_absent(self, study, take):
        for column in ("PreTaskImportance", "PreTaskDesiredEmpathy", "PostTaskExperience_UseAgain", "Model"):
            study.drop_column("Tasks", column)
        for column in ("Relational", "Affective", "Retry", "Content", "TimeOffsetSeconds"):
            study.drop_column("Messages", column)
        found = take(study)
        measures = {row["measure"] for row in found.rows("scales")}
        assert not measures & {"importance", "desired_empathy", "use_again", "relational", "affective"}
        assert {"overall", "cognitive", "turn_mean", "post_affective"} <= measures
        assert {row["outcome"] for row in found.rows("ratings")} == {row for row in measures if row in OUTCOMES}
        assert found.noted("Tasks", "PreTaskImportance", "Model")
        assert found.noted("Messages", "Relational", "Content")

    def test_the_overall_rating_alone_will_do(self, study, take, kit):
        for column in kit.DIMENSIONS:
            study.drop_column("Messages", column)
        found = take(study)
        assert {row["outcome"] for row in found.rows("ratings")} == {"overall"}
        assert found.report.answers == {}

    def test_the_dimensions_alone_will_do(self, study, plain, take):
        study.drop_column("Messages", "EmpathyOverall")
        found = take(study)
        assert found.ratings("turn_mean") == plain.ratings("turn_mean")
        assert found.report.rated_turns == 8


OUTCOMES = {
    *("overall", "turn_mean", "affective", "cognitive", "response", "prosocial", "interest", "contextual", "relational")
}


class TestParticipants:
    def test_a_sheet_with_a_row_per_pid_gives_covariates(self, study, take):
        study.sheets["Who"] = [
            ["About the participants"],
            ["Pid", "Age", "BFI_Openness", "Zip", "Model", "Gender "],
            ["P2", 40, "3.5", "007", "a", " Woman"],
            ["P1", "30", 4, "123", "b", None],
            ["P9", 50, 1, "9", "c", "Man"],
        ]
        found = take(study)
        assert found.rows("participants") == [
            {"participant": "P1", "age": 30, "bfi_openness": 4, "zip": "123", "participant_model": "b", "gender": None},
            {
                "participant": "P2",
                "age": 40,
                "bfi_openness": 3.5,
                "zip": "007",
                "participant_model": "a",
                "gender": "Woman",
            },
        ]
        assert found.noted("Who", "P9")
        assert found.manifest["sheets"]["Who"]["rows"] == 3

    def test_two_such_sheets_are_joined(self, study, take):
        study.sheets["Age"] = [["PID", "Age"], ["P1", 30], ["P2", 40]]
        study.sheets["More"] = [["Age", "P_ID"], ["old", "P2"], [None, "P1"], [None, "P1"]]
        assert take(study).rows("participants") == [
            {"participant": "P1", "age": 30, "age_2": None},
            {"participant": "P2", "age": 40, "age_2": "old"},
        ]

    def test_a_covariate_with_one_word_is_text(self, study, take):
        study.sheets["Who"] = [["PID", "Age"], ["P1", 30], ["P2", "N/A"]]
        assert [row["age"] for row in take(study).rows("participants")] == ["30", "N/A"]

    def test_a_sheet_with_several_rows_per_pid_is_kept_as_it_is(self, study, take):
        study.sheets["Log"] = [["PID", "Event"], ["P1", "a"], ["P1", "b"]]
        found = take(study)
        assert found.table("participants").column_names == ["participant"]
        assert found.manifest["sheets"]["Log"]["file"]
        assert found.noted("Log", "several rows")

    def test_an_error_in_another_sheet_is_kept_and_noted(self, study, take, kit):
        study.sheets["Who"] = [["PID", "Age"], ["P1", kit.Xml('t="e"|<v>#N/A</v>')], ["P2", 40]]
        found = take(study)
        assert [row["age"] for row in found.rows("participants")] == [None, 40]
        assert found.noted("Who", "Age")


class TestSynthetic:
    @pytest.mark.parametrize(
        "rows", [[["About"], ["This is SYNTHETIC data"]], [["SYNTHETIC"]], [["a"], [None, 3, "all SYNTHETIC."]]]
    )
    def test_a_sheet_that_says_so_marks_the_data(self, study, take, rows):
        study.sheets["About"] = rows
        found = take(study)
        assert found.manifest["synthetic"]
        assert "SYNTHETIC" in found.manifest["title"]

    def test_a_message_that_says_so_does_not(self, study, take):
        study.set("Messages", 2, "Content", "SYNTHETIC fibres")
        assert not take(study).manifest["synthetic"]

    def test_the_release_is_what_the_user_says(self, study, take):
        found = take(study, release=True)
        assert found.manifest["release"]
        assert found.manifest["origin"] == "release"
        assert found.manifest["licence"] == "CDLA-Permissive-2.0"
