"""From where a table counts the rows of its sources, when that is not their beginning.

Semantics 7, "Baseline": such a table holds the rows that were kept, and the query over the source
rows that were added after the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition

ADOPTED = "adopted"
"""The reason of a table whose rows were there before it became a materialized table."""
SourcePositions = tuple[tuple[str, "FollowedPosition"], ...]
"""Positions of followed sources by their full names, sorted."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a table was when its query began to count, and from where it counts its sources.

    Args:
        positions: Rows added to a followed source after its position count. Sources that are only
            looked up have none: they are read whole.
        kept_version: The table's own version whose rows stay; None where none were kept.
        reason: Why, for people: `START_MODE = FROM_NOW`.
    """

    positions: SourcePositions
    kept_version: int | None
    reason: str

    @property
    def keeps_rows(self) -> bool:
        """Whether the table has rows that its query does not account for."""
        return self.kept_version is not None

    @property
    def is_adopted(self) -> bool:
        """Whether the kept rows were trusted to be what the query has up to the positions.

        They stay until a refresh computes the whole table, which nothing forbids (semantics 10).
        """
        return self.reason == ADOPTED

    def describe(self) -> str:
        """Say it for people, in one line."""
        kept = (
            "no older rows are kept"
            if self.kept_version is None
            else f"the rows of its version {self.kept_version} are kept"
        )
        if self.is_adopted:
            return (
                f"rows up to version {self.kept_version} come from the adopted table until the "
                "first full refresh, which computes all rows from the sources"
            )
        counted = ", ".join(f"{name} after {position}" for name, position in self.positions)
        return f"{self.reason}: {kept}; rows count from {counted}"
