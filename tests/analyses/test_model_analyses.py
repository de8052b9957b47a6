"""The five answers about one mixed model: planted effects found, agreement named, sums equal to rows, code that runs."""

import contextlib
import io
import re

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses import model_moments, registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.analyses.model_frame import model_data, model_names, read_formula
from dashboard.analyses.model_questions import (
    Parts,
    compose,
    fitting_parts,
    fixed_options,
    interaction_options,
    random_options,
    ready_questions,
    take_apart,
    without_lost_terms,
)
from dashboard.intake.sample_effects import Observed
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData

EVERYTHING = Selection()
NESTED = "(1 | participant/conversation)"


@pytest.fixture(scope="module")
def names(sample):
    return model_names(sample)


@pytest.fixture(scope="module")
def ask(sample):
    """Return what an analysis finds for a formula, each once."""
    known = {}

    def get(name, formula, **more):
        key = (name, formula, tuple(sorted(more.items())))
        if key not in known:
            one = registry()[name]
            known[key] = run_analysis(sample, one, EVERYTHING, one.parameters(formula=formula, **more))
        return known[key]

    return get


class TestMixedModel:
    def test_finds_the_planted_fading_over_turns(self, ask):
        findings = ask("mixed_model", "overall ~ turn + (1 + turn | participant) + (1 | conversation)")
        row = findings.table.set_index("term").loc["turn"]
        assert row["conf_low"] < Observed().turn_slope < row["conf_high"] < 0
        assert findings.headline.startswith("Overall perceived empathy is 0.03")
        assert "lower per turn (95 % interval 0.0" in findings.headline

    def test_says_unclear_where_the_interval_holds_zero(self, ask):
        findings = ask("mixed_model", f"overall ~ age + {NESTED}")
        row = findings.table.set_index("term").loc["age"]
        assert row["conf_low"] <= 0 <= row["conf_high"]
        assert "shows no clear change with age" in findings.headline

    def test_names_the_clearest_level_beside_the_reference(self, ask):
        findings = ask("mixed_model", f"overall ~ model + {NESTED}", reference="model=Llama2-70B")
        assert "higher with GPT-4 with empathy prompt than with Llama2-70B" in findings.headline

    def test_says_at_which_level_an_effect_with_an_interaction_holds(self, ask):
        findings = ask("mixed_model", "overall ~ turn * model + (1 | participant)")
        assert findings.headline.startswith("At GPT-3.5, ")

    def test_never_says_significant(self, ask):
        for formula in (f"overall ~ turn + model + {NESTED}", f"overall ~ age + {NESTED}"):
            findings = ask("mixed_model", formula)
            texts = [findings.headline, *findings.warnings, *findings.tables["mixed_model.report"]["text"]]
            assert not any("significan" in text.lower() for text in texts)

    def test_shows_the_reference_levels_without_a_test(self, ask):
        table = ask("mixed_model", f"overall ~ turn + model + {NESTED}").table
        references = table[table["is_reference"]]
        assert references["term"].tolist() == ["model[GPT-3.5]"]
        assert references["estimate"].tolist() == [0.0]
        assert references[["std_error", "p_value", "conf_low"]].isna().all().all()

    def test_shares_add_up_and_the_rows_are_those_fitted(self, ask):
        findings = ask("mixed_model", f"overall ~ turn + model + {NESTED}")
        assert findings.tables["mixed_model.variances"]["share"].sum() == pytest.approx(1)
        rows = findings.tables["mixed_model.rows"]
        assert not rows.isna().any().any()
        summary = findings.tables["mixed_model.summary"].set_index("measure")["value"]
        assert len(rows) == summary["n_observations"] == findings.counts.turns

    def test_warns_where_the_random_part_leaves_someone_out(self, ask):
        assert "conversation" in ask("mixed_model", "overall ~ turn + (1 | participant)").warnings[0]
        assert "participant" in ask("mixed_model", "overall ~ turn + (1 | conversation)").warnings[0]
        assert ask("mixed_model", f"overall ~ turn + {NESTED}").warnings == ()

    def test_the_python_code_that_it_prints_gives_the_same_model(self, ask, tmp_path, monkeypatch):
        findings = ask("mixed_model", f"overall ~ turn + model + {NESTED}")
        report = findings.tables["mixed_model.report"].set_index("part")["text"]
        monkeypatch.chdir(tmp_path)
        findings.tables["mixed_model.rows"].to_csv("rows.csv", index=False)
        own = report.loc["python"].split("import statsmodels")[0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(own, "printed", "exec"), {})
        turn = re.search(r"^1 +turn +(-[\d.]+)", printed.getvalue(), flags=re.MULTILINE)
        assert float(turn.group(1)) == pytest.approx(findings.table.set_index("term").loc["turn", "estimate"], abs=1e-5)
        assert "lmer(overall ~ turn + model + (1 | participant/conversation)" in report.loc["r"]

    def test_the_apa_sentence_holds_every_term(self, ask):
        report = ask("mixed_model", f"overall ~ turn + model + {NESTED}").tables["mixed_model.report"]
        sentence = report.set_index("part")["text"].loc["apa"]
        assert re.search(
            r"turn, b = −0\.035, SE = 0\.003, t\(\d+\.\d\) = −10\.\d\d, p < \.001, 95 % CI \[−0\.041, −0\.028\]",
            sentence,
        )
        assert sentence.count("model[") == 3
        assert "R²marginal = .06" in sentence

    def test_a_formula_that_the_rows_cannot_carry_is_a_sentence(self, sample):
        one = registry()["mixed_model"]
        with pytest.raises(Refused, match="one level"):
            run_analysis(
                sample, one, Selection(model=("GPT-4",)), one.parameters(formula=f"overall ~ model + {NESTED}")
            )


