"""People at the edges, among others and alone: shown and counted, never a fault, and no number missing in a figure's words."""

import json
import math
import re

import pytest

from dashboard.analyses import on_page
from dashboard.analyses.findings import Selection, parse_parameters, run_analysis
from dashboard.figures.template import Template
from dashboard.vocabulary import Refused

DIMENSIONS = ("affective", "cognitive", "response", "prosocial", "interest", "contextual", "relational")
NOT_APPLICABLE = "n/a"
# Overall ratings by conversation; dimensions go along, one lower on every other turn.
PEOPLE = {
    "one turn": [[4]],
    "one conversation": [[3, 4, 2, 5, 4]],
    "all equal": [[3, 3, 3], [3, 3]],
    "all not applicable": [[NOT_APPLICABLE, NOT_APPLICABLE], [NOT_APPLICABLE]],
    "blank": [[None, None]],
    "ordinary A": [[2, 3, 2], [4, 3, 5, 4]],
    "ordinary B": [[5, 5, 4], [5, 4, 5]],
    "ordinary C": [[1, 2, 1, 3], [2, 2, 1]],
    "ordinary D": [[3, 4, 4], [4, 5, 3]],
}
SELECTIONS = {
    "everyone": Selection(),
    "one turn": Selection(participant=("one turn",)),
    "one conversation": Selection(participant=("one conversation",)),
    "all equal": Selection(participant=("all equal",)),
    "nobody who rated": Selection(participant=("all not applicable", "blank")),
    "four": Selection(participant=("ordinary A", "ordinary B", "all equal", "one turn")),
}
WORDLESS = re.compile(r"\b(nan|NaN|inf|Infinity|undefined|null)\b")


@pytest.fixture
def edges(given):
    turns, conversations = [], []
    for person, chats in PEOPLE.items():
        for number, ratings in enumerate(chats):
            name = f"{person} {number}"
            conversations.append(
                {"conversation": name, "participant": person, "task": f"Task {number}", "model": "GPT-4"}
            )
            for place, rating in enumerate(ratings):
                lower = rating - place % 2 if isinstance(rating, int) and rating > 1 else rating
                rated = {"overall": rating} | dict.fromkeys(DIMENSIONS, lower) | {"affective": rating}
                turns.append({"conversation": name} | {key: one for key, one in rated.items() if one is not None})
    people = [{"participant": person, "age": 20 + 3 * place} for place, person in enumerate(PEOPLE)]
    return given(turns, conversations, people=people)


def analyses(edges, one, selection):
    """What the analysis finds in each of its ways, or why it refuses."""
    ways = [[("n_boot", "60")]] if "n_boot" in one.parameter_fields() else [[]]
    if one.name == "variance_components" and selection == SELECTIONS["four"]:
        ways.append([("n_boot", "50"), ("intervals", "bootstrap")])
    for given in ways:
        try:
            yield run_analysis(edges, one, selection, parse_parameters(one, given)[1]), ""
        except Refused as reason:
            yield None, str(reason)


def is_hole(value):
    return value is None or (isinstance(value, float) and not math.isfinite(value)) or bool(WORDLESS.search(str(value)))


def holes(figure):
    """Each word or number that a reader would see as missing: in texts, names, annotations, and what a hover puts together."""
    drawn = json.loads(figure.to_json())
    for note in drawn["layout"].get("annotations", []):
        if is_hole(note["text"]):
            yield note["text"]
    for trace in drawn["data"]:
        for key in ("text", "hovertext", "name"):
            words = trace.get(key, "")
            yield from (one for one in (words if isinstance(words, list) else [words]) if is_hole(one))
        template = trace.get("hovertemplate")
        if not template or trace.get("hoverinfo") == "skip":
            continue
        used = {int(place) for place in re.findall(r"%\{customdata\[(\d+)\]", template)}
        for place, row in enumerate(trace.get("customdata") or []):
            shown = [trace[axis][place] is not None for axis in ("x", "y") if isinstance(trace.get(axis), list)]
            if all(shown):
                cells = [row[one] for one in used] if used else [row]
                yield from ((template, row) for cell in cells if is_hole(cell))


@pytest.mark.parametrize("one", on_page("Variability"), ids=lambda one: one.name)
def test_no_fault_and_no_number_missing(edges, one):
    for label, selection in SELECTIONS.items():
        for findings, reason in analyses(edges, one, selection):
            if findings is None:
                assert reason.endswith("."), (label, reason)
                continue
            words = " ".join([findings.headline, *findings.warnings, *findings.notes])
            assert not WORDLESS.search(words), (label, words)
            for name, drawing in findings.figures.items():
                assert list(holes(drawing.figure(Template()))) == [], (label, name)
                assert not WORDLESS.search(drawing.alt), (label, drawing.alt)


def test_everyone_is_shown_and_counted(edges):
    one = {item.name: item for item in on_page("Variability")}
    people = run_analysis(edges, one["participant_ratings"], Selection(), one["participant_ratings"].parameters())
    assert set(people.table["participant"]) == set(PEOPLE)
    drawn = people.figures["participant_ratings"].figure(Template())
    shown = {point[0] for trace in drawn.data if trace.meta == "people" for point in trace.customdata}
    assert shown == set(PEOPLE) - {"all not applicable", "blank"}
    styles = run_analysis(edges, one["response_styles"], Selection(), one["response_styles"].parameters(n_boot=0))
    assert set(styles.table["participant"]) == set(PEOPLE)
    for findings in (people, styles):
        assert "7 participants" in findings.headline
