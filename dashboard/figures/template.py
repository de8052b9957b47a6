"""Fonts, colours and sizes of figures, for the screen and for paper: the one place where they are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

PIXELS_PER_MM = 96 / 25.4
PIXELS_PER_POINT = 96 / 72

# Rating levels from lowest to highest: diverging, safe without colour vision. No two have the same lightness, so that they
# can be told apart in greyscale too.
_DIVERGING = ("#a6611a", "#d8a35d", "#cacaca", "#5fb0a6", "#01665e")
# Okabe and Ito's colours, in the order in which tasks and models take them; black is left out, yellow darkened.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#B8A200")
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")


@dataclass(frozen=True)
class Template:
    """How a figure looks in one medium.

    Attributes
    ----------
    dark
        Whether the ground is dark.
    paper
        Whether it is for print: white ground, sizes in points, no hover.
    width
        Width in px at 96 to the inch; None fills the container.
    font_family, font_size
        Type; the size in px of the running text. Small print is 0.85 of it.
    synthetic
        Whether the data is synthetic, which the figure then says.
    """

    dark: bool = False
    paper: bool = False
    width: float | None = None
    font_family: str = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif'
    font_size: float = 14
    synthetic: bool = False

    @property
    def ink(self) -> str:
        """Colour of text and of the chosen."""
        return "#f2f2f2" if self.dark else "#1a1a1a"

    @property
    def quiet(self) -> str:
        """Colour of secondary text, of people and of axes."""
        return "#a3a8b0" if self.dark else "#6b6f76"

    @property
    def grid(self) -> str:
        """Colour of grid lines."""
        return "#343943" if self.dark else "#e4e6ea"

    @property
    def ground(self) -> str:
        """Colour behind the figure, for outlines of marks."""
        return "#0e1117" if self.dark else "#ffffff"

    @property
    def accent(self) -> str:
        """The colour of a single series."""
        return "#4db3e6" if self.dark else OKABE_ITO[0]

    @property
    def small(self) -> float:
        """Size of small print in px."""
        return round(self.font_size * 0.85, 2)

    def level_colors(self, n_levels: int) -> list[str]:
        """Return the colours of ``n_levels`` rating levels, lowest first."""
        return diverging(n_levels)

    @property
    def line_length(self) -> int:
        """Characters that a title of an axis holds before it wraps."""
        return 36 if self.paper else 70

    @property
    def label_length(self) -> int:
        """Characters of a row's label before it is shortened: the rest of a paper's column must hold the figure."""
        return 28 if self.paper and (self.width or 1000) < 450 else 34

    def visible(self, color: str) -> str:
        """Return a colour for lines and small marks: deep ones are lightened on a dark ground, pale ones darkened on a light."""
        if self.dark:
            return _mix(color, "#ffffff", 0.4) if _luminance(color) < 0.2 else color
        return _mix(color, "#000000", 0.25) if _luminance(color) > 0.47 else color

    def with_width(self, width: float) -> Template:
        """Return the same template at another width in px."""
        return replace(self, width=width)


def diverging(n_levels: int) -> list[str]:
    """Return ``n_levels`` colours from low (orange-brown) over grey to high (blue-teal)."""
    if n_levels < 1:
        return []
    if n_levels == 1:
        return [_DIVERGING[2]]
    picked = []
    for index in range(n_levels):
        place = index * (len(_DIVERGING) - 1) / (n_levels - 1)
        low = min(int(place), len(_DIVERGING) - 2)
        picked.append(_mix(_DIVERGING[low], _DIVERGING[low + 1], place - low))
    return picked


def _mix(first: str, second: str, share: float) -> str:
    """Return the colour a share of the way from one to another."""
    ends = [(int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in ends)


def ink_on(color: str) -> str:
    """Return black or white, whichever reads better on a colour (relative luminance of WCAG 2)."""
    return "#000000" if _luminance(color) > 0.179 else "#ffffff"


def _luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def escape(text: object) -> str:
    """Return text from data so that Plotly shows it literally: it reads a few HTML tags in labels."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shorten(text: str, length: int = 32) -> str:
    """Return text cut to a length with an ellipsis, for axis labels."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def wrap(text: str, width: int = 34) -> str:
    """Return text broken at blanks into lines of at most about ``width`` characters and of like length."""
    n_lines = -(-len(text) // width)
    # Lines of like length leave no single word on the last one.
    width = min(width, -(-len(text) // max(1, n_lines)) + 4)
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def end_words(text: str) -> str:
    """Return the words of a scale's end for beside or below its number: escaped, in short lines."""
    return wrap(escape(shorten(text, 32)), 20)


def blank_figure(template: Template, *, height: float) -> go.Figure:
    """Return an empty figure with the template's type, grounds and axes; ``height`` in px."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": template.grid,
        "linecolor": template.quiet,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        # The last tick's label may reach beyond the axis; the margin has room for it.
        "ticklabeloverflow": "allow",
        "title": {"font": {"size": template.font_size}, "standoff": 8},
        "tickfont": {"size": template.small, "color": template.ink},
    }
    # Given at once: update_layout takes ten times as long for the same.
    layout: dict[str, Any] = {
        "height": height,
        "width": template.width,
        "autosize": template.width is None,
        "font": {"family": template.font_family, "size": template.font_size, "color": template.ink},
        "paper_bgcolor": "#ffffff" if template.paper else "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 1.7 * template.font_size, "t": 2 * template.font_size, "b": 8, "pad": 2},
        "xaxis": axis,
        "yaxis": axis,
        "hoverlabel": {"font": {"family": template.font_family, "size": template.small}},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": template.small},
            # On paper Plotly would give it the ground's white, which covers marks that touch it.
            "bgcolor": "rgba(0,0,0,0)",
            "traceorder": "normal",
        },
        # Nothing moves unless asked; the drag box would swallow the page's scrolling on touch screens.
        "dragmode": False,
    }
    if template.synthetic:
        layout["title"] = synthetic_mark(template)
    return go.Figure(layout=layout)


def synthetic_mark(template: Template) -> dict[str, Any]:
    """Return the title that writes SYNTHETIC into the figure's upper right corner, above axes on top and legends."""
    return {
        "text": "SYNTHETIC",
        "xref": "container",
        "yref": "container",
        "x": 1,
        "y": 1,
        "xanchor": "right",
        "yanchor": "top",
        "pad": {"t": 4, "r": 8},
        "font": {"size": template.small, "color": template.quiet},
    }


def rows_height(n_rows: int, template: Template, *, per_row: float = 2.1, around: float = 6) -> float:
    """Return the height in px of a figure with one row per item; both measures in units of the font size.

    Below a height of about six lines Plotly lets the axis' title run into the figure.
    """
    return (max(n_rows * per_row, 6.2) + around) * template.font_size


def category_colors(levels: Sequence[str]) -> dict[str, str]:
    """Return the fixed colour of each task or model, given all levels of the data in their order."""
    return {level: OKABE_ITO[index % len(OKABE_ITO)] for index, level in enumerate(levels)}
