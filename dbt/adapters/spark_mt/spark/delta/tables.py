"""Tables on Delta Lake: statements that write, change and maintain them, and the fence.

The rows of a table may be equal to each other. A row to be removed is removed with all rows that
equal it. Those that shall stay are added again by the same MERGE.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.execution.table_format import FENCE, RowsNotThereError
from dbt.adapters.spark_mt.planning.properties import (
    is_changed_by_row,
    location_of,
    properties_of,
)
from dbt.adapters.spark_mt.query.bags import BagColumn, same_row
from dbt.adapters.spark_mt.spark.delta.changes import RangeReader
from dbt.adapters.spark_mt.spark.delta.format import (
    ADD_COLUMNS,
    COMMIT_METADATA,
    DELETION_VECTORS,
    FENCE_ID,
    FENCE_NUMBER,
    FORMAT,
    LAST_COMMIT,
    MERGE_SOURCE,
    check_storage,
)
from dbt.adapters.spark_mt.spark.delta.stream import DeltaSource
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.kept_rows import kept_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.table_format import TableColumns
    from dbt.adapters.spark_mt.spark.delta.log import DeltaLog
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader


_HOUR_MS = 3600 * 1000
_SMALL_FILE = "spark.databricks.delta.optimize.minFileSize"
_SMALL_FILE_BYTES = 16 * 1024 * 1024
_OLD, _PRESENT = "__materialized_table_old", "__materialized_table_present"
_KEY = "__materialized_table_key_"
_COPY = "__materialized_table_copy"
_WANTED, _THERE = "__materialized_table_wanted", "__materialized_table_there"
_IN_ORDER = re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|DATE|TIMESTAMP|STRING|DECIMAL\(.*\))$")
"""Not FLOAT and DOUBLE, whose NaN and -0.0 are no bounds, and no collated STRING."""
_SIMPLE = re.compile(r"[^'\\]{0,200}\Z")
"""Texts that are the same literal with and without `spark.sql.parser.escapedStringLiterals`."""
_MOST_RANGES = 8
_NOT_THERE = "a row to be removed is not in the materialized table"


class DeltaTables:
    """Implementation of `execution.table_format.VersionedTables`; rows are the text of a query."""

    format = FORMAT

    def __init__(self, log: DeltaLog) -> None:
        self.log = log
        self._is_checked = False

    def identity(self, session: SparkSession, name: TableName, location: str) -> str:
        """Return the id of a table; slow where the newest commits do not have it."""
        found = self.log.table_id(location) if location else ""
        return found or str(_detail(session, name)["id"] or "")

    def partition_columns(self, session: SparkSession, name: TableName) -> tuple[str, ...]:
        """Return the columns by which a table is partitioned."""
        return tuple(_detail(session, name)["partitionColumns"])

    def changes(self, session: SparkSession) -> RangeReader:
        """Return a reader of changes."""
        return RangeReader(session, self.log)

    def stream_source(
        self, session: SparkSession, name: TableName, reader: SparkSourceReader
    ) -> DeltaSource:
        """Open a table as a source of streams."""
        return DeltaSource(session, name, reader, self.log)

    def commit(
        self,
        session: SparkSession,
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write, whose commit carries the metadata and, with a number, the fence.

        Delta skips a write silently whose number is taken. The session then has no new version.

        Raises:
            SingleDriverStorageError: Commits of several drivers would not be serialized.
        """
        if not self._is_checked:
            check_storage(session)
            self._is_checked = True
        conf = session.conf
        conf.set(COMMIT_METADATA, metadata)
        if number is None:
            conf.unset(FENCE_ID)
            conf.unset(FENCE_NUMBER)
        else:
            conf.set(FENCE_ID, fence)
            conf.set(FENCE_NUMBER, str(number))
        conf.unset(LAST_COMMIT)
        write()
        version = conf.get(LAST_COMMIT, None)
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
        clauses = [f"{kind} {definition.name.sql} USING {FORMAT.name}"]
        if declared.partitioned_by:
            clauses.append(f"PARTITIONED BY ({', '.join(map(quote, declared.partitioned_by))})")
        if declared.clustered_by:
            clauses.append(f"CLUSTER BY ({', '.join(map(quote, declared.clustered_by))})")
        if (location := location_of(definition)) is not None:
            check_storage(session, location)
            clauses.append(f"LOCATION {quote_text(location)}")
        if declared.comment is not None:
            clauses.append(f"COMMENT {quote_text(declared.comment)}")
        properties = dict(properties_of(definition, FORMAT))
        if is_changed_by_row(definition):
            properties.setdefault(DELETION_VECTORS, "true")
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
        writer = session.sql(rows).write.format(FORMAT.name).mode("overwrite")
        writer = writer.option("overwriteSchema", "true")
        if by_row:
            writer = writer.option(DELETION_VECTORS, "true")
        if partitioned_by:
            writer = writer.partitionBy(*partitioned_by)
        writer.saveAsTable(name.sql)

    def overwrite(
        self, session: SparkSession, name: TableName, rows: str, *, adds_columns: bool = False
    ) -> None:
        """Replace all rows of a table."""
        with _adding_columns(session, enabled=adds_columns):
            session.sql(f"INSERT OVERWRITE TABLE {name.sql}\n{rows}")

    def overwrite_where(
        self, session: SparkSession, name: TableName, condition: str, rows: str
    ) -> None:
        """Replace the rows that meet a condition."""
        session.sql(f"INSERT INTO {name.sql} REPLACE WHERE {condition}\n{rows}")

    def append(
        self, session: SparkSession, name: TableName, rows: str, *, adds_columns: bool = False
    ) -> None:
        """Add rows."""
        with _adding_columns(session, enabled=adds_columns):
            session.sql(f"INSERT INTO {name.sql}\n{rows}")

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
        """Replace the rows of some keys by other rows, by one MERGE."""
        session.conf.set(MERGE_SOURCE, "none")
        with _adding_columns(session, enabled=adds_columns), kept_rows(session) as kept:
            ranges = Ranges.of(table, {column: f"{_KEY}{n}" for n, column in enumerate(key)})
            source = kept.keep_source(keyed_query(key, rows, keys), *ranges.measures)
            within = ranges.conditions(source.rows, source.measures)
            merge = keyed_statement(table, key, source.view, within, adds_columns=adds_columns)
            _merge(session, merge)

    def upsert(
        self, session: SparkSession, definition: StoredDefinition, rows: str, key: Sequence[str]
    ) -> None:
        """Add rows, which take the place of those that have the same key.

        Delta keeps the rows of a batch while it merges them, and refuses those that we keep.
        """
        session.conf.set(MERGE_SOURCE, "auto")
        columns = [quote(column.name) for column in definition.resolved.columns]
        same = " AND ".join(f"t.{quote(column)} <=> s.{quote(column)}" for column in key)
        session.sql(
            f"MERGE INTO {definition.name.sql} AS t USING (\n{rows}\n) AS s ON {same}\n"
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)}\n"
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) "
            f"VALUES ({', '.join(f's.{c}' for c in columns)})"
        )

    def apply_changes(
        self, session: SparkSession, table: TableColumns, added: str, removed: str
    ) -> None:
        """Remove and add rows, as bags, by one MERGE.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        session.conf.set(MERGE_SOURCE, "none")
        with kept_rows(session) as kept:
            within = _within(session, table, removed)
            copies = kept.keep(copies_query(table, removed, within), f"max({_WANTED} - {_THERE})")
            if copies.rows and copies.measures[0] > 0:
                raise RowsNotThereError(_NOT_THERE)
            source = kept.keep_source(bag_query(table, added, copies.view if copies.rows else ""))
            _merge(session, bag_statement(table, source.view, within))

    def set_properties(
        self, session: SparkSession, name: TableName, properties: Mapping[str, str]
    ) -> None:
        """Set properties of a table."""
        session.sql(f"ALTER TABLE {name.sql} SET TBLPROPERTIES ({_listed(properties)})")

    def unset_properties(self, session: SparkSession, name: TableName, keys: Sequence[str]) -> None:
        """Remove properties of a table, as far as it has them."""
        texts = ", ".join(map(quote_text, keys))
        session.sql(f"ALTER TABLE {name.sql} UNSET TBLPROPERTIES IF EXISTS ({texts})")

    def add_not_null(
        self, session: SparkSession, name: TableName, constraint: str, column: str
    ) -> None:
        """Let a table refuse NULL in a column; Delta reads the rows that are there."""
        condition = f"CHECK ({quote(column)} IS NOT NULL)"
        session.sql(f"ALTER TABLE {name.sql} ADD CONSTRAINT {quote(constraint)} {condition}")

    def drop_constraint(self, session: SparkSession, name: TableName, constraint: str) -> None:
        """Remove a constraint, if the table has it."""
        session.sql(f"ALTER TABLE {name.sql} DROP CONSTRAINT IF EXISTS {quote(constraint)}")

    def cluster(self, session: SparkSession, name: TableName, columns: Sequence[str]) -> None:
        """Set the clustering columns of a table; none for no clustering."""
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
        """Remove files that were replaced longer ago than that."""
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
    session.conf.set(ADD_COLUMNS, "true")
    try:
        yield
    finally:
        session.conf.set(ADD_COLUMNS, "false")


def _merge(spark: SparkSession, statement: str) -> None:
    try:
        with unlogged():
            spark.sql(statement)
    except Exception as error:
        if is_spark_error(error) and _NOT_THERE in failure_of(error).message:
            raise RowsNotThereError(_NOT_THERE) from error
        raise


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of values in which all rows are that a MERGE changes.

    Delta skips the files without a value in them, so a change of the newest rows reads few files.

    Args:
        columns: Columns of the table, the column of the source that each must equal, and its type.
    """

    columns: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, table: TableColumns, sources: Mapping[str, str] | None = None) -> Ranges:
        """Return those of the columns whose types are in order, and exact as text.

        Args:
            table: The table.
            sources: The columns of the source by those of the table; all columns by default.
        """
        known = zip(table.columns, table.types, strict=bool(table.types))
        types = {name.lower(): type_ for name, type_ in known}
        pairs = (sources or {name: name for name in table.columns}).items()
        typed = ((own, other, types.get(own.lower(), "")) for own, other in pairs)
        return cls(tuple(each for each in typed if _IN_ORDER.match(each[2]))[:_MOST_RANGES])

    @property
    def measures(self) -> tuple[str, ...]:
        """Aggregates over the rows of the source."""
        return tuple(
            text for _, column, type_ in self.columns for text in _measures(quote(column), type_)
        )

    def conditions(self, rows: int, found: Sequence[Any]) -> str:
        """Return what follows for a row `t` of the table, to be added to a condition.

        A column with a NULL has no range: NULL equals NULL here, and a comparison would leave it
        out. Nor has one of another type in the source, whose order may be another one.

        Args:
            rows: How many rows the source has.
            found: The values of `measures`.
        """
        types, counts, least, greatest = (found[place::4] for place in range(4))
        return "".join(
            f" AND t.{quote(own)} BETWEEN {_value(low, type_)} AND {_value(high, type_)}"
            for (own, _, type_), there, count, low, high in zip(
                self.columns, types, counts, least, greatest, strict=True
            )
            if 0 < count == rows and there.upper() == type_
            if _SIMPLE.match(low) and _SIMPLE.match(high)
        )


