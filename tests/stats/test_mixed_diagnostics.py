"""Predictions, residuals and influence follow Henderson's equations and deletion of rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag

from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_predict import fitted_values, predictions, random_effects, shrunken_means
from dashboard.stats.mixed_diagnostics import effect_quantiles, influence, normal_quantiles, residual_quantiles
from dashboard.vocabulary import Refused

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "sense7_turns.csv.gz")


def test_shrunken_means_and_their_errors_are_hendersons(turns):
    fit = fit_linear_mixed(turns, "overall ~ 1 + (1 | participant/conversation)")
    expected = pd.read_csv(REFERENCE / "shrunken_means.csv", comment="#")
    means = shrunken_means(fit, "participant")
    assert means["level"].tolist() == expected["participant"].tolist()
    np.testing.assert_allclose(means["estimate"], expected["shrunken_mean"], rtol=1e-6)
    np.testing.assert_allclose(means["std_error"], expected["se_pev_mean"], rtol=1e-5)
    effects = random_effects(fit).query("group == 'participant'")
    np.testing.assert_allclose(effects["std_error"], expected["se_pev_u"], rtol=1e-5)
    np.testing.assert_allclose(effects["std_error_conditional"], expected["se_condvar_lme4"], rtol=1e-5)


def dense_henderson(fit) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Solve the mixed-model equations with full matrices: effects and error covariance.

    The effects are Λu with spherical u, so that singular covariances need no inverse.
    """
    design, n = fit.design, fit.n_observations
    p = at = len(fit.columns)
    blocks, roots, names = [design.X], [np.eye(p)], {}
    for factor in fit.factors:
        group = design.groups[factor.label]
        indicator = (group.codes[:, None] == np.arange(group.n_groups)).astype(float)
        columns = [np.ones(n) if e == "(Intercept)" else design.slopes[e] for e in factor.effects]
        blocks.append(np.hstack([indicator * c[:, None] for c in columns]))
        values, vectors = np.linalg.eigh(fit.random_covariance(factor) / fit.sigma**2)
        roots.append(np.kron(vectors * np.sqrt(np.maximum(values, 0)), np.eye(group.n_groups)))
        names[factor.label] = np.arange(at, at + factor.k * group.n_groups).reshape(factor.k, -1)
        at += factor.k * group.n_groups
    root = block_diag(*roots)
    D = np.hstack(blocks) @ root
    M = D.T @ D
    M[np.arange(p, at), np.arange(p, at)] += 1
    inverse = np.linalg.inv(M)
    return root @ (inverse @ (D.T @ design.y)), root @ inverse @ root.T * fit.sigma**2, names


