"""Parameters that every analysis of a mixed model takes, and the fit they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.analyses.findings import Parameters, Selection, parameter
from dashboard.analyses.model_frame import ModelData
from dashboard.analyses.model_moments import rows_or_sums
from dashboard.database import Database
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData

if TYPE_CHECKING:
    from dashboard.stats.linear_mixed import LinearMixedFit


@dataclass(frozen=True)
class ModelParameters(Parameters):
    """Which mixed model."""

    formula: str | None = parameter(
        None,
        label="Formula",
        help="lme4's syntax, e.g. overall ~ turn + model + (1 | participant/conversation).",
    )
    method: str = parameter(
        "REML", label="Estimation", choices=("REML", "ML"), help="Restricted maximum likelihood, or plain.", more=True
    )
    reference: str | None = parameter(
        None,
        label="Reference levels",
        help="What levels are compared with, e.g. model=GPT-4; several are separated by semicolons.",
        more=True,
    )
    ar1: bool = parameter(
        False,
        label="Autocorrelation within conversations",
        help="Let residuals of a conversation correlate by φ from one turn to the next (AR(1)); φ is estimated.",
        more=True,
    )


def draws_parameter(default: int, label: str) -> int:
    """Return the declaration of how many data sets are simulated."""
    help = "Data sets simulated from the model; more are steadier and take longer."
    return parameter(default, label=label, minimum=100, maximum=10_000, help=help, more=True)


def seed_parameter() -> int:
    """Return the declaration of the seed of what is simulated."""
    return parameter(1, label="Seed", minimum=0, help="The same seed simulates the same data.", more=True)


def read_reference(text: str | None) -> dict[str, str]:
    """Return the reference level per factor from ``task=Planning; model=GPT-4``.

    Raises
    ------
    Refused
        For a part that is not ``name=level``, or a name given twice.
    """
    chosen: dict[str, str] = {}
    for part in (text or "").split(";"):
        if not part.strip():
            continue
        name, sign, level = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not level:
            raise Refused(f"A reference level must be NAME=LEVEL; came {part.strip()!r}.")
        if name in chosen:
            raise Refused(f"The reference level of {name!r} came twice.")
        chosen[name] = level
    return chosen


def fitted_model(
    database: Database, selection: Selection, parameters: ModelParameters
) -> tuple[ModelData, LinearMixedFit]:
    """Return the rows and the linear model fitted to them; a fit that failed its checks is refused with what to do.

    Raises
    ------
    Refused
        For a formula that cannot be read or does not suit the rows, and for a fit that failed.
    TooLittleData
        When the selection leaves too little for the model that is fitted where none is asked for.
    """
    data = rows_or_sums(database, selection, parameters.formula or None, in_series=parameters.ar1)
    return data, fit_rows(data, parameters)


def fit_rows(data: ModelData, parameters: ModelParameters) -> LinearMixedFit:
    """Fit the model to its rows, or refuse."""
    try:
        reference = read_reference(parameters.reference)
        fit = estimate_model(data, reml=parameters.method == "REML", reference=reference, ar1=parameters.ar1)
    except NotInThisData:
        raise
    except Refused as refusal:
        if parameters.formula:
            raise
        raise TooLittleData(f"{refusal} These filters leave too little; take one away, or reset them all.") from None
    if not fit.converged:
        raise failed(fit.notes)
    return fit


def estimate_model(data: ModelData, *, reml: bool, reference: Mapping[str, str], ar1: bool = False) -> LinearMixedFit:
    """Fit the linear model to rows or to sums of them; the fit says itself whether it converged."""
    if not data.from_sums:
        from dashboard.stats.linear_mixed import fit_linear_mixed

        return fit_linear_mixed(data.frame, data.formula, reml=reml, reference=reference, ar1=ar1)
    if data.batches is not None:
        from dashboard.stats.linear_mixed_from_batches import fit_from_batches

        rows = data.batches
        return fit_from_batches(
            data.frame, rows, data.formula, varying=rows.varying, reml=reml, reference=reference, tally=rows.tally
        )
    from dashboard.stats.linear_mixed_from_moments import fit_from_moments

    sums = data.frame
    fit = fit_from_moments(sums.drop(columns="n_turns"), data.formula, reml=reml, reference=reference)
    n_turns, n_rated = int(sums["n_turns"].sum()), int(sums["n"].sum())
    if n_turns == n_rated:
        return fit
    note = f"{n_turns - n_rated:,} of {n_turns:,} turns were left out because they carry no number of {data.response}."
    return replace(fit, n_dropped=n_turns - fit.n_observations, notes=(*fit.notes, note))


def failed(notes: Sequence[str]) -> TooLittleData:
    """Return the refusal for a fit that failed its checks: no numbers, what went wrong, what to do."""
    return TooLittleData(f"The model could not be fitted, so no numbers are shown. {' '.join(notes)}")
