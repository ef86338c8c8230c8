"""Why a table is refreshed as it is: every reason as a value with a code."""

from __future__ import annotations

from dataclasses import dataclass


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
        """The reason with its code: `ROW_WISE: every row …`."""
        return f"{self.code}: {self.text}"


class NotAStreamError(Exception):
    """A part of a query keeps Structured Streaming from running it, or the table would be wrong.

    Args:
        reasons: Why; where it takes several together, all of them.
    """

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(reason.text for reason in reasons))
        self.reasons = reasons
