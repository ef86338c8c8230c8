"""Steps that only say what a table is to us: when a plain table is taken over or handed back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.planning.phase import Phase

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName


@dataclass(frozen=True, slots=True)
class RaiseFence:
    """Commit a number to a plain table whose log may hold numbers that can no longer be read.

    The table stays a plain one. Numbers that are taken already make the step fail.
    """

    name: TableName
    seq: int
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class Release:
    """Say in a commit without rows that the table is a plain one from now on.

    Args:
        table_id: Our identity of the table until now.
        generation: The generation of its last definition.
    """

    name: TableName
    table_id: str
    generation: int
    seq: int
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class Unpublish:
    """Remove our properties from a table that was released; those of the user stay."""

    name: TableName
    phase: ClassVar[Phase] = Phase.AFTER
