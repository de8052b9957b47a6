"""Every LaTeX table compiles and every Word table opens, in the programs that papers are written with."""

import os
import re
import shutil
import subprocess

import pandas as pd
import pytest
from docx import Document

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.export import printed_table, table_bytes, table_text
from dashboard.export.latex import latex_text
from dashboard.export.provenance import draft_caption
from dashboard.vocabulary import Refused

# Findings of every analysis are shared with the tests of figures.
pytestmark = pytest.mark.xdist_group("answers")

CHARACTERS = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "".join(map(chr, range(0xA0, 0x250)))
    + "".join(map(chr, range(0x370, 0x400)))
    + "\x00\x07\x1b\x7f\u200b\u202e\ufeff‐‑‒–—―‖‘’‚“”„†‡•…‰′″‹›※‽⁄₀₁₂ₐ⁴⁻ⁿ€₽ℝ™Ω←↑→↓⇒∀∂∈∑−∓√∞∩∪≈≠≡≤≥⊂⌈⌋■●★♥✓🙂👩‍💻ﬁ日本語한국어ไทยहिन्दी مرحبا שלום"
)
EDGES = (
    "[2pt] first",
    "*star",
    "",
    "  ",
    "\\\\",
    "\\input{/etc/passwd}",
    "$x$",
    "a\nb",
    "%",
    "{",
    "}",
    "^^M",
    "--- ``''",
)


def needs(program, package):
    """Return the program; where it is absent the test is skipped, unless SENSE7_REQUIRE_LATEX asks for it."""
    path = shutil.which(program)
    if path is None and os.environ.get("SENSE7_REQUIRE_LATEX") == "1":
        pytest.fail(f"{program} is missing (Debian: {package}), and SENSE7_REQUIRE_LATEX=1 asks for it")
    if path is None:
        pytest.skip(f"{program} is not installed here (Debian: {package})")
    return path


@pytest.fixture(scope="module")
def tables(answers, nasty_folder):
    """Every table of the sample, those of nasty data, and one of nasty cells: name, frame, caption."""
    data, found = answers
    everything = [(data, findings) for findings in found.values()]
    nasty = connect(nasty_folder, public=False)
    for name in ("ground_truth", "codebook", "applicability", "conversations", "transcript", "data_quality"):
        try:
            one = registry()[name]
            everything.append((nasty, run_analysis(nasty, one, Selection(), one.parameters())))
        except Refused:
            continue
    gathered = [
        (name, frame, draft_caption(source, findings, registry()[findings.name].tables.get(name, name)))
        for source, findings in everything
        for name, frame in findings.tables.items()
    ]
    cells = pd.DataFrame({"task": [*CHARACTERS, *EDGES]})
    return [*gathered, ("nasty_cells", cells, CHARACTERS), ("empty", pd.DataFrame({"task": [], "mean": []}), "Empty")]


def test_every_latex_table_compiles(tables, tmp_path):
    """In one document with booktabs and nothing else; an error names its table."""
    program = needs("pdflatex", "texlive-latex-recommended")
    parts = [
        f"\\typeout{{TABLE {place}}}\n{table_text(frame, 'latex', caption=caption)}\\clearpage\n"
        for place, (_, frame, caption) in enumerate(tables)
    ]
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "all.tex").write_text(head + "".join(parts) + "\\end{document}\n", encoding="utf-8")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-no-shell-escape", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        check=False,
    )
    log = done.stdout.decode("utf-8", errors="replace")
    faults, at = [], ""
    for line in log.splitlines():
        if line.startswith("TABLE "):
            at = tables[int(line.split()[1])][0]
        elif line.startswith("!"):
            faults.append(f"{at}: {line}")
    assert len(re.findall(r"^TABLE \d+", log, re.MULTILINE)) == len(tables)
    assert not faults
    assert done.returncode == 0


@pytest.fixture(scope="module")
def documents(tables, tmp_path_factory):
    """Every table as a Word file: its path, name, rows and caption."""
    folder = tmp_path_factory.mktemp("docx")
    written = []
    for place, (name, frame, caption) in enumerate(tables):
        # Thousands of rows take long to lay out, and are written as the first ones are.
        few = frame.head(12)
        path = folder / f"t{place}.docx"
        path.write_bytes(table_bytes(few, "docx", caption=caption))
        written.append((path, name, few, caption))
    return written


def test_every_word_table_opens(documents, tmp_path):
    """In LibreOffice, all in one call; each gives the text of its cells."""
    program = needs("soffice", "libreoffice-writer-nogui")
    subprocess.run(
        [
            *(program, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile"),
            *("--convert-to", "txt:Text (encoded):UTF8", "--outdir", str(tmp_path)),
            *(str(path) for path, *_ in documents),
        ],
        capture_output=True,
        timeout=600,
        check=True,
    )
    faults = []
    for path, name, frame, _ in documents:
        told = tmp_path / f"{path.stem}.txt"
        text = " ".join(told.read_text(encoding="utf-8-sig").split()) if told.exists() else ""
        cells = [" ".join(str(cell).split()) for row in printed_table(frame).head(3).to_numpy() for cell in row]
        if not text or not all(cell in text for cell in cells if cell.isascii() and cell.isprintable()):
            faults.append(f"{name}: {text[:80]!r}")
    assert not faults


def test_every_word_table_opens_again_with_its_rows(documents):
    for path, name, frame, caption in documents:
        document = Document(path)
        assert len(document.tables[0].rows) == 1 + len(frame), name
        assert len(document.tables[0].columns) == frame.shape[1], name
        assert document.paragraphs[0].text.startswith(caption[:1].strip()), name


def test_what_pdflatex_cannot_set_is_named_and_the_rest_is_itself():
    assert latex_text("Zoë’s α² ≤ χ₁") == r"Zoë’s $\alpha$² $\leq$ $\chi$$_1$"
    assert latex_text("日") == r"{\ifdefined\UnicodeEncodingName 日\else {[}U+65E5{]}\fi}"
    assert latex_text("ą") == r"{\ifdefined\UnicodeEncodingName ą\else a\fi}"
    assert latex_text("a\x00\x1b\nb") == "a b"
