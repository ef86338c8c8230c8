"""Changes of single rows of a table on Delta Lake, in one commit.

The rows of a table may be equal to each other. A row to be removed is removed with all rows that
equal it. Those that shall stay are added again by the same commit.

A few rows are replaced by a condition that lists the values of one of their columns: Delta reads
the table once for it, and no more than that column. A MERGE reads the table three times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.execution.table_format import RowsNotThereError
from dbt.adapters.spark_mt.query import bags
from dbt.adapters.spark_mt.query.relation_states import WEIGHT
from dbt.adapters.spark_mt.spark.delta.changes import feeds_changes, marks_rows, properties_of
from dbt.adapters.spark_mt.spark.delta.driver_tables import DriverTable, Removal, can_replace
from dbt.adapters.spark_mt.spark.delta.row_conditions import Measured, Ranges, There
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.query import row_merges
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.kept_rows import kept_rows
from dbt.adapters.spark_mt.spark.session.private_session import set_for_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.table_format import TableColumns
    from dbt.adapters.spark_mt.spark.delta.row_conditions import Place
    from dbt.adapters.spark_mt.spark.session.kept_rows import Kept, KeptRows


_WEIGHT = quote(WEIGHT)
_MISSING = f"max({row_merges.WANTED} - {row_merges.THERE})"


def replace_keys(
    session: SparkSession,
    table: TableColumns,
    key: Sequence[str],
    rows: str,
    keys: str,
    *,
    adds_columns: bool = False,
) -> None:
    """Replace the rows of some keys by other rows.

    Args:
        session: A private session.
        table: The table.
        key: Columns whose values differ in all rows.
        rows: The rows, checked against the constraints.
        keys: Each key once.
        adds_columns: Whether the rows have columns that the table has not had.
    """
    with kept_rows(session) as kept:
        ranges = Ranges.of(table, {column: f"{row_merges.KEY}{n}" for n, column in enumerate(key)})
        query, gone = row_merges.keyed_query(key, rows, keys), f"bool_or({_without_row(key)})"
        source = kept.keep_source(query, gone, *ranges.all_measures)
        has_gone, *measures = source.measures
        found = Measured(ranges, source.rows, measures)
        there = None
        if table.comparable and not adds_columns:
            there = _rows_there(session, kept, table, key, source, found)
        if there and _replace_differing(session, kept, table, key, source, found, there):
            return
        merged = source.view
        if has_gone and not _has_null_key(session, table, key):
            merged = f"(SELECT * FROM {source.view} WHERE NOT ({_without_row(key)}))"
        merge = row_merges.keyed_statement(
            table, key, merged, found.conditions("t."), adds_columns=adds_columns
        )
        _merge(session, merge)


def _rows_there(
    session: SparkSession,
    kept: KeptRows,
    table: TableColumns,
    key: Sequence[str],
    source: Kept,
    found: Measured,
) -> There | None:
    """Return all rows of a table that have one of the keys; None where a MERGE has to find them.

    Of a table with a feed, a MERGE records an update, and not that a row goes and another one
    comes.
    """
    properties = properties_of(session, table.name)
    if feeds_changes(properties):
        return None
    if can_replace(session, table, source.rows) and marks_rows(properties):
        return there_by_key(session, kept, table, key, source, found.conditions("t."))
    if (place := found.place) is None:
        return None
    return place.rows(session, kept, table, source.view, source.rows)


def _replace_differing(
    session: SparkSession,
    kept: KeptRows,
    table: TableColumns,
    key: Sequence[str],
    source: Kept,
    found: Measured,
    there: There,
) -> bool:
    """Replace the rows of keys that differ from their new rows; return whether that is done.

    Args:
        session: A private session.
        kept: Keeps rows until they are written.
        table: The table.
        key: Columns whose values differ in all rows.
        source: The relation that `keyed_query` gives.
        found: What is known of it.
        there: All rows of the table that have one of the keys.
    """
    change = kept.keep(
        changed_query(table, key, there.view, source.view),
        f"coalesce(-sum({_WEIGHT}) FILTER (WHERE {_WEIGHT} < 0), 0)",
    )
    gained, lost = (_signed(table, change.view, sign) for sign in (1, -1))
    count = change.measures[0]
    if not count:
        session.sql(f"INSERT INTO {table.name.sql}\n{gained}")
    elif there.place:
        Replacing(session, kept, table, there.place).run(there, gained, lost, count)
    else:
        removal = Removal(lost, count, tuple(key), within=found.conditions())
        return replace_rows(session, table, removal, gained)
    return True


def replace_rows(session: SparkSession, table: TableColumns, removal: Removal, added: str) -> bool:
    """Remove rows that one scan finds, and add others; return whether that is done."""
    found = DriverTable.of(session, table.name)
    return found is not None and found.replace(added, removal)


def apply_changes(session: SparkSession, table: TableColumns, added: str, removed: str) -> None:
    """Remove and add rows, as bags.

    Raises:
        RowsNotThereError: The table does not have all rows that are to be removed.
    """
    with kept_rows(session) as kept:
        ranges = Ranges.of(table)
        count, *values = kept.measured(removed, "count(*)", *ranges.all_measures)
        found = Measured(ranges, count, values)
        if _found_by_filters(session, table, found, removed, added):
            return
        place = found.place if table.comparable else None
        there = place and place.rows(session, kept, table, f"(\n{removed}\n)", count)
        if place and there:
            Replacing(session, kept, table, place).run(there, added, removed, count)
            return
        within = found.conditions("t.")
        copies = kept.keep(row_merges.copies_query(table, removed, within), _MISSING)
        if copies.rows and copies.measures[0] > 0:
            raise RowsNotThereError(row_merges.NOT_THERE)
        source = kept.keep_source(
            row_merges.bag_query(table, added, copies.view if copies.rows else "")
        )
        _merge(session, row_merges.bag_statement(table, source.view, within))


def _found_by_filters(
    session: SparkSession, table: TableColumns, found: Measured, removed: str, added: str
) -> bool:
    """Remove rows and add others by one scan; return whether that is done.

    In a large table one column finds them, whose values differ in all of them. They are there: they
    are rows of the result at the positions of the table.
    """
    if not can_replace(session, table, found.rows):
        return False
    if not marks_rows(properties_of(session, table.name)):
        return False
    one, within = found.distinct_column, found.conditions()
    removal = Removal(removed, found.rows, table.columns, one, within)
    return replace_rows(session, table, removal, added)


@dataclass(frozen=True, slots=True)
class Replacing:
    """The replacement of rows by a condition on the values of a column.

    Args:
        session: A private session.
        kept: Keeps rows until the replacement is written.
        table: The table.
        place: The column.
    """

    session: SparkSession
    kept: KeptRows
    table: TableColumns
    place: Place

    def run(self, there: There, added: str, removed: str, count: int) -> None:
        """Write the rows that are added, in place of those that are removed.

        Args:
            there: All rows of the table that can be among those to remove, and maybe others.
            added: A query for rows to add.
            removed: A query for rows to remove.
            count: How many these are, at least one.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        compared, columns = (
            row_merges.compared(self.table),
            ", ".join(row_merges.columns_of(self.table)),
        )
        # If there are no more rows than are to be removed, these are all of them.
        taken = there if there.rows <= count else self._taken(there, removed)
        rows = "\nUNION ALL\n".join(
            f"SELECT {columns}, {weight}L AS {_WEIGHT} FROM (\n{each}\n)"
            for each, weight in (
                (f"SELECT * FROM {taken.view}", 1),
                (added, 1),
                (removed, -1),
            )
        )
        new = self.kept.keep(bags.weighted_query(compared, rows, _WEIGHT), f"min({_WEIGHT})")
        if new.rows and new.measures[0] < 0:
            raise RowsNotThereError(row_merges.NOT_THERE)
        condition = self._condition(there, taken) if taken.rows else ""
        writer = self.session.sql(_signed(self.table, new.view, 1)).write.format(
            delta_format.FORMAT.name
        )
        if condition:
            writer = writer.option("replaceWhere", condition)
        with set_for_now(
            self.session, {delta_format.CHECKS_REPLACED: "false"}
        ):  # rows may have other values
            writer.insertInto(self.table.name.sql, overwrite=bool(condition))

    def _taken(self, there: There, removed: str) -> Kept:
        """Return the rows with the hash of one to remove: the write may have to compare hashes."""
        hashed = self._hashed
        equal = (
            f"SELECT {hashed} FROM {there.view} AS t LEFT SEMI JOIN (\n{removed}\n) AS r "
            f"ON {bags.same_row(row_merges.compared(self.table), 't', 'r')}"
        )
        columns = ", ".join(row_merges.columns_of(self.table))
        return self.kept.keep(f"SELECT {columns} FROM {there.view} WHERE {hashed} IN (\n{equal}\n)")

    @property
    def _hashed(self) -> str:
        return f"xxhash64({', '.join(row_merges.columns_of(self.table))})"

    def _condition(self, there: There, taken: There | Kept) -> str:
        """Return the condition that the taken rows meet, and no other row of the table."""
        if taken.rows == there.rows:
            return there.condition
        own = replace(self.place, source=self.place.column)
        condition = own.condition(self.session, taken.view)
        if self.session.sql(f"SELECT 1 FROM {there.view} WHERE {condition}").count() == taken.rows:
            return condition
        found = self.session.sql(f"SELECT DISTINCT {self._hashed} FROM {taken.view}").collect()
        return f"{condition} AND {self._hashed} IN ({', '.join(f'{row[0]}L' for row in found)})"


