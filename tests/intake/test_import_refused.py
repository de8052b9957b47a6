"""What cannot be taken is refused, every case with its place, and leniency lets exactly two things pass."""

import tomllib

import pytest

SCREEN = ("sheet", "row", "column", "value")


def set_error(study, kit, sheet, row, column):
    study.set(sheet, row, column, kit.Xml('t="e"|<v>#DIV/0!</v>'))


class TestCells:
    @pytest.mark.parametrize(
        "cell", [0, 6, 7, -1, 3.5, "3.5", "3 delete", "Great", "=1+1", "#N/A", "nan", True, "TRUE", 1e300, "-"]
    )
    @pytest.mark.parametrize(
        ("sheet", "row", "column"),
        [
            ("Messages", 9, "EmpathyOverall"),
            ("Messages", 7, "Relational"),
            ("Tasks", 4, "PreTaskImportance"),
            ("Tasks", 2, "PostTaskExperience_UseAgain"),
            ("Tasks", 3, "PostTaskEmpathy_Affective"),
        ],
    )
    def test_out_of_scale_fractional_or_unreadable_are_refused_or_missing(
        self, study, refuse, take, sheet, row, column, cell
    ):
        study.set(sheet, row, column, cell)
        said = refuse(study)
        shown = str(cell).upper() if isinstance(cell, bool) else str(cell).split("e+")[0]
        for word in (f"{sheet}, row {row}, {column}", shown, "1 case", "--lenient"):
            assert word in said
        found = take(study, lenient=True)
        assert [(one["sheet"], one["row"], one["column"]) for one in found.report.unreadable] == [(sheet, row, column)]
        assert set(found.report.unreadable[0]) == set(SCREEN)
        assert found.report.set_aside == []

    def test_leniently_one_cell_is_missing_and_nothing_else_changes(self, study, plain, take):
        study.set("Messages", 9, "EmpathyOverall", 7)
        found = take(study, lenient=True)
        expected = plain.ratings("overall") | {("T2", 2): "missing"}
        assert found.ratings("overall") == expected
        assert found.ratings("turn_mean") == plain.ratings("turn_mean")
        assert found.survey("importance") == plain.survey("importance")
        assert found.report.unreadable == [{"sheet": "Messages", "row": 9, "column": "EmpathyOverall", "value": "7"}]
        assert found.manifest["unreadable"] == found.report.unreadable

    @pytest.mark.parametrize("cell", [0, 4, 2.5, "2 delete", "#N/A", "None", False])
    def test_desired_empathy_that_is_no_label_is_never_the_middle(self, study, refuse, cell):
        study.set("Tasks", 3, "PreTaskDesiredEmpathy", cell)
        assert "Tasks, row 3, PreTaskDesiredEmpathy" in refuse(study)

    def test_every_case_is_listed(self, study, refuse):
        study.set("Messages", 3, "EmpathyOverall", 9).set("Messages", 9, "Affective", "bad").set(
            "Tasks", 5, "PID", None
        )
        study.set("Tasks", 2, "PreTaskImportance", 11).set("Messages", 4, "Role", "bot").set(
            "Messages", 6, "TaskId", "T77"
        )
        said = refuse(study)
        for case in (
            'Messages, row 3, EmpathyOverall: "9"',
            'Messages, row 9, Affective: "bad"',
            'Tasks, row 5, PID: ""',
            'Tasks, row 2, PreTaskImportance: "11"',
            'Messages, row 4, Role: "bot"',
            'Messages, row 6, TaskId: "T77"',
        ):
            assert case in said
        assert "6 cases" in said

    def test_rows_are_the_spreadsheets_own(self, study, refuse):
        study.set("Messages", 9, "EmpathyOverall", 7)
        study.sheets["Messages"].insert(4, [None] * 15)
        study.sheets["Messages"].insert(0, ["A title"])
        assert "Messages, row 11, EmpathyOverall" in refuse(study)

    def test_hundreds_of_cases_are_all_listed(self, study, refuse):
        rows = study.sheets["Messages"]
        for number in range(400):
            rows.append(["T1", 100 + number, 1.0, "assistant", "x", 0, 8, *[None] * 8])
        said = refuse(study)
        assert said.count('EmpathyOverall: "8"') == 400