class TestIntervalsAndSeries:
    FORMULA = f"overall ~ turn + model + {NESTED}"

    def test_profile_intervals_are_the_tables_and_the_sentences(self, ask):
        plain, found = ask("mixed_model", self.FORMULA), ask("mixed_model", self.FORMULA, intervals="profile")
        own = found.tables["mixed_model.intervals"]
        assert "mixed_model.intervals" not in plain.tables
        assert set(own["measure"]) == {"std_dev", "coefficient"}
        one, other = (each.table.set_index("term").loc["turn"] for each in (plain, found))
        assert (one["estimate"], one["p_value"]) == (other["estimate"], other["p_value"])
        assert one["conf_low"] != other["conf_low"] == pytest.approx(one["conf_low"], abs=1e-4)
        apa = found.tables["mixed_model.report"].set_index("part")["text"].loc["apa"]
        assert "profile-likelihood intervals" in apa

    def test_autocorrelation_is_said_and_widens_the_slopes_error(self, ask):
        plain, found = ask("mixed_model", self.FORMULA), ask("mixed_model", self.FORMULA, ar1=True)
        phi = found.tables["mixed_model.summary"].set_index("measure")["value"].loc["ar1_phi"]
        assert phi == pytest.approx(0.167, abs=1e-3)
        assert "correlates by 0.17 from one turn" in found.headline
        apa = found.tables["mixed_model.report"].set_index("part")["text"].loc["apa"]
        assert "first-order autoregressive residuals within conversations (φ = 0.17)" in apa
        errors = [each.table.set_index("term").loc["turn", "std_error"] for each in (plain, found)]
        assert 1.05 < errors[1] / errors[0] < 1.3
        assert {"conversation", "turn"} <= set(found.tables["mixed_model.rows"])

    def test_series_are_compared_with_series(self, ask):
        findings = ask("model_comparison", self.FORMULA, ar1=True)
        assert findings.table["n_parameters"].iloc[0] == 9
        assert (
            "without autocorrelated residuals only" in findings.tables["model_comparison.variances"]["method"].iloc[0]
        )

    def test_where_there_is_no_series_it_says_so(self, ask):
        with pytest.raises(Refused, match="one value per conversation"):
            ask("mixed_model", "satisfaction ~ task + (1 | participant)", ar1=True)
        with pytest.raises(Refused, match="Leave AR"):
            ask("model_diagnostics", self.FORMULA, ar1=True)


