"""Tables on Apache Iceberg: statements that write, change and maintain them, and the fence.

A write with a number runs in a transaction, which is published only if the table is as it was. Its
number is then the value of a property, which neither a rollback nor the expiry of snapshots lowers.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.table_format import Capability, TableRef
from dbt.adapters.spark_mt.execution.table_format import FENCE, RowsNotThereError
from dbt.adapters.spark_mt.planning.properties import location_of, properties_of
from dbt.adapters.spark_mt.query.bags import BagColumn, same_row
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import outcomes
from dbt.adapters.spark_mt.spark.iceberg import releases as iceberg_releases
from dbt.adapters.spark_mt.spark.iceberg.branch_transactions import (
    BranchTransaction,
    unpublishable,
)
from dbt.adapters.spark_mt.spark.iceberg.changes import RangeReader
from dbt.adapters.spark_mt.spark.iceberg.driver_transactions import DriverTransaction
from dbt.adapters.spark_mt.spark.iceberg.history import down_to_ours, highest_number
from dbt.adapters.spark_mt.spark.iceberg.metadata import EMPTY
from dbt.adapters.spark_mt.spark.iceberg.stream import IcebergSource
from dbt.adapters.spark_mt.spark.query import row_merges
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.kept_rows import kept_rows
from dbt.adapters.spark_mt.spark.session.outages import suppress_outages
from dbt.adapters.spark_mt.spark.session.private_session import is_connect, set_for_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.table_format import TableColumns
    from dbt.adapters.spark_mt.spark.iceberg.history import IcebergHistory
    from dbt.adapters.spark_mt.spark.iceberg.metadata import TableMetadata
    from dbt.adapters.spark_mt.spark.iceberg.transactions import Transaction
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader

_BATCH = "__materialized_table_batch"
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")
_DAY_MS = 24 * 3600 * 1000
_ORPHANS_KEPT_MS = 3 * _DAY_MS
"""How long a file stays that no snapshot has: a write that runs longer would lose its files."""


class NotNullExistsError(Exception):
    """The table refuses NULL in the column already."""


class NullsError(Exception):
    """The table has NULL in a column that was to refuse it."""


class IcebergSources:
    """Implementation of `execution.table_format.SourceTables`; rows are the text of a query.

    Args:
        spark: The session whose catalogs have the tables.
        history: Reads their metadata.
    """

    format = iceberg_format.FORMAT

    def __init__(self, spark: SparkSession, history: IcebergHistory) -> None:
        self._spark = spark
        self.history = history

    def ref(self, name: TableName, location: str) -> TableRef:
        """As `SourceTables.ref`.

        Raises:
            MaterializedTableError: Its catalog keeps tables in a cache.
            MaterializedTableError: No Iceberg is tested with this Spark.
        """
        self._check(name)
        return TableRef(name, self.format.name, location)

    def find(self, name: TableName) -> TableRef | None:
        """As `SourceTables.find`; None for a view, and for tables that keep no versions."""
        if is_connect(self._spark):
            return None
        found = self.history.metadata(TableRef(name, self.format.name, ""))
        if found is None or self.format.unversioned.get("format-version") == str(
            found.format_version
        ):
            return None
        return self.ref(name, found.location)

    def directory(self, table: TableRef) -> str:
        return table.handle

    def identity(self, session: SparkSession, table: TableRef) -> str:  # noqa: ARG002 - of the port
        found = self.history.metadata(table)
        return "" if found is None else found.uuid

    def partition_columns(
        self,
        session: SparkSession,  # noqa: ARG002 - of the port
        name: TableName,
    ) -> tuple[str, ...]:
        found = self.history.metadata(TableRef(name, self.format.name, ""))
        return () if found is None else found.partitioned_by

    def changes(self, session: SparkSession) -> RangeReader:
        return RangeReader(session, self.history, self.as_of)

    def opened(self, session: SparkSession, table: TableRef, version: int) -> str:  # noqa: ARG002 - of the port
        return self.as_of(table, version)

    def as_of(self, table: TableRef, version: int) -> str:
        """As `SourceTables.as_of`; the table before its first snapshot is a sample of no rows.

        The catalog is asked: a version that has expired is named here, and not by Spark.
        """
        found = self.history.metadata(table)
        snapshot = None if found is None else found.at(version)
        if snapshot is not None:
            return f"{table.name.sql} VERSION AS OF {snapshot.id}"
        if found is not None and version == EMPTY:
            return f"{table.name.sql} TABLESAMPLE (0 ROWS)"
        problem = f"it has no snapshot of version {version}"
        raise conditions.SOURCE_NOT_FOUND(source=table.name, problem=problem)

    def _check(self, name: TableName) -> None:
        iceberg_releases.check_spark(self._spark.version)
        iceberg_format.check_cache(self._catalog(name), self._conf)

    def _catalog(self, name: TableName) -> str:
        return name.catalog or str(self._spark.catalog.currentCatalog())

    def _conf(self, key: str) -> str | None:
        return self._spark.conf.get(key, None)


class IcebergTables(IcebergSources):
    """Implementation of `execution.table_format.VersionedTables`.

    Each method that changes rows or columns takes part in the transaction of `commit`. Without one
    it has a transaction of its own.
    """

    def __init__(self, spark: SparkSession, history: IcebergHistory) -> None:
        super().__init__(spark, history)
        self._open: WeakKeyDictionary[SparkSession, Transaction] = WeakKeyDictionary()

    def _begin(self, session: SparkSession, name: TableName) -> Transaction | None:
        """Begin a transaction on the table of a name; None where there is none."""
        return DriverTransaction.begin(session, self._asked(name))

    def stream_source(
        self, session: SparkSession, name: TableName, reader: SparkSourceReader
    ) -> IcebergSource:
        """Open a table as a source of streams."""
        return IcebergSource(session, name, reader, self)

    def commit(
        self,
        session: SparkSession,
        name: TableName,
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write, whose snapshot has the metadata, and its table the number.

        CREATE TABLE needs no fence: the catalog lets one of several succeed.
        """
        self._check(name)
        iceberg_format.check_commits(self._catalog(name), self._conf)
        begun = None if number is None else self._begin(session, name)
        with set_for_now(session, {iceberg_format.SUMMARY: metadata} if metadata else {}):
            if begun is None:
                self._write_alone(name, metadata, number, write)
                found = self._asked(name).state("it was written, and then the catalog was away")
                return -1 if found is None else found.newest
            if number is None or number <= highest_number(begun.before, fence):
                return None
            self._open[session] = begun
            with _abandoned_on_failure(begun):
                try:
                    write()
                finally:
                    del self._open[session]
        begun.change_properties({iceberg_format.fence_property(fence): str(number)})
        return self._published(session, name, begun)

    def _write_alone(
        self, name: TableName, metadata: str, number: int | None, write: Callable[[], object]
    ) -> None:
        """Run a write without a transaction: it creates the table, or may be made twice."""
        if number is not None:
            with outcomes.settled_creation(self._asked(name), metadata):
                write()
        elif metadata:
            outcomes.repeated(write)
        else:
            write()

    def _asked(self, name: TableName) -> outcomes.Asked:
        table = TableRef(name, self.format.name, "")
        return outcomes.Asked(name, self._catalog(name), lambda: self.history.metadata(table))

    def create(
        self,
        session: SparkSession,
        definition: StoredDefinition,
        rows: str,
        *,
        replace: bool = False,
    ) -> None:
        """Create a table with everything that it has from its first snapshot on, and with rows."""
        declared = definition.declared
        kind = f"CREATE {'OR REPLACE ' * replace}TABLE"
        clauses = [f"{kind} {definition.name.sql} USING {self.format.name}"]
        if declared.partitioned_by:
            clauses.append(f"PARTITIONED BY ({', '.join(map(quote, declared.partitioned_by))})")
        if (location := location_of(definition)) is not None:
            clauses.append(f"LOCATION {quote_text(location)}")
        if declared.comment is not None:
            clauses.append(f"COMMENT {quote_text(declared.comment)}")
        properties = properties_of(definition, self.format)
        clauses += [f"TBLPROPERTIES ({_listed(properties)})", f"AS {rows}"]
        session.sql("\n".join(clauses))

    def replace(
        self,
        session: SparkSession,
        name: TableName,
        rows: str,
        partitioned_by: Sequence[str] = (),
        *,
        by_row: bool = False,  # noqa: ARG002 - files are written again, whatever changes
    ) -> None:
        """Replace all rows, the columns and the partitioning of a table."""
        begun = self._open.get(session) or self._begin(session, name)
        if begun is None:
            by = f"PARTITIONED BY ({', '.join(map(quote, partitioned_by))}) " * bool(partitioned_by)
            session.sql(f"CREATE TABLE {name.sql} USING {self.format.name} {by}AS\n{rows}")
            return
        with self._transaction(session, name, begun) as transaction:
            transaction.replace(rows, partitioned_by)

    def overwrite(
        self, session: SparkSession, name: TableName, rows: str, *, adds_columns: bool = False
    ) -> None:
        def statement(table: str, rows: str) -> str:
            return f"INSERT OVERWRITE TABLE {table}\n{rows}"

        self._write(session, name, rows, statement, adds_columns=adds_columns)

    def overwrite_where(
        self, session: SparkSession, name: TableName, condition: str, rows: str
    ) -> None:
        """Replace the rows that meet a condition; whole partitions are replaced by their files.

        Files of partitions that the table had before may have other rows, too. Then Iceberg refuses
        the condition, and all rows are written again.
        """
        columns = {column.replace("``", "`").lower() for column in _QUOTED.findall(condition)}
        found = self.history.metadata(TableRef(name, self.format.name, ""))
        partitions = found.partitioned_by if found and found.specs == 1 else ()
        are_partitions = columns <= {column.lower() for column in partitions}

        def statement(table: str, rows: str) -> str:
            if are_partitions:
                return f"INSERT INTO {table} REPLACE WHERE {condition}\n{rows}"
            others = f"SELECT * FROM {name.sql} WHERE NOT coalesce({condition}, false)"
            both = f"{others}\nUNION ALL\nSELECT * FROM (\n{rows}\n)"
            return f"INSERT OVERWRITE TABLE {table}\n{both}"

        self._write(session, name, rows, statement)

    def append(
        self,
        session: SparkSession,
        name: TableName,
        rows: str,
        columns: Sequence[str] = (),
        *,
        adds_columns: bool = False,
    ) -> None:
        listed = f" ({', '.join(map(quote, columns))})" if columns else ""

        def statement(table: str, rows: str) -> str:
            return f"INSERT INTO {table}{listed}\n{rows}"

        is_whole = not columns
        self._write(session, name, rows, statement, adds_columns=adds_columns, is_whole=is_whole)

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
        with kept_rows(session) as kept:
            source = kept.keep_source(row_merges.keyed_query(key, rows, keys))

            def merge(into: str) -> str:
                return row_merges.keyed_statement(
                    table, key, source.view, into=into, adds_columns=adds_columns
                )

            self._merge(session, table.name, merge, rows if adds_columns else "")

    def upsert(
        self, session: SparkSession, definition: StoredDefinition, rows: str, key: Sequence[str]
    ) -> None:
        """Add rows, which take the place of those that have the same key."""
        columns = [quote(column.name) for column in definition.resolved.columns]
        types = {column.name.lower(): column.type for column in definition.resolved.columns}
        compared = (BagColumn(quote(name), exact=True, type=types[name.lower()]) for name in key)
        session.sql(rows).createOrReplaceTempView(_BATCH)
        rest = (
            f"AS t USING {_BATCH} AS s ON {same_row(compared, 't', 's')}\n"
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)}\n"
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) "
            f"VALUES ({', '.join(f's.{c}' for c in columns)})"
        )
        self._merge(session, definition.name, lambda into: f"MERGE INTO {into} {rest}")

    def apply_changes(
        self, session: SparkSession, table: TableColumns, added: str, removed: str
    ) -> None:
        """Remove and add rows, as bags, in one commit.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        with kept_rows(session) as kept:
            missing = f"max({row_merges.WANTED} - {row_merges.THERE})"
            copies = kept.keep(row_merges.copies_query(table, removed), missing)
            if copies.rows and copies.measures[0] > 0:
                raise RowsNotThereError(row_merges.NOT_THERE)
            rows = row_merges.bag_query(table, added, copies.view if copies.rows else "")
            source = kept.keep_source(rows)
            try:
                with unlogged():
                    merge = partial(row_merges.bag_statement, table, source.view)
                    self._merge(session, table.name, lambda into: merge(into=into))
            except Exception as error:
                if is_spark_error(error) and row_merges.NOT_THERE in failure_of(error).message:
                    raise RowsNotThereError(row_merges.NOT_THERE) from error
                raise

    def set_properties(
        self, session: SparkSession, name: TableName, properties: Mapping[str, str]
    ) -> None:
        if properties:
            session.sql(f"ALTER TABLE {name.sql} SET TBLPROPERTIES ({_listed(properties)})")

    def unset_properties(self, session: SparkSession, name: TableName, keys: Sequence[str]) -> None:
        texts = ", ".join(map(quote_text, keys))
        session.sql(f"ALTER TABLE {name.sql} UNSET TBLPROPERTIES IF EXISTS ({texts})")

    def add_not_null(
        self, session: SparkSession, name: TableName, constraint: str, column: str
    ) -> None:
        """Make a column NOT NULL, if no row has NULL in it."""
        with self._transaction(session, name) as transaction:
            if constraint in self.format.constraints(transaction.before.properties):
                raise NotNullExistsError(constraint)
            nulls = f"SELECT 1 FROM {name.sql} WHERE {quote(column)} IS NULL LIMIT 1"
            if session.sql(nulls).collect():
                raise NullsError(column)
            transaction.change_nullability(column, is_nullable=False)
            transaction.change_properties({iceberg_format.CONSTRAINTS + constraint: column})

    def drop_constraint(self, session: SparkSession, name: TableName, constraint: str) -> None:
        key = iceberg_format.CONSTRAINTS + constraint
        with self._transaction(session, name) as transaction:
            if (column := transaction.before.properties.get(key)) is not None:
                transaction.change_nullability(column, is_nullable=True)
                transaction.change_properties({}, [key])

    def cluster(
        self,
        session: SparkSession,  # noqa: ARG002 - of the port
        name: TableName,
        columns: Sequence[str],  # noqa: ARG002 - of the port
    ) -> None:
        """Refuse it, as definitions with CLUSTER BY are refused before they get here."""
        feature, title = Capability.CLUSTERING.value, self.format.title
        raise conditions.FORMAT_FEATURE(table=name, format=title, feature=feature, alternative="")

    def compact(self, session: SparkSession, name: TableName) -> None:
        """Merge small files; the snapshot says that no row changes."""
        _call(session, name, "rewrite_data_files")

    def vacuum(self, session: SparkSession, name: TableName, kept_ms: int) -> None:
        """Let snapshots expire, and remove the files that no snapshot has.

        A branch of a write that was killed holds its snapshots, so it is dropped before that.

        The newest snapshot with our metadata stays, also after a compaction. Iceberg refuses to
        remove younger files than of a day: they may be those of a write that runs.
        """
        now_ms = time.time_ns() // 1_000_000
        found = self.history.metadata(TableRef(name, self.format.name, ""))
        for branch in [] if found is None else _abandoned(found, now_ms - _ORPHANS_KEPT_MS):
            session.sql(f"ALTER TABLE {name.sql} DROP BRANCH IF EXISTS {quote(branch)}")
        kept = f"retain_last => {1 if found is None else down_to_ours(found)}"
        _call(session, name, "expire_snapshots", now_ms - kept_ms, kept)
        _call(session, name, "remove_orphan_files", now_ms - max(kept_ms, _ORPHANS_KEPT_MS))

    def _write(
        self,
        session: SparkSession,
        name: TableName,
        rows: str,
        statement: Callable[[str, str], str],
        *,
        adds_columns: bool = False,
        is_whole: bool = True,
    ) -> None:
        """Run a statement that inserts rows, after their columns were added.

        Args:
            session: The session.
            name: The table.
            rows: The rows.
            statement: Returns the statement for the table to write to and the rows.
            adds_columns: Whether the table may lack columns of the rows.
            is_whole: Whether the rows have all columns.
        """
        with self._transaction(session, name) as transaction:
            if adds_columns:
                transaction.add_columns(rows)
            fitted = transaction.fitted(rows) if is_whole else rows
            transaction.execute(lambda table: statement(table, fitted))

    def _merge(
        self, session: SparkSession, name: TableName, merge: Callable[[str], str], adding: str = ""
    ) -> None:
        """Run a MERGE, which names its columns, after those of a query were added."""
        with self._transaction(session, name) as transaction:
            if adding:
                transaction.add_columns(adding)
            transaction.execute(merge)

    @contextmanager
    def _transaction(
        self, session: SparkSession, name: TableName, begun: Transaction | None = None
    ) -> Iterator[Transaction]:
        """Yield the transaction of `commit`, or one that is published when the block ends."""
        if (outer := self._open.get(session)) is not None:
            yield outer
            return
        found = begun or self._begin(session, name)
        if found is None:
            session.table(name.sql)  # Spark's own error says that it is gone
            raise conditions.CONCURRENT_CHANGE(table=name)
        with _abandoned_on_failure(found):
            yield found
        self._published(session, name, found)

    def _published(self, session: SparkSession, name: TableName, transaction: Transaction) -> int:
        with _abandoned_on_failure(transaction):
            version = transaction.publish()
        # Rows that a user keeps by CACHE TABLE are old now. The commit is made in any case.
        with suppress_outages():
            session.catalog.refreshTable(name.sql)
        return version


class ConnectTables(IcebergTables):
    """Implementation of `execution.table_format.VersionedTables`, by statements only."""

    format = iceberg_format.OVER_CONNECT

    def _begin(self, session: SparkSession, name: TableName) -> Transaction | None:
        def read(name: TableName) -> TableMetadata | None:
            return self.history.metadata(TableRef(name, self.format.name, ""))

        return BranchTransaction.begin(read, session, name)


@contextmanager
def _abandoned_on_failure(transaction: Transaction) -> Iterator[None]:
    try:
        yield
    except BaseException:
        transaction.abandon()
        raise


def _abandoned(metadata: TableMetadata, before_ms: int) -> list[str]:
    """Return the branches of writes that cannot be published, or that are as old as no write."""
    old = (
        name
        for name, tip in metadata.branches.items()
        if iceberg_format.is_our_branch(name) and tip.timestamp_ms < before_ms
    )
    return sorted({*unpublishable(metadata, metadata.head), *old})


def _call(
    session: SparkSession,
    name: TableName,
    procedure: str,
    older_than_ms: int | None = None,
    *more: str,
) -> None:
    """Call a procedure of a table's catalog."""
    table = quote_text(f"{quote(name.schema or '')}.{quote(name.name)}")
    arguments = [f"table => {table}", *more]
    if older_than_ms is not None:
        instant = datetime.fromtimestamp(older_than_ms / 1000, tz=timezone.utc)
        arguments.append(f"older_than => TIMESTAMP '{instant:%Y-%m-%d %H:%M:%S.%f}+00:00'")
    catalog = quote(name.catalog or session.catalog.currentCatalog())
    session.sql(f"CALL {catalog}.system.{procedure}({', '.join(arguments)})")


def _listed(properties: Mapping[str, str]) -> str:
    """Return properties as TBLPROPERTIES (…) takes them."""
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(properties.items()))
