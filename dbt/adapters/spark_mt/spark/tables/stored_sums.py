"""Partial sums of the groups of materialized tables, in tables of the system schema.

Such a table has a row for each group. It is changed before the materialized table is, by a fenced
commit with the positions up to which it reflects the sources. After a crash between the two commits
it is ahead of the materialized table, whose rows then follow from all of its rows. Its name has the
id of the materialized table and a digest of the query, so that another query finds no sums.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import commit_metadata, conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.positions import most_commits
from dbt.adapters.spark_mt.definition.table_format import Capability
from dbt.adapters.spark_mt.execution.table_format import (
    RowsNotThereError,
    TableColumns,
    is_comparable,
)
from dbt.adapters.spark_mt.query.operator_sql import render_query
from dbt.adapters.spark_mt.query.partial_sums import partial_sums, summable_types
from dbt.adapters.spark_mt.spark.catalog.commit import (
    explaining_conflicts,
    raise_if_other_table,
    table_of,
)
from dbt.adapters.spark_mt.spark.query.query_relations import analysed
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA
from dbt.adapters.spark_mt.spark.session.types import ddl_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.planning.steps import ApplyChanges
    from dbt.adapters.spark_mt.query.partial_sums import PartialSums
    from dbt.adapters.spark_mt.query.relation_states import RelationStates
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        SparkFormat,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession


_PREFIX = "sums_"
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class StoredSums:
    """The partial sums of one materialized table, as they are stored.

    Args:
        table: Where they are.
        rows: What a query reads for its rows, as text after FROM.
        keys: Its columns that name a group.
        version: Of that table.
        seq: The number of its newest commit that has one.
        positions: Up to where they reflect the sources.
        types: The types of the columns.
    """

    table: TableColumns
    rows: str
    keys: tuple[str, ...]
    version: int
    seq: int
    positions: Positions
    types: Mapping[str, str]

    def reflect(self, positions: Mapping[str, Position]) -> bool:
        """Whether they reflect the sources up to some positions."""
        return all(self.positions.get(name) == at for name, at in positions.items())


class SumsTables:
    """Tables with partial sums.

    Args:
        tables: Writes them.
        details: Reads what the catalog has of them.
    """

    def __init__(self, tables: SparkTables, details: TableDetails) -> None:
        self._tables = tables
        self._details = details

    def find(self, spark: SparkSession, step: ApplyChanges, sums: PartialSums) -> StoredSums | None:
        """Return the stored sums of a table; None where there are none that can be used."""
        name = sums_name(step, sums)
        found = self._found(name)
        if found is None:
            return None
        history = self._tables.history(found)
        newest = history.newest(found)
        commits = history.backwards(found, newest)
        ours = next((c for c in commits if c.metadata and c.metadata.positions is not None), None)
        if ours is None or ours.metadata is None or ours.metadata.positions is None:
            return None
        is_foreign = history.first_row_change(found, ours.version, newest)
        types = {f.name: ddl_type(f.dataType) for f in spark.table(name.sql).schema}
        are_ours = is_foreign is None and tuple(types) == sums.sums.columns
        if not are_ours or not _can_be_stored(sums, types, step):
            return None
        table = TableColumns(name, sums.sums.columns, types=tuple(types.values()))
        seq, positions = ours.metadata.seq, ours.metadata.positions
        rows = self._tables.as_of(found, newest)
        return StoredSums(table, rows, sums.keys, newest, seq, positions, types)

    def _found(self, name: TableName) -> TableRef | None:
        """Return the table of a name as it is now; None without one."""
        self._details.forget(name)
        return self._details.table(name)

    def _format(self, name: TableName) -> SparkFormat:
        return self._details.written(name)

    def build(
        self,
        session: PrivateSession,
        step: ApplyChanges,
        sums: PartialSums,
        states: Mapping[str, RelationStates],
    ) -> StoredSums | None:
        """Compute the sums of all groups; return None where no table could have exact ones.

        Raises:
            CommitConflictError: Another refresh of the table came first.
        """
        spark, name = session.spark, sums_name(step, sums)
        inputs = {scan: states[relation].after for scan, relation in sums.relations.items()}
        query = render_query(sums.sums, inputs)
        types = {f.name: ddl_type(f.dataType) for f in analysed(spark, query).schema}
        if not _can_be_stored(sums, types, step):
            return None
        self.remove(spark, step.definition.name.catalog, step.definition.table_id, but=name)
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_schema(name.catalog)}")
        found = self._found(name)
        if found is not None and not self._can_replace(spark, name, types):
            spark.sql(f"DROP TABLE IF EXISTS {name.sql}")
            found = self._found(name)
        newest = -1 if found is None else self._tables.history(found).newest(found)
        write = partial(self._format(name).replace, spark, name, query, by_row=True)
        seq = most_commits(newest)  # no commit of the table has a higher number
        version = self._commit(spark, step, name, seq, write)
        self._raise_if_ended(spark, step, seq)
        self._details.forget(name)
        made = table_of(self._details, name)
        table = TableColumns(name, sums.sums.columns, types=tuple(types.values()))
        rows, positions = self._tables.as_of(made, version), step.run.positions
        return StoredSums(table, rows, sums.keys, version, seq, positions, types)

    def _can_replace(self, spark: SparkSession, name: TableName, types: Mapping[str, str]) -> bool:
        """Whether stored sums can get columns of these types without being dropped first."""
        if Capability.REPLACEMENT in self._format(name).format.capabilities:
            return True
        there = {f.name: ddl_type(f.dataType) for f in spark.table(name.sql).schema}
        return there == dict(types)

    def _raise_if_ended(self, spark: SparkSession, step: ApplyChanges, seq: int) -> None:
        """Remove sums that were made after their table had ended, and those before it removed.

        Raises:
            CommitConflictError: The table was dropped or released meanwhile.
        """
        name, table_id = step.definition.name, step.definition.table_id
        self._details.forget(name)
        try:
            raise_if_other_table(self._tables, self._details, name, _metadata(step, seq))
        except CommitConflictError:
            self.remove(spark, name.catalog, table_id)
            raise

    def apply(
        self,
        session: PrivateSession,
        step: ApplyChanges,
        stored: StoredSums,
        added: str = "",
        *,
        removed: str = "",
        keys: str = "",
    ) -> None:
        """Apply the change of the sums, which then reflect the sources as the refresh reads them.

        Args:
            session: The session of the refresh.
            step: The refresh.
            stored: The sums before.
            added: The rows to add; empty for none.
            removed: The rows to remove; empty for none.
            keys: The keys whose rows are replaced by `added`; empty to add and remove rows.

        Raises:
            CommitConflictError: Another refresh of the table came first.
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        spark, table = session.spark, stored.table
        format_ = self._format(table.name)
        added = added or f"SELECT * FROM {table.name.sql} WHERE false"
        if keys:
            write = partial(format_.replace_keys, spark, table, stored.keys, added, keys)
        elif removed:
            write = partial(format_.apply_changes, spark, table, added, removed)
        else:
            write = partial(format_.append, spark, table.name, added)
        try:
            self._commit(spark, step, table.name, stored.seq + 1, write)
        except RowsNotThereError as error:
            found = self._found(table.name)
            if found is not None and self._tables.history(found).is_newest(found, stored.version):
                raise
            raise conditions.CONCURRENT_CHANGE(table=step.definition.name) from error

    def move(self, session: PrivateSession, step: ApplyChanges) -> None:
        """Let the sums of a table, if it has any, reflect sources whose rows did not change."""
        sums = partial_sums(step.run.tree) if step.run.tree is not None else None
        stored = None if sums is None else self.find(session.spark, step, sums)
        if stored is not None and stored.reflect(dict(step.since)):
            self.apply(session, step, stored)

    def _commit(
        self,
        spark: SparkSession,
        step: ApplyChanges,
        name: TableName,
        seq: int,
        write: Callable[[], object],
    ) -> int:
        """Make a commit that only one of several refreshes can make with this number.

        The number does not follow from the version: commits of maintenance have none.
        """
        metadata = commit_metadata.encode_commit(_metadata(step, seq))
        with explaining_conflicts(step.definition.name):
            found = self._format(name).commit(spark, name, metadata, seq, write)
        if found is None:
            raise conditions.CONCURRENT_CHANGE(table=step.definition.name)
        return found

    def remove(
        self,
        spark: SparkSession,
        catalog: str | None,
        table_id: str,
        but: TableName | None = None,
    ) -> None:
        """Drop the sums of a materialized table, except one table of them."""
        for name in self.names(spark, catalog, table_id):
            if but is None or name != but:
                spark.sql(f"DROP TABLE IF EXISTS {name.sql}")
                self._details.forget(name)

    def names(self, spark: SparkSession, catalog: str | None, table_id: str) -> list[TableName]:
        """Return the tables that have sums of a materialized table."""
        where = _schema(catalog)
        if not spark.catalog.databaseExists(where):
            return []
        rows = spark.sql(f"SHOW TABLES IN {where} LIKE '{_PREFIX}{table_id}_*'").collect()
        return [_named(catalog, row["tableName"]) for row in rows]


