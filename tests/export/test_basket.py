"""The basket's zip: what was asked, under its names and in its order, the same twice; made again by its own commands."""

import dataclasses
import hashlib
import io
import json
import shlex
import sys
import threading
import zipfile

import duckdb
import pandas as pd
import pytest

from dashboard import cli
from dashboard.analyses import analysis
from dashboard.analyses.findings import Selection, parse_parameters
from dashboard.database import connect
from dashboard.export.basket import Entry, Settings, basket_zip, numbered, safe_stem
from dashboard.export.figures import Print
from dashboard.paths import SAMPLE
from dashboard.vocabulary import Refused

DATA_ONLY = Settings(figures=("json", "csv"), tables=("csv", "docx"))


def entry(name, part="", kind="figure", *given, title=""):
    selection, chosen = parse_parameters(analysis(name), given)
    return Entry(name, kind, part or name, selection, chosen, title)


ODE, EVERYONE = (
    entry("ground_truth", "", "figure", ("task", "Ode to a potato"), title="Ode: the truth"),
    entry("ground_truth", "", "figure"),
)
BASKET = (entry("applicability", "", "table", ("by", "model")), ODE, EVERYONE, entry("applicability", "", "table"))


def opened(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_of(content):
    return json.loads(opened(content)["manifest.json"])


def test_the_zip_holds_each_thing_in_order_under_its_name_as_it_was_asked(sample):
    content = basket_zip(sample, BASKET, DATA_ONLY)
    files, manifest = opened(content), manifest_of(content)
    assert list(files) == [
        "manifest.json",
        "captions.md",
        "methods.md",
        "tables/table-1-applicability_SYNTHETIC.csv",
        "tables/table-1-applicability.docx",
        "figures/figure-1-Ode-the-truth.json",
        "figures/figure-1-Ode-the-truth_SYNTHETIC.csv",
        "figures/figure-2-ground_truth.json",
        "figures/figure-2-ground_truth_SYNTHETIC.csv",
        "tables/table-2-applicability_SYNTHETIC.csv",
        "tables/table-2-applicability.docx",
    ]
    assert [one["label"] for one in manifest["items"]] == ["Table 1", "Figure 1. Ode: the truth", "Figure 2", "Table 2"]
    assert [one["selection"].get("task") for one in manifest["items"]] == [None, ["Ode to a potato"], None, None]
    assert [one["parameters"].get("by") for one in manifest["items"]] == ["model", None, None, "task"]
    assert manifest["data_sha256"] == sample.manifest["data_sha256"]
    hashes = {name: digest for one in manifest["items"] for name, digest in one["files"].items()}
    assert hashes == {
        name: hashlib.sha256(one).hexdigest() for name, one in files.items() if name.startswith(("figures", "tables"))
    }
    captions, methods = files["captions.md"].decode(), files["methods.md"].decode()
    for one in manifest["items"]:
        assert f"## {one['label']}\n\n{one['caption']}" in captions
    assert captions.count("SYNTHETIC") >= 5
    assert [line for line in methods.splitlines() if line.startswith("## ")] == ["## Overview"]
    assert methods.count(" ".join(analysis("ground_truth").method.split())) == 1


def test_the_figures_data_is_what_it_draws(sample):
    files = opened(basket_zip(sample, [EVERYONE], DATA_ONLY))
    data = pd.read_csv(io.BytesIO(files["figures/figure-1-ground_truth_SYNTHETIC.csv"]))
    bars = json.loads(files["figures/figure-1-ground_truth.json"])["data"][0]
    shown = bars["y"] if isinstance(bars["y"], list) else pd.Series(dtype=float)
    assert (
        data["n"].sum()
        == 672
        - sample.cursor()
        .execute(
            "select count(*) from (select conversation from raw.ratings where outcome = 'turn_mean' group by 1 having count(value) = 0)"
        )
        .fetchone()[0]
    )
    if len(shown):
        assert list(data["n"]) == shown


def test_its_commands_make_each_file_again(sample, monkeypatch, tmp_path, chromium):
    """Every file of every kind, byte for byte, from the command line in the manifest."""
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.delenv("SENSE7_PUBLIC", raising=False)
    settings = Settings(
        figures=("pdf", "svg", "png", "html", "json", "csv", "parquet"),
        tables=("csv", "json", "md", "latex", "html", "docx", "parquet"),
        how=Print(width=101.5, style="acm", dpi=150.0),
    )
    content = basket_zip(sample, [ODE, BASKET[0]], settings)
    files, made = opened(content), 0
    for one in manifest_of(content)["items"]:
        assert list(one["commands"]) == list(one["files"])
        for name, command in one["commands"].items():
            out = tmp_path / name.replace("/", "-")
            monkeypatch.setattr(sys, "argv", [*shlex.split(command), "-o", str(out)])
            with pytest.raises(SystemExit) as stopped:
                cli.main()
            assert not stopped.value.code
            assert out.read_bytes() == files[name], command
            made += 1
    assert made == 14


def test_the_same_basket_gives_the_same_bytes_and_another_order_others(sample, chromium):
    settings = Settings(figures=("pdf", "svg"), tables=("docx", "parquet"))
    first = basket_zip(sample, BASKET, settings)
    assert basket_zip(connect(SAMPLE, public=False), BASKET, settings) == first
    assert basket_zip(sample, BASKET[::-1], settings) != first


def test_eight_sessions_at_once_get_their_own_figures(sample, chromium):
    """Each filters by a task of its own; each gets what it gets alone."""
    tasks = [
        row[0] for row in sample.cursor().execute("select distinct task from raw.conversations order by 1").fetchall()
    ]
    settings = Settings(figures=("pdf", "json"))
    baskets = [
        [entry("ground_truth", "", "figure", ("task", task)), entry("applicability", "", "figure", ("task", task))]
        for task in tasks[:8]
    ]
    got = {}

    def export(place):
        got[place] = basket_zip(sample, baskets[place], settings)

    threads = [threading.Thread(target=export, args=(place,)) for place in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(baskets) == len(got) == 8
    assert len(set(got.values())) == 8
    for place, task in enumerate(tasks[:8]):
        assert {tuple(one["selection"]["task"]) for one in manifest_of(got[place])["items"]} == {(task,)}
        assert got[place] == basket_zip(sample, baskets[place], settings)


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("Fig. 3: gap (all)", "Fig-3-gap-all"),
        ("  \t\n", ""),
        ("....", ""),
        ("图 2 / שלום", "图-2-שלום"),
        ('a\x00b\\c:d*?"<>|', "a-b-c-d"),
        ("ﬁgure", "figure"),
        ("x" * 300, "x" * 60),
        ("=cmd|' /C calc'!A0", "cmd-C-calc-A0"),
        ("-rf", "rf"),
    ],
)
def test_names_become_safe_parts_of_file_names(text, stem):
    assert safe_stem(text) == stem
    (_, named), (_, other) = numbered([dataclasses.replace(EVERYONE, title=text), EVERYONE])
    assert named == f"figure-1-{stem or 'ground_truth'}"
    assert other == "figure-2-ground_truth"


