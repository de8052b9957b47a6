"""Where the queries, the sample and the released data are: in a checkout, or inside the installed package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_SHIPPED = PACKAGE / "_shipped"
ROOT = _SHIPPED if _SHIPPED.is_dir() else PACKAGE.parent

QUERIES = ROOT / "queries"
SAMPLE = ROOT / "data" / "sample"
SAMPLE_CLAIMS = ROOT / "data" / "sample-claims.json"
MAPPINGS = ROOT / "data" / "mappings"
STREAMLIT_CONFIG = ROOT / ".streamlit" / "config.toml"
APP = PACKAGE / "app.py"
SERVER = PACKAGE / "server.py"
MANIFEST = "manifest.json"
# The environment's word for when `sense7 run` was given, in seconds since 1970.
STARTED = "SENSE7_STARTED"


def release_folder(working_directory: Path) -> Path:
    """Return where ``import`` writes unless told: ``data/release`` of the checkout, else of the working directory."""
    home = ROOT if PACKAGE.parent == ROOT else working_directory
    return home / "data" / "release"


def data_folder(explicit: str | Path | None, environment: Mapping[str, str], working_directory: Path) -> Path:
    """Return the data folder to read: the one named, else ``SENSE7_DATA``, else the release, else the sample."""
    named = explicit or environment.get("SENSE7_DATA")
    if named:
        return Path(named).expanduser()
    release = release_folder(working_directory)
    return release if (release / MANIFEST).is_file() else SAMPLE
