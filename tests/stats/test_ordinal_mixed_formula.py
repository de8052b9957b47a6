"""Ordinal models from formula and frame: the same fit as from columns, and refusals in sentences."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.ordinal_mixed import fit_cumulative_logit
from dashboard.stats.ordinal_mixed_formula import fit_ordinal_mixed
from dashboard.vocabulary import Refused

SMALL = Path(__file__).parents[1] / "reference" / "ordinal_small.csv"


@pytest.fixture(scope="module")
def small():
    frame = pd.read_csv(SMALL)
    return frame.assign(room=np.where(frame.warm == 1, "warm", "cold"))


@pytest.mark.parametrize(
    "formula",
    [
        "rating ~ turn + room + (1|participant/conversation)",
        "rating ~ turn + room + (1|participant) + (1|conversation)",
        "rating ~ 0 + turn + room + (1|conversation) + (1|participant)",
    ],
)
def test_formula_gives_the_fit_of_its_columns(small, formula):
    fit = fit_ordinal_mixed(small, formula)
    columns = fit_cumulative_logit(
        small.rating,
        small[["turn", "warm"]],
        participant=small.participant,
        conversation=small.conversation,
        term_names=["turn", "room[warm]"],
    )
    assert list(fit.terms.term) == ["turn", "room[warm]"]
    assert fit.log_likelihood == pytest.approx(columns.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(fit.terms.estimate, columns.terms.estimate, atol=1e-8)
    assert list(fit.thresholds.term) == ["1|2", "2|3", "3|4", "4|5"]
    assert list(fit.n_groups.values()) == list(columns.n_groups.values())
    assert any("leaves out the intercept" in note for note in fit.notes) == ("0 +" in formula)


def test_reference_level_can_be_chosen(small):
    base = fit_ordinal_mixed(small, "rating ~ room + (1|participant)")
    turned = fit_ordinal_mixed(small, "rating ~ room + (1|participant)", reference={"room": "warm"})
    assert list(turned.terms.term) == ["room[cold]"]
    np.testing.assert_allclose(turned.terms.estimate, -base.terms.estimate, atol=1e-8)


def test_incomplete_rows_are_left_out_counted_and_said(small):
    frame = small.assign(turn=small.turn.astype(float).where(small.index >= 7))
    fit = fit_ordinal_mixed(frame, "rating ~ turn + (1|participant)", scale_levels=range(1, 7))
    assert fit.n_dropped == 7
    assert fit.n_observations == len(small) - 7
    assert any("7 of" in note for note in fit.notes)
    assert any("Level 6 of the scale" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("rating ~ turn", "no random part"),
        ("rating ~ turn + (1 + turn|participant)", "no random slopes"),
        ("rating ~ turn + (1|participant) + (1|room)", "crossed"),
        ("rating ~ turn + (1|participant/conversation) + (1|room)", "3 grouping factors"),
        ("rating ~ __import__('os')", "."),
        ("rating ~ nonsense + (1|participant)", "nonsense"),
        ("room ~ turn + (1|participant)", "numeric"),
    ],
)
def test_what_it_cannot_fit_is_refused_in_words(small, formula, sentence):
    with pytest.raises(Refused, match=sentence):
        fit_ordinal_mixed(small, formula)
