"""States of the relations of a query: before, after, and the rows by which they changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.query.operators import Scan

TABLE = -1
"""The occurrence of scans of the stored result."""
WEIGHT = "__materialized_table_weight"
"""The column that says of each changed row whether it is gained (1) or lost (-1)."""


class StateOf(Enum):
    """Which rows of a relation are read."""

    BEFORE = 0
    AFTER = 1
    ADDED = 2
    REMOVED = 3
    CHANGED = 4


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What happened to a relation.

    Args:
        adds: Whether rows were added.
        removes: Whether rows were removed.
        cancels: Whether a row that was added may be one that was removed again.
    """

    adds: bool = False
    removes: bool = False
    cancels: bool = False

    def __bool__(self) -> bool:
        return self.adds or self.removes


@dataclass(frozen=True, slots=True)
class RelationStates:
    """Texts that read one relation: valid after FROM, with the relation's columns.

    Args:
        before: The relation as the stored result has it, such as a version of a table.
        after: The relation as the new result must have it.
        added: A query in parentheses: the bag of rows added; empty for none.
        removed: A query in parentheses: the bag of rows removed; empty for none.
        changed: A query in parentheses: both bags, with the column `WEIGHT` after the relation's;
            empty unless rows were both added and removed.
        cancels: Whether a row may be in both bags: then its values cannot be compared.
    """

    before: str
    after: str
    added: str = ""
    removed: str = ""
    changed: str = ""
    cancels: bool = False

    def at(self, which: StateOf) -> str:
        """Return the text that reads some of the rows."""
        text = (self.before, self.after, self.added, self.removed, self.changed)[which.value]
        if not text:
            raise ValueError(which)
        return text


def place_of(scan: Scan, which: StateOf) -> int:
    """Return the occurrence of a scan of some of the rows of a relation."""
    return TABLE - 1 - len(StateOf) * scan.occurrence - which.value


def is_whole(scan: Scan) -> bool:
    """Whether all rows of a relation are read, and not what it gained or lost."""
    which = (TABLE - 1 - scan.occurrence) % len(StateOf)
    return scan.occurrence >= TABLE or StateOf(which) in {StateOf.BEFORE, StateOf.AFTER}