def _measures(column: str, type_: str) -> tuple[str, ...]:
    ends = [f"{end}({column})" for end in ("min", "max")]
    if type_ == "TIMESTAMP":  # one text can be two instants
        ends = [f"unix_micros(CAST({end} AS TIMESTAMP))" for end in ends]
    texts = (f"CAST({end} AS STRING)" for end in ends)
    return f"max(typeof({column}))", f"count({column})", *texts


def _value(text: str, type_: str) -> str:
    """Return an expression without columns, which Spark computes before Delta looks for files."""
    if type_ == "TIMESTAMP":
        return f"timestamp_micros(CAST({quote_text(text)} AS BIGINT))"
    return f"CAST({quote_text(text)} AS {type_})"


def _within(session: SparkSession, table: TableColumns, rows: str) -> str:
    """Return the conditions of the ranges in which some rows of a table are."""
    ranges = Ranges.of(table)
    measures = ", ".join(("count(*)", *ranges.measures))
    count, *found = session.sql(f"SELECT {measures} FROM (\n{rows}\n)").collect()[0]
    return ranges.conditions(count, found)


def copies_query(table: TableColumns, removed: str, within: str = "") -> str:
    """Return each row to be removed once, how often it is to be removed, and how often it is there.

    Only the columns of the table count. NULL equals NULL.

    Args:
        table: The table.
        removed: The rows, each as often as it is to be removed.
        within: The conditions of `Ranges` that all of them meet.
    """
    columns, compared = _columns(table), _compared(table)
    listed = ", ".join(columns)
    same = same_row(compared, "t", "r") + within
    own = ", ".join(f"t.{c}" for c in columns)
    shown = ", ".join(column.shown for column in compared)
    keys = ", ".join(key for column in compared for key in column.keys)
    return f"""SELECT {shown}, sum({_WANTED}) AS {_WANTED}, sum({_THERE}) AS {_THERE} FROM (
SELECT {listed}, 1L AS {_WANTED}, 0L AS {_THERE} FROM (
{removed}
)
UNION ALL
SELECT {own}, 0L, 1L FROM {table.name.sql} AS t LEFT SEMI JOIN (
{removed}
) AS r ON {same}
) GROUP BY {keys}"""


