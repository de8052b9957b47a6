"""More turns than memory holds: the rows of a model as a stream of batches, several ratings of a turn side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.analyses.model_frame import NOT_APPLICABLE
from dashboard.analyses.turn_stream import Places, stream_turns
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import numpy as np

    from dashboard.stats.linear_mixed_from_batches import Batch, Tally


@dataclass(frozen=True)
class RowBatches:
    """Where the rows of a model come from.

    Attributes
    ----------
    file
        The parquet file of ratings.
    ids
        The conversations, in the order of the model's frame.
    varying
        Columns of the formula that vary within conversations; the outcome's own comes first.
    tally
        What the first pass over them found.
    """

    file: Path
    ids: Any
    varying: tuple[str, ...]
    tally: Tally | None = None

    def __call__(self) -> Iterator[Batch]:
        """Yield the batches from the beginning."""
        from dashboard.stats.linear_mixed_from_batches import Batch

        outcomes = list(dict.fromkeys(outcome_of(name) for name in self.varying if name != "turn"))
        streams = [_rows(self, outcome) for outcome in outcomes]
        for pieces in _side_by_side(streams):
            first = pieces[0]
            columns = {"turn": first["turn"].astype(float)}
            for outcome, piece in zip(outcomes, pieces, strict=True):
                columns |= _named(outcome, piece)
            chosen = first["place"] >= 0
            yield Batch(first["place"][chosen], {name: columns[name][chosen] for name in self.varying})


def outcome_of(name: str) -> str:
    """Return the outcome whose answers a name is made of."""
    return name.removesuffix(NOT_APPLICABLE)


def _named(outcome: str, piece: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    import numpy as np

    value, stated = piece["value"], piece["stated"]
    not_applicable = np.where(stated, 1.0, np.where(np.isnan(value), np.nan, 0.0))
    return {outcome: value, f"{outcome}{NOT_APPLICABLE}": not_applicable}


def _rows(source: RowBatches, outcome: str) -> Iterator[dict[str, np.ndarray]]:
    """Yield columns (n,) of one outcome; place is −1 for conversations that were not chosen."""
    import numpy as np

    places = Places(source.ids)
    for run in stream_turns(source.file, outcome, stated=True):
        place = np.repeat(places.find(run.ids), run.lengths)
        assert run.stated is not None
        yield {"place": place, "turn": run.turn, "value": run.value, "stated": run.stated}


def _side_by_side(streams: Sequence[Iterator[dict[str, np.ndarray]]]) -> Iterator[list[dict[str, np.ndarray]]]:
    """Yield pieces of equal length of every stream, and check that they are of the same turns.

    Raises
    ------
    Refused
        When the file holds other turns of one outcome than of another, or in another order.
    """
    import numpy as np

    if len(streams) == 1:
        for piece in streams[0]:
            yield [piece]
        return
    waiting: list[dict[str, np.ndarray]] = [{} for _ in streams]
    while True:
        for i, stream in enumerate(streams):
            if not _length(waiting[i]):
                waiting[i] = next(stream, {})
        shortest = min(_length(piece) for piece in waiting)
        if not shortest:
            break
        taken = [{name: column[:shortest] for name, column in piece.items()} for piece in waiting]
        waiting = [{name: column[shortest:] for name, column in piece.items()} for piece in waiting]
        for piece in taken[1:]:
            if not all(np.array_equal(piece[name], taken[0][name]) for name in ("place", "turn")):
                raise Refused(_OUT_OF_STEP)
        yield taken
    if any(_length(piece) for piece in waiting):
        raise Refused(_OUT_OF_STEP)


_OUT_OF_STEP = (
    "ratings.parquet must hold the same turns of every outcome in the same order (data/README.md), and does not. "
    "Run sense7 import again."
)


def _length(piece: dict[str, np.ndarray]) -> int:
    return len(piece["place"]) if piece else 0