def there_by_key(
    session: SparkSession,
    kept: KeptRows,
    table: TableColumns,
    key: Sequence[str],
    source: Kept,
    within: str,
) -> There:
    """Return the rows of a table that have a key of the relation that `keyed_query` gives.

    Args:
        session: A private session.
        kept: Keeps the rows.
        table: The table.
        key: Columns whose values differ in all rows.
        source: The relation.
        within: Conditions on `t` that all of them meet.
    """
    columns = ", ".join(f"t.{c}" for c in row_merges.columns_of(table))
    listed, relation = DriverTable.of(session, table.name), table.name.sql
    files = None if listed is None else listed.rows(f"true{within}")
    if files is not None:
        relation = kept.new_view()
        files.createOrReplaceTempView(relation)
    rows = kept.keep(
        f"SELECT {columns} FROM {relation} AS t LEFT SEMI JOIN {source.view} AS s "
        f"ON {row_merges.same_key(table, key)}{within}"
    )
    return There("", rows.view, rows.rows)


def changed_query(table: TableColumns, key: Sequence[str], there: str, source: str) -> str:
    """Return the rows of keys that differ from those of a table, with weights.

    Args:
        table: The table.
        key: Columns whose values differ in all rows.
        there: The relation of all rows of the table that have one of the keys.
        source: The relation that `keyed_query` gives.
    """
    columns = ", ".join(row_merges.columns_of(table))
    return bags.weighted_query(
        row_merges.compared(table),
        f"SELECT {columns}, 1L AS {_WEIGHT} FROM {source} "
        f"WHERE {row_merges.PRESENT} IS NOT NULL\nUNION ALL\n"
        f"SELECT {columns}, -1L AS {_WEIGHT} FROM {there} AS t LEFT SEMI JOIN {source} AS s "
        f"ON {row_merges.same_key(table, key)}",
        _WEIGHT,
    )


