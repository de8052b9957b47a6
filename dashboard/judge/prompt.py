"""The prompt: a text with placeholders, ours or the user's; and the strict reading of what comes back."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from dashboard.vocabulary import Refused

OWN = Path(__file__).resolve().parent / "prompt.md"
PLACEHOLDERS = ("conversation", "task")
_LIMIT = 200_000
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_REASONING = re.compile(r"<S0>(.*?)</S0>", re.DOTALL)
_LEVEL = re.compile(r"<S2>(.*?)</S2>", re.DOTALL)


@dataclass(frozen=True)
class Prompt:
    """A prompt with placeholders.

    Attributes
    ----------
    name
        What the prediction files are named after.
    text
        What is sent, placeholders unfilled.
    """

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of what is sent."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def fill(self, *, conversation: str, task: str) -> str:
        """Return the prompt for one conversation; text that was filled in is not searched for placeholders."""
        values = {"conversation": conversation, "task": task}
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.text)


def read_prompt(path: Path | None) -> Prompt:
    """Read a prompt file, or ours.

    Raises
    ------
    Refused
        When it cannot be read, lacks ``{conversation}``, has another placeholder, or asks for no ``<S2>``.
    """
    source = path or OWN
    try:
        raw = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise Refused(f"The prompt file {source} must be readable text; it is not ({why}).") from None
    text = _COMMENT.sub("", raw).strip()
    if len(text) > _LIMIT:
        raise Refused(f"The prompt file {source} must be shorter than {_LIMIT:,} characters; it has {len(text):,}.")
    found = set(_PLACEHOLDER.findall(text))
    unknown = sorted(found - set(PLACEHOLDERS))
    if unknown:
        known = " and ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise Refused(f"The prompt file {source} may hold the placeholders {known}; it holds {{{unknown[0]}}}.")
    if "conversation" not in found:
        raise Refused(f"The prompt file {source} must hold the placeholder {{conversation}}; it does not.")
    if "<S2>" not in text:
        raise Refused(f"The prompt file {source} must ask for the level between <S2> and </S2>; it does not name <S2>.")
    return Prompt(name="sense7" if path is None else _plain_name(path.stem), text=text)


def _plain_name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "_", stem).strip("_") or "prompt"


def read_answer(text: str | None) -> tuple[str, int]:
    """Return reasoning and level of an answer in the form asked for.

    Raises
    ------
    ValueError
        For any other answer; the message says what is wrong. No level is ever guessed.

    Examples
    --------
    >>> read_answer("<S0>kind</S0> <S2> 4 </S2>")
    ('kind', 4)
    """
    if not text or not text.strip():
        raise ValueError("the answer is empty")
    levels = _LEVEL.findall(text)
    if len(levels) != 1:
        raise ValueError(f"the answer holds {len(levels) or 'no'} complete <S2>…</S2>")
    if re.fullmatch(r"\s*[1-5]\s*", levels[0]) is None:
        raise ValueError("what stands between <S2> and </S2> is not one whole number from 1 to 5")
    reasoning = _REASONING.search(text)
    return (reasoning[1].strip() if reasoning else ""), int(levels[0])
