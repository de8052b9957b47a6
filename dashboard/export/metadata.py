"""Provenance inside files, and bytes that repeat: what a browser writes of dates and of itself is replaced."""

from __future__ import annotations

import html
import io
import re

from dashboard.vocabulary import Refused

_INFO = re.compile(rb"(\d+) 0 obj\n<<(?:(?!endobj).)*?/CreationDate (?:(?!endobj).)*?>>\nendobj\n", re.DOTALL)
_XREF_ENTRY = re.compile(rb"(\d{10})( \d{5} n )")
_TAG = re.compile(r'<([\w:-]+)((?:\s+[\w:-]+="[^"]*")+)\s*(/?)>')
_ATTRIBUTE = re.compile(r'[\w:-]+="[^"]*"')
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def stamp_pdf(content: bytes, *, title: str, subject: str, keywords: str) -> bytes:
    """Return a PDF with this document information and no dates; its cross-reference table follows.

    Parameters
    ----------
    content
        A PDF as Chromium writes it: one revision, a plain cross-reference table.
    title, subject, keywords
        Text of any language.

    Raises
    ------
    Refused
        When the file is not of that form.
    """
    found = _INFO.search(content)
    start = content.rfind(b"\nxref\n") + 1
    if not found or not start or content.count(b"\nxref\n") != 1:
        raise Refused("The browser's PDF must have one table of objects and one of dates; this one does not.")
    fields = {"Title": title, "Subject": subject, "Keywords": keywords, "Producer": "sense7-dashboard, Chromium"}
    entries = b"\n".join(b"/%s %s" % (key.encode(), _pdf_text(value)) for key, value in fields.items())
    info = b"%s 0 obj\n<<%s>>\nendobj\n" % (found[1], entries)
    shift = len(info) - len(found[0])

    def moved(offset: int) -> int:
        return offset + shift if offset > found.start() else offset

    table = _XREF_ENTRY.sub(lambda entry: b"%010d%s" % (moved(int(entry[1])), entry[2]), content[start:])
    table = re.sub(rb"startxref\n\d+", lambda _: b"startxref\n%d" % (start + shift), table)
    return content[: found.start()] + info + content[found.end() : start] + table


def _pdf_text(text: str) -> bytes:
    """Return text as a PDF string in UTF-16, in hexadecimal."""
    return b"<FEFF" + text.encode("utf-16-be", errors="replace").hex().upper().encode() + b">"


def stamp_svg(content: bytes, *, width_mm: float, height_mm: float, title: str, description: str, data: str) -> bytes:
    """Return an SVG with its size in millimetres, a title, a description and metadata, and attributes in one order."""
    # In which order Plotly sets attributes depends on what it drew before.
    text = _TAG.sub(_in_order, content.decode("utf-8"))
    head, rest = re.match(r"(<svg\b[^>]*>)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    head = re.sub(r'\swidth="[^"]*"', f' width="{width_mm:.4g}mm"', head, count=1)
    head = re.sub(r'\sheight="[^"]*"', f' height="{height_mm:.4g}mm"', head, count=1)
    inside = (
        f"<title>{_xml(title)}</title><desc>{_xml(description)}</desc>"
        f'<metadata><provenance xmlns="urn:sense7-dashboard">{_xml(data)}</provenance></metadata>'
    )
    return (head + inside + rest).encode("utf-8")


def _in_order(tag: re.Match[str]) -> str:
    return f"<{tag[1]} {' '.join(sorted(_ATTRIBUTE.findall(tag[2])))}{tag[3]}>"


def _xml(text: str) -> str:
    return html.escape(_NOT_XML.sub("", text), quote=False)


def stamp_png(content: bytes, *, dpi: float, title: str, description: str, data: str) -> bytes:
    """Return a PNG that states its dots per inch and holds title, description and provenance as text."""
    from PIL import Image, PngImagePlugin

    texts = PngImagePlugin.PngInfo()
    for key, value in (("Title", title), ("Description", description), ("Provenance", data)):
        texts.add_itxt(key, value)
    stamped = io.BytesIO()
    with Image.open(io.BytesIO(content)) as image:
        # Paper has no transparency, and printers' software handles it badly.
        image.convert("RGB").save(stamped, "PNG", dpi=(dpi, dpi), pnginfo=texts, optimize=False)
    return stamped.getvalue()


def stamp_html(page: str, *, title: str, description: str, data: str) -> bytes:
    """Return a page with a title, its description and provenance."""
    head = (
        f"<head><title>{_xml(title)}</title>"
        f'<meta name="description" content="{html.escape(description)}">'
        f'<meta name="provenance" content="{html.escape(data)}">'
    )
    return page.replace("<head>", head, 1).encode("utf-8")
