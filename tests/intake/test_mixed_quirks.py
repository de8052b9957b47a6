"""However many quirks a workbook mixes, its tables are those of the tidy one."""

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.intake import import_source

BLANKS = st.text(st.sampled_from(" \u00a0\u200b\t"), max_size=2)


@st.composite
def spelled(draw, number, labels):
    """Write an answer in one of the ways that mean it."""
    ways = [float(number), str(number), f"{number}.0", chr(0xFF10 + number)]
    if number in labels:
        ways += [labels[number], labels[number].upper(), labels[number].lower().replace(" ", "\u00a0 ")]
    way = draw(st.sampled_from(ways))
    return draw(BLANKS) + way + draw(BLANKS) if isinstance(way, str) else way


@st.composite
def quirky(draw, kit):
    study = kit.Study()
    numbers = {label: number for number, label in kit.LABELS.items()}
    agreement = {
        1: "Strongly disagree",
        2: "Disagree",
        3: "Neither agree nor disagree",
        4: "Agree",
        5: "Strongly agree",
    }
    for column in ("EmpathyOverall", *kit.DIMENSIONS):
        study.map_column("Messages", column, lambda cell: cell and draw(spelled(numbers[cell], kit.LABELS)))
    for column in kit.TASKS_HEADER[6:]:
        study.map_column("Tasks", column, lambda number: draw(spelled(number, agreement)))
    study.map_column("Messages", "Role", lambda role: draw(st.sampled_from([role, role.upper(), f" {role}\u00a0"])))
    for sheet in ("Tasks", "Messages"):
        study.map_column(sheet, "TaskId", lambda name: draw(BLANKS) + name + draw(BLANKS))
    messages = study.sheets["Messages"]
    messages[1:] = draw(st.permutations(messages[1:]))
    for row in draw(st.lists(st.sampled_from(messages[1:]), max_size=3)):
        messages.append(list(row))
    for name, rows in study.sheets.items():
        order = draw(st.permutations(range(len(rows[0]))))
        rows = [[row[place] for place in order] for row in rows]
        rows[0] = [draw(st.sampled_from([cell, cell.upper(), f" {cell} "])) for cell in rows[0]]
        for _ in range(draw(st.integers(0, 2))):
            rows.insert(draw(st.integers(1, len(rows))), [draw(st.sampled_from([None, " "]))])
        study.sheets[name] = [["Exported"], []] * draw(st.integers(0, 1)) + rows
    return study


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mixed_quirks_change_nothing(data, kit, plain, tmp_path_factory):
    study = data.draw(quirky(kit))
    folder = tmp_path_factory.mktemp("quirky")
    write = data.draw(st.sampled_from([study.to_xlsx, study.to_openpyxl, study.to_xlsxwriter]))
    import_source(write(folder / "book.xlsx"), folder / "out")
    for name in ("conversations", "messages", "ratings", "survey", "participants", "scales"):
        one, two = plain.table(name), pq.read_table(folder / "out" / f"{name}.parquet")
        if name == "messages":
            one, two = one.drop_columns(["source_row"]), two.drop_columns(["source_row"])
        assert one.equals(two), name
