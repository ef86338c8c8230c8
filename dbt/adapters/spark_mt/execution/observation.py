"""What checks need from the world beside what statements need, as a protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.commit_facts import CommitKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.catalog_facts import CatalogFacts
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.history import Commit
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


class Side(Enum):
    """Where a row is that the other side lacks."""

    MISSING = "missing"
    """The query gives it, the table does not have it."""
    UNEXPECTED = "unexpected"
    """The table has it, the query does not give it."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that table and query do not have equally often.

    Args:
        row: As JSON.
        copies: How many more of it one side has.
    """

    side: Side
    row: str
    copies: int


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """The first differing rows, and how many there are, copies counted."""

    rows: tuple[RowDifference, ...] = ()
    total: int = 0


class TableObserver(Protocol):
    """Looks at tables without changing anything."""

    def facts(self, name: TableName) -> CatalogFacts:
        """Return what the catalog has about a table that is there."""
        ...

    def differences(self, table: StoredTable, run: RefreshRun, limit: int) -> RowDifferences:
        """Compare a table with its query, as bags of rows.

        The query is computed over the positions of `run`; from a baseline on, it is the rows that
        were kept and what was added to them, by the same rules as a refresh.

        Args:
            table: The table; its rows are read as of its version.
            run: The state of the sources.
            limit: How many differing rows to return at most.

        Raises:
            ComparisonFailedError: They cannot be compared.
        """
        ...

    def is_partly_refreshed(self, table: StoredTable) -> bool:
        """Whether partitions were refreshed to another state of the sources than the rest."""
        ...


def partly_refreshed(commits: Iterable[Commit], positions: Positions | None) -> bool:
    """Whether commits wrote partitions over another state of the sources than `positions`.

    Args:
        commits: Of a table, newest first; read up to the last one that wrote all rows.
        positions: The state that the table's rows reflect.
    """
    for commit in commits:
        facts = commit.facts
        if facts is None:
            continue
        if facts.kind is CommitKind.PARTITION and facts.partition_positions != positions:
            return True
        if facts.kind is CommitKind.CONTENT:
            return False
    return False
