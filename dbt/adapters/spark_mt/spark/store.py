"""Finds materialized tables in the catalog and reads what their commits say."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.table_state import (
    Damaged,
    Found,
    Missing,
    StoredTable,
    Stranger,
)
from dbt.adapters.spark_mt.execution.history import read_history
from dbt.adapters.spark_mt.spark.properties import DEFINITION, DELTA_ID
from dbt.adapters.spark_mt.spark.table_details import NoTable
from dbt.adapters.spark_mt.spark.types import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.history import History
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetail, TableDetails

_FAR = 200
"""How many commits back a table without our properties may once have been one of ours."""


class SparkTableStore:
    """Looks at tables themselves, never at the registry."""

    def __init__(self, spark: SparkSession, log: DeltaLog, details: TableDetails) -> None:
        self._spark = spark
        self._log = log
        self._details = details

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the session's current catalog and schema."""
        if name.catalog is not None:
            return name
        catalog = self._spark.catalog.currentCatalog()
        if name.schema is not None:
            return TableName(name.name, name.schema, catalog)
        return TableName(name.name, self._spark.catalog.currentDatabase(), catalog)

    def find(self, name: TableName) -> Found:
        """Return what stands under the full name `name`.

        Raises:
            UnreadableDefinitionError: The definition is there and cannot be read.
        """
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            return Stranger(name, detail.kind) if detail.kind else Missing(name)
        if not detail.is_delta:
            return Stranger(name, f"{detail.format} table")
        return self._delta_table(name, detail)

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        query = f"SELECT try_cast({literal} AS {type_}) IS NOT NULL AS fits"
        return bool(self._spark.sql(query).collect()[0]["fits"])

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        detail = self._details.of(name)
        if isinstance(detail, NoTable) or not detail.is_delta:
            return None
        return _published(detail, name)

    def _delta_table(self, name: TableName, detail: TableDetail) -> Found:
        published = _published(detail, name)
        commits = self._log.backwards(detail.location)
        if published is None:
            return _unmarked(name, read_history(islice(commits, _FAR)))
        history = read_history(commits, published.generation)
        if history.newest is None and detail.properties.get(DELTA_ID) != detail.delta_id:
            return Stranger(name, "clone of a materialized table")
        return self._stored(name, published, history)

    def _stored(self, name: TableName, published: StoredDefinition, history: History) -> Found:
        definition = published
        unpublished = False
        facts = history.newest
        if facts is not None and facts.generation > published.generation and history.definition:
            definition = replace(decode_definition(history.definition, str(name)), name=name)
            unpublished = True
        columns = columns_of(self._spark.table(name.sql).schema)
        if problem := _damage(definition, columns):
            return Damaged(name, problem, history.seq, definition)
        return StoredTable(
            definition=definition,
            seq=history.seq,
            version=history.version,
            columns=columns,
            positions=facts.positions if facts else None,
            last_refresh=history.last_refresh(),
            unpublished=unpublished,
            foreign_commits=history.foreign,
        )


def _published(detail: TableDetail, name: TableName) -> StoredDefinition | None:
    encoded = detail.properties.get(DEFINITION)
    if encoded is None:
        return None
    return replace(decode_definition(encoded, str(name)), name=name)


def _unmarked(name: TableName, history: History) -> Found:
    """A Delta table without our properties: never ours, or no longer."""
    if not history.definition:
        return Stranger(name, "delta table")
    problem = "its definition is no longer among its properties (replaced by hand, or UNSET)"
    definition = replace(decode_definition(history.definition, str(name)), name=name)
    return Damaged(name, problem, history.seq, definition)


def _damage(definition: StoredDefinition, columns: tuple[Column, ...]) -> str:
    """Say how the table's columns differ from those of its definition, empty if they do not."""
    wanted = [(c.name, c.type) for c in definition.resolved.columns]
    real = [(c.name, c.type) for c in columns]
    if wanted == real:
        return ""
    lost = [str(Column(*pair)) for pair in wanted if pair not in real]
    strange = [str(Column(*pair)) for pair in real if pair not in wanted]
    parts = [f"columns {', '.join(lost)} are gone" if lost else ""]
    parts.append(f"columns {', '.join(strange)} are not of its definition" if strange else "")
    return " and ".join(part for part in parts if part) or "its columns are in another order"
