"""The page Mixed models: form and formula edit each other, the address holds both, nonsense is a sentence."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.paths import APP, SAMPLE
from dashboard.stats.progress import tell
from dashboard.ui.address import existing_pages
from dashboard.ui.model_show import _Answers

FILE = dict(existing_pages())["Mixed models"]
NESTED = "(1 | participant/conversation)"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.delenv("SENSE7_PUBLIC", raising=False)

    def opened(**query):
        app = AppTest.from_file(str(APP), default_timeout=180)
        for key, value in query.items():
            app.query_params[key] = value
        app.switch_page(str(FILE.relative_to(APP.parent))).run()
        return app

    return opened


def formula_of(app):
    return app.text_input(key="builder.text").value


def assert_sound(app):
    assert not app.exception, app.exception
    assert not app.error, [one.value for one in app.error]


def said(app):
    return " ".join(one.value.replace("\\", "").replace("\u00a0", " ") for one in [*app.main.markdown, *app.info])


def test_opens_with_a_model_that_form_and_formula_agree_on(page):
    app = page()
    assert_sound(app)
    assert formula_of(app) == f"overall ~ turn + model + {NESTED}"
    assert app.selectbox(key="builder.outcome").value == "overall"
    assert app.multiselect(key="builder.fixed").value == ["turn", "model"]
    assert app.multiselect(key="builder.random").value == [NESTED]
    assert "0.035 lower per turn" in said(app)
    assert "95 % interval" in said(app)
    assert app.query_params == {}


def test_the_form_writes_the_formula_and_the_address(page):
    app = page()
    app.multiselect(key="builder.fixed").set_value(["turn", "task"]).run()
    app.multiselect(key="builder.interactions").set_value(["turn:task"]).run()
    app.multiselect(key="builder.random").set_value(["(1 | participant)"]).run()
    assert_sound(app)
    assert formula_of(app) == "overall ~ turn + task + turn:task + (1 | participant)"
    assert app.query_params["mixed_model.formula"] == "overall ~ turn + task + turn:task + (1 | participant)"
    app.multiselect(key="builder.fixed").set_value(["task"]).run()
    assert formula_of(app) == "overall ~ task + (1 | participant)"
    assert app.multiselect(key="builder.interactions").value == []


def test_the_formula_fills_the_form_and_the_address(page):
    app = page()
    app.text_input(key="builder.text").set_value("affective~log(turn)*model+(1|participant)").run()
    assert_sound(app)
    assert app.selectbox(key="builder.outcome").value == "affective"
    assert app.multiselect(key="builder.fixed").value == ["log(turn)", "model"]
    assert app.multiselect(key="builder.interactions").value == ["log(turn):model"]
    assert app.multiselect(key="builder.random").value == ["(1 | participant)"]
    assert "Affective understanding" in said(app)


def test_a_link_reproduces_the_model(page):
    app = page(
        **{"mixed_model.formula": "overall ~ task + (1|participant)", "mixed_model.reference": "task=Ode to a potato"}
    )
    assert_sound(app)
    assert app.multiselect(key="builder.fixed").value == ["task"]
    assert app.selectbox(key="builder.reference.task").value == "Ode to a potato"
    assert "than with Ode to a potato" in said(app)


def test_an_outcome_per_conversation_leaves_the_turns_behind(page):
    app = page()
    app.selectbox(key="builder.outcome").set_value("satisfaction").run()
    assert_sound(app)
    assert formula_of(app) == "satisfaction ~ model + (1 | participant)"


def test_each_ready_question_is_answered(page):
    app = page()
    for index in range(4):
        app.button(key=f"question.{index}").click().run()
        assert_sound(app)
        assert next(one.value for one in app.header).startswith("What goes with the rating")
    assert "not applicable" in said(app)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "no meaning"),
        ("overall ~ overall + (1|participant)", "is the outcome"),
        ("overall ~ moon + (1|participant)", "“moon” is no column"),
        ("overall ~ turn", "needs a random part"),
        ("satisfaction ~ turn + (1|participant)", "varies from turn to turn"),
        ("satisfaction ~ task + (1|participant/conversation)", "groups"),
        ("overall ~ :red[x] $5-$6 <script>", "no meaning"),
    ],
)
def test_nonsense_is_a_sentence_and_the_way_back_is_there(page, text, words):
    app = page()
    app.text_input(key="builder.text").set_value(text).run()
    assert_sound(app)
    assert words in said(app)
    assert "95 % interval" not in said(app)
    app.button(key="question.0").click().run()
    assert "lower per turn" in said(app)


def test_models_are_saved_compared_and_forgotten(page):
    app = page()
    app.button(key="builder.save").click().run()
    app.multiselect(key="builder.fixed").set_value(["turn"]).run()
    assert_sound(app)
    assert app.query_params["model_comparison.others"] == f"overall ~ turn + model + {NESTED}"
    assert "Of 2 models" in said(app)
    app.button(key="saved.0").click().run()
    assert "model_comparison.others" not in app.query_params
    assert "Of 2 models" in said(app)  # the model and itself without turn


def test_estimation_and_reference_level_are_settings(page):
    app = page()
    app.button_group(key="mixed_model.method").set_value("ML").run()
    app.selectbox(key="builder.reference.model").set_value("Llama2-70B").run()
    assert_sound(app)
    assert app.query_params["mixed_model.method"] == "ML"
    assert app.query_params["mixed_model.reference"] == "model=Llama2-70B"
    assert any("maximum likelihood;" in one.value and "restricted" not in one.value for one in app.code)
    app.multiselect(key="builder.fixed").set_value(["turn"]).run()
    assert_sound(app)
    assert "mixed_model.reference" not in app.query_params


def test_intervals_and_autocorrelation_are_settings_that_a_link_keeps(page):
    app = page()
    app.checkbox(key="mixed_model.ar1").check().run()
    app.button_group(key="mixed_model.intervals").set_value("profile").run()
    assert_sound(app)
    assert app.query_params["mixed_model.ar1"] == "true"
    assert app.query_params["mixed_model.intervals"] == "profile"
    assert any("φ, from a turn's residual" in str(one.value) for one in app.markdown)
    assert "profile likelihood" in " ".join(one.value for one in app.caption)
    assert "Diagnostics are of the model without autocorrelated residuals" in said(app)
    app.selectbox(key="builder.outcome").set_value("satisfaction").run()
    assert_sound(app)
    assert app.checkbox(key="mixed_model.ar1").disabled and not app.checkbox(key="mixed_model.ar1").value


class TestLongAnswers:
    """Work that nobody waits for any more ends; asked again, it begins anew."""

    def work(self, steps, done):
        def run():
            for step in range(steps):
                tell("drawing", step, steps)
                time.sleep(0.005)
            done.append(True)
            return "answer"

        return run

    def test_whoever_waits_hears_how_far_it_is_and_gets_the_answer(self):
        answers, done = _Answers(), []
        with answers.ask("key", self.work(20, done)) as job:
            assert job.future.result(timeout=10) == "answer"
            assert job.told == "Drawing: 19 of 20"
        with answers.ask("key", self.work(20, done)) as job:
            assert job.future.result(timeout=10) == "answer"
        assert done == [True]

    def test_who_leaves_stops_it_unless_another_waits(self):
        answers, done = _Answers(), []
        with answers.ask("key", self.work(100_000, done)) as first:
            with answers.ask("key", self.work(100_000, done)) as second:
                assert second is first
            assert not first.future.done()
        assert first.future.exception(timeout=10) is not None and first.is_stopped
        with answers.ask("key", self.work(3, done)) as again:
            assert again.future.result(timeout=10) == "answer"
        assert done == [True]


def test_the_printed_box_of_caveats_and_the_code_are_there(page):
    app = page()
    assert "nothing here is causal" in said(app)
    assert "without adjustment" in said(app)
    assert any("lmer(overall ~ turn + model" in one.value for one in app.code)
    assert any("fit_linear_mixed(rows" in one.value for one in app.code)