class TestSumsStandForRows:
    @pytest.fixture
    def from_sums(self, sample, monkeypatch):
        monkeypatch.setattr(model_moments, "LARGE_TURNS", 0)

        def get(name, formula, selection=EVERYTHING, **more):
            one = registry()[name]
            return run_analysis(sample, one, selection, one.parameters(formula=formula, **more))

        return get

    @pytest.mark.parametrize(
        "formula",
        [
            f"overall ~ turn + model + {NESTED}",
            "affective ~ turn * task + importance + (1 + turn | participant) + (1 | conversation)",
            "overall ~ turn + gender + trait_empathy + (1 | participant) + (1 | task)",
            "overall ~ turn + satisfaction + (1 | participant)",
        ],
    )
    def test_with_the_same_numbers(self, ask, from_sums, formula):
        rows, sums = ask("mixed_model", formula), from_sums("mixed_model", formula)
        assert any(name.startswith("model_moments") for name in sums.queries)
        assert "mixed_model.rows" not in sums.tables
        columns = ["estimate", "std_error", "conf_low", "conf_high"]
        np.testing.assert_allclose(rows.table[columns], sums.table[columns], rtol=1e-5, atol=1e-7)
        for table in ("variances", "summary"):
            column = "variance" if table == "variances" else "value"
            np.testing.assert_allclose(
                rows.tables[f"mixed_model.{table}"][column], sums.tables[f"mixed_model.{table}"][column], rtol=1e-5
            )
        assert rows.headline == sums.headline

    def test_under_filters_too(self, sample, from_sums):
        one, chosen = (
            registry()["mixed_model"],
            Selection(task=("Ode to a potato", "Naming a dragon"), min_rated_turns=3),
        )
        formula = f"overall ~ turn + model + {NESTED}"
        sums = from_sums("mixed_model", formula, chosen)
        model_moments.LARGE_TURNS = 10**9
        rows = run_analysis(sample, one, chosen, one.parameters(formula=formula))
        np.testing.assert_allclose(rows.table["estimate"], sums.table["estimate"], rtol=1e-6)

    def test_where_filters_leave_few_turns_rows_are_fitted_and_can_be_looked_at(self, sample, monkeypatch):
        monkeypatch.setattr(model_moments, "LARGE_TURNS", 1000)
        one, chosen = registry()["model_diagnostics"], Selection(task=("Ode to a potato",))
        findings = run_analysis(sample, one, chosen, one.parameters(formula=f"overall ~ turn + {NESTED}"))
        assert 100 < len(findings.tables["model_diagnostics.residuals"]) < 1000

    def test_marginal_means_come_from_them_too(self, ask, from_sums):
        formula = f"overall ~ turn + model + {NESTED}"
        rows, sums = ask("marginal_means", formula), from_sums("marginal_means", formula)
        np.testing.assert_allclose(rows.table["estimate"], sums.table["estimate"], rtol=1e-6)

    def test_what_needs_every_turn_says_so_or_takes_them(self, from_sums, names):
        with pytest.raises(Refused, match="need every turn"):
            from_sums("model_diagnostics", f"overall ~ turn + {NESTED}")
        assert not model_moments.suffice(read_formula(f"overall ~ affective + {NESTED}", names), names)
        assert not model_moments.suffice(read_formula(f"overall ~ I(turn^2) + {NESTED}", names), names)
        assert not model_moments.suffice(read_formula(f"log(overall) ~ turn + {NESTED}", names), names)
        assert not model_moments.suffice(read_formula("satisfaction ~ task + (1 | participant)", names), names)