def _signed(table: TableColumns, view: str, sign: int) -> str:
    """Return the rows whose weight has a sign, each as often as the weight says."""
    return bags.signed_query(", ".join(row_merges.columns_of(table)), view, _WEIGHT, sign)


def _merge(spark: SparkSession, statement: str) -> None:
    spark.conf.set(delta_format.MERGE_SOURCE, "none")
    try:
        with unlogged(), set_for_now(spark, delta_format.AS_STORED):
            spark.sql(statement)
    except Exception as error:
        if is_spark_error(error) and row_merges.NOT_THERE in failure_of(error).message:
            raise RowsNotThereError(row_merges.NOT_THERE) from error
        raise


def _without_row(key: Sequence[str]) -> str:
    """Return the condition that a row of `keyed_query` has a key of NULLs, and no new row."""
    nulls = " AND ".join(f"{row_merges.KEY}{n} IS NULL" for n, _ in enumerate(key))
    return f"{row_merges.PRESENT} IS NULL AND {nulls}"


def _has_null_key(session: SparkSession, table: TableColumns, key: Sequence[str]) -> bool:
    """Whether a table has a row whose key is NULL in all columns."""
    nulls = " AND ".join(f"{quote(column)} IS NULL" for column in key)
    return bool(session.sql(f"SELECT 1 FROM {table.name.sql} WHERE {nulls} LIMIT 1").collect())
