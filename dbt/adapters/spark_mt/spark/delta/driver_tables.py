"""Tables that the driver reads and writes without a job that reads their logs.

A statement of SQL whose commit takes a number of the fence reads the state of the table first, in
three jobs. So does a query. The driver runs a class of Java that it compiles, which takes the last
number, and the files of a small table, from the checksum of the last commit. Over Spark Connect
the driver is another process, and the statements are left.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.session import driver_java
from dbt.adapters.spark_mt.spark.session.private_session import active, is_connect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.table_format import TableColumns


SOURCE = Path(__file__).with_name("DriverTable.java")
NESTED = ("Bound",)
MOST_ROWS, _BYTES_PER_ROW = 1_000_000, 3_000
"""Up to how many rows are found by filters, and how large the heap must be for each of them: the
driver and each task hold two hashes of each row. With a heap of 1 GB, 860,000 rows were too many.
"""
LARGE_BYTES = 64 * 1024**2
"""From which size of its files on a table is not read with all columns to find rows in it."""
_LOGGER = logging.getLogger(__name__)


def is_possible(session: SparkSession) -> bool:
    """Whether a write with the fence of a session may be tried: not over Connect."""
    return not is_connect(session) and session.conf.get(delta_format.FENCE_NUMBER, None) is not None


def listed_files(session: SparkSession, snapshot: Any) -> Any | None:  # noqa: ANN401 - of the JVM
    """Return the files of a version of a table, which the checksum of its commit lists.

    Args:
        session: A classic session.
        snapshot: The version, an object of the JVM.

    Returns:
        A sequence of the JVM; None where the checksum does not list all of them.
    """
    java = _java(session, "")
    return None if java is None else java.listed(snapshot)


def _java(session: SparkSession, name: str) -> Any | None:  # noqa: ANN401 - of the JVM
    found = driver_java.fitting(session, SOURCE, NESTED)
    classic: Any = session
    if found is None:
        return None
    return driver_java.new_object(session, found, classic._jsparkSession, name)  # noqa: SLF001 - no public way to the JVM


def can_replace(session: SparkSession, table: TableColumns, count: int) -> bool:
    """Whether `DriverTable.replace` may be tried in a table with deletion vectors.

    Spark checks the lengths of CHAR and VARCHAR, and fills them up, in the statements of SQL only.
    """
    texts = any("CHAR(" in type_.upper() for type_ in table.types)
    known = bool(table.types) and table.comparable and not texts
    if not known or not 0 < count <= MOST_ROWS or not is_possible(session):
        return False
    return count * _BYTES_PER_ROW <= driver_java.heap_bytes(session)


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


@dataclass(frozen=True, slots=True)
class DriverTable:
    """A table that the driver reads and writes.

    A write has the fence and the metadata of the session. It is not made, and nothing is written,
    where Spark would cast the rows to the columns of the table, or check the lengths of texts.

    Args:
        session: A private session.
        name: The table.
        java: The object that reads and writes.
    """

    session: SparkSession
    name: TableName
    java: Any

    @classmethod
    def of(cls, session: SparkSession, name: TableName) -> DriverTable | None:
        """Return a table; None where the driver has no such class, or the session no fence."""
        java = _java(session, name.sql) if is_possible(session) else None
        return None if java is None else cls(session, name, java)

    def rows(self, condition: str) -> DataFrame | None:
        """Return the rows in the files that may have rows that meet a condition.

        Args:
            condition: The condition, on columns of `t`.

        Returns:
            None where the checksum of the last commit does not list the files.
        """
        from pyspark.sql import DataFrame

        with active(self.session):
            found = self.java.rows(condition)
        return None if found is None else DataFrame(found, self.session)

    def append(self, rows: str) -> bool:
        """Add the rows of a query; return whether that is done."""
        self._begin(rows)
        return self._is_done(self.java.append())

    def overwrite(self, rows: str) -> bool:
        """Add the rows of a query in place of all that are there; return whether that is done."""
        self._begin(rows)
        return self._is_done(self.java.overwrite())

    def replace(self, rows: str, removal: Removal) -> bool:
        """Add the rows of a query in place of those that one scan finds; return whether it is done.

        It is not where other rows have the same values, and where rows are not there.
        """
        self._begin(rows)
        delete, columns = f"DELETE FROM {self.name.sql} WHERE ", removal.columns
        hashes = self._frame(removal.hashes(columns))
        self.java.findBy(f"{delete}{removal.condition(columns)}", hashes)
        if removal.one:
            one = (removal.one,)
            hashes = self._frame(removal.hashes(one))
            self.java.findFirstBy(f"{delete}{removal.condition(one)}", hashes, LARGE_BYTES)
        return self._is_done(self.java.replace(removal.count, removal.predicate))

    def _begin(self, rows: str) -> None:
        conf = self.session.conf
        number = int(conf.get(delta_format.FENCE_NUMBER) or 0)
        self.java.begin(conf.get(delta_format.FENCE_ID), number, self._frame(rows))

    def _frame(self, text: str) -> Any:  # noqa: ANN401 - of the JVM
        made: Any = self.session.sql(text)
        return made._jdf  # noqa: SLF001 - no public way to the JVM

    def _is_done(self, outcome: str) -> bool:
        if outcome:
            _LOGGER.debug("SQL writes to %s: %s.", self.name, outcome)
        return not outcome
