"""One question to the endpoint: time limits, retries with back-off, rate limits shared by all workers."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dashboard.judge.prompt import read_answer
from dashboard.vocabulary import Refused

ANSWERED, UNREADABLE, FAILED = "answered", "unreadable", "failed"
_LONGEST_PAUSE = 60.0
_LONGEST_DETAIL = 500
_HIDDEN = "[key]"


@dataclass(frozen=True)
class Endpoint:
    """Where and how to ask. The key is in no representation of it.

    Attributes
    ----------
    base_url, model
        The endpoint and the model's name there.
    key
        The key, from the environment; any text will do for servers that need none.
    timeout_seconds
        Limit of one call.
    attempts
        Calls per question at most.
    unreadable_attempts
        How many unreadable answers end a question.
    first_pause_seconds
        Pause before the second attempt; it doubles.
    temperature
        Sent when given.
    """

    base_url: str
    model: str
    key: str = field(repr=False)
    timeout_seconds: float = 120.0
    attempts: int = 6
    unreadable_attempts: int = 2
    first_pause_seconds: float = 0.5
    temperature: float | None = None

    def hide_key(self, text: str) -> str:
        """Return the text without the key, which servers like to repeat in their errors."""
        return text.replace(self.key, _HIDDEN) if len(self.key) > 3 else text


@dataclass(frozen=True)
class Reply:
    """What came of one question: its status, the answer as it came, and what it took.

    ``level`` is None unless the status is ``answered``; ``detail`` says why otherwise.
    """

    status: str
    level: int | None
    reasoning: str
    output: str
    detail: str
    seconds: float
    attempts: int
    tokens_in: int
    tokens_out: int


class Fatal(Exception):
    """The endpoint refuses this key, model or address: no further question will fare better."""


class Stopped(Exception):
    """The run was stopped while a question waited."""


def check_base_url(base_url: str) -> str:
    """Return the address, or refuse one that is no plain http(s) address."""
    parts = urlsplit(base_url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refused(f"--base-url must be an address such as https://host/v1; came {base_url!r}.")
    if parts.username or parts.password or parts.query:
        raise Refused("--base-url must hold no name, password or key; keys come from the environment.")
    return base_url.strip()


class Asker:
    """Asks questions from any number of threads; a rate limit met by one holds all back."""

    def __init__(self, endpoint: Endpoint, stop: threading.Event) -> None:
        import openai

        self._endpoint, self._stop = endpoint, stop
        self._openai = openai
        self._client = openai.OpenAI(
            api_key=endpoint.key, base_url=endpoint.base_url, timeout=endpoint.timeout_seconds, max_retries=0
        )
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._random = random.Random()

    def ask(self, prompt: str) -> Reply:
        """Ask until there is a readable answer or no attempt is left.

        Raises
        ------
        Fatal
            When no question can succeed.
        Stopped
            When the run is stopped while waiting.
        """
        started = time.monotonic()
        output = detail = ""
        unreadable = tokens_in = tokens_out = 0
        attempt = 0
        while attempt < self._endpoint.attempts and unreadable < self._endpoint.unreadable_attempts:
            self._wait_for_turn()
            attempt += 1
            try:
                text, used = self._call(prompt)
            except Exception as error:
                detail = self._describe(error)
                if not self._can_retry(error):
                    break
                if attempt < self._endpoint.attempts:
                    self._hold_back(error, attempt)
                continue
            tokens_in, tokens_out = tokens_in + used[0], tokens_out + used[1]
            output = text or ""
            try:
                reasoning, level = read_answer(text)
            except ValueError as error:
                unreadable, detail = unreadable + 1, str(error)
                continue
            seconds = time.monotonic() - started
            return Reply(ANSWERED, level, reasoning, output, "", seconds, attempt, tokens_in, tokens_out)
        status = UNREADABLE if unreadable else FAILED
        seconds = time.monotonic() - started
        return Reply(status, None, "", output, detail, seconds, attempt, tokens_in, tokens_out)

    def _call(self, prompt: str) -> tuple[str | None, tuple[int, int]]:
        """Make one call; return the answer and the tokens used."""
        more: dict[str, Any] = {}
        if self._endpoint.temperature is not None:
            more["temperature"] = self._endpoint.temperature
        reply = self._client.chat.completions.create(
            model=self._endpoint.model, messages=[{"role": "user", "content": prompt}], **more
        )
        choices = getattr(reply, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise ValueError("the reply holds no answer in the protocol's form")
        content = choices[0].message.content
        if content is not None and not isinstance(content, str):
            raise ValueError("the reply's answer is no text")
        usage = getattr(reply, "usage", None)
        counts = (getattr(usage, "prompt_tokens", 0), getattr(usage, "completion_tokens", 0))
        return content, (_count(counts[0]), _count(counts[1]))

    def _can_retry(self, error: Exception) -> bool:
        """Say whether another attempt may fare better.

        Raises
        ------
        Fatal
            When no other question can fare better either.
        """
        status = getattr(error, "status_code", None)
        if status in {401, 403, 404}:
            raise Fatal(self._describe(error)) from None
        return not isinstance(status, int) or status >= 500 or status in {408, 409, 425, 429}

    def _describe(self, error: Exception) -> str:
        """Return what went wrong, without the key."""
        status = getattr(error, "status_code", None)
        if isinstance(error, self._openai.APITimeoutError):
            text = f"no answer within {self._endpoint.timeout_seconds:g} seconds"
        elif isinstance(error, self._openai.APIConnectionError):
            text = f"the connection failed ({type(error.__cause__ or error).__name__})"
        else:
            text = f"{f'HTTP {status}' if status else type(error).__name__}: {error}"
        return " ".join(self._endpoint.hide_key(text).split())[:_LONGEST_DETAIL]

    def _hold_back(self, error: Exception, attempt: int) -> None:
        """Wait before the next attempt; a rate limit makes every worker wait."""
        pause = min(_LONGEST_PAUSE, self._endpoint.first_pause_seconds * 2 ** (attempt - 1))
        pause *= self._random.uniform(0.75, 1.25)
        if getattr(error, "status_code", None) in {429, 503}:
            stated = _retry_after(error)
            with self._lock:
                wait = pause if stated is None else max(stated, 0.0)
                self._not_before = max(self._not_before, time.monotonic() + min(wait, _LONGEST_PAUSE))
        if self._stop.wait(pause):
            raise Stopped

    def _wait_for_turn(self) -> None:
        while True:
            with self._lock:
                wait = self._not_before - time.monotonic()
            if self._stop.is_set():
                raise Stopped
            if wait <= 0:
                return
            self._stop.wait(wait)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _retry_after(error: Exception) -> float | None:
    """Return the pause that the server asks for, in seconds."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None
