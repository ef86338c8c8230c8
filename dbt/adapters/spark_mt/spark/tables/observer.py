"""Read-only checks of tables: properties, columns and row comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.definition import CatalogEntry
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.verification import RowDifference, Side
from dbt.adapters.spark_mt.execution.ports import RowDifferences
from dbt.adapters.spark_mt.execution.table_history import partly_refreshed
from dbt.adapters.spark_mt.resolution.options import session_confs
from dbt.adapters.spark_mt.spark.catalog.commit import table_of
from dbt.adapters.spark_mt.spark.catalog.table_details import clustering_columns
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.query import row_merges
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables, TableDetails
    from dbt.adapters.spark_mt.spark.query.query_rows import QueryRows
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession, PrivateSessions


_COPIES = "__materialized_table_copies"


_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_BY_SPARK = (
    "clusteringcolumns",
    "external",
    "option.",
    "owner",
    "spark.sql.",
    "transient_lastddltime",
)
"""How properties begin, in lower case, that Spark sets without being asked."""


class SparkTableObserver:
    """Comparison of tables with their queries, and reads of the catalog."""

    def __init__(
        self,
        spark: SparkSession,
        sessions: PrivateSessions,
        rows: QueryRows,
        tables: SparkTables,
        details: TableDetails,
    ) -> None:
        self._spark = spark
        self._sessions = sessions
        self._rows = rows
        self._tables = tables
        self._details = details

    def catalog_entry(self, name: TableName) -> CatalogEntry:
        """Return comments, properties and clustering of a table that is there."""
        found = self._details.description(name)
        columns = columns_of(self._spark.table(name.sql).schema)
        return CatalogEntry(
            comment=found.comment,
            column_comments={c.name: c.comment for c in columns if c.comment},
            properties=found.properties,
            clustered_by=clustering_columns(found.properties),
            maintained=frozenset(key for key in found.properties if _is_maintained(key)),
        )

    def is_partly_refreshed(self, table: StoredTable) -> bool:
        """Whether partitions were refreshed to another state of the sources than the rest."""
        found = self._details.table(table.name)
        if found is None:
            return False
        return partly_refreshed(self._tables.history(found).backwards(found), table.positions)

    def differences(
        self, table: StoredTable, run: RefreshRun, limit: int, digits: int | None = None
    ) -> RowDifferences:
        """Compare the rows of a table with those of its query.

        Raises:
            ComparisonFailedError: Spark cannot compute or compare them.
        """
        definition = table.definition
        with self._sessions.open(definition.resolved.context) as session:
            try:
                session.configure(session_confs(definition.run_options))
                expected = self._expected(session, table, run)
                found = table_of(self._details, table.name)
                actual = f"SELECT * FROM {self._tables.as_of(found, table.version)}"
                columns = definition.resolved.columns
                query = difference_query(actual, expected, columns, limit, digits)
                return _read(session, query)
            except MaterializedTableError as error:
                raise conditions.COMPARISON_FAILED(table=table.name, problem=error) from error
            except Exception as error:
                if not is_spark_error(error) or failure_of(error).is_cancelled:
                    raise
                failure = failure_of(error)
                problem = f"[{failure.condition}] {failure.message}"
                raise conditions.COMPARISON_FAILED(table=table.name, problem=problem) from error

    def _expected(self, session: PrivateSession, table: StoredTable, run: RefreshRun) -> str:
        definition, baseline = table.definition, table.definition.baseline
        if baseline is None:
            return self._rows.whole(session, definition, run)[0]
        kept = [*self._kept(session, table, baseline)]
        key = definition.declared.primary_key
        if key is None or not baseline.keeps_rows:
            added = self._rows.added(session, definition, run, baseline.positions)
            return "\nUNION ALL\n".join([*kept, f"SELECT * FROM (\n{added}\n)"])
        touched = self._rows.touched(session, definition, run, baseline.positions)
        whole, _ = self._rows.whole(session, definition, run)
        computed = row_merges.computed_rows(whole, touched, key.columns)
        same = " AND ".join(f"t.{quote(c)} <=> k.{quote(c)}" for c in key.columns)
        keys = row_merges.keys_query(touched, key.columns)
        untouched = (
            f"SELECT t.* FROM (\n{rows}\n) AS t LEFT ANTI JOIN (\n{keys}\n) AS k ON {same}"
            for rows in kept
        )
        return "\nUNION ALL\n".join([*untouched, f"SELECT * FROM (\n{computed}\n)"])

    def _kept(
        self, session: PrivateSession, table: StoredTable, baseline: Baseline
    ) -> Iterator[str]:
        """Yield the rows that the table had when its query began to count, with today's columns."""
        if baseline.kept_version is None:
            return
        found = table_of(self._details, table.name)
        rows = self._tables.as_of(found, baseline.kept_version)
        there = {name.lower() for name in session.spark.sql(f"SELECT * FROM {rows}").columns}
        columns = ", ".join(
            quote(c.name)
            if c.name.lower() in there
            else f"CAST(NULL AS {c.type}) AS {quote(c.name)}"
            for c in table.definition.resolved.columns
        )
        yield f"SELECT {columns} FROM {rows}"


def _is_maintained(key: str) -> bool:
    return key.lower().startswith(_BY_SPARK) or FORMATS.is_maintained(key)


def difference_query(
    actual: str,
    expected: str,
    columns: tuple[Column, ...],
    limit: int,
    digits: int | None = None,
) -> str:
    """Return the rows that two queries do not have equally often: EXCEPT ALL both ways, at once.

    Both have the columns of the table in their order. At most `limit` rows are returned; the total
    is in each. Floating-point columns are compared by so many significant `digits`, if given.
    """
    names = ", ".join(quote(column.name) for column in columns)
    listed = ", ".join(
        f"{_comparable(column, digits)} AS {quote(column.name)}" for column in columns
    )
    return (
        f"SELECT to_json(struct({names}), map('ignoreNullFields', 'false')) AS `row`,\n"
        f"  {_COPIES} AS copies, sum(abs({_COPIES})) OVER () AS total\n"
        f"FROM (\n  SELECT {names}, sum({_COPIES}) AS {_COPIES} FROM (\n"
        f"SELECT {listed}, 1L AS {_COPIES} FROM (\n{actual}\n)\nUNION ALL\n"
        f"SELECT {listed}, -1L AS {_COPIES} FROM (\n{expected}\n) AS _({names})\n"
        f"  ) GROUP BY {names} HAVING sum({_COPIES}) <> 0\n)\n"
        f"ORDER BY `row` LIMIT {limit}"
    )


def _comparable(column: Column, digits: int | None) -> str:
    """Return a column by which Spark can group; as JSON, where it cannot compare the type."""
    name, type_ = quote(column.name), column.type.upper()
    if digits is not None and type_ in _FLOATS:  # -0.0 becomes 0.0, and a NULL stays one
        return f"if({name} IS NULL, NULL, format_string('%.{digits - 1}e', {name} + 0.0D))"
    return f"to_json({name})" if "VARIANT" in type_ else name


def _read(session: PrivateSession, query: str) -> RowDifferences:
    found = session.spark.sql(query).collect()
    rows = tuple(
        RowDifference(
            Side.UNEXPECTED if row["copies"] > 0 else Side.MISSING, row["row"], abs(row["copies"])
        )
        for row in found
    )
    return RowDifferences(rows, int(found[0]["total"]) if found else 0)
