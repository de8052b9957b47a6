"""What ``sense7 evaluate`` prints of prediction files: the official metrics, and their mean and SD over files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dashboard.analyses.classifier_metrics import mean_over_files, metrics_table
from dashboard.analyses.classifier_rows import REPORTED, Judged, PredictionParameters, judge_of, read_judged
from dashboard.analyses.findings import Selection
from dashboard.database import Database
from dashboard.stats.classification import METRICS, official_metrics

if TYPE_CHECKING:
    import pandas as pd

Report = dict[str, Any]


def evaluate_files(database: Database, selection: Selection, files: Sequence[str]) -> Report:
    """Evaluate prediction files as the release does.

    Returns
    -------
    dict
        ``files``: rows of classifier_metrics in the order given. ``summary``: mean and sample SD over them.
        ``without_fallbacks``, and ``recomputed`` where a file's ground truth differs from the data's: the metrics per
        file again. ``judges``: the summary per judge where there are several. ``notes``: sentences.
    """
    judged = read_judged(database, selection, PredictionParameters(predictions=tuple(files)))
    table = metrics_table(judged)
    found: Report = {
        "files": _records(table),
        "summary": _plain(mean_over_files(table)),
        "without_fallbacks": _variant(judged, without_fallbacks=True),
        "notes": [*judged.warnings, *judged.notes],
    }
    if judged.rows["truth_differs"].any():
        found["recomputed"] = _variant(judged, truth="recomputed")
    if len(judged.judges) > 1:
        found["judges"] = {judge: _plain(mean_over_files(table[table["judge"] == judge])) for judge in judged.judges}
    return found


def _variant(judged: Judged, *, without_fallbacks: bool = False, truth: str = "truth") -> list[dict[str, Any]]:
    """Return the metrics per file over other rows or against the other ground truth."""
    import pandas as pd

    rows = []
    for file in judged.files:
        scored = judged.scored(file.name, without_fallbacks=without_fallbacks, truth=truth)
        rows.append(
            {"file": file.name, "judge": judge_of(file)} | vars(official_metrics(scored.predicted, scored.truth))
        )
    return _records(pd.DataFrame(rows))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return plain rows; NaN becomes None."""
    rows = frame.to_dict(orient="records")
    return [{str(key): _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluation_text(found: Report, *, synthetic: bool) -> str:
    """Return an evaluation for people."""
    lines = ["SYNTHETIC data: these figures are no result of the study.", ""] if synthetic else []
    for title, key in (
        ("As published, per file", "files"),
        ("Without the fallbacks", "without_fallbacks"),
        ("Against the ground truth computed from this data", "recomputed"),
    ):
        if key in found:
            lines += [title, *_table(found[key]), ""]
    for name, summary in found.get("judges", {"": found["summary"]}).items():
        lines.append(f"Mean (SD) over files{f', {name}' if name else ''}; reported in brackets")
        for metric in METRICS:
            one = summary[metric]
            reported = f" [{REPORTED[metric]:.3f}]" if metric in REPORTED else ""
            lines.append(f"  {metric:<9} {_number(one['mean'])} ({_number(one['std_dev'])}){reported}")
        lines.append("")
    lines += [f"- {note}" for note in found["notes"]]
    return "\n".join(lines).rstrip()


def _table(rows: list[dict[str, Any]]) -> list[str]:
    keys = [key for key in ("file", "n", *METRICS, "spearman_p", "n_fallback", "n_failed") if key in rows[0]]
    cells = [keys, *([_cell(key, row[key]) for key in keys] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(keys))]
    return [
        "  "
        + "  ".join(
            f"{text:<{width}}" if place == 0 else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def _cell(key: str, value: Any) -> str:
    if key == "spearman_p":
        return "–" if value is None else f"{value:.2g}"
    return str(value) if isinstance(value, str | int) else _number(value)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
