"""What goes beside figures and tables for those who write: captions, and the methods of each page in a paragraph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dashboard.analyses.findings import Analysis


def captions_text(items: Iterable[dict[str, Any]], *, synthetic: bool) -> str:
    """Return the captions of a manifest's items as Markdown; an item with a ``label`` bears that as its heading."""
    lines = ["# Captions", "", "Drafts: the finding, its interval and n as computed. Edit before use."]
    if synthetic:
        lines += ["", "SYNTHETIC data: no number here is a result of the study."]
    for one in items:
        lines += [
            "",
            f"## {one.get('label') or one['kind'].capitalize() + ' ' + one['name']}",
            "",
            *_pictures(one),
            one["caption"],
            "",
            f"Made by `{one['command']}`",
        ]
    return "\n".join(lines) + "\n"


def _pictures(item: dict[str, Any]) -> list[str]:
    """Show the picture where one was written: captions then are a gallery."""
    shown = [path for path in item["files"] if path.endswith((".png", ".svg"))][:1]
    return [f"![{item['name']}](<{path}>)\n" for path in shown] if item["kind"] == "figure" else []


def methods_text(analyses: Iterable[Analysis], manifest: dict[str, Any]) -> str:
    """Return one paragraph of methods per page, of the analyses given; each is told once."""
    pages: dict[str, list[str]] = {}
    for one in {each.name: each for each in analyses}.values():
        if one.method:
            pages.setdefault(one.page, []).append(" ".join(one.method.split()))
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    lines = [
        "# Methods",
        "",
        f"Computed with {manifest['software']} ({versions}); data {manifest['data_sha256'][:12]}.",
    ]
    for page, methods in pages.items():
        lines += ["", f"## {page}", "", " ".join(methods)]
    return "\n".join(lines) + "\n"
