"""Replacement of rows that one scan of some columns finds, in a transaction of Delta itself.

Spark SQL has no statement for it: REPLACE WHERE takes a text, which a hundred thousand values make
too long, and a MERGE reads the table three times with all columns. So the driver runs Delta's own
DELETE and write in one transaction, by a class of Java that it compiles. Over Spark Connect the
driver is another process, and a MERGE is left.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.session import driver_java
from dbt.adapters.spark_mt.spark.session.errors import is_spark_error
from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.table_format import TableColumns


SOURCE = Path(__file__).with_name("RowReplacement.java")
MOST_ROWS = 1_000_000
"""Up to how many rows are found by filters: the driver holds two hashes of each."""
LARGE_BYTES = 64 * 1024**2
"""From which size of its files on a table is not read with all columns to find rows in it."""
_LOGGER = logging.getLogger(__name__)


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
    if is_connect(session) or not known or not 0 < count <= MOST_ROWS:
        return False
    return session.conf.get(delta_format.FENCE_NUMBER, None) is not None


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
    try:
        java = driver_java.compiled(session, SOURCE)
    except Exception as error:
        if not is_spark_error(error):
            raise
        problem = problem_of(error)
        _LOGGER.warning("A MERGE changes %s: Delta's classes do not fit (%s).", table.name, problem)
        return False
    conf, number = session.conf, driver_java.java_class(session, "java.lang.Long").valueOf

    def frame(text: str) -> Any:  # noqa: ANN401 - of the JVM
        made: Any = session.sql(text)
        return made._jdf  # noqa: SLF001 - as above

    classic: Any = session
    made = driver_java.new_object(
        session,
        java,
        classic._jsparkSession,  # noqa: SLF001 - as above
        conf.get(delta_format.FENCE_ID),
        number(int(conf.get(delta_format.FENCE_NUMBER) or 0)),
        frame(added),
        number(removal.count),
    )
    delete, columns = f"DELETE FROM {table.name.sql} WHERE ", removal.columns
    hashes = frame(removal.hashes(columns))
    made.findBy(f"{delete}{removal.condition(columns)}", hashes, removal.predicate)
    if removal.one:
        one = (removal.one,)
        hashes = frame(removal.hashes(one))
        made.findFirstBy(f"{delete}{removal.condition(one)}", hashes, LARGE_BYTES)
    outcome = str(made.run())
    if outcome:
        _LOGGER.debug("Rows of %s are not replaced by one scan: %s.", table.name, outcome)
    return not outcome
