"""`sense7 fit`: the contract's keys, lme4's numbers through the whole chain, and a sentence for every nonsense."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from dashboard.analyses.model_fit import KEYS
from dashboard.paths import SAMPLE

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
GOLDEN = SHARED / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
TERM = ["term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]
SIMPLE = "overall ~ turn + model + (1 | participant/conversation)"


def test_json_has_the_contracts_keys_and_names(sense7):
    status, out, err = sense7("fit", SIMPLE, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert list(found) == list(KEYS)
    assert [list(row) for row in found["terms"]] == [TERM] * 5
    assert [row["term"] for row in found["terms"]] == [
        "(Intercept)", "turn", "model[GPT-4]", "model[GPT-4 with empathy prompt]", "model[Llama2-70B]",
    ]  # fmt: skip
    assert [row["group"] for row in found["variances"]] == ["participant", "participant:conversation", "residual"]
    assert list(found["n_groups"]) == ["participant", "participant:conversation"]
    assert found["variances"][0]["correlation"] is None
    assert found["converged"] is True
    assert found["deviance"] == -2 * found["log_likelihood"]
    assert sum(found["icc"].values()) == pytest.approx(1)
    assert found["n_observations"] + found["n_dropped"] == 4737


def test_groups_are_called_as_they_were_written(sense7):
    found = json.loads(sense7("fit", "overall ~ turn + (1|participant) + (1|conversation)", "--json")[1])
    assert list(found["n_groups"]) == ["participant", "conversation"]


def test_interactions_are_named_with_a_colon(sense7):
    found = json.loads(sense7("fit", "overall ~ turn * model + (1|participant)", "--json")[1])
    assert "turn:model[GPT-4]" in [row["term"] for row in found["terms"]]


def test_aic_comes_from_maximum_likelihood_under_both(sense7):
    restricted = json.loads(sense7("fit", SIMPLE, "--json")[1])
    plain = json.loads(sense7("fit", SIMPLE, "--ml", "--json")[1])
    assert restricted["method"] == "REML" and plain["method"] == "ML"
    assert restricted["log_likelihood"] != pytest.approx(plain["log_likelihood"], abs=0.1)
    assert restricted["aic"] == pytest.approx(plain["aic"], abs=1e-6)
    assert plain["aic"] == pytest.approx(plain["deviance"] + 2 * 8)


def test_ordinal_gives_thresholds_and_no_r2(sense7):
    found = json.loads(sense7("fit", "overall ~ turn + (1|participant)", "--ordinal", "--json")[1])
    assert [row["term"] for row in found["thresholds"]] == ["1|2", "2|3", "3|4", "4|5"]
    assert found["r2_marginal"] is None and found["r2_conditional"] is None
    assert found["terms"][0]["df"] is None
    laplace = json.loads(sense7("fit", "overall ~ turn + (1|participant)", "--ordinal", "--quadrature", 1, "--json")[1])
    assert "Laplace" in laplace["method"]
    assert laplace["log_likelihood"] != pytest.approx(found["log_likelihood"], abs=1e-3)


def test_profile_and_bootstrap_intervals_replace_the_others(sense7):
    wald = json.loads(sense7("fit", SIMPLE, "--json")[1])
    profile = json.loads(sense7("fit", SIMPLE, "--json", "--intervals", "profile")[1])
    drawn = json.loads(
        sense7("fit", SIMPLE, "--json", "--intervals", "bootstrap", "-p", "draws=100", "-p", "seed=4")[1]
    )
    assert (wald["interval_method"], wald["intervals"]) == ("wald", [])
    for found in (profile, drawn):
        assert [row["estimate"] for row in found["terms"]] == [row["estimate"] for row in wald["terms"]]
        limits = {row["term"]: row["conf_low"] for row in found["intervals"] if row["measure"] == "coefficient"}
        assert [row["conf_low"] for row in found["terms"]] == list(limits.values())
        assert found["terms"][1]["conf_low"] == pytest.approx(wald["terms"][1]["conf_low"], abs=0.004)
    again = json.loads(
        sense7("fit", SIMPLE, "--json", "-p", "intervals=bootstrap", "-p", "draws=100", "-p", "seed=4")[1]
    )
    assert again["intervals"] == drawn["intervals"]
    assert "95 % interval, profile" in sense7("fit", SIMPLE, "--intervals", "profile")[1]


def test_autocorrelation_is_estimated_and_said(sense7):
    found = json.loads(sense7("fit", SIMPLE, "--ar1", "--json")[1])
    assert found["ar1"] == pytest.approx(0.167, abs=1e-3)
    assert any("AR(1)" in note for note in found["notes"])
    assert "φ 0.167" in sense7("fit", SIMPLE, "--ar1")[1]


def test_filters_and_reference_levels_apply(sense7):
    found = json.loads(
        sense7("fit", SIMPLE, "--json", "-p", "reference=model=Llama2-70B", "-p", "task=Ode to a potato")[1]
    )
    assert [row["term"] for row in found["terms"]][2] == "model[GPT-3.5]"
    assert found["n_observations"] < 1000


def test_the_text_says_what_was_fitted_and_that_the_data_is_synthetic(sense7):
    status, out, _ = sense7("fit", SIMPLE)
    assert status == 0
    for words in ("SYNTHETIC", "restricted maximum likelihood", "model[GPT-4]", "95 % interval", "32 %", "Converged"):
        assert words in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["__import__('os')"], ["no meaning"]),
        (["x" * 10_000], ["10,000"]),
        (["overall ~ turn + " + "(" * 500], []),
        (["overall ~ overall + (1|participant)"], ["is the outcome"]),
        (["overall ~ turn"], ["(1 | participant)"]),
        (["overall ~ moon + (1|participant)"], ["“moon”", "turn_mean"]),
        (["overall ~ tsk + (1|participant)"], ["Did you mean “task”"]),
        (["overall ~ task + (1|turnn)"], ["Did you mean “turn”"]),
        (["task ~ turn + (1|participant)"], ["must be a rating"]),
        (["satisfaction ~ turn + (1|participant)"], ["one value per conversation"]),
        (["satisfaction ~ task + (1|participant/conversation)"], ["groups"]),
        (["overall ~ log(turn - 1) + (1|participant)"], ["log"]),
        ([SIMPLE, "-p", "model=GPT-9"], ["GPT-9", "Llama2-70B"]),
        ([SIMPLE, "-p", "reference=GPT-4"], ["NAME=LEVEL"]),
        ([SIMPLE, "-p", "reference=model=GPT-9"], ["GPT-9", "Llama2-70B"]),
        ([SIMPLE, "-p", "formula=overall ~ turn"], ["argument"]),
        ([SIMPLE, "-p", "min_rated_turns=1000"], ["No conversation is left"]),
        (["overall ~ turn + (1 + turn|participant)", "--ordinal"], ["no random slopes"]),
        (["overall ~ turn + (1|participant)", "--ordinal", "--ar1"], ["no autocorrelation"]),
        (["overall ~ turn + (1|participant)", "--ordinal", "--intervals", "profile"], ["Wald"]),
        ([SIMPLE, "--intervals", "moon"], ["moon", "profile"]),
        ([SIMPLE, "--ar1", "--intervals", "bootstrap"], ["no autocorrelation"]),
        (["satisfaction ~ task + (1|participant)", "--ar1"], ["one value per conversation"]),
        ([SIMPLE, "-p", "draws=5"], ["from 100 to 10000"]),
        (["experienced_empathy ~ task + (1|participant)", "--ordinal"], ["levels"]),
        ([SIMPLE, "--data", "/nonexistent"], ["sense7 import"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_nonsense_is_a_sentence_and_nothing_on_standard_output(sense7, arguments, words):
    for more in ([], ["--json"]):
        status, out, err = sense7("fit", *arguments, *more)
        assert status == 2
        assert out == ""
        assert err.startswith("sense7: ") and "Traceback" not in err and "should not have happened" not in err
        assert all(word in err for word in words), err


@pytest.fixture
def separated(tmp_path):
    """The sample, with one model always rated 5: its ordinal coefficient has no finite estimate."""
    folder = tmp_path / "separated"
    shutil.copytree(SAMPLE, folder)
    models = pd.read_parquet(folder / "conversations.parquet").set_index("conversation")["model"]
    ratings = pd.read_parquet(folder / "ratings.parquet")
    ratings.loc[(ratings["conversation"].map(models) == "GPT-4") & ratings["value"].notna(), "value"] = 5.0
    ratings.to_parquet(folder / "ratings.parquet")
    return folder


def test_a_fit_that_failed_shows_no_numbers_but_what_to_do(sense7, separated):
    arguments = ["fit", "overall ~ model + (1|participant)", "--ordinal", "--data", separated]
    status, out, _ = sense7(*arguments, "--json")
    found = json.loads(out)
    assert status == 0
    assert found["converged"] is False
    assert found["terms"] == found["thresholds"] == found["variances"] == []
    assert [found[key] for key in ("log_likelihood", "deviance", "aic", "bic")] == [None] * 4
    assert "model[GPT-4]" in found["notes"][0]
    status, text, _ = sense7(*arguments)
    assert status == 0
    assert "no numbers are shown" in text and "estimate  " not in text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from dashboard.intake import import_source

    out = tmp_path_factory.mktemp("fit") / "data"
    import_source(SHARED / "sense7_release_shaped.xlsx", out)
    return out


@needs_golden
class TestThroughTheWholeChain:
    """The release-shaped workbook is imported, and `fit` gives lme4's and clmm's numbers."""

    @pytest.mark.parametrize("model", ["m1", "m2", "m3", "m4", "m5", "m6"])
    def test_linear_models_equal_lme4(self, sense7, folder, model):
        golden = pd.read_csv(GOLDEN / "lmer_terms_satterthwaite.csv", comment="#").query("model == @model")
        formula = golden["formula"].iloc[0].replace("desired", "desired_empathy")
        status, out, err = sense7("fit", formula, "--json", "--data", folder)
        assert status == 0, err
        found = pd.DataFrame(json.loads(out)["terms"])
        assert len(found) == len(golden)
        for name, tolerance in (("estimate", 1e-5), ("std_error", 1e-5)):
            assert found[name].to_numpy() == pytest.approx(golden[name].to_numpy(), abs=tolerance)
        assert found["df"].to_numpy() == pytest.approx(golden["df"].to_numpy(), rel=0.005)
        fits = pd.read_csv(GOLDEN / "lmer_fit_statistics.csv", comment="#").set_index("model")
        if model in fits.index:
            one, row = json.loads(out), fits.loc[model]
            assert one["log_likelihood"] == pytest.approx(row["reml_loglik"], abs=1e-6)
            assert (one["aic"], one["bic"]) == pytest.approx((row["ml_aic"], row["ml_bic"]), abs=1e-5)
            assert one["r2_marginal"] == pytest.approx(row["r2_marginal"], abs=1e-5)
            assert one["r2_conditional"] == pytest.approx(row["r2_conditional"], abs=1e-5)

    def test_the_nested_ordinal_model_equals_the_prototype(self, sense7, folder):
        golden = pd.read_csv(GOLDEN / "ordinal_nested_agq.csv", comment="#").set_index("term")
        formula = "overall ~ turn + task + model + (1|participant/conversation)"
        status, out, err = sense7("fit", formula, "--ordinal", "--json", "--data", folder)
        assert status == 0, err
        found = pd.DataFrame(json.loads(out)["terms"])
        assert found["term"].iloc[0] == "turn"
        assert found["estimate"].iloc[0] == pytest.approx(golden.loc["turn", "est2"], abs=2e-4)
        assert found["std_error"].iloc[0] == pytest.approx(golden.loc["turn", "se2"], rel=0.01)
