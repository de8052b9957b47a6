"""Text of any script in LaTeX that pdfLaTeX, XeLaTeX and LuaLaTeX take without further packages."""

from __future__ import annotations

import unicodedata

_SPELLED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After a row's end these would be read as its options.
    "[": "{[}",
    "*": "{*}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "∞": r"$\infty$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "‚": ",",
    "„": ",,",
    "‹": r"$<$",
    "›": r"$>$",
    "«": r"$\ll$",
    "»": r"$\gg$",
    "…": r"\ldots{}",
}
# Letters that pdfLaTeX lacks in its default encoding of fonts.
_LACKING = frozenset("ÐÞðþĐđŊŋĄąĘęĮįŲųĦħĸĿŀŉŦŧſ")
_GREEK = (
    "ALPHA BETA GAMMA DELTA EPSILON ZETA ETA THETA IOTA KAPPA LAMDA MU NU XI PI RHO SIGMA TAU UPSILON PHI CHI PSI OMEGA"
)
_GREEK_CAPITALS = "GAMMA DELTA THETA LAMDA XI PI SIGMA UPSILON PHI PSI OMEGA"


def latex_text(text: str) -> str:
    """Return text on one line, every special character as it reads.

    What pdfLaTeX cannot set (Chinese, Hebrew, emoji) it sets as letters without their accents or as the character's number
    in brackets; XeLaTeX and LuaLaTeX set the character.
    """
    return "".join(_one(character) for character in " ".join(text.split()))


def _one(character: str) -> str:
    if character in _SPELLED:
        return _SPELLED[character]
    if " " <= character <= "~":
        return character
    if unicodedata.category(character)[0] == "C":
        # Controls, halves of pairs, characters without a shape.
        return ""
    if ("¡" <= character <= "ſ" and character not in _LACKING) or character in "‘’“”†‡•‰€™←→":
        return character
    return _greek(character) or _script(character) or _fallback(character)


def _greek(character: str) -> str:
    words = unicodedata.name(character, "").split()
    if words[:1] != ["GREEK"] or words[2:3] != ["LETTER"] or len(words) != 4:
        return ""
    name = words[3].lower().replace("lamda", "lambda")
    if words[1] == "CAPITAL":
        return rf"$\{name.capitalize()}$" if words[3] in _GREEK_CAPITALS.split() else ""
    return rf"$\{name}$" if words[3] in _GREEK.split() else ""


def _script(character: str) -> str:
    """Return superscripts and subscripts of digits."""
    kind, _, digits = unicodedata.decomposition(character).partition(" ")
    if kind not in ("<super>", "<sub>") or " " in digits:
        return ""
    plain = chr(int(digits, 16))
    return rf"${'^' if kind == '<super>' else '_'}{plain}$" if plain.isascii() and plain.isalnum() else ""


def _fallback(character: str) -> str:
    letters = "".join(one for one in unicodedata.normalize("NFKD", character) if one.isascii() and one.isalnum())
    # pdfLaTeX skips the first branch without looking at its characters.
    return rf"{{\ifdefined\UnicodeEncodingName {character}\else {letters or _number(character)}\fi}}"


def _number(character: str) -> str:
    return f"{{[}}U+{ord(character):04X}{{]}}"
