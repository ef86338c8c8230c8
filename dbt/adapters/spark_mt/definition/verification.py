"""Verification of a refresh: which refreshes are verified, the result, and its stored text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

EXAMPLES = 3
"""The largest number of differing rows that a verification keeps."""
LONGEST_ROW = 1000
"""The largest number of characters of such a row."""
_HASHES = 2**64


class Side(Enum):
    """The side of a row that the other side lacks."""

    MISSING = "missing"
    """The query returns it, the table does not have it."""
    UNEXPECTED = "unexpected"
    """The table has it, the query does not return it."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that table and query do not have equally often.

    Args:
        row: The row as JSON.
        copies: The number by which one side has more of it.
    """

    side: Side
    row: str
    copies: int

    def __str__(self) -> str:
        """For people: `missing {"k": 1}`, with the number of copies where there are several."""
        copies = f" ({self.copies} times)" if self.copies > 1 else ""
        return f"{self.side.value} {self.row}{copies}"


class VerificationResult(Enum):
    """What a verification found."""

    EQUAL = "equal"
    DIFFERENT = "different"
    SKIPPED = "skipped"
    """The rows could not be compared."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Comparison of the rows of one commit with those of the query at the same source versions.

    Args:
        result: What it found.
        refresh_id: The refresh that made the commit.
        version: The version of the table that the commit made.
        table_id: The table's identity.
        generation: The generation of the definition by which the rows were computed.
        problem: Why the rows could not be compared; empty if they were.
        total: How many rows differ, copies counted.
        rows: The first of them.
        repair_id: The refresh that computes all rows again; empty where there is none.
        repaired: Whether that refresh has succeeded.
        repair_problem: Why it has not; empty otherwise.
    """

    result: VerificationResult
    refresh_id: str
    version: int
    table_id: str
    generation: int
    problem: str = ""
    total: int = 0
    rows: tuple[RowDifference, ...] = ()
    repair_id: str = ""
    repaired: bool = False
    repair_problem: str = ""

    def describe(self) -> str:
        """Return what was found, for people; empty for equal rows."""
        if self.result is VerificationResult.SKIPPED:
            return f"the rows of version {self.version} were not compared: {self.problem}"
        if self.result is VerificationResult.EQUAL:
            return ""
        number = f"{self.total} rows differ" if self.total > 1 else "1 row differs"
        left = self.total - sum(row.copies for row in self.rows)
        shown = "; ".join((*map(str, self.rows), *((f"{left} more",) if left > 0 else ())))
        return (
            f"{number} between version {self.version}, which the refresh {self.refresh_id} wrote, "
            f"and the query at the same versions of its sources: {shown}. {self._repair()}"
        )

    def _repair(self) -> str:
        if self.repaired:
            return f"The refresh {self.repair_id} has computed all rows again."
        if self.repair_problem:
            return f"The table was not computed again: {self.repair_problem}"
        return "The table was not computed again yet."


def is_selected(table_id: str, version: int, share: float) -> bool:
    """Whether the commit with a version is among a share of a table's commits.

    The same commit has the same answer in each process, and a larger share selects those of a
    smaller one, too.
    """
    digest = sha256(f"{table_id}:{version}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * _HASHES


def encode_verification(verification: Verification) -> str:
    """Return the text that the log of refreshes stores."""
    document: dict[str, object] = {
        "result": verification.result.value,
        "refresh_id": verification.refresh_id,
        "version": verification.version,
        "table_id": verification.table_id,
        "generation": verification.generation,
        "problem": verification.problem,
        "total": verification.total,
        "rows": [[row.side.value, row.row, row.copies] for row in verification.rows],
        "repair_id": verification.repair_id,
        "repaired": verification.repaired,
        "repair_problem": verification.repair_problem,
    }
    return json.dumps({key: value for key, value in document.items() if value}, sort_keys=True)


def decode_verification(text: str) -> Verification:
    """Return what `encode_verification` was given; unknown keys are ignored.

    Raises:
        ValueError, KeyError, TypeError: A newer release wrote it otherwise.
    """
    document = json.loads(text)
    return Verification(
        result=VerificationResult(document["result"]),
        refresh_id=document.get("refresh_id", ""),
        version=document.get("version", 0),
        table_id=document.get("table_id", ""),
        generation=document.get("generation", 0),
        problem=document.get("problem", ""),
        total=document.get("total", 0),
        rows=tuple(RowDifference(Side(s), row, n) for s, row, n in document.get("rows", ())),
        repair_id=document.get("repair_id", ""),
        repaired=document.get("repaired", False),
        repair_problem=document.get("repair_problem", ""),
    )
