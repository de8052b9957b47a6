"""What some analyses draw in place of figures: claims beside findings, reports of checks, column cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.analyses import registry
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
        _claim(row["claim"], row["source"], row["reported"], _found(row), row["page"], row["analysis"])
        for _, row in table.iterrows()
    ]
    show_markdown_table(pd.DataFrame(rows), alt="The papers' claims, as reported and in this data")


def show_reported_claims() -> None:
    """Draw each claim and what was reported, before this data has been asked."""
    import pandas as pd

    st.markdown("Asking this data …")
    rows = [
        _claim(claim.claim, claim.source, claim.reported, "…", one.page, one.name)
        for one in registry().values()
        for claim in one.claims
    ]
    show_markdown_table(pd.DataFrame(rows), alt="The papers' claims, as reported")


def _claim(claim: str, source: str, reported: str, found: str, page: str, analysis: str) -> dict[str, str]:
    return {
        column("claim").label: f"{plain(claim)} :gray[:small[{plain(source)}]]",
        column("reported").label: plain(reported),
        column("this_data").label: found,
        "": _where(page, analysis),
    }


def _where(page: str, analysis: str) -> str:
    """Return a link to the analysis of a claim; a page that is not built yet is only named."""
    if page == address.current_page():
        return f"[See how](#{analysis})"
    if page in dict(address.existing_pages()):
        return f"[{page}]({address.page_link(page, analysis)})"
    return plain(page)


def _found(row: pd.Series) -> str:
    interval = f"(95 % interval {row['interval']})" if row["interval"] else ""
    return f"**{plain(row['this_data'])}** {plain(interval)} :gray[:small[{plain(row['basis'])}]]"


_SEVERITY = {
    "error": ":red[:material/error:]",
    "warning": ":orange[:material/warning:]",
    "ok": ":green[:material/check:]",
}


def show_checks(findings: Findings) -> None:
    """Draw what each check found, the worst first; checks that found nothing stand together below."""
    import pandas as pd

    table = findings.table
    found = table[table["severity"] != "ok"]
    if len(found):
        rows = [
            {
                "": _SEVERITY.get(str(row["severity"]), ""),
                column("check").label: plain(str(row["check"]).replace("_", " ")),
                column("detail").label: f"{plain(row['detail'])} :gray[:small[{plain(row['examples'])}]]",
            }
            for _, row in found.iterrows()
        ]
        show_markdown_table(pd.DataFrame(rows), alt="Checks that found something")
    passed = table[table["severity"] == "ok"]
    if len(passed):
        label = f"{len(passed)} checks that found nothing"
        with st.expander(label, key="data_quality.passed", on_change="rerun") as drawer:
            if drawer.open:
                st.markdown("\n".join(f"- {_SEVERITY['ok']} {plain(detail)}" for detail in passed["detail"]))


def show_codebook(findings: Findings) -> None:
    """Draw a card of columns per table, and the wording of every measure; each is drawn when it is opened."""
    measures = findings.tables[f"{findings.name}.measures"]
    label = f"{len(measures)} measures: scale and wording"
    with st.expander(label, key="codebook.measures", on_change="rerun") as drawer:
        if drawer.open:
            _measures(measures)
    for table, columns in findings.table.groupby("table", sort=False):
        label = f"{plain(table)}: {len(columns)} columns"
        with st.expander(label, key=f"codebook.{table}", on_change="rerun") as drawer:
            if drawer.open:
                _cards(columns.drop(columns="table"), alt=f"Columns of {table}")


def _measures(measures: pd.DataFrame) -> None:
    for _, row in measures.iterrows():
        ends = " … ".join(
            f"{row[end]:g} {row[f'{end}_label']}".strip() if isinstance(row[f"{end}_label"], str) else f"{row[end]:g}"
            for end in ("minimum", "maximum")
        )
        wording = row["wording"] if isinstance(row["wording"], str) else ""
        lines = [
            f"**{plain(row['label'])}** :gray[:small[{plain(row['measure'])}]]",
            plain(wording),
            f":gray[:small[{plain(ends)}]]",
        ]
        st.markdown("  \n".join(line for line in lines if line))


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


BODIES = {"codebook": show_codebook, "data_quality": show_checks}
