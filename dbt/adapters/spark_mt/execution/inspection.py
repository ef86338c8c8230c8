"""SHOW and DESC: what there is, for people (semantics 11)."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.drift import DriftKind
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.awaiting import keeper_of
from dbt.adapters.spark_mt.execution.description import (
    NOBODY,
    definition_rows,
    engine_rows,
    state_rows,
)
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.health import drift_of
from dbt.adapters.spark_mt.execution.holds import initializing
from dbt.adapters.spark_mt.execution.lag import lag_seconds
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.execution.results import ResultColumn, StatementResult
from dbt.adapters.spark_mt.execution.show_create import create_text
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.resolution.engines import choose_engine

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.statements.nodes import DescribeTable, ShowCreate, ShowTables

    _Lines = list[tuple[str, str]]


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


_SHOWN_BESIDE = (DriftKind.ROWS, DriftKind.STATUS)
"""These have rows of their own: foreign commits, and the status."""


class Inspection:
    """Shows tables without changing anything, but for finishing what a statement left undone."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def show_tables(self, statement: ShowTables) -> StatementResult:
        """List a schema's materialized tables with the figures of the registry.

        A table that is being created shows as INITIALIZING from two seconds on.
        """
        probe = TableName.of(*statement.schema, "_") if statement.schema else TableName("_")
        full = self._env.store.full_name(probe)
        rows = tuple(
            _entry_row(entry)
            for entry in self._entries(full.catalog or "", full.schema or "")
            if statement.pattern is None
            or matches(entry.name.name, statement.pattern) != statement.negated
        )
        return StatementResult(_TABLES, rows)

    def _entries(self, catalog: str, schema: str) -> list[RegistryEntry]:
        """Return the tables that are there, and those that somebody is creating now, by name."""
        there = self._env.registry.entries(catalog, schema)
        names = {entry.name for entry in there}
        coming = initializing(self._env, catalog, schema)
        entries = [*there, *(_coming(job) for job in coming if job.table not in names)]
        return sorted(entries, key=lambda entry: entry.name.name)

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
        engine, lag, drift = self._looked_at(table)
        return [
            *definition_rows(table.definition, confs),
            *engine,
            *state_rows(table, lag, confs, self._handler(table)),
            *drift,
        ]

    def _looked_at(self, table: StoredTable) -> tuple[_Lines, int | None, _Lines]:
        """Look at the sources; why that fails is what the user wants to know then."""
        resolved = table.definition.resolved
        try:
            analyzed = self._env.stored_analyzer.analyze_stored(resolved)
            names = {str(source.name): source.name for source in analyzed.sources}
            lag = lag_seconds(table, names, self._env.sources, self._env.now_ms())
            drifts = drift_of(self._env, table.name)
        except MaterializedTableError as error:
            return [("Sources", problem_of(error))], None, []
        engine = list(engine_rows(table.definition, choose_engine(resolved, analyzed)))
        shown = (drift for drift in drifts if drift.kind not in _SHOWN_BESIDE)
        return engine, lag, [("Drift", str(drift)) for drift in shown]

    def _handler(self, table: StoredTable) -> str:
        keeper = keeper_of(self._env, table.name)
        return NOBODY if keeper is None else keeper.describe()

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


def _coming(job: Job) -> RegistryEntry:
    return RegistryEntry(
        name=job.table,
        table_id="",
        refresh_mode=job.refresh_mode,
        freshness=job.freshness,
        status=RefreshStatus.INITIALIZING.value,
        last_refresh_at_ms=None,
        lag_seconds=None,
        recorded_at_ms=job.heard_at_ms,
    )


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
