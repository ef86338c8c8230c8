"""Tables on Delta Lake: statements that write, change and maintain them, and the fence."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.table_format import FENCE
from dbt.adapters.spark_mt.planning.properties import is_changed_by_row, location_of, properties_of
from dbt.adapters.spark_mt.query.bags import BagColumn, same_row
from dbt.adapters.spark_mt.spark.delta.changes import RangeReader
from dbt.adapters.spark_mt.spark.delta.driver_tables import DriverTable
from dbt.adapters.spark_mt.spark.delta.driver_views import version_rows
from dbt.adapters.spark_mt.spark.delta.row_changes import apply_changes, replace_keys
from dbt.adapters.spark_mt.spark.delta.stream import DeltaSource
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.session.private_session import set_for_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.table_format import TableColumns
    from dbt.adapters.spark_mt.spark.delta.log import DeltaLog
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader


_BATCH = "__materialized_table_batch"
_HOUR_MS = 3600 * 1000
_SMALL_FILE = "spark.databricks.delta.optimize.minFileSize"
_SMALL_FILE_BYTES = 16 * 1024 * 1024
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_MOST_LISTINGS, _FEWER_LISTINGS = "10000", "16"
"""In how many tasks VACUUM lists directories by Spark's default, and by ours. It starts all of
them, however few directories there are: 40 s on two cores."""


class DeltaTables:
    """Implementation of `execution.table_format.VersionedTables`; rows are the text of a query."""

    format = delta_format.FORMAT

    def __init__(self, history: DeltaLog) -> None:
        self.history = history
        self._is_checked = False

    def ref(self, name: TableName, location: str) -> TableRef:
        """As `VersionedTables.ref`; the path is where the log is."""
        return TableRef(name, self.format.name, location)

    def find(self, name: TableName) -> TableRef | None:  # noqa: ARG002 - it has no such catalog
        return None

    def directory(self, table: TableRef) -> str:
        return table.handle

    def identity(self, session: SparkSession, table: TableRef) -> str:
        """Return the id of a table; slow where the newest commits do not have it."""
        return self.history.table_id(table) or str(_detail(session, table.name)["id"] or "")

    def partition_columns(self, session: SparkSession, name: TableName) -> tuple[str, ...]:
        return tuple(_detail(session, name)["partitionColumns"])

    def changes(self, session: SparkSession) -> RangeReader:
        """Return a reader of changes."""
        return RangeReader(session, self.history)

    def as_of(self, table: TableRef, version: int) -> str:
        return delta_format.as_of(table.name, version)

    def opened(self, session: SparkSession, table: TableRef, version: int) -> str:
        """As `VersionedTables.opened`; of a table of many files, statistics leave out some."""
        size = self.history.size(table, version)
        view = ""
        if size is not None and size[0] <= delta_format.MOST_LISTED:
            view = version_rows(session, table, version)
        return view or self.as_of(table, version)

    def stream_source(
        self, session: SparkSession, name: TableName, reader: SparkSourceReader
    ) -> DeltaSource:
        """Open a table as a source of streams."""
        return DeltaSource(session, name, reader, self)

    def commit(
        self,
        session: SparkSession,
        name: TableName,  # noqa: ARG002 - the session says to which table it wrote
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write, whose commit carries the metadata and, with a number, the fence.

        Delta skips a write silently whose number is taken. The session then has no new version.

        Raises:
            MaterializedTableError: Commits of several drivers would not be serialized.
        """
        if not self._is_checked:
            delta_format.check_storage(session)
            self._is_checked = True
        conf = session.conf
        conf.set(delta_format.COMMIT_METADATA, metadata)
        if number is None:
            conf.unset(delta_format.FENCE_ID)
            conf.unset(delta_format.FENCE_NUMBER)
        else:
            conf.set(delta_format.FENCE_ID, fence)
            conf.set(delta_format.FENCE_NUMBER, str(number))
        conf.unset(delta_format.LAST_COMMIT)
        write()
        version = conf.get(delta_format.LAST_COMMIT, None)
        return None if version is None else int(version)

    def create(
        self,
        session: SparkSession,
        definition: StoredDefinition,
        rows: str,
        *,
        replace: bool = False,
    ) -> None:
        """Create a table with everything that it has from its first commit on, and with rows."""
        declared = definition.declared
        kind = f"CREATE {'OR REPLACE ' * replace}TABLE"
        clauses = [f"{kind} {definition.name.sql} USING {delta_format.FORMAT.name}"]
        if declared.partitioned_by:
            clauses.append(f"PARTITIONED BY ({', '.join(map(quote, declared.partitioned_by))})")
        if declared.clustered_by:
            clauses.append(f"CLUSTER BY ({', '.join(map(quote, declared.clustered_by))})")
        if (location := location_of(definition)) is not None:
            delta_format.check_storage(session, location)
            clauses.append(f"LOCATION {quote_text(location)}")
        if declared.comment is not None:
            clauses.append(f"COMMENT {quote_text(declared.comment)}")
        properties = dict(properties_of(definition, delta_format.FORMAT))
        if is_changed_by_row(definition):
            properties.setdefault(delta_format.DELETION_VECTORS, "true")
        clauses += [f"TBLPROPERTIES ({_listed(properties)})", f"AS {rows}"]
        session.sql("\n".join(clauses))

    def replace(
        self,
        session: SparkSession,
        name: TableName,
        rows: str,
        partitioned_by: Sequence[str] = (),
        *,
        by_row: bool = False,
    ) -> None:
        """Replace all rows, the columns and the partitioning of a table."""
        writer = session.sql(rows).write.format(delta_format.FORMAT.name).mode("overwrite")
        writer = writer.option("overwriteSchema", "true")
        if by_row:
            writer = writer.option(delta_format.DELETION_VECTORS, "true")
        if partitioned_by:
            writer = writer.partitionBy(*partitioned_by)
        writer.saveAsTable(name.sql)

    def overwrite(
        self, session: SparkSession, name: TableName, rows: str, *, adds_columns: bool = False
    ) -> None:
        table = None if adds_columns else DriverTable.of(session, name)
        if table is None or not table.overwrite(rows):
            with _adding_columns(session, enabled=adds_columns):
                session.sql(f"INSERT OVERWRITE TABLE {name.sql}\n{rows}")

    def overwrite_where(
        self, session: SparkSession, name: TableName, condition: str, rows: str
    ) -> None:
        """Replace the rows that meet a condition."""
        session.sql(f"INSERT INTO {name.sql} REPLACE WHERE {condition}\n{rows}")

    def append(
        self,
        session: SparkSession,
        name: TableName,
        rows: str,
        columns: Sequence[str] = (),
        *,
        adds_columns: bool = False,
    ) -> None:
        table = None if columns or adds_columns else DriverTable.of(session, name)
        if table is None or not table.append(rows):
            listed = f" ({', '.join(map(quote, columns))})" if columns else ""
            with _adding_columns(session, enabled=adds_columns):
                session.sql(f"INSERT INTO {name.sql}{listed}\n{rows}")

    def replace_keys(
        self,
        session: SparkSession,
        table: TableColumns,
        key: Sequence[str],
        rows: str,
        keys: str,
        *,
        adds_columns: bool = False,
    ) -> None:
        """Replace the rows of some keys by other rows, in one commit."""
        with _adding_columns(session, enabled=adds_columns):
            replace_keys(session, table, key, rows, keys, adds_columns=adds_columns)

    def upsert(
        self, session: SparkSession, definition: StoredDefinition, rows: str, key: Sequence[str]
    ) -> None:
        """Add rows, which take the place of those that have the same key.

        Delta keeps the rows of a batch while it merges them, and refuses those that we keep.
        """
        session.conf.set(delta_format.MERGE_SOURCE, "auto")
        columns = [quote(column.name) for column in definition.resolved.columns]
        types = {column.name.lower(): column.type for column in definition.resolved.columns}
        compared = (BagColumn(quote(name), exact=True, type=types[name.lower()]) for name in key)
        same = same_row(compared, "t", "s")
        session.sql(rows).createOrReplaceTempView(_BATCH)
        with set_for_now(
            session, delta_format.AS_STORED
        ):  # after Spark has analysed how sources are read
            session.sql(
                f"MERGE INTO {definition.name.sql} AS t USING {_BATCH} AS s ON {same}\n"
                f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)}\n"
                f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) "
                f"VALUES ({', '.join(f's.{c}' for c in columns)})"
            )

    def apply_changes(
        self, session: SparkSession, table: TableColumns, added: str, removed: str
    ) -> None:
        """Remove and add rows, as bags, in one commit.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        apply_changes(session, table, added, removed)

    def set_properties(
        self, session: SparkSession, name: TableName, properties: Mapping[str, str]
    ) -> None:
        session.sql(f"ALTER TABLE {name.sql} SET TBLPROPERTIES ({_listed(properties)})")

    def unset_properties(self, session: SparkSession, name: TableName, keys: Sequence[str]) -> None:
        texts = ", ".join(map(quote_text, keys))
        session.sql(f"ALTER TABLE {name.sql} UNSET TBLPROPERTIES IF EXISTS ({texts})")

    def add_not_null(
        self, session: SparkSession, name: TableName, constraint: str, column: str
    ) -> None:
        """Let a table refuse NULL in a column; Delta reads the rows that are there."""
        condition = f"CHECK ({quote(column)} IS NOT NULL)"
        session.sql(f"ALTER TABLE {name.sql} ADD CONSTRAINT {quote(constraint)} {condition}")

    def drop_constraint(self, session: SparkSession, name: TableName, constraint: str) -> None:
        session.sql(f"ALTER TABLE {name.sql} DROP CONSTRAINT IF EXISTS {quote(constraint)}")

    def cluster(self, session: SparkSession, name: TableName, columns: Sequence[str]) -> None:
        by = f"({', '.join(map(quote, columns))})" if columns else "NONE"
        session.sql(f"ALTER TABLE {name.sql} CLUSTER BY {by}")

    def compact(self, session: SparkSession, name: TableName) -> None:
        """Merge small files; Delta marks that the commit changes no row.

        Delta's own limit is 1 GiB, below which one small file more has all of a table rewritten.
        """
        if session.conf.get(_SMALL_FILE, None) is None:
            session.conf.set(_SMALL_FILE, _SMALL_FILE_BYTES)
        session.sql(f"OPTIMIZE {name.sql}")

    def vacuum(self, session: SparkSession, name: TableName, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that.

        Args:
            session: A private one.
            name: The table.
            kept_ms: How long a replaced file is kept, in milliseconds.
        """
        if session.conf.get(_LISTING) == _MOST_LISTINGS:
            session.conf.set(_LISTING, _FEWER_LISTINGS)
        session.sql(f"VACUUM {name.sql} RETAIN {-(-kept_ms // _HOUR_MS)} HOURS")


def _listed(properties: Mapping[str, str]) -> str:
    """Return properties as TBLPROPERTIES (…) takes them."""
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(properties.items()))


def _detail(session: SparkSession, name: TableName) -> Row:
    return session.sql(f"DESCRIBE DETAIL {name.sql}").collect()[0]


@contextmanager
def _adding_columns(session: SparkSession, *, enabled: bool) -> Iterator[None]:
    """Let a write append columns to the table while the block runs."""
    if not enabled:
        yield
        return
    session.conf.set(delta_format.ADD_COLUMNS, "true")
    try:
        yield
    finally:
        session.conf.set(delta_format.ADD_COLUMNS, "false")
