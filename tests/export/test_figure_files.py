"""Figures leave as files that are opened again: size, fonts, vectors, provenance, and the same bytes twice."""

import io
import json
import re
import shutil
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
import zlib

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from PIL import Image

from dashboard.analyses import registry
from dashboard.analyses.findings import Drawing, Selection, run_analysis
from dashboard.database import connect
from dashboard.export import browser
from dashboard.export.figure_data import figure_data_bytes, figure_frame
from dashboard.export.figures import FIGURE_FORMATS, VENUES, Print, draw_for_print, figure_bytes, read_print
from dashboard.export.provenance import describe_item
from dashboard.figures.template import PIXELS_PER_MM, blank_figure
from dashboard.vocabulary import Refused

# Findings of every analysis are shared with the tests of tables.
pytestmark = [pytest.mark.xdist_group("answers"), pytest.mark.usefixtures("chromium")]

NASTY = "<b>5 & 6</b> “ü” 日本語 \\ ) ( שלום"


def draw_bar(frame, *, template):
    figure = blank_figure(template, height=200.4)
    figure.add_trace(go.Bar(x=frame["name"], y=frame["value"], name="bar"))
    return figure


def bar(name="one", value=1.0):
    frame = pd.DataFrame({"name": [name], "value": [value]})
    return Drawing(draw=draw_bar, arguments={"frame": frame}, alt="A bar.")


def provenance(**other):
    return {"name": "bar", "title": "A bar", "caption": f"What it shows: {NASTY}", "synthetic": False} | other


def make(format, how=None, drawing=None, **other):
    return figure_bytes(drawing or bar(), format, how or Print(), provenance=provenance(**other))


def media_box(pdf):
    """Return width and height of the page in mm."""
    box = re.search(rb"/MediaBox \[([^\]]*)\]", pdf)[1].split()
    return [float(one) * 25.4 / 72 for one in box[2:]]


def streams(pdf):
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, flags=re.DOTALL)
    return [zlib.decompress(one) for one in found if one[:1] == b"\x78"]


@pytest.mark.parametrize(
    ("width", "style", "expected"),
    [
        ("single", "ieee", 88.9),
        ("double", "ieee", 182),
        ("single", "acm", 84.7),
        ("double", "acm", 178),
        ("single", "nature", 89),
        ("double", "apa", 183),
        ("120.3", "plain", 120.3),
    ],
)
def test_pages_have_the_width_that_the_venue_asks(width, style, expected):
    how = read_print(width, style)
    pdf = make("pdf", how)
    assert media_box(pdf) == pytest.approx([expected, 200 * 25.4 / 96], abs=0.3)
    assert pdf.count(b"/Type /Page\n") == 1
    root = ElementTree.fromstring(make("svg", how))
    assert float(root.get("width").removesuffix("mm")) == pytest.approx(expected, abs=0.05)
    size = [float(one) for one in root.get("viewBox").split()[2:]]
    assert size[0] / size[1] == pytest.approx(float(root.get("width")[:-2]) / float(root.get("height")[:-2]), rel=1e-3)


class TestPdf:
    def test_fonts_are_embedded_and_no_picture_is_inside(self):
        pdf = make("pdf")
        n_fonts = pdf.count(b"/Type /FontDescriptor")
        assert n_fonts >= 1
        assert len(re.findall(rb"/FontFile[23]? ", pdf)) == n_fonts
        assert b"/Subtype /Image" not in pdf
        assert any(b" re" in one or b" l\n" in one for one in streams(pdf))

    def test_every_entry_of_its_table_of_objects_points_at_an_object(self):
        pdf = make("pdf")
        start = int(re.search(rb"startxref\n(\d+)", pdf)[1])
        assert pdf[start : start + 5] == b"xref\n"
        entries = re.findall(rb"(\d{10}) \d{5} n ", pdf[start:])
        for number, offset in enumerate(entries, start=1):
            assert pdf[int(offset) :].startswith(b"%d 0 obj" % number)

    def test_says_where_it_comes_from_and_no_date(self):
        pdf = make("pdf", data_sha256="abc")
        assert b"Date" not in pdf.split(b"/Keywords")[0]
        texts = [bytes.fromhex(one.decode()).decode("utf-16-be") for one in re.findall(rb"<FEFF([0-9A-F]+)>", pdf)]
        assert texts[:2] == ["A bar", f"What it shows: {NASTY}"]
        assert json.loads(texts[2])["data_sha256"] == "abc"

    @pytest.mark.skipif(shutil.which("pdfinfo") is None, reason="poppler-utils is not installed here")
    def test_another_program_reads_it(self, tmp_path):
        (tmp_path / "x.pdf").write_bytes(make("pdf"))
        told = subprocess.run(["pdfinfo", tmp_path / "x.pdf"], capture_output=True, text=True, check=True)
        assert "Title:           A bar" in told.stdout
        assert told.stderr == ""


