"""SHOW and DESC: what there is, for people (semantics 11)."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.execution.description import definition_rows, state_rows
from dbt.adapters.spark_mt.execution.lag import lag_seconds
from dbt.adapters.spark_mt.execution.refreshes import stored_table
from dbt.adapters.spark_mt.execution.results import ResultColumn, StatementResult
from dbt.adapters.spark_mt.execution.show_create import create_text

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import RegistryEntry
    from dbt.adapters.spark_mt.statements.nodes import DescribeTable, ShowCreate, ShowTables


def columns(*pairs: tuple[str, str]) -> tuple[ResultColumn, ...]:
    """Return result columns from (name, Spark DDL type) pairs."""
    return tuple(ResultColumn(*pair) for pair in pairs)


_TABLES = columns(
    ("namespace", "STRING"),
    ("table_name", "STRING"),
    ("refresh_mode", "STRING"),
    ("freshness", "STRING"),
    ("status", "STRING"),
    ("lag_seconds", "BIGINT"),
    ("last_refresh_at", "TIMESTAMP"),
)
_CREATE = columns(("createtab_stmt", "STRING"))
_DESCRIBE = columns(("col_name", "STRING"), ("data_type", "STRING"), ("comment", "STRING"))


class Inspection:
    """Shows tables without changing anything, but for finishing what a statement left undone."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def show_tables(self, statement: ShowTables) -> StatementResult:
        """List a schema's materialized tables with the figures of the registry."""
        probe = TableName.of(*statement.schema, "_") if statement.schema else TableName("_")
        full = self._env.store.full_name(probe)
        entries = self._env.registry.entries(full.catalog or "", full.schema or "")
        rows = tuple(
            _entry_row(entry)
            for entry in entries
            if statement.pattern is None
            or matches(entry.name.name, statement.pattern) != statement.negated
        )
        return StatementResult(_TABLES, rows)

    def show_create(self, statement: ShowCreate) -> StatementResult:
        """Return the statement that makes the table, clauses as they were asked."""
        table = self._table(statement.name)
        text = create_text(table.definition, self._env.confs(), or_alter=statement.or_alter)
        return StatementResult(_CREATE, ((text,),))

    def describe(self, statement: DescribeTable) -> StatementResult:
        """Return the table's columns, and with EXTENDED everything else that is known of it."""
        table = self._table(statement.name)
        rows = [(c.name, c.type.lower(), c.comment) for c in table.definition.resolved.columns]
        if statement.extended:
            rows += [("", "", None), ("# Materialized Table Information", "", None)]
            rows += [(label, text, None) for label, text in self._information(table)]
        return StatementResult(_DESCRIBE, tuple(rows))

    def _information(self, table: StoredTable) -> list[tuple[str, str]]:
        confs = self._env.confs()
        analyzed = self._env.stored_analyzer.analyze_stored(table.definition.resolved)
        names = {str(source.name): source.name for source in analyzed.sources}
        lag = lag_seconds(table, names, self._env.sources, self._env.now_ms())
        return [*definition_rows(table.definition, confs), *state_rows(table, lag, confs)]

    def _table(self, name: TableName) -> StoredTable:
        return stored_table(self._env, self._env.store.full_name(name))


def matches(name: str, pattern: str) -> bool:
    """Whether a table's name fits a LIKE pattern: `%` and `_` as in SQL, `*` as in Spark's SHOW.

    Case does not count, as in Spark's SHOW.
    """
    regex = "".join(
        ".*" if char in "%*" else "." if char == "_" else re.escape(char) for char in pattern
    )
    return re.fullmatch(regex, name, re.IGNORECASE | re.DOTALL) is not None


def _entry_row(entry: RegistryEntry) -> tuple[object, ...]:
    at = entry.last_refresh_at_ms
    refreshed = None if at is None else datetime.fromtimestamp(at / 1000, tz=timezone.utc)
    return (
        entry.name.schema,
        entry.name.name,
        entry.refresh_mode,
        entry.freshness,
        entry.status,
        entry.lag_seconds,
        refreshed,
    )