class TestErrorsAndFormulas:
    @pytest.mark.parametrize(
        ("sheet", "column"),
        [("Messages", "EmpathyOverall"), ("Messages", "TimeOffsetSeconds"), ("Tasks", "PreTaskDesiredEmpathy")],
    )
    @pytest.mark.parametrize(
        "xml",
        [
            't="e"|<v>#N/A</v>',
            't="e"|<f>1/0</f><v>#DIV/0!</v>',
            't="e"|',
            "|<f>1+1</f>",
            "|<f>1+1</f><v></v>",
            "|<f>1+1</f><v/>",
            '|<f t="shared" si="0"/><v/>',
            't="str"|<f>A1</f>',
        ],
    )
    def test_are_refused_and_leniently_missing(self, study, refuse, take, kit, sheet, column, xml):
        study.set(sheet, 3, column, kit.Xml(xml))
        assert f"{sheet}, row 3, {column}" in refuse(study)
        found = take(study, lenient=True)
        assert [(one["sheet"], one["row"], one["column"]) for one in found.report.unreadable] == [(sheet, 3, column)]

    @pytest.mark.parametrize(
        ("sheet", "column"),
        [
            *(("Messages", name) for name in ("TaskId", "MessageId", "Role", "Content", "Retry", "Comment")),
            *(("Tasks", name) for name in ("PID", "TaskId", "Model", "PreTaskChoice")),
        ],
    )
    @pytest.mark.parametrize("xml", ['t="e"|<v>#REF!</v>', "|<f>1+1</f>"])
    def test_elsewhere_are_refused_leniently_too(self, study, refuse, kit, sheet, column, xml):
        study.set(sheet, 3, column, kit.Xml(xml))
        for lenient in (False, True):
            assert f"{sheet}, row 3, {column}" in refuse(study, lenient=lenient)

    def test_of_openpyxl_are_seen(self, study, refuse, tmp_path):
        study.set("Messages", 7, "EmpathyOverall", "=3+2")
        assert "Messages, row 7, EmpathyOverall" in refuse(study.to_openpyxl(tmp_path / "formula.xlsx", formulas=True))


class TestTimes:
    @pytest.mark.parametrize("cell", ["12 s", "later", True, "1,200"])
    def test_unreadable_are_refused_and_leniently_missing(self, study, refuse, take, cell):
        study.set("Messages", 3, "TimeOffsetSeconds", cell)
        assert "Messages, row 3, TimeOffsetSeconds" in refuse(study)
        found = take(study, lenient=True)
        assert found.rows("messages")[1]["seconds"] is None
        assert len(found.report.unreadable) == 1

    def test_as_time_of_day_are_refused(self, study, refuse, kit, tmp_path):
        study.set("Messages", 3, "TimeOffsetSeconds", kit.Xml('s="3"|<v>0.00052</v>'))
        assert "time of day" in refuse(study.to_xlsx(tmp_path / "time.xlsx", styles=kit.DATE_STYLES))

    def test_as_text_are_taken(self, study, take):
        study.set("Messages", 3, "TimeOffsetSeconds", " 12.5 ").set("Messages", 5, "TimeOffsetSeconds", None)
        assert [row["seconds"] for row in take(study).rows("messages")][:4] == [0, 12.5, 30, None]

    def test_negative_ones_are_noted(self, study, take):
        study.set("Messages", 2, "TimeOffsetSeconds", -0.5)
        assert take(study).noted("negative", "row 2")


class TestNames:
    def test_unknown_labels_are_refused_with_the_lines_that_accept_them(self, study, refuse, take, tmp_path):
        study.set("Messages", 3, "EmpathyOverall", "Superb").set("Tasks", 2, "PostTaskEmpathy_Interest", 'So "so"')
        said = refuse(study)
        lines = [line.strip() for line in said.splitlines() if line.startswith("  [") or " = " in line]
        mapping = tmp_path / "names.toml"
        mapping.write_text("\n".join(lines))
        assert tomllib.loads(mapping.read_text())["labels"]["EmpathyOverall"] == {"Superb": "not applicable"}
        found = take(study, mapping=mapping)
        assert found.ratings("overall")["T1", 1] == "not_applicable"
        assert found.survey("post_interest")["T1"] == "not_applicable"
        assert found.manifest["mapping"]["labels"]["PostTaskEmpathy_Interest"] == {'So "so"': "not applicable"}

    def test_two_unknown_labels_of_desired_empathy_are_both_refused(self, study, refuse, take, tmp_path):
        study.set("Tasks", 2, "PreTaskDesiredEmpathy", "Some").set("Tasks", 4, "PreTaskDesiredEmpathy", "A lot")
        said = refuse(study)
        for word in ("Tasks, row 2", "Some", "Tasks, row 4", "A lot", "[labels.PreTaskDesiredEmpathy]"):
            assert word in said
        mapping = tmp_path / "desired.toml"
        mapping.write_text('[labels.PreTaskDesiredEmpathy]\n"Some" = 2\n"A lot" = 3\n')
        assert take(study, mapping=mapping).survey("desired_empathy") == {"T1": 2, "T2": 3, "T3": 3, "T4": 2}
        found = take(study, lenient=True)
        assert [one["value"] for one in found.report.unreadable] == ["Some", "A lot"]

    @pytest.mark.parametrize("role", ["bot", "Human", "assistant2", 1])
    def test_unknown_roles_are_refused_with_the_lines_that_accept_them(self, study, refuse, take, tmp_path, role):
        study.map_column("Messages", "Role", lambda cell: role if cell == "assistant" else cell)
        said = refuse(study)
        assert f'Messages, row 3, Role: "{role}" must be one of' in said
        assert refuse(study, lenient=True)
        if isinstance(role, str):
            assert f'"{role}" = "assistant"' in said
            mapping = tmp_path / "roles.toml"
            mapping.write_text(f'[roles]\n"{role}" = "assistant"\n')
            assert take(study, mapping=mapping).report.assistant_turns == 8

    def test_a_blank_role_is_refused(self, study, refuse):
        study.set("Messages", 3, "Role", " ")
        assert "Messages, row 3, Role" in refuse(study, lenient=True)