def test_svg_is_well_formed_holds_no_picture_and_its_provenance():
    root = ElementTree.fromstring(make("svg", data_sha256="abc"))
    names = {one.tag.rpartition("}")[2] for one in root.iter()}
    assert {"text", "path", "title", "desc"} <= names
    assert not names & {"image", "foreignObject", "script"}
    assert root.find("{*}desc").text == f"What it shows: {NASTY}"
    assert json.loads(root.find("{*}metadata").find("{*}provenance").text)["data_sha256"] == "abc"


@pytest.mark.parametrize("dpi", [150, 300, 600])
def test_png_states_its_dots_per_inch_and_has_as_many(dpi, tmp_path):
    (tmp_path / "x.png").write_bytes(make("png", read_print("single", "ieee", dpi), data_sha256="abc"))
    with Image.open(tmp_path / "x.png") as image:
        assert image.info["dpi"] == pytest.approx((dpi, dpi), abs=0.1)
        assert image.size[0] / dpi * 25.4 == pytest.approx(88.9, abs=0.3)
        assert image.mode == "RGB"
        assert json.loads(image.text["Provenance"])["data_sha256"] == "abc"
        assert image.text["Description"] == f"What it shows: {NASTY}"


def test_html_needs_no_network_and_shows_the_figure():
    page = make("html").decode()
    assert len(page) > 1_000_000
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    assert "<title>A bar</title>" in page


def test_json_is_a_figure_again_with_its_provenance():
    figure = go.Figure(json.loads(make("json", data_sha256="abc")))
    assert figure.data[0].name == "bar"
    assert figure.layout.meta["provenance"]["data_sha256"] == "abc"


class TestData:
    def test_csv_and_parquet_hold_what_the_figure_is_drawn_from(self):
        drawing = bar("=1+1", 1 / 3)
        csv = pd.read_csv(io.BytesIO(make("csv", drawing=drawing)))
        assert csv["name"].tolist() == ["'=1+1"] and csv["value"].tolist() == [1 / 3]
        parquet = make("parquet", drawing=drawing, data_sha256="abc")
        assert pd.read_parquet(io.BytesIO(parquet)).equals(drawing.arguments["frame"])
        told = pq.read_schema(io.BytesIO(parquet)).metadata[b"provenance"]
        assert json.loads(told)["data_sha256"] == "abc"

    def test_several_frames_stand_below_each_other_and_say_which_they_are(self):
        frames = {"one": pd.DataFrame({"x": [1, 2]}), "none": pd.DataFrame({"x": []})}
        drawing = Drawing(draw_bar, {"frame": pd.DataFrame({"x": ["a"], "y": [0.5]}), "more": frames}, alt="")
        found = figure_frame(drawing)
        assert found["part"].tolist() == ["frame", "more: one", "more: one"]
        assert found["x"].tolist() == ["a", "1", "2"]
        assert found["y"].isna().tolist() == [False, True, True]
        assert figure_data_bytes(drawing, "parquet", provenance={})

    def test_an_empty_frame_is_a_table_and_none_is_told(self):
        assert figure_frame(Drawing(draw_bar, {"frame": pd.DataFrame({"x": []})}, alt="")).columns.tolist() == ["x"]
        with pytest.raises(Refused, match="no data of its own"):
            figure_frame(Drawing(draw_bar, {"value": 1}, alt=""))


@pytest.mark.parametrize("format", FIGURE_FORMATS)
def test_the_same_figure_gives_the_same_bytes(format):
    first = make(format)
    browser._stop()
    assert make(format) == first


