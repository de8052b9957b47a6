"""The gallery shows every figure that there is, as this sample gives it, and was made by an export."""

import hashlib
import json
import re

import pytest

from dashboard.analyses import registry
from dashboard.paths import ROOT, SAMPLE

GALLERY = ROOT / "docs" / "gallery"
AGAIN = "Make the gallery again, as README says: sense7 export docs/gallery --formats png --dpi 120 --data data/sample"


@pytest.fixture(scope="module")
def manifest():
    return json.loads((GALLERY / "manifest.json").read_text(encoding="utf-8"))


def test_every_figure_has_its_picture_and_caption(manifest):
    registered = {name for one in registry().values() for name in one.figures}
    shown = {one["name"] for one in manifest["items"]}
    assert shown == registered, AGAIN
    page = (GALLERY / "captions.md").read_text(encoding="utf-8")
    assert {path.split("/")[1].removesuffix(".png") for path in re.findall(r"\]\(<([^>]+)>\)", page)} == registered
    assert all(one["caption"] in page for one in manifest["items"])


def test_it_shows_the_sample_and_says_so(manifest):
    assert manifest["data_sha256"] == json.loads((SAMPLE / "manifest.json").read_text())["data_sha256"], AGAIN
    assert manifest["synthetic"] is True and "SYNTHETIC" in (GALLERY / "captions.md").read_text(encoding="utf-8")
    assert manifest["skipped"] == []


def test_its_files_are_those_that_were_written_and_small(manifest):
    total = 0
    for one in manifest["items"]:
        for name, digest in one["files"].items():
            content = (GALLERY / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, name
            total += len(content)
    named = {name for one in manifest["items"] for name in one["files"]}
    assert {f"figures/{path.name}" for path in (GALLERY / "figures").glob("*.png")} == named
    assert total < 4_000_000


def test_readme_shows_pictures_that_are_there():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(shown) >= 4
    assert all((ROOT / one).is_file() for one in shown)