class TestKeys:
    def test_messages_of_no_task_are_refused_and_leniently_set_aside(self, study, plain, refuse, take):
        study.sheets["Messages"].append(["T99", 1, 0, "assistant", "lost", 0, 9, *[None] * 8])
        assert 'Messages, row 18, TaskId: "T99" is not in' in refuse(study)
        found = take(study, lenient=True)
        assert [(one["sheet"], one["row"]) for one in found.report.set_aside] == [("Messages", 18)]
        assert "T99" in found.report.set_aside[0]["what"]
        assert found.report.unreadable == []
        assert found.rows("messages") == plain.rows("messages")

    def test_what_is_set_aside_is_not_read(self, study, plain, refuse, take, kit):
        error = kit.Xml('t="e"|<v>#N/A</v>')
        study.sheets["Messages"].append(["Total", None, "?", None, error, 0, 9, *[None] * 8])
        assert "1 case" in refuse(study)
        found = take(study, lenient=True)
        assert found.report.unreadable == []
        assert len(found.report.set_aside) == 1
        assert found.rows("messages") == plain.rows("messages")

    @pytest.mark.parametrize("lenient", [False, True])
    def test_a_task_twice_is_refused(self, study, refuse, lenient):
        again = list(study.sheets["Tasks"][1])
        again[1] = "GPT-5"
        study.sheets["Tasks"].append(again)
        said = refuse(study, lenient=lenient)
        assert 'Tasks, row 6, TaskId: "T1" must be there once; row 2' in said

    @pytest.mark.parametrize("lenient", [False, True])
    @pytest.mark.parametrize(("sheet", "column"), [("Tasks", "PID"), ("Tasks", "TaskId"), ("Messages", "TaskId")])
    @pytest.mark.parametrize("blank", [None, " ", "\u00a0\u200b"])
    def test_blank_ids_are_refused(self, study, refuse, sheet, column, blank, lenient):
        study.set(sheet, 3, column, blank)
        assert f'{sheet}, row 3, {column}: "" must not be blank' in refuse(study, lenient=lenient)

    def test_ids_that_lost_digits_are_refused(self, study, refuse):
        study.set("Tasks", 3, "PID", 1.234567890123457e17)
        assert "Tasks, row 3, PID" in refuse(study)

    def test_no_conversation_at_all_is_refused(self, study, refuse):
        del study.sheets["Tasks"][1:], study.sheets["Messages"][1:]
        assert "Tasks" in refuse(study)


