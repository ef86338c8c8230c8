"""Transactions on Iceberg tables: what several statements change, published at once.

Iceberg commits each statement of Spark alone, and reconciles an append with any commit before it.
So no number can fence such a statement. In a transaction, statements write to what no reader sees.
It is published if `main` is where it was when the transaction began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.planning.properties import DEFINITION
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.history import commit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.iceberg.metadata import TableMetadata


class Transaction(Protocol):
    """A transaction on one table."""

    @property
    def before(self) -> TableMetadata:
        """The metadata from which the transaction began."""

    @property
    def now(self) -> TableMetadata:
        """The metadata with what the transaction changed so far."""

    def fitted(self, rows: str) -> str:
        """Return rows with NULL in the columns that an unfinished write has added to the table."""

    def execute(self, statement: Callable[[str], str]) -> None:
        """Run an INSERT or a MERGE into the table of the transaction.

        Args:
            statement: Returns the statement for the table to write to. Its queries read what the
                catalog has.
        """

    def add_columns(self, rows: str) -> None:
        """Add the columns of a query that the table lacks, the last ones."""

    def replace(self, rows: str, partitioned_by: Sequence[str]) -> None:
        """Give the table the columns and the rows of a query, and other partitions.

        It stays the same table, with its properties and its snapshots. Its columns stay NOT NULL
        where it still has them.

        Raises:
            MaterializedTableError: The columns or partitions are others, and cannot be replaced.
        """

    def change_properties(self, changed: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties."""

    def change_nullability(self, column: str, *, is_nullable: bool) -> None:
        """Let the table take NULL in a column, or refuse it; no row is read.

        Raises:
            MaterializedTableError: A column cannot be made to refuse it.
        """

    def publish(self) -> int:
        """Make what the transaction changed the state of the table; return its version.

        Raises:
            CommitConflictError, pyspark.errors.PySparkException, py4j.protocol.Py4JError: The table
                changed since the transaction began, or the catalog failed.
        """

    def abandon(self) -> None:
        """Remove what the transaction wrote, where it is not published."""


def staged(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the columns of a table that a write has added and not yet published.

    A process that was killed after it had published them leaves their marks. So a column counts
    only if no definition of the table has it, neither the property nor that of a snapshot.
    """
    marked = iceberg_format.FORMAT.staged_columns(metadata.properties)
    if not marked:
        return ()
    known = _published_columns(metadata)
    if known is None:
        return ()
    return tuple(c for c in metadata.columns if c.lower() in marked - known)


def obsolete_marks(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the properties that mark columns which are published, or gone."""
    kept = {column.lower() for column in staged(metadata)}
    prefix = iceberg_format.STAGED
    keys = (key for key in metadata.properties if key.startswith(prefix))
    return tuple(key for key in keys if key.removeprefix(prefix).lower() not in kept)


def _published_columns(metadata: TableMetadata) -> set[str] | None:
    """Return the columns, in lower case, of the definitions of a table; None if one is unknown."""
    commits = (commit_of(each) for each in metadata.ancestry(metadata.head))
    newest = next((each.definition for each in commits if each and each.definition), None)
    texts = filter(None, (metadata.properties.get(DEFINITION), newest))
    try:
        found = [decode_definition(text, "") for text in texts]
    except UnreadableDefinitionError:
        return None
    return {column.name.lower() for each in found for column in each.resolved.columns}


def fitted(spark: SparkSession, metadata: TableMetadata, rows: str) -> str:
    """Return rows with NULL in those staged columns of a table that they lack, the last ones."""
    if not staged(metadata):
        return rows
    missing = metadata.columns[len(spark.sql(rows).columns) :]
    nulls = "".join(f", NULL AS {quote(column)}" for column in missing)
    return f"SELECT *{nulls} FROM (\n{rows}\n)" if missing else rows