def bag_query(table: TableColumns, added: str, copies: str) -> str:
    """Return the rows that leave the table, marked as old, and those that it gets.

    Args:
        table: The table.
        added: The rows to add, checked against the constraints.
        copies: The relation that `copies_query` gives; empty where nothing is removed.
    """
    listed = ", ".join(_columns(table))
    parts = [f"SELECT false AS {_OLD}, {listed} FROM (\n{added}\n)"]
    if copies:
        stay = f"explode(array_repeat(1, CAST({_THERE} - {_WANTED} AS INT))) AS {_COPY}"
        parts += [
            f"SELECT true, {listed} FROM {copies}",
            f"SELECT false, {listed} FROM {copies} LATERAL VIEW {stay} WHERE {_THERE} > {_WANTED}",
        ]
    return "\nUNION ALL\n".join(parts)


def bag_statement(table: TableColumns, source: str, within: str = "") -> str:
    """Return the MERGE that removes all copies of rows, and adds rows and the copies that stay.

    Its source is the relation that `bag_query` gives. A row to remove that matches none fails it.
    """
    columns = _columns(table)
    same = f"s.{_OLD} AND {same_row(_compared(table), 't', 's')}{within}"
    first, *rest = (f"s.{c}" for c in columns)
    checked = f"CASE WHEN s.{_OLD} THEN raise_error('{_NOT_THERE}') ELSE {first} END"
    return f"""MERGE INTO {table.name.sql} AS t USING {source} AS s ON {same}
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT ({", ".join(columns)}) VALUES ({", ".join((checked, *rest))})"""


