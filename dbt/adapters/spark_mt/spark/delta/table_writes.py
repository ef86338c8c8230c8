"""Fenced writes in a transaction of Delta itself, without a job that reads the table's log.

A statement of SQL whose commit takes a number of the fence reads the state of the table first, in
three jobs. So the driver writes by a class of Java that it compiles, which takes the last number,
and the files of a small table, from the checksum of the last commit. Over Spark Connect the driver
is another process, and the statements are left.
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
from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName


SOURCE = Path(__file__).with_name("TableWrite.java")
NESTED = ("Bound",)
_LOGGER = logging.getLogger(__name__)


def is_possible(session: SparkSession) -> bool:
    """Whether a write with the fence of a session may be tried: not over Connect."""
    return not is_connect(session) and session.conf.get(delta_format.FENCE_NUMBER, None) is not None


@dataclass(frozen=True, slots=True)
class TableWrite:
    """One write of rows, in one commit with the fence and metadata of a session.

    It is not made, and nothing is written, where Spark would cast the rows to the columns of the
    table, or check the lengths of texts.

    Args:
        session: A private session.
        table: The table.
        java: The object that writes.
    """

    session: SparkSession
    table: TableName
    java: Any

    @classmethod
    def of(cls, session: SparkSession, table: TableName, rows: str) -> TableWrite | None:
        """Return the write of the rows of a query; None where the driver has no such class."""
        if not is_possible(session):
            return None
        try:
            java = driver_java.compiled(session, SOURCE, NESTED)
        except Exception as error:
            if not is_spark_error(error):
                raise
            problem = problem_of(error)
            _LOGGER.warning("SQL changes %s: Delta's classes do not fit (%s).", table, problem)
            return None
        conf, number = session.conf, driver_java.java_class(session, "java.lang.Long").valueOf
        classic: Any = session
        made = driver_java.new_object(
            session,
            java,
            classic._jsparkSession,  # noqa: SLF001 - no public way to the JVM
            table.sql,
            conf.get(delta_format.FENCE_ID),
            number(int(conf.get(delta_format.FENCE_NUMBER) or 0)),
            _frame(session, rows),
        )
        return cls(session, table, made)

    def append(self) -> bool:
        """Add the rows; return whether that is done."""
        return self._is_done(self.java.append())

    def overwrite(self) -> bool:
        """Add the rows in place of all that are there; return whether that is done."""
        return self._is_done(self.java.overwrite())

    def find_by(self, statement: str, hashes: str) -> None:
        """Name the columns that find rows to remove.

        Args:
            statement: A DELETE of the rows whose two hashes are 0.
            hashes: A query for the two hashes of each row to remove.
        """
        self.java.findBy(statement, _frame(self.session, hashes))

    def find_first_by(self, statement: str, hashes: str, least_bytes: int) -> None:
        """Find them in a table of so many bytes and more by fewer columns first."""
        self.java.findFirstBy(statement, _frame(self.session, hashes), least_bytes)

    def replace(self, expected: int, predicate: str) -> bool:
        """Add the rows in place of those that are found; return whether that is done.

        Args:
            expected: How many rows are to be removed: nothing is written where others are found.
            predicate: What the commit says of its condition.
        """
        return self._is_done(self.java.replace(expected, predicate))

    def _is_done(self, outcome: str) -> bool:
        if outcome:
            _LOGGER.debug("SQL writes to %s: %s.", self.table, outcome)
        return not outcome


def _frame(session: SparkSession, text: str) -> Any:  # noqa: ANN401 - of the JVM
    made: Any = session.sql(text)
    return made._jdf  # noqa: SLF001 - no public way to the JVM
