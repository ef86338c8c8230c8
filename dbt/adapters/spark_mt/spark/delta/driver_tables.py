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

from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.session import driver_java
from dbt.adapters.spark_mt.spark.session.errors import is_spark_error
from dbt.adapters.spark_mt.spark.session.private_session import active, is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName


SOURCE = Path(__file__).with_name("DriverTable.java")
NESTED = ("Bound",)
_LOGGER = logging.getLogger(__name__)


def is_possible(session: SparkSession) -> bool:
    """Whether a write with the fence of a session may be tried: not over Connect."""
    return not is_connect(session) and session.conf.get(delta_format.FENCE_NUMBER, None) is not None


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
        if not is_possible(session):
            return None
        try:
            java = driver_java.compiled(session, SOURCE, NESTED)
        except Exception as error:
            if not is_spark_error(error):
                raise
            problem = problem_of(error)
            _LOGGER.warning("SQL changes %s: Delta's classes do not fit (%s).", name, problem)
            return None
        classic: Any = session
        made = driver_java.new_object(session, java, classic._jsparkSession, name.sql)  # noqa: SLF001 - no public way to the JVM
        return cls(session, name, made)

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

    def find_by(self, statement: str, hashes: str) -> None:
        """Name the columns that find rows to remove.

        Args:
            statement: A DELETE of the rows whose two hashes are 0.
            hashes: A query for the two hashes of each row to remove.
        """
        self.java.findBy(statement, self._frame(hashes))

    def find_first_by(self, statement: str, hashes: str, least_bytes: int) -> None:
        """Find them in a table of so many bytes and more by fewer columns first."""
        self.java.findFirstBy(statement, self._frame(hashes), least_bytes)

    def replace(self, rows: str, expected: int, predicate: str) -> bool:
        """Add the rows of a query in place of those that are found; return whether that is done.

        Args:
            rows: The query.
            expected: How many rows are to be removed: nothing is written where others are found.
            predicate: What the commit says of its condition.
        """
        self._begin(rows)
        return self._is_done(self.java.replace(expected, predicate))

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