def keyed_query(key: Sequence[str], rows: str, keys: str) -> str:
    """Return each key with its new row, or with NULL in all other columns.

    Args:
        key: Columns whose values differ in all rows.
        rows: The rows, checked against the constraints.
        keys: Each key once.
    """
    named = ", ".join(f"k.{quote(c)} AS {_KEY}{n}" for n, c in enumerate(key))
    same = " AND ".join(f"k.{quote(c)} <=> r.{quote(c)}" for c in key)
    return f"""SELECT {named}, r.* FROM (
{keys}
) AS k LEFT JOIN (
SELECT *, true AS {_PRESENT} FROM (
{rows}
)) AS r ON {same}"""


def keyed_statement(
    table: TableColumns, key: Sequence[str], source: str, within: str = "", *, adds_columns: bool
) -> str:
    """Return the MERGE that replaces the rows of keys, and leaves those alone that are the same.

    Its source is the relation that `keyed_query` gives.
    """
    columns = _columns(table)
    match = " AND ".join(f"t.{quote(c)} <=> s.{_KEY}{n}" for n, c in enumerate(key)) + within
    differs = f" AND NOT ({same_row(_compared(table), 't', 's')})"
    changed = differs if table.comparable and not adds_columns else ""
    return f"""MERGE INTO {table.name.sql} AS t USING {source} AS s ON {match}
WHEN MATCHED AND s.{_PRESENT} IS NULL THEN DELETE
WHEN MATCHED{changed} THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
WHEN NOT MATCHED AND s.{_PRESENT} THEN
INSERT ({", ".join(columns)}) VALUES ({", ".join(f"s.{c}" for c in columns)})"""


def _columns(table: TableColumns) -> list[str]:
    return [quote(column) for column in table.columns]


def _compared(table: TableColumns) -> tuple[BagColumn, ...]:
    types = table.types or ("",) * len(table.columns)
    return tuple(map(BagColumn.of, _columns(table), types))