def test_threads_get_their_own_figures():
    """Eight at once, each with a word of its own in it."""
    got = {}

    def export(number):
        for turn in range(2):
            word = f"word{number}x{turn}"
            got[word] = make("svg", drawing=bar(word)).decode()

    threads = [threading.Thread(target=export, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(got) == 16
    for word, svg in got.items():
        assert re.findall(r"word\dx\d", re.sub(r"<(title|desc|metadata)>.*?</\1>", "", svg)) == [word]


class TestTrouble:
    def test_without_a_browser_it_says_what_to_install_and_the_rest_works(self, monkeypatch):
        monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
        for format in ("pdf", "svg", "png"):
            with pytest.raises(Refused, match="/nowhere/chromium.*apt-get install chromium"):
                make(format)
        assert make("html") and make("json") and make("csv") and make("parquet")

    @pytest.mark.parametrize("script", ["exec sleep 600", "exit 1"], ids=["hangs", "ends at once"])
    def test_a_browser_that_fails_ends_in_an_error_and_the_next_one_works(self, script, monkeypatch, tmp_path):
        broken = tmp_path / "chromium"
        broken.write_text(f"#!/bin/sh\n{script}\n")
        broken.chmod(0o755)
        began = time.monotonic()
        with monkeypatch.context() as context:
            context.setenv("BROWSER_PATH", str(broken))
            with pytest.raises(Refused, match="Try again"):
                figure_bytes(bar(), "svg", Print(), provenance=provenance(), timeout=4)
        assert time.monotonic() - began < 30
        assert browser._running == []
        assert make("svg")

    def test_widths_styles_and_formats_that_do_not_exist(self):
        for width in ("wide", "10", "nan", "1e9", "-90", ""):
            with pytest.raises(Refused, match="single, double or from 60 to 400 mm"):
                read_print(width)
        with pytest.raises(Refused, match="'ieee', 'acm'"):
            read_print("single", "lancet")
        with pytest.raises(Refused, match="36 to 1200"):
            read_print("single", "ieee", 3)
        with pytest.raises(Refused, match="gif"):
            make("gif")


def texts_of(figure):
    """Return the type sizes in px that a figure asks for."""
    return [float(one) for one in re.findall(r'"size":\s*([0-9.]+)', json.dumps(_fonts(figure.to_dict())))]


def _fonts(node):
    if isinstance(node, dict):
        fonts = [value for key, value in node.items() if "font" in key and isinstance(value, dict)]
        return fonts + [_fonts(value) for value in node.values()]
    return [_fonts(one) for one in node] if isinstance(node, list | tuple) else []


def touches_the_edge(png):
    """Return whether ink lies on the outermost pixels, which is how something cut off shows."""
    with Image.open(io.BytesIO(png)) as image:
        grey = np.asarray(image.convert("L"))
    return bool((np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]]) < 200).any())


def test_every_figure_of_every_analysis_can_be_printed(answers):
    """At single and double width: of that width, text of 7 to 9 points, nothing cut; and a vector without pictures."""
    data, found = answers
    faults = []
    for name, findings in found.items():
        one = registry()[name]
        for figure_name, drawing in findings.figures.items():
            described = describe_item(
                data, one, findings, name=figure_name, selection=Selection(), chosen=one.parameters(), command="sense7"
            )
            data_of_it = pd.read_csv(io.BytesIO(figure_bytes(drawing, "csv", Print(), provenance=described)))
            if len(data_of_it) != len(figure_frame(drawing)):
                faults.append(f"{figure_name}: its data has another number of rows when read again")
            svg = figure_bytes(drawing, "svg", Print(), provenance=described).decode()
            pdf = figure_bytes(drawing, "pdf", Print(), provenance=described)
            if b"/Subtype /Image" in pdf or pdf.count(b"/FontDescriptor") < 1 or b"/FontFile" not in pdf:
                faults.append(f"{figure_name} holds a picture or no font, pdf")
            if "<image" in svg or "SYNTHETIC" not in svg.split("</metadata>")[1]:
                faults.append(f"{figure_name} holds a picture or no mark of synthetic data")
            for width in ("single", "double"):
                how = Print(width=width, dpi=96)
                figure = draw_for_print(drawing, how, synthetic=True)
                if abs(figure.layout.width - how.width_mm * PIXELS_PER_MM) > 0.01:
                    faults.append(f"{figure_name} is {figure.layout.width} px wide")
                small = [size for size in texts_of(figure) if not 7 / 0.75 <= size <= 9.01 / 0.75]
                if small:
                    faults.append(f"{figure_name} has text of {small} px, {width}")
                if touches_the_edge(figure_bytes(drawing, "png", how, provenance=described)):
                    faults.append(f"{figure_name} is cut at its edge, {width}")
    assert found
    assert not faults


def test_figures_of_long_and_nasty_names_are_not_cut(nasty_folder):
    """Labels of any script and length, markup among them: shown or shortened, never cut at the edge."""
    data = connect(nasty_folder, public=False)
    faults, n_drawn = [], 0
    for one in registry().values():
        try:
            findings = run_analysis(data, one, Selection(), one.parameters()) if one.figures else None
        except Refused:
            continue
        for name, drawing in (findings.figures if findings else {}).items():
            n_drawn += 1
            if touches_the_edge(figure_bytes(drawing, "png", Print(dpi=96), provenance=provenance())):
                faults.append(name)
    assert n_drawn > 20
    assert not faults


def test_what_was_drawn_before_changes_nothing(answers):
    """A dozen figures, legends and shapes among them, forwards in one browser and backwards in another."""
    _, found = answers
    drawings = [(name, drawing) for findings in found.values() for name, drawing in findings.figures.items()][::5]

    def draw(wanted):
        browser._stop()
        return {
            (name, format): figure_bytes(drawing, format, Print(dpi=96), provenance=provenance())
            for name, drawing in wanted
            for format in ("pdf", "svg", "png")
        }

    assert len(drawings) >= 12
    first, second = draw(drawings), draw(drawings[::-1])
    assert [key for key in first if first[key] != second[key]] == []


@pytest.mark.parametrize("style", VENUES)
def test_small_print_of_every_style_can_be_read(style):
    template = Print(style=style).template(synthetic=False)
    assert 7 <= template.small * 0.75 <= template.font_size * 0.75 <= 9
