"""What a judge is shown, and what its answers depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import Selection, count_selection, refuse_empty
from dashboard.database import Database
from dashboard.judge.client import Endpoint
from dashboard.judge.prompt import Prompt
from dashboard.queries import run_query
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import pandas as pd

QUERY = "conversation_texts"


def read_conversations(database: Database, selection: Selection, limit: int | None) -> pd.DataFrame:
    """Return the conversations to judge, in the data's order.

    Raises
    ------
    Refused
        When texts are hidden or the data has none; TooLittleData when the selection is empty.
    """
    if database.public:
        raise Refused("A judge reads what participants wrote, and SENSE7_PUBLIC hides it. Unset SENSE7_PUBLIC.")
    refuse_empty(count_selection(database, selection))
    rows = run_query(database, QUERY, **selection.query_parameters())
    if rows["transcript"].isna().all():
        raise Refused("A judge reads what was said, and no conversation of this selection has any text.")
    return rows if limit is None else rows.head(limit)


def run_basis(database: Database, endpoint: Endpoint, prompt: Prompt) -> dict[str, Any]:
    """Return what answers depend on: a run goes on only where all of this is the same. The key is not among it."""
    return {
        "format": 1,
        "model": endpoint.model,
        "base_url": endpoint.base_url,
        "prompt": prompt.sha256,
        "data": database.manifest.get("data_sha256"),
        "temperature": endpoint.temperature,
    }
