"""The checks of a folder's tables; the statement of each is the file of its name in ``queries/checks``."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.paths import QUERIES


@dataclass(frozen=True)
class Check:
    """A check.

    Attributes
    ----------
    name
        Its name, and that of its file.
    severity
        ``error`` or ``warning``, if there is a case.
    detail
        What a case is, in the plural.
    """

    name: str
    severity: str
    detail: str

    @property
    def sql(self) -> str:
        """One row per case with the column ``example``, in the order to show them."""
        return (QUERIES / "checks" / f"{self.name}.sql").read_text(encoding="utf-8").strip()


CHECKS = (
    Check("keys", "error", "keys that are null or there twice"),
    Check("orphans", "error", "rows that refer to a row that does not exist"),
    Check("answers", "error", "answers that are unknown, or whose value does not go with them"),
    Check("ranges", "error", "answers outside their scale or between its levels"),
    Check("scales", "error", "measures with an impossible scale or kind"),
    Check("turns", "error", "messages whose number or turn is not their place in the conversation"),
    Check("complete_ratings", "error", "turns without a row for an outcome"),
    Check("complete_survey", "error", "conversations without a row for a survey item"),
    Check("means", "error", "turn means that are not the mean of the dimensions"),
    Check("without_messages", "warning", "conversations without a message"),
    Check("unrated", "warning", "conversations without a rating"),
    Check(
        "straight_lining",
        "warning",
        "participants (conversations, where there are no ids) that gave all dimensions one rating on at least 90 % of "
        "five or more turns",
    ),
    Check("same_text", "warning", "groups of conversations with the same texts"),
    Check(
        "same_ratings",
        "warning",
        "groups of conversations with the same 20 or more ratings of at least three levels",
    ),
    Check("time", "warning", "conversations in which a message is earlier than the one before it"),
)
