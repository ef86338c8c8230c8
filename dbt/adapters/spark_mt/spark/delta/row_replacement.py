"""Replacement of rows that one scan of some columns finds, in a transaction of Delta itself.

Spark SQL has no statement for it: REPLACE WHERE takes a text, which a hundred thousand values make
too long, and a MERGE reads the table three times with all columns. Over Spark Connect, where
`driver_tables` cannot be used, a MERGE is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.spark.delta import driver_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.table_format import TableColumns


MOST_ROWS = 1_000_000
"""Up to how many rows are found by filters: the driver holds two hashes of each."""
LARGE_BYTES = 64 * 1024**2
"""From which size of its files on a table is not read with all columns to find rows in it."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows to be removed from a table.

    Args:
        rows: A query for them.
        count: How many there are.
        columns: Columns of the table by whose values they are found.
        one: A column whose values differ in all of them, and best in all rows, by which they are
            found in a large table; empty for none.
        within: Further conditions that all of them meet, each after AND.
    """

    rows: str
    count: int
    columns: tuple[str, ...]
    one: str = ""
    within: str = ""

    def condition(self, columns: Sequence[str]) -> str:
        """Return the condition of a DELETE, in which Java replaces each comparison of a hash."""
        listed = ", ".join(map(quote, columns))
        return f"xxhash64({listed}) = 0L AND xxhash64(1, {listed}) = 0L{self.within}"

    def hashes(self, columns: Sequence[str]) -> str:
        """Return a query for two hashes of each row."""
        listed = ", ".join(map(quote, columns))
        return f"SELECT xxhash64({listed}), xxhash64(1, {listed}) FROM (\n{self.rows}\n)"

    @property
    def predicate(self) -> str:
        """What the commit says of the rows that left."""
        return f"({', '.join(map(quote, self.columns))}) of {self.count} rows"


def can_replace(session: SparkSession, table: TableColumns, count: int) -> bool:
    """Whether `replace_rows` may be tried in a table with deletion vectors: not over Connect.

    Spark checks the lengths of CHAR and VARCHAR, and fills them up, in the statements of SQL only.
    """
    texts = any("CHAR(" in type_.upper() for type_ in table.types)
    known = bool(table.types) and table.comparable and not texts
    return known and 0 < count <= MOST_ROWS and driver_tables.is_possible(session)


def replace_rows(session: SparkSession, table: TableColumns, removal: Removal, added: str) -> bool:
    """Remove rows and add others, in one commit with the fence and metadata of the session.

    Args:
        session: A private session.
        table: The table.
        removal: The rows to remove.
        added: A query for the rows to add, in the columns of the table.

    Returns:
        Whether that is done. It is not, and nothing is written, where other rows have the same
        values, where rows are not there, and where Spark would cast values.
    """
    found = driver_tables.DriverTable.of(session, table.name)
    if found is None:
        return False
    delete, columns = f"DELETE FROM {table.name.sql} WHERE ", removal.columns
    found.find_by(f"{delete}{removal.condition(columns)}", removal.hashes(columns))
    if removal.one:
        one = (removal.one,)
        found.find_first_by(f"{delete}{removal.condition(one)}", removal.hashes(one), LARGE_BYTES)
    return found.replace(added, removal.count, removal.predicate)
