"""What is kept between redraws: the opened data, and what analyses found. Bounded; no figure is kept.

Findings are keyed by the data's hash, whether text is hidden, the analysis' name, the selection and the parameters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.analyses import analysis, claims
from dashboard.analyses.findings import (
    Analysis,
    Counts,
    Findings,
    Parameters,
    Selection,
    check_selection,
    count_selection,
    run_analysis,
)
from dashboard.analyses.kept_claims import find_claims, keep_claims
from dashboard.database import Database, connect, is_public
from dashboard.intake.predictions import find_predictions
from dashboard.paths import MANIFEST, data_folder
from dashboard.queries import run_query
from dashboard.ui.memory import hold_in_memory

if TYPE_CHECKING:
    import pandas as pd


def database() -> Database:
    """Return the data folder that the environment names, opened once for all sessions.

    Raises
    ------
    Refused
        When it is not a folder of ours.
    """
    folder = data_folder(None, os.environ, Path.cwd())
    manifest = folder / MANIFEST
    written = manifest.stat().st_mtime_ns if manifest.is_file() else 0
    return _open(str(folder), is_public(os.environ), written)


@st.cache_resource(max_entries=4, show_spinner=False)
def _open(folder: str, public: bool, written: int) -> Database:
    """``written`` is part of the key alone: data imported anew is opened anew."""
    return hold_in_memory(connect(Path(folder), public=public))


def data_key(data: Database) -> str:
    """Return what tells this data from any other: the manifest's hash, or the folder where it has none."""
    return str(data.manifest.get("data_sha256") or data.folder)


def analyse(name: str, selection: Selection, parameters: Parameters) -> Findings:
    """Return what an analysis finds, from the cache where it was asked before.

    Raises
    ------
    Refused
        When the data or the selection cannot answer.
    """
    data = database()
    selection = Selection() if analysis(name).whole_data else selection
    key = data_key(data) + _files_beside(data)
    return _analyse(data, key, data.public, name, selection, parameters)


def _files_beside(data: Database) -> str:
    """Return what changes with the prediction files beside the tables: the manifest's hash does not cover them."""
    stats = ((path.name, path.stat()) for path in find_predictions(data.folder))
    return "".join(f" {name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


# Findings are frozen and nothing here writes into their tables: all sessions share one copy.
@st.cache_resource(max_entries=256, show_spinner=False)
def _analyse(
    _data: Database, key: str, public: bool, name: str, selection: Selection, parameters: Parameters
) -> Findings:
    if name != claims.NAME:
        return run_analysis(_data, analysis(name), selection, parameters)

    def remembered(data: Database, one: Analysis, chosen: Selection, own: Parameters) -> Findings:
        return _analyse(data, key, public, one.name, Selection() if one.whole_data else chosen, own)

    def ask() -> pd.DataFrame:
        known = _known_claims(_data, key)
        if selection.is_everything and known:
            return known[0]
        table = claims.claims_table(_data, selection, run=remembered)
        if selection.is_everything:
            known.append(table)
            keep_claims(_data, table)
        return table

    check_selection(_data, selection)
    return claims.describe(_data, selection, ask)


def are_claims_known(selection: Selection) -> bool:
    """Return whether the claims' answers need not be asked for."""
    data = database()
    return selection.is_everything and bool(_known_claims(data, data_key(data) + _files_beside(data)))


@st.cache_resource(max_entries=4, show_spinner=False)
def _known_claims(_data: Database, key: str) -> list[pd.DataFrame]:
    """Return the claims' table for unfiltered data in a list, which is empty as long as nobody has asked."""
    kept = find_claims(_data)
    return [] if kept is None else [kept]


def counts(selection: Selection) -> Counts:
    """Return how many participants, conversations and turns a selection leaves."""
    data = database()
    return _counts(data, data_key(data), selection)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _counts(_data: Database, key: str, selection: Selection) -> Counts:
    return count_selection(_data, selection)


def levels() -> dict[str, list[str]]:
    """Return the levels that each filter can keep, in display order."""
    data = database()
    return _levels(data, data_key(data))


@st.cache_resource(max_entries=4, show_spinner=False)
def _levels(_data: Database, key: str) -> dict[str, list[str]]:
    found = run_query(_data, "selection_levels")
    return {str(name): part["level"].astype(str).tolist() for name, part in found.groupby("filter")}


def outcomes() -> Mapping[str, str]:
    """Return the outcomes of the data with their labels, in display order."""
    data = database()
    return _outcomes(data, data_key(data))


@st.cache_resource(max_entries=4, show_spinner=False)
def _outcomes(_data: Database, key: str) -> Mapping[str, str]:
    table = _scales(_data, key)
    rated = table[table["kind"] == "rating"]
    return MappingProxyType(dict(zip(rated["measure"], rated["label"], strict=True)))


def scales() -> pd.DataFrame:
    """Return one row per measure of the data, with its scale."""
    data = database()
    return _scales(data, data_key(data))


@st.cache_resource(max_entries=4, show_spinner=False)
def _scales(_data: Database, key: str) -> pd.DataFrame:
    return run_query(_data, "measures")