class TestBatchesStandForRows:
    """What sums do not hold is streamed: here from the sample, as if it had too many turns for memory."""

    @pytest.fixture
    def streamed(self, sample, monkeypatch):
        monkeypatch.setattr(model_moments, "LARGE_TURNS", 0)
        monkeypatch.setattr(model_moments, "STREAMED_TURNS", 0)

        def get(formula, selection=EVERYTHING):
            one = registry()["mixed_model"]
            return run_analysis(sample, one, selection, one.parameters(formula=formula))

        return get

    @pytest.mark.parametrize(
        "formula",
        [
            f"overall ~ turn + I(turn^2) + model + {NESTED}",
            f"overall ~ within(affective) + between(affective) + task + importance + {NESTED}",
            "relational_not_applicable ~ log(turn) + cognitive + gender + (1 + turn | participant)",
            f"overall ~ log(turn) + satisfaction + {NESTED}",
        ],
    )
    def test_with_the_same_numbers_and_words(self, ask, streamed, formula):
        rows, found = ask("mixed_model", formula), streamed(formula)
        assert "mixed_model.rows" not in found.tables
        columns = ["estimate", "std_error", "df", "conf_low", "conf_high"]
        np.testing.assert_allclose(rows.table[columns], found.table[columns], rtol=1e-5, atol=1e-7)
        assert (rows.headline, rows.counts) == (found.headline, found.counts)
        summary = "mixed_model.summary"
        np.testing.assert_allclose(rows.tables[summary]["value"], found.tables[summary]["value"], rtol=1e-6)

    def test_under_filters_too(self, sample, streamed, monkeypatch):
        chosen = Selection(task=("Ode to a potato", "Naming a dragon"), min_rated_turns=3)
        formula = f"overall ~ sqrt(turn) * model + relational + {NESTED}"
        found = streamed(formula, chosen)
        monkeypatch.undo()
        one = registry()["mixed_model"]
        rows = run_analysis(sample, one, chosen, one.parameters(formula=formula))
        np.testing.assert_allclose(rows.table["estimate"], found.table["estimate"], rtol=1e-5, atol=1e-8)
        assert rows.counts == found.counts


class TestMarginalMeans:
    def test_of_a_balanced_question_are_in_the_planted_order(self, ask):
        table = ask("marginal_means", f"overall ~ model + turn + task + {NESTED}").table
        assert table.loc[table["estimate"].idxmax(), "level"] == "GPT-4 with empathy prompt"
        assert table.loc[table["estimate"].idxmin(), "level"] == "Llama2-70B"

    def test_contrasts_are_differences_of_the_means_and_p_only_grows(self, ask):
        findings = ask("marginal_means", f"overall ~ model + turn + {NESTED}")
        means = findings.table.set_index("level")["estimate"]
        for row in findings.tables["marginal_means.contrasts"].itertuples():
            one, other = row.contrast.split(" - ")
            assert row.estimate == pytest.approx(means[one] - means[other])
            assert row.p_adjusted >= row.p_value

    def test_of_another_factor_and_weighting(self, ask):
        formula = f"overall ~ model + task + turn + {NESTED}"
        equal = ask("marginal_means", formula, factor="task").table
        weighted = ask("marginal_means", formula, factor="task", weights="proportional").table
        assert len(equal) == 8
        shift = (weighted["estimate"] - equal["estimate"]).to_numpy()
        assert np.ptp(shift) < 1e-9 < abs(shift[0])

    def test_without_a_factor_say_what_to_do(self, ask):
        with pytest.raises(TooLittleData, match="Add task, model"):
            ask("marginal_means", f"overall ~ turn + {NESTED}")
        with pytest.raises(Refused, match="'moon'.*'model'"):
            ask("marginal_means", f"overall ~ model + {NESTED}", factor="moon")

    def test_check_the_claim_of_the_prompted_model(self, ask):
        claim = registry()["marginal_means"].claims[0]
        checked = claim.check(ask("marginal_means", None))
        assert checked.value.startswith("GPT-4 with empathy prompt 3.")
        assert "highest of 4" in checked.basis


