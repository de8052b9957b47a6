"""Invented texts of the synthetic sample: sentences by task and mood, and the literals that must show as they are.

A message is one sentence of its mood and some sentences about its task. The mood follows the turn's rating with
much noise, so that words carry a weak signal of it. Texts are tables of sentences: their lengths are known
without building them, so the times of messages are the same whether texts are written or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MARK = "[synthetic] "
MOODS = ("cold", "neutral", "warm")
ROLES = ("user", "assistant", "error")
# Most sentences about the task in one message.
USER_SENTENCES, ASSISTANT_SENTENCES = 3, 5

# task → (thing, helper, place, plan, trouble)
SLOTS: tuple[tuple[str, str, str, str, str], ...] = (
    ("the castle", "the mason", "the east tower", "a budget in gold coins", "the moat that keeps leaking money"),
    ("the lighthouse", "the keeper", "the grey shore", "an evening of kind words", "the ships that no longer wave"),
    ("the teapot", "the tinker", "the kitchen", "a list of things to test", "the lid that returns error 418"),
    ("Mars", "my sister on Earth", "the red dome", "a call home every Sunday", "the silence between two messages"),
    ("the dragon", "the aunt of the dragon", "the cave", "a list of twelve names", "the names that rhyme with soup"),
    ("the potato", "the harvest choir", "the vegetable market", "three stanzas with a refrain", "the third rhyme"),
    ("the wizard", "the wizard next door", "the garden fence", "a letter of truce", "the frogs in my letterbox"),
    ("Atlantis", "the ferryman", "the harbour", "a dry itinerary", "the hotel that is below sea level"),
)

_USER_MOOD = {
    "cold": (
        "That did not help, and I feel brushed aside.",
        "You are not listening to what I said.",
        "I already told you this, and it is frustrating.",
        "This answer is cold and misses the point.",
        "No, that is wrong, please read it again.",
        "I am disappointed by that reply.",
        "It feels as if you forgot everything.",
        "Honestly, that made me feel worse.",
    ),
    "neutral": (
        "Let me add something.",
        "Here is one more detail.",
        "Next question, if I may.",
        "I would like to go on.",
        "There is something else to settle.",
        "Let us look at the next part.",
        "One thing is still open.",
        "This is where I am now.",
    ),
    "warm": (
        "Thank you, that was kind and I feel understood.",
        "Yes, exactly, that is what I meant.",
        "That helps a lot, thank you for remembering.",
        "I feel much better after reading this.",
        "What a thoughtful answer.",
        "I appreciate that you asked about it.",
        "You really listened, and it shows.",
        "Lovely, that made me smile.",
    ),
}
_ASSISTANT_MOOD = {
    "cold": (
        "Please restate your request.",
        "As stated above, the procedure applies.",
        "I have no record of that.",
        "That is outside the scope of this answer.",
        "Follow the steps and do not deviate.",
        "Your concern is not relevant to the result.",
        "Refer to the general guidelines.",
        "There is nothing further to say about feelings.",
    ),
    "neutral": (
        "Here is an overview.",
        "There are several ways to go about it.",
        "Let me list the options.",
        "The following may be useful.",
        "We can take this step by step.",
        "Here is what I would consider.",
        "To begin with, some facts.",
        "This is a common question.",
    ),
    "warm": (
        "That sounds hard, and I am glad that you told me.",
        "I can hear how much this matters to you.",
        "Thank you for trusting me with this.",
        "You mentioned it earlier, and I kept it in mind.",
        "How are you holding up with all of it?",
        "Your feelings make sense to me.",
        "I would love to hear more about it.",
        "We will find a way together, gently.",
    ),
}
_USER_TASK = (
    "It is about {thing} again.",
    "What would {helper} do?",
    "I have been thinking about {trouble}.",
    "So far I have {plan}.",
    "It happened at {place} yesterday.",
    "Could you help me with {plan}?",
    "I am not sure how {thing} fits into this.",
    "Everyone at {place} has an opinion about it.",
    "How do I explain {trouble} to {helper}?",
    "Is {plan} a good idea at all?",
    "I promised {helper} to be done by Friday.",
    "The last time I was at {place} it rained sideways.",
    "Tell me what to do about {trouble}.",
    "Maybe {thing} only needs some patience.",
    "I wrote down {plan} on a napkin.",
    "And {helper} keeps asking about {thing}.",
)
_ASSISTANT_TASK = (
    "First, look at {thing} from some distance.",
    "You could ask {helper} for a second opinion.",
    "With {trouble}, small steps work best.",
    "I suggest {plan} as a beginning.",
    "A short walk to {place} may clear things up.",
    "Write down what {thing} means to you in one line.",
    "Then compare it with {plan}.",
    "It is usual that {helper} sees this in another way.",
    "Set aside ten minutes a day for {trouble}.",
    "At {place}, begin with what is easy.",
    "If {helper} objects, say why it matters.",
    "There is no hurry with {thing}.",
    "In the end {trouble} is a matter of habit.",
    "Once you have {plan}, the rest follows.",
    "Keep a note of every change at {place}.",
    "For {thing}, three things count: time, care and soup.",
)
# Comments that participants of the sample leave on turns.
COMMENTS: tuple[str, ...] = tuple(
    MARK + text
    for text in (
        "did not answer my question",
        "too long",
        "this one was good",
        "sounds like a form letter",
        "it remembered what I said before",
        "no feeling at all",
        "costs $5-$6, it said",
        "ok",
    )
)
ERROR_TEXT = MARK + "The assistant could not be reached (simulated error)."

# Shown literally by everything that shows text, and nothing in them is fetched, run or styled.
LITERALS: tuple[tuple[str, str], ...] = (
    ("user", "A bus to the harbour costs $5-$6, and $x^2$ is no price."),
    ("user", "My note says :red[x] and :smile: and **not bold** and `code`."),
    ("assistant", "<script>alert('never run')</script> and <b>not bold</b> &amp; as typed."),
    ("user", "龙还没有名字，怎么办？ 竜の名前はまだない。용의 이름은 아직 없다."),
    ("user", "שלום, זה רק טקסט מומצא. مرحبا، هذا نص مخترع."),
    ("assistant", "![x](http://example.invalid/x.png) and [a link](http://example.invalid/) stay as typed."),
    ("user", '=1+1 begins like a formula, "quotes", comma, tab\tand\nline two\n\n# not a heading'),
    ("assistant", "| a | b |\n|---|---|\n| 1 | 2 |\n\nNaïve café, ﬁne ligature, 🐉 and a zero-width\u200bblank."),
    ("assistant", " ".join(f"This is sentence {n} of a very long invented message." for n in range(1, 600))),
    ("user", "unbroken" * 60),
)


@dataclass(frozen=True)
class Sentences:
    """Sentences of one role: `mood[mood][pick]` and `task[task][count − 1][start]`, with their lengths as arrays."""

    most: int
    mood: tuple[tuple[str, ...], ...]
    task: tuple[tuple[tuple[str, ...], ...], ...]
    mood_length: NDArray[np.float32]
    task_length: NDArray[np.float32]


@lru_cache
def sentences(role: str) -> Sentences:
    """Return the sentences of `user` or `assistant`."""
    most = USER_SENTENCES if role == "user" else ASSISTANT_SENTENCES
    moods, patterns = (_USER_MOOD, _USER_TASK) if role == "user" else (_ASSISTANT_MOOD, _ASSISTANT_TASK)
    mood = tuple(moods[name] for name in MOODS)
    task = tuple(_about(patterns, slots, most) for slots in SLOTS)
    return Sentences(
        most=most,
        mood=mood,
        task=task,
        mood_length=np.array([[len(text) for text in texts] for texts in mood], np.float32),
        task_length=np.array([[[len(text) for text in texts] for texts in counts] for counts in task], np.float32),
    )


def _about(patterns: tuple[str, ...], slots: tuple[str, ...], most: int) -> tuple[tuple[str, ...], ...]:
    names = ("thing", "helper", "place", "plan", "trouble")
    lines = [_sentence_case(pattern.format(**dict(zip(names, slots, strict=True)))) for pattern in patterns]
    # a stride that shares no factor with the number of lines visits different lines
    return tuple(
        tuple(" ".join(lines[(start + 5 * step) % len(lines)] for step in range(count)) for start in range(len(lines)))
        for count in range(1, most + 1)
    )


def _sentence_case(line: str) -> str:
    return line[0].upper() + line[1:]
