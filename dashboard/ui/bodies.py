"""What some analyses draw in place of figures: claims beside findings, reports of checks, column cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.analyses.findings import Findings
from dashboard.ui import address
from dashboard.ui.tables import show_markdown_table
from dashboard.ui.text import plain
from dashboard.vocabulary import column

if TYPE_CHECKING:
    import pandas as pd


def show_claims(findings: Findings) -> None:
    """Draw each claim, what was reported, and what this data says of it, with a link to the analysis."""
    import pandas as pd

    table = findings.table
    rows = [
        {
            column("claim").label: f"{plain(row['claim'])}  \n:gray[:small[{plain(row['source'])}]]",
            column("reported").label: plain(row["reported"]),
            column("this_data").label: _found(row),
            "": f"[See how](#{row['analysis']})" if address.current_page() == row["page"] else plain(row["page"]),
        }
        for _, row in table.iterrows()
    ]
    show_markdown_table(pd.DataFrame(rows), alt="The papers' claims, as reported and in this data")


def _found(row: pd.Series) -> str:
    interval = f" (95 % interval {row['interval']})" if row["interval"] else ""
    return f"**{plain(row['this_data'])}**{plain(interval)}  \n:gray[:small[{plain(row['basis'])}]]"


def show_codebook(findings: Findings) -> None:
    """Draw a card of columns per table, and the wording of every measure."""
    measures = findings.tables[f"{findings.name}.measures"]
    with st.expander(f"{len(measures)} measures: scale and wording", expanded=False):
        _measures(measures)
    for table, columns in findings.table.groupby("table", sort=False):
        with st.expander(f"{plain(table)}: {len(columns)} columns", expanded=False):
            _cards(columns.drop(columns="table"), alt=f"Columns of {table}")


def _measures(measures: pd.DataFrame) -> None:
    for _, row in measures.iterrows():
        ends = " … ".join(
            f"{row[end]:g} {row[f'{end}_label']}".strip() if isinstance(row[f"{end}_label"], str) else f"{row[end]:g}"
            for end in ("minimum", "maximum")
        )
        wording = row["wording"] if isinstance(row["wording"], str) else ""
        st.markdown(
            f"**{plain(row['label'])}** `{row['measure']}`  \n{plain(wording)}  \n:gray[:small[{plain(ends)}]]"
            if wording
            else f"**{plain(row['label'])}** `{row['measure']}`  \n:gray[:small[{plain(ends)}]]"
        )


def _cards(columns: pd.DataFrame, *, alt: str) -> None:
    st.dataframe(
        columns,
        hide_index=True,
        column_config={
            "share_filled": st.column_config.ProgressColumn(
                column("share_filled").label, min_value=0.0, max_value=1.0, format="percent"
            ),
        }
        | {str(name): column(str(name)).label for name in columns if name != "share_filled"},
        alt=alt,
        key=f"card.{alt}",
    )


BODIES = {"claims": show_claims, "codebook": show_codebook}