class TestComparison:
    def test_all_models_stand_on_the_same_rows(self, ask):
        findings = ask(
            "model_comparison", f"overall ~ turn + {NESTED}", others=f"overall ~ turn + affective + {NESTED}"
        )
        assert findings.table["n_observations"].nunique() == 1
        assert findings.table["n_observations"].iloc[0] < 4596

    def test_likelihood_ratios_follow_from_the_criteria(self, ask):
        findings = ask("model_comparison", f"overall ~ turn + model + {NESTED}")
        table = findings.table.set_index("formula")
        for row in findings.tables["model_comparison.tests"].itertuples():
            difference = table.loc[row.formula, "log_likelihood"] - table.loc[row.compared_with, "log_likelihood"]
            assert row.statistic == pytest.approx(2 * difference, abs=1e-6)
            assert row.df == table.loc[row.formula, "n_parameters"] - table.loc[row.compared_with, "n_parameters"]

    def test_a_variance_is_tested_against_the_mixture(self, ask):
        findings = ask("model_comparison", f"overall ~ turn + {NESTED}", others="overall ~ turn + (1 | participant)")
        row = findings.tables["model_comparison.tests"].iloc[0]
        assert row["method"] == "REML likelihood ratio, ½χ²₀ + ½χ²₁"
        variance = findings.tables["model_comparison.variances"].set_index("group")
        assert row["statistic"] == pytest.approx(variance.loc["participant:conversation", "statistic"], abs=1e-5)

    def test_several_variances_are_tested_by_simulation(self, ask):
        findings = ask(
            "model_comparison",
            "overall ~ turn + (1 + turn | participant) + (1 | conversation)",
            others="overall ~ turn + (1 | conversation)",
            draws=100,
        )
        row = findings.tables["model_comparison.tests"].iloc[0]
        assert row["df"] == 3 and row["p_value"] < 0.02
        assert "parametric bootstrap of " in row["method"]

    def test_models_that_are_not_nested_get_no_test(self, ask):
        findings = ask("model_comparison", f"overall ~ task + {NESTED}", others=f"overall ~ model + {NESTED}")
        row = findings.tables["model_comparison.tests"].iloc[0]
        assert np.isnan(row["p_value"]) and "not nested" in row["method"]

    def test_other_outcomes_and_too_many_models_are_refused(self, ask):
        with pytest.raises(Refused, match="one outcome"):
            ask("model_comparison", f"overall ~ turn + {NESTED}", others=f"affective ~ turn + {NESTED}")
        many = "; ".join(f"overall ~ I(turn^{power}) + {NESTED}" for power in range(2, 20))
        with pytest.raises(Refused, match="Up to 12"):
            ask("model_comparison", f"overall ~ turn + {NESTED}", others=many)


class TestDiagnostics:
    def test_residuals_are_observed_minus_fitted_for_every_row(self, ask):
        rows = ask("model_diagnostics", f"overall ~ turn + model + {NESTED}").tables["model_diagnostics.residuals"]
        np.testing.assert_allclose(rows["observed"] - rows["fitted"], rows["residual"], atol=1e-9)
        assert len(rows) == 4596
        assert rows["residual"].mean() == pytest.approx(0, abs=1e-6)

    def test_influence_names_the_participant_that_moves_most(self, sample, ask):
        formula = "overall ~ turn + (1 | participant)"
        findings = ask("model_diagnostics", formula)
        moved = findings.tables["model_diagnostics.influence"]
        strongest = moved.loc[moved["change_scaled"].abs().idxmax()]
        assert str(strongest["level"]) in findings.headline
        everyone = sample.cursor().execute("select distinct participant from stg_conversations").df()["participant"]
        assert set(moved["level"]) <= set(everyone)