def test_a_name_that_two_entries_share_makes_two_files(sample):
    twins = [dataclasses.replace(one, title="Same") for one in (ODE, EVERYONE)]
    files = opened(basket_zip(sample, twins, Settings(figures=("json",))))
    assert [name for name in files if name.startswith("figures/")] == [
        "figures/figure-1-Same.json",
        "figures/figure-2-Same.json",
    ]


def test_progress_names_each_step_and_what_it_raises_stops(sample):
    told = []
    basket_zip(sample, BASKET, DATA_ONLY, progress=lambda *step: told.append(step))
    assert [step[0] for step in told] == list(range(told[-1][1] + 1))
    assert {step[1] for step in told} == {4 + 8}
    assert analysis("ground_truth").question in {step[2] for step in told}

    def stop(done, total, what):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        basket_zip(sample, BASKET, DATA_ONLY, progress=stop)


def test_what_cannot_be_made_is_named(sample, mapped_folder, monkeypatch):
    with pytest.raises(Refused, match="basket is empty"):
        basket_zip(sample, [], DATA_ONLY)
    with pytest.raises(Refused, match="at least one format for figures"):
        basket_zip(sample, BASKET, Settings(figures=()))
    mapped = connect(mapped_folder, public=False)
    with pytest.raises(Refused, match=r"Table 1 cannot be made.*Not in this data"):
        basket_zip(mapped, [entry("expectation_gap", "", "table")], DATA_ONLY)
    gone = Entry("ground_truth", "figure", "ground_truth", Selection(task=("No such task",)), EVERYONE.chosen)
    with pytest.raises(Refused, match=r"Figure 1 cannot be made.*No such task"):
        basket_zip(sample, [gone], DATA_ONLY)
    monkeypatch.setenv("BROWSER_PATH", "/nowhere")
    with pytest.raises(Refused, match="apt-get install chromium"):
        basket_zip(sample, BASKET, Settings(figures=("pdf",)))
    assert basket_zip(sample, [BASKET[0]], Settings(figures=("pdf",), tables=("csv",)))


def test_public_data_leaks_no_text():
    public = connect(SAMPLE, public=True)
    texts = duckdb.sql(f"select text from '{SAMPLE}/messages.parquet' where length(text) > 60 limit 400").fetchall()
    settings = Settings(figures=("json", "csv", "parquet"), tables=("csv", "json"))
    wanted = [
        Entry(name, kind, part, Selection(), analysis(name).parameters())
        for name in ("transcript", "conversations", "message_search")
        for kind, parts in (("figure", analysis(name).figures), ("table", analysis(name).tables))
        for part in parts
    ]
    written = ""
    for one in wanted:
        try:
            found = opened(basket_zip(public, [one], settings))
        except Refused:
            continue
        written += "".join(content.decode("utf-8", errors="ignore") for content in found.values())
    assert "conversation" in written and len(texts) == 400
    assert not [text for (text,) in texts if text in written or text[:60] in written]
