"""README's promises: its two commands, its links, its table of commands."""

import re
from pathlib import Path

import pytest
import typer

from dashboard.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_test_command_is_marked_for_the_continuous_integration():
    block = README.split("<!-- test-command -->")[1].split("```")[1]
    assert block.startswith("sh\npython3 -m venv .venv && ")
    assert block.strip().endswith("-m pytest -n auto")


def test_every_command_that_is_built_is_named():
    built = set(typer.main.get_command(app).commands)
    named = set(re.findall(r"^\| `sense7 (\w+)", README, flags=re.MULTILINE))
    assert named == built


@pytest.mark.parametrize("document", ["README.md", "data/README.md", "queries/README.md"])
def test_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


def test_constraints_hold_exact_versions_and_no_address():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.+!]+", line) for line in lines)


def test_every_page_that_is_built_is_described():
    from dashboard.analyses import PAGES

    for page in PAGES:
        built = (ROOT / "dashboard" / "ui" / "pages" / f"{page.lower().replace(' ', '_')}.py").exists()
        assert (f"\n| {page} | " in README) == built