class TestOrdinalCheck:
    def test_agrees_on_strong_effects_and_says_so(self, ask):
        findings = ask("ordinal_check", f"overall ~ turn + model + {NESTED}")
        assert findings.table["agrees"].all()
        assert "same answer on all 4 terms" in findings.headline

    def test_names_every_disagreement(self):
        from dashboard.analyses.ordinal_check import agreement

        class Linear:
            terms = pd.DataFrame({
                "term": ["(Intercept)", "a", "b", "c", "d"], "estimate": [1, 0.5, 0.5, -0.1, 0.5], "std_error": 0.1, "statistic": 1,
                "conf_low": [0.8, 0.1, -0.1, -0.3, 0.2], "conf_high": [1.2, 0.9, 0.9, 0.1, 0.7],
            })  # fmt: skip

        class Ordinal:
            terms = pd.DataFrame({
                "term": ["a", "b", "c", "d"], "estimate": [1.0, 1.0, 0.1, -1.0], "std_error": 0.1, "statistic": 1,
                "conf_low": [0.2, 0.1, -0.3, -1.5], "conf_high": [1.8, 1.9, 0.5, -0.5],
            })  # fmt: skip

        import dashboard.analyses.ordinal_check as module

        original = module.term_labels
        module.term_labels = lambda fit: {term: term for term in "abcd"}
        try:
            table = agreement(Linear(), Ordinal()).set_index("term")["agrees"]
        finally:
            module.term_labels = original
        # a: alike; b: one excludes 0; c: neither does, signs differ by chance; d: both exclude 0 on opposite sides.
        assert table.to_dict() == {"a": True, "b": False, "c": True, "d": False}

    def test_keeps_the_intercepts_and_says_what_it_leaves_out(self, ask):
        findings = ask("ordinal_check", "overall ~ turn + (1 + turn | participant) + (1 | task)", quadrature=1)
        assert "the slope of turn by participant" in findings.warnings[0]
        assert "the intercept by task" in findings.warnings[0]
        assert "clustered by participant" in findings.warnings[1]

    def test_of_not_applicable_is_a_mixed_logit(self, ask):
        findings = ask("ordinal_check", "relational_not_applicable ~ turn + (1 | participant)", quadrature=1)
        assert len(findings.tables["ordinal_check.thresholds"]) == 1

    def test_of_a_mean_is_refused(self, ask):
        with pytest.raises(Refused, match="no ordinal model"):
            ask("ordinal_check", f"turn_mean ~ turn + {NESTED}")


class TestFormAndFormula:
    @pytest.mark.parametrize(
        "text",
        [
            f"overall ~ turn + model + {NESTED}",
            "overall ~ 0 + task + log(turn) + task:log(turn) + (1 + turn | participant) + (1 | conversation)",
            "overall ~ 1 + (1 | participant)",
            "I(overall - affective) ~ turn * model * task + (turn || participant)",
            "satisfaction ~ desired_empathy + within(importance) + (1 | participant)",
        ],
    )
    def test_taking_apart_and_composing_loses_nothing(self, names, text):
        formula = read_formula(text, names)
        parts = take_apart(formula)
        assert read_formula(compose(parts), names) == formula
        assert set(parts.terms) <= set(fixed_options(names, parts))
        assert set(parts.interactions) <= set(interaction_options(parts))
        assert set(parts.random) <= set(random_options(names, parts))

    def test_what_the_form_offers_can_be_fitted_in_principle(self, names):
        for outcome in names.responses:
            parts = Parts(outcome, (), (), ())
            for term in fixed_options(names, parts):
                read_formula(f"{outcome} ~ {term} + (1 | participant)", names)
            for bar in random_options(names, parts):
                read_formula(f"{outcome} ~ 1 + {bar}", names)

    def test_taking_a_term_away_takes_its_interactions(self):
        parts = Parts("overall", ("turn",), ("turn:model",), (NESTED,))
        assert without_lost_terms(parts).interactions == ()

    def test_another_outcome_keeps_what_its_rows_have(self, names):
        parts = Parts("overall", ("turn", "model"), ("turn:model",), (NESTED,))
        moved = fitting_parts(names, "satisfaction", parts)
        assert compose(moved) == "satisfaction ~ model + (1 | participant)"
        assert compose(fitting_parts(names, "overall", moved)) == f"overall ~ model + {NESTED}"

    def test_every_ready_question_is_answered(self, sample, names):
        questions = ready_questions(names, sample.manifest)
        assert len(questions) == 4
        one = registry()["mixed_model"]
        for formula in questions.values():
            assert model_data(sample, EVERYTHING, formula).frame.shape[0] > 0
            run_analysis(sample, one, EVERYTHING, one.parameters(formula=formula))


def test_ratings_that_stand_alone_are_not_in_this_data(given):
    """One rating a conversation and nobody known: nothing groups the rows."""
    opened = given([{"conversation": f"c{place}", "overall": 1 + place % 5} for place in range(30)])
    one = registry()["mixed_model"]
    with pytest.raises(NotInThisData, match="each stands alone"):
        run_analysis(opened, one, EVERYTHING, one.parameters())