@pytest.mark.parametrize(
    "formula",
    [
        "overall ~ turn + task + (1 | participant/conversation)",
        "overall ~ turn + (1 + turn | participant) + (1 | conversation)",
        "overall ~ turn + model + (1 | participant) + (1 | task)",
        "overall ~ turn + (1 + turn | participant/conversation) + (1 | task)",
        "overall ~ turn + (turn || participant) + (1 | model)",
    ],
)
def test_effects_errors_and_residuals_solve_the_full_equations(turns, formula):
    part = turns
    fit = fit_linear_mixed(part, formula)
    solution, errors, names = dense_henderson(fit)
    table = random_effects(fit)
    for factor in fit.factors:
        labels = np.array(fit.design.groups[factor.label].labels)
        for i, effect in enumerate(factor.effects):
            rows = table[(table["group"] == factor.label) & (table["term"] == effect)].set_index("level").loc[labels]
            at = names[factor.label][i]
            np.testing.assert_allclose(rows["estimate"], solution[at], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(rows["std_error"], np.sqrt(np.diag(errors)[at]), rtol=1e-6)
    values = fitted_values(fit)
    assert values["observed"].to_numpy() == pytest.approx(part.loc[part["overall"].notna(), "overall"].to_numpy())
    # in REML's equations the residuals are orthogonal to the fixed columns
    np.testing.assert_allclose(fit.design.X.T @ values["residual"], 0, atol=1e-6)
    np.testing.assert_allclose(values["fixed"], fit.design.X @ solution[: len(fit.columns)], rtol=1e-8)


def test_shrunken_means_with_covariates_add_the_fixed_part_at_the_means(turns):
    part = turns
    fit = fit_linear_mixed(part, "overall ~ turn + model + (1 + turn | participant) + (1 | conversation)")
    solution, errors, names = dense_henderson(fit)
    w = np.zeros((fit.n_groups["participant"], len(solution)))
    w[:, : len(fit.columns)] = fit.design.X.mean(axis=0)
    for g in range(len(w)):
        w[g, names["participant"][0][g]] = 1
        w[g, names["participant"][1][g]] = fit.design.slopes["turn"].mean()
    means = shrunken_means(fit, "participant").set_index("level").loc[list(fit.design.groups["participant"].labels)]
    np.testing.assert_allclose(means["estimate"], w @ solution, rtol=1e-8)
    np.testing.assert_allclose(means["std_error"], np.sqrt(np.einsum("gi,ij,gj->g", w, errors, w)), rtol=1e-6)
    with pytest.raises(Refused, match="“task” is no random factor"):
        shrunken_means(fit, "task")


@pytest.mark.parametrize(
    "formula",
    [
        "overall ~ turn + task + (1 | participant/conversation)",
        "overall ~ turn + model + (1 + turn | participant) + (1 | task)",
    ],
)
def test_influence_equals_deleting_the_rows_at_the_same_variance_ratios(turns, formula):
    fit = fit_linear_mixed(turns, formula)
    table = influence(fit).set_index(["level", "term"])
    for person in ("P001", "P057"):
        rest = fit_linear_mixed(turns[turns["participant"] != person], formula)
        function = rest.estimate.deviance_function
        solution = function.solve(_same_ratios(fit, rest))
        expected = function.moments.scaling.coefficients(solution.coefficients[function.moments.q :])
        found = [table.loc[(person, term), "estimate"] for term in rest.columns]
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    some = table.loc["P001"]
    np.testing.assert_allclose(some["change"], fit.coefficients - some["estimate"])
    assert (table["cooks_distance"] >= 0).all()


def _same_ratios(fit, rest) -> np.ndarray:
    """Return rest's theta that stands for fit's covariances: slopes are standardised on other rows there."""
    pieces = []
    for factor in rest.estimate.deviance_function.factors:
        original = next(f for f in fit.factors if f.label == factor.label)
        relative = fit.random_covariance(original) / fit.sigma**2
        inverse = np.linalg.inv(factor.to_raw)
        L = np.linalg.cholesky(inverse @ relative @ inverse.T)
        pieces.extend(L[row, column] for row, column in factor.template)
    return np.array(pieces)


def test_a_person_who_alone_carries_a_level_leaves_no_estimate_behind(turns):
    data = turns.assign(alone=np.where(turns["participant"] == "P001", "yes", "no"))
    table = influence(fit_linear_mixed(data, "overall ~ turn + alone + (1 | participant)"))
    assert table.query("level == 'P001'")["estimate"].isna().all()
    assert table.query("level == 'P002'")["estimate"].notna().all()


def test_quantiles_are_sorted_and_symmetric(turns):
    table = normal_quantiles(np.array([3.0, 1.0, np.nan, 2.0]))
    assert table["observed"].tolist() == [1, 2, 3]
    # Φ⁻¹(1/6) = −0.96742
    np.testing.assert_allclose(table["theoretical"], [-0.967421566, 0, 0.967421566], atol=1e-8)
    fit = fit_linear_mixed(turns, "overall ~ turn + (1 + turn | participant)")
    assert len(residual_quantiles(fit)) == fit.n_observations
    assert effect_quantiles(fit).groupby("term").size().to_dict() == {"(Intercept)": 109, "turn": 109}


def test_effects_of_a_zero_variance_are_zero():
    data = pd.read_csv(REFERENCE / "singular_case_data.csv.gz")
    fit = fit_linear_mixed(data, "shuf ~ turn + (1 | participant/conversation)")
    conversations = predictions(fit)["participant:conversation"]
    assert np.all(conversations.effects == 0)
    assert np.all(conversations.error == 0)