def sums_name(step: ApplyChanges, sums: PartialSums) -> TableName:
    """Return where the partial sums of a table are."""
    definition = step.definition
    text = f"{render_query(sums.sums)}\n{definition.resolved.context}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return _named(definition.name.catalog, f"{_PREFIX}{definition.table_id}_{digest}")


def _named(catalog: str | None, name: str) -> TableName:
    return TableName(name, SCHEMA, catalog)


def _schema(catalog: str | None) -> str:
    return quote(SCHEMA) if catalog is None else f"{quote(catalog)}.{quote(SCHEMA)}"


def _can_be_stored(sums: PartialSums, types: Mapping[str, str], step: ApplyChanges) -> bool:
    """Whether sums are exact, and a table can have the types of the keys: none stores a collation.

    Args:
        sums: The sums.
        types: The types of their columns.
        step: The refresh.
    """
    if not all(map(is_comparable, types.values())):
        return False
    known = summable_types(types.values(), step.definition.resolved.context)
    return sums.are_exact(dict(zip(types, known, strict=True)))


def _metadata(step: ApplyChanges, number: int) -> commit_metadata.CommitMetadata:
    definition = step.definition
    return commit_metadata.CommitMetadata(
        definition.table_id,
        commit_metadata.CommitKind.CONTENT,
        number,
        definition.generation,
        positions=step.run.positions,
    )