class TestSheetsAndColumns:
    @pytest.mark.parametrize("sheet", ["Tasks", "Messages"])
    def test_a_missing_sheet_is_refused(self, study, refuse, take, tmp_path, sheet):
        study.sheets["Other"] = study.sheets.pop(sheet)
        said = refuse(study, lenient=True)
        assert sheet in said
        assert "'Other'" in said
        mapping = tmp_path / "sheets.toml"
        mapping.write_text(f'[sheets]\n{sheet} = "other"\n')
        assert take(study, mapping=mapping).report.messages == 16

    def test_everything_that_is_missing_is_said_at_once(self, study, refuse):
        study.rename("Tasks", "PID", "a").rename("Tasks", "TaskId", "b").rename("Messages", "Role", "c")
        said = refuse(study)
        for line in (
            "Sheet Tasks must have the column PID and the column TaskId",
            "Sheet Messages must have the column Role",
        ):
            assert line in said
        study.sheets = {"x": study.sheets["Tasks"]}
        assert "missing: Tasks and Messages" in refuse(study)

    def test_two_sheets_of_one_name_are_refused(self, study, refuse):
        study.sheets["tasks "] = study.sheets["Tasks"]
        said = refuse(study)
        assert "'Tasks'" in said
        assert "'tasks '" in said

    @pytest.mark.parametrize(
        ("sheet", "column"), [("Tasks", "PID"), ("Tasks", "TaskId"), ("Messages", "TaskId"), ("Messages", "Role")]
    )
    def test_a_missing_required_column_is_refused(self, study, refuse, take, tmp_path, sheet, column):
        study.rename(sheet, column, "Whatever")
        said = refuse(study, lenient=True)
        for word in (sheet, column, "Whatever", "[columns]"):
            assert word in said
        if column in {"PID", "Role"}:
            mapping = tmp_path / "columns.toml"
            mapping.write_text(f'[columns]\n{column} = "what ever"\n')
            assert take(study, mapping=mapping).report.rated_turns == 8

    def test_no_rating_column_is_refused(self, study, refuse, kit):
        for column in ("EmpathyOverall", *kit.DIMENSIONS):
            study.drop_column("Messages", column)
        said = refuse(study)
        assert "Messages" in said
        assert "rating column" in said

    @pytest.mark.parametrize(
        ("sheet", "column", "twin"),
        [
            ("Messages", "Comment", "empathy overall"),
            ("Messages", "Comment", "TASKID"),
            ("Tasks", "Model", "P_ID"),
            ("Tasks", "Model", "PostTaskEmpathy_AffectiveUnderstanding"),
        ],
    )
    def test_two_columns_that_answer_to_one_name_are_refused(self, study, refuse, sheet, column, twin):
        study.rename(sheet, column, twin)
        said = refuse(study)
        assert repr(twin) in said
        assert sheet in said

    def test_two_further_columns_of_one_name_are_kept(self, study, take):
        for row in study.sheets["Tasks"]:
            row += ["Note", "note"] if row[0] == "PID" else ["a", "b"]
        rows = take(study).rows("conversations")
        assert (rows[0]["note"], rows[0]["note_2"]) == ("a", "b")


class TestMappingsOfTheReleasedShape:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[columns]\nTaskID2 = 'x'", "TaskID2"),
            ("[sheet]\nTasks = 'x'", "sheet"),
            ("[labels.Nope]\na = 1", "Nope"),
            ("[labels.EmpathyOverall]\na = true", "not applicable"),
            ("[labels.EmpathyOverall]\na = 'maybe'", "not applicable"),
            ("columns = 3", "[columns]"),
            ("not toml", "TOML"),
            ("[columns]\nPID = 3", "columns.PID"),
        ],
    )
    def test_that_say_something_unknown_are_refused(self, study, refuse, tmp_path, text, says):
        mapping = tmp_path / "bad.toml"
        mapping.write_text(text)
        assert says in refuse(study, mapping=mapping)

    def test_that_are_not_there_are_refused(self, study, refuse, tmp_path):
        assert "nowhere.toml" in refuse(study, mapping=tmp_path / "nowhere.toml")


class TestLabelsOfAMapping:
    @pytest.mark.parametrize("meaning", [9, 4.5, -3])
    def test_that_mean_no_level_are_refused(self, study, refuse, tmp_path, meaning):
        mapping = tmp_path / "labels.toml"
        mapping.write_text(f'[labels.Affective]\n"Sehr gut" = {meaning}\n')
        assert f"'Sehr gut' means {meaning:g}, which is no level from 1 to 5" in refuse(study, mapping=mapping)

    @pytest.mark.parametrize("label", ["5 - Very good", "Very good (5)", "★★★", "👍"])
    def test_are_offered_for_whatever_somebody_may_have_chosen(self, study, refuse, take, tmp_path, label):
        study.set("Messages", 7, "Affective", label)
        said = refuse(study)
        (line,) = [one.strip() for one in said.splitlines() if one.strip().startswith('"') and "# or a number" in one]
        mapping = tmp_path / "labels.toml"
        mapping.write_text(f"[labels.Affective]\n{line}\n")
        assert take(study, mapping=mapping).report.answers["affective"]["not_applicable"] >= 1

    def test_a_role_that_means_no_role_is_refused(self, study, refuse, tmp_path):
        mapping = tmp_path / "roles.toml"
        mapping.write_text('[roles]\n"bot" = "robot"\n')
        said = refuse(study, mapping=mapping)
        assert "'bot' must mean one of user, assistant, error, system, tool; came 'robot'" in said


def test_an_unknown_desired_level_with_its_number_is_the_middle_one(study, take):
    for row in (2, 3):
        study.set("Tasks", row, "PreTaskDesiredEmpathy", "Medium empathy (2)")
    assert any(
        "'Medium empathy (2)' is the only label not documented; taken as 2" in one for one in take(study).report.notes
    )
