"""Figures for papers: the analysis' own drawing in a print template, as vectors, a picture, a page or Plotly's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.export import metadata
from dashboard.export.browser import TIMEOUT_SECONDS, draw_bytes
from dashboard.export.figure_data import DATA_FORMATS, figure_data_bytes
from dashboard.export.provenance import as_json
from dashboard.figures.template import PIXELS_PER_MM, PIXELS_PER_POINT, Template
from dashboard.vocabulary import Refused, unknown_name

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dashboard.analyses.findings import Drawing

VECTOR_FORMATS = ("pdf", "svg")
BROWSER_FORMATS = (*VECTOR_FORMATS, "png")
FIGURE_FORMATS = (*BROWSER_FORMATS, "html", "json", *DATA_FORMATS)
_NARROWEST_MM, _WIDEST_MM = 60.0, 400.0
# Free fonts of Debian's fonts-noto-core, fonts-dejavu-core and fonts-noto-cjk: a PDF embeds only what is installed.
FONTS = '"Noto Sans", "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans Hebrew", "Noto Sans Arabic", sans-serif'


@dataclass(frozen=True)
class Venue:
    """What a publisher asks of figures: widths of one and two columns in mm, size of the running text in points.

    Small print is 0.85 of the running text and must not be smaller than 7 points.
    """

    single: float
    double: float
    points: float


VENUES = {
    "ieee": Venue(single=88.9, double=182.0, points=8.4),
    "acm": Venue(single=84.7, double=178.0, points=8.4),
    "nature": Venue(single=89.0, double=183.0, points=8.25),
    "apa": Venue(single=89.0, double=183.0, points=9.0),
    "plain": Venue(single=89.0, double=183.0, points=8.5),
}


@dataclass(frozen=True)
class Print:
    """How figures are printed.

    Attributes
    ----------
    width
        ``single``, ``double`` or a width in mm.
    style
        A key of ``VENUES``.
    dpi
        Dots per inch of PNG.
    """

    width: str | float = "single"
    style: str = "ieee"
    dpi: float = 300.0

    @property
    def width_mm(self) -> float:
        """Width in mm."""
        return getattr(VENUES[self.style], self.width) if isinstance(self.width, str) else self.width

    def template(self, *, synthetic: bool) -> Template:
        """Return the light template for paper."""
        return Template(
            paper=True,
            width=self.width_mm * PIXELS_PER_MM,
            font_family=FONTS,
            font_size=VENUES[self.style].points * PIXELS_PER_POINT,
            synthetic=synthetic,
        )


def read_print(width: str = "single", style: str = "ieee", dpi: float = 300.0) -> Print:
    """Return how to print, from text.

    Raises
    ------
    Refused
        For a style that does not exist, and for a width or a resolution out of range.
    """
    if style not in VENUES:
        raise unknown_name("style", style, VENUES)
    if not 36 <= dpi <= 1200:
        raise Refused(f"The resolution must be from 36 to 1200 dots per inch; came {dpi:g}.")
    if width in ("single", "double"):
        return Print(width=width, style=style, dpi=dpi)
    try:
        given = float(width.lower().removesuffix("mm"))
    except ValueError:
        given = float("nan")
    if not _NARROWEST_MM <= given <= _WIDEST_MM:
        raise Refused(
            f"The width must be single, double or from {_NARROWEST_MM:g} to {_WIDEST_MM:g} mm; came {width!r}."
        )
    return Print(width=given, style=style, dpi=dpi)


def check_figure_format(format: str) -> None:
    """Refuse a format of figures that does not exist."""
    if format not in FIGURE_FORMATS:
        raise unknown_name("figure format", format, FIGURE_FORMATS)


def draw_for_print(drawing: Drawing, how: Print, *, synthetic: bool) -> go.Figure:
    """Return the figure in the print template, its height a whole number of px: pages are cut at these."""
    figure = drawing.figure(how.template(synthetic=synthetic))
    figure.layout.height = round(figure.layout.height)
    return figure


def figure_bytes(
    drawing: Drawing, format: str, how: Print, *, provenance: dict[str, Any], timeout: float = TIMEOUT_SECONDS
) -> bytes:
    """Return a figure as the bytes of a file; the same data, selection and versions give the same bytes.

    Parameters
    ----------
    drawing
        What an analysis found, not yet drawn.
    format
        ``pdf`` and ``svg`` hold vectors only; ``png`` states its resolution; ``html`` needs no network; ``json`` is
        Plotly's, with the provenance under ``layout.meta``; ``csv`` and ``parquet`` hold the data that it is drawn from.
    how
        Width, style and resolution.
    provenance
        What :func:`dashboard.export.provenance.describe_item` says; it goes into the file's metadata.
    timeout
        Seconds that the browser has.

    Raises
    ------
    Refused
        For an unknown format, and where a browser is needed and absent, failing or hung.
    """
    check_figure_format(format)
    if format in DATA_FORMATS:
        return figure_data_bytes(drawing, format, provenance=provenance)
    figure = draw_for_print(drawing, how, synthetic=bool(provenance["synthetic"]))
    data = as_json(provenance)
    texts = {"title": str(provenance["title"]), "description": str(provenance["caption"]), "data": data}
    if format == "json":
        figure.layout.meta = {"provenance": provenance}
        return (figure.to_json(pretty=False) + "\n").encode("utf-8")
    if format == "html":
        # Fixed, where Plotly would choose at random.
        page = figure.to_html(include_plotlyjs=True, div_id="figure", config={"displaylogo": False})
        return metadata.stamp_html(page, **texts)
    if format == "pdf":
        content = draw_bytes(figure, "pdf", timeout=timeout)
        return metadata.stamp_pdf(content, title=texts["title"], subject=texts["description"], keywords=data)
    if format == "svg":
        content = draw_bytes(figure, "svg", timeout=timeout)
        height_mm = figure.layout.height / PIXELS_PER_MM
        return metadata.stamp_svg(content, width_mm=how.width_mm, height_mm=height_mm, **texts)
    content = draw_bytes(figure, "png", scale=how.dpi / 96, timeout=timeout)
    return metadata.stamp_png(content, dpi=how.dpi, **texts)
