"""Reason for a choice."""

from __future__ import annotations

from dataclasses import dataclass

NO_BASELINE = "NO_BASELINE"
TYPES_CHANGED = "SOURCE_TYPES_CHANGED"
SWITCHED_OFF = "SWITCHED_OFF"
"""Codes that a choice or a caller looks for."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a choice.

    Args:
        code: For machines, such as `ROW_WISE`.
        subject: The operator or the source that it is about; empty for the query as a whole.
        text: For people, a part of a sentence.
    """

    code: str
    subject: str
    text: str

    def __str__(self) -> str:
        """Return the reason with its code: `ROW_WISE: every row …`."""
        return f"{self.code}: {self.text}"

    @property
    def violation(self) -> str:
        """The reason as an error lists it: `every row … (ROW_WISE)`."""
        return f"{self.text} ({self.code})"


FULL_MODE = Reason("FULL_MODE", "", "REFRESH_MODE is FULL")
ROW_WISE = Reason("ROW_WISE", "", "every row of the result is made of one row of a source")
SEVERAL_SOURCES = Reason(
    "SEVERAL_SOURCES", "", "what several sources gained is read over one state of all of them"
)
