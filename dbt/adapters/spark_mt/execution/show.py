"""SHOW and DESC of tables and jobs, and SHOW CREATE."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters.spark_mt.changes.drift import DriftKind, described_owner
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution import checks, jobs
from dbt.adapters.spark_mt.execution.baseline import kept_by_table
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.lookup import stored_table
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.execution.results import StatementResult, columns
from dbt.adapters.spark_mt.execution.source_columns import new_source_columns
from dbt.adapters.spark_mt.resolution.options import read_options, redacted
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE, parse_zone
from dbt.adapters.spark_mt.statements.clauses import CLAUSES
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.renderer import render_create

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition, StoredTable
    from dbt.adapters.spark_mt.definition.freshness import LagStage
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.statements.nodes import DescribeTable, ShowCreate, ShowTables
    from dbt.adapters.spark_mt.strategies.reasons import Reason
    from dbt.adapters.spark_mt.strategies.strategy import Choice

    Row = tuple[str, str]
    _Lines = list[Row]


REDACTION = "spark.redaction.regex"


NO_MANAGER = "none: refreshed by statements and dbt run"
_FROM_DESC = {
    "Freshness": "How far the table may lag its sources.",
    "Refresh mode": "Whether changes are followed, or the query is computed as a whole.",
    "Start mode": "From where on the sources are read.",
    "Status": "Whether refreshes run.",
}
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
_MEASURING_MS = 500
"""How long a list measures lags: a list of 1,000 tables may take a second."""
_SHOWN_ELSEWHERE = (DriftKind.ROWS, DriftKind.STATUS)
"""These have rows of their own: foreign commits, and the status."""
_JOBS = columns(
    ("job_id", "STRING"),
    ("table", "STRING"),
    ("kind", "STRING"),
    ("status", "STRING"),
    ("start_time", "TIMESTAMP"),
    ("end_time", "TIMESTAMP"),
    ("rows", "BIGINT"),
    ("error", "STRING"),
    ("strategy", "STRING"),
    ("reason", "STRING"),
)


def create_text(
    definition: StoredDefinition, confs: Mapping[str, str], *, or_alter: bool = False
) -> str:
    """Return CREATE [OR ALTER] MATERIALIZED TABLE with the full name and the original query.

    Clauses are written as they were declared, and values from defaults in a comment. The value of
    an option is replaced by asterisks if its key matches the redaction pattern.

    Args:
        definition: The table's definition.
        confs: The confs of the reader's session: its time zone and `spark.redaction.regex`.
        or_alter: Whether the statement is CREATE OR ALTER.
    """
    declared = definition.declared
    options = tuple((key, shown_option(key, value, confs)) for key, value in declared.options)
    form = CreateForm.CREATE_OR_ALTER if or_alter else CreateForm.CREATE
    statement = CreateTable(form, definition.name, replace(declared, options=options))
    return render_create(statement, _notes(definition, confs))


def shown_option(key: str, value: str, confs: Mapping[str, str]) -> str:
    """Return an option's value, redacted if its key matches the pattern."""
    pattern = confs.get(REDACTION)
    return redacted(key, value, pattern) if pattern else redacted(key, value)


def instant(instant_ms: int, confs: Mapping[str, str]) -> str:
    """Return an instant in the reader's zone: `2025-10-28 10:00:00`."""
    zone = parse_zone(confs.get(SESSION_TIME_ZONE) or "UTC")
    moment = datetime.fromtimestamp(instant_ms / 1000, tz=timezone.utc).astimezone(zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def evaluated(definition: StoredDefinition, confs: Mapping[str, str]) -> str:
    """Return the instant of the start mode, in the form of FLIP-557; empty without one."""
    instant_ms = definition.resolved.start_mode.instant_ms
    if instant_ms is None:
        return ""
    at = instant(instant_ms, confs)
    return f"Evaluated to FROM_TIMESTAMP(TIMESTAMP '{at}') at execution"


def _notes(definition: StoredDefinition, confs: Mapping[str, str]) -> dict[str, str]:
    resolved = definition.resolved
    notes = {
        clause.keyword: f"{clause.text(getattr(resolved, clause.field))} by {clause.source}"
        for clause in CLAUSES
        if clause.is_resolved and clause.declared(definition.declared) is None
    }
    if text := evaluated(definition, confs):
        notes.setdefault("START_MODE", text)
    return notes


def definition_rows(definition: StoredDefinition, confs: Mapping[str, str]) -> Iterator[Row]:
    """Yield the declared clauses and their resolved values."""
    resolved, declared = definition.resolved, definition.declared
    yield "Original query", declared.query
    if definition.owner:
        yield "Declared by", described_owner(definition.owner)
    yield "Expanded query", resolved.expanded_query
    yield "Catalog and schema of the query", f"{resolved.context.catalog}.{resolved.context.schema}"
    more = {
        "refresh_mode": [("Refresh", _extent(definition))],
        "start_mode": [("Baseline", definition.baseline.describe())] if definition.baseline else [],
    }
    for clause in (clause for clause in CLAUSES if clause.is_resolved):
        given, value = clause.declared(declared), clause.sql(getattr(resolved, clause.field))
        text = _declared(None if given is None else clause.sql(given), value)
        if clause.field == "start_mode":
            text = " ".join(part for part in (text, evaluated(definition, confs)) if part)
        yield clause.label, text
        yield from more.get(clause.field, ())
    if key := declared.primary_key:
        yield "Primary key", f"({', '.join(key.columns)}) NOT ENFORCED"
    for clause in (clause for clause in CLAUSES if clause.label and not clause.is_resolved):
        if columns := clause.declared(declared):
            yield clause.label, ", ".join(columns)
    for option, value in declared.options:
        yield f"Option {option}", shown_option(option, value, confs)


def choice_rows(definition: StoredDefinition, choice: Choice) -> Iterator[Row]:
    """Yield the strategy of the table, its reasons, and the strategies that are not used."""
    yield "Engine", _engine(definition, choice)
    for reason in choice.reasons:
        yield f"Reason {reason.code}{_about(reason)}", reason.text
    if choice.cost is not None:
        yield "Estimated cost", f"{choice.cost}, as for the last refresh"
    for strategy, reason in choice.refusals:
        yield f"Not used: {strategy}, {reason.code}{_about(reason)}", reason.text


def _about(reason: Reason) -> str:
    return f" of {reason.subject}" if reason.subject else ""


def state_rows(
    table: StoredTable, lag: Lag | None, confs: Mapping[str, str], handler: str = NO_MANAGER
) -> Iterator[Row]:
    """Yield the state of the table.

    Args:
        table: The table.
        lag: The lag as it was just measured; None if that failed.
        confs: The confs of the reader's session.
        handler: The manager that refreshes it, as text.
    """
    definition = table.definition
    reason = f" ({definition.status_reason})" if definition.status_reason else ""
    yield "Status", definition.status.value + reason
    yield "Table id", definition.table_id
    yield "Generation", str(definition.generation)
    yield "Refresh handler", handler
    for option, value in definition.run_options:
        yield f"Run option {option}", shown_option(option, value, confs)
    for name, position in sorted((table.positions or {}).items()):
        yield f"Position of {name}", str(position)
    if (stream := table.stream) is not None:
        yield "Stream", f"batch {stream.batch} of the checkpoint {stream.checkpoint}"
    yield from _lag_rows(table, lag)
    if (last := table.last_refresh) is not None:
        rows = "" if last.rows is None else f", {last.rows} rows"
        at = instant(last.started_at_ms, confs)
        yield "Last refresh", f"{at}, {last.trigger}, {last.strategy}{rows} ({last.refresh_id})"
    for commit in table.foreign_commits:
        yield "Foreign commit", f"{commit.operation} in version {commit.version}"


def _lag_rows(table: StoredTable, lag: Lag | None) -> Iterator[Row]:
    if lag is None or lag.seconds is None:
        yield "Lag", "unknown"
        return
    yield "Lag", f"{lag.seconds} seconds"
    yield "Lag to direct sources", f"{lag.own_seconds} seconds"
    if lag.stages:
        yield "Lag by table", path_text(lag.stages)
    more = lag.allowed_seconds - lag.freshness_seconds
    why = f" (the freshness and {more:g} seconds of its last refresh)" if more else ""
    yield "Lag allowed", f"{lag.allowed_seconds:g} seconds{why}"
    is_active = table.definition.status is RefreshStatus.ACTIVATED
    yield "Freshness status", lag.status_at(lag.measured_at_ms, is_active=is_active).value


def path_text(stages: Iterable[LagStage]) -> str:
    """Return the lag by table as text: `by_product 39 s → top_products 2 s`."""
    return " → ".join(f"{stage.table} {stage.seconds:.0f} s" for stage in stages)


def _declared(declared: str | None, resolved: str) -> str:
    if declared is None:
        return f"{resolved} (by default)"
    return declared if declared == resolved else f"{declared}, resolved to {resolved}"


def _extent(definition: StoredDefinition) -> str:
    formatters = read_options(definition.declared.options).date_formatters
    if definition.resolved.refresh_mode is not RefreshMode.FULL or not formatters:
        return "whole table"
    listed = ", ".join(f"{column} as {pattern}" for column, pattern in formatters)
    return f"scheduled runs: the partitions of their period ({listed}); otherwise the whole table"


def _engine(definition: StoredDefinition, choice: Choice) -> str:
    shown = f"{choice.engine}, strategy {choice.strategy}"
    if choice.key:
        shown += f", a row replaces the row with the same {', '.join(choice.key)}"
    baseline = definition.baseline
    if baseline is None or choice.is_stream:
        return shown
    if choice.alternatives:
        shown += f", else {choice.alternatives}"
    if baseline.is_adopted:
        return f"{shown} (the table was adopted)"
    return f"{shown} (what came since the baseline is applied)"


class Figure(NamedTuple):
    """A labelled value for a catalogue.

    Args:
        label: Its name.
        value: The value as text.
        about: Its description.
    """

    label: str
    value: str
    about: str


def figures_of(table: StoredTable, lag: Lag | None, confs: Mapping[str, str]) -> tuple[Figure, ...]:
    """Return the figures of a table for a catalogue; arguments as those of `state_rows`."""
    rows = dict([*definition_rows(table.definition, confs), *state_rows(table, None, confs)])
    described = [Figure(label, rows[label], about) for label, about in _FROM_DESC.items()]
    return (*described, *_past(table, lag, confs))


def _past(table: StoredTable, lag: Lag | None, confs: Mapping[str, str]) -> Iterator[Figure]:
    if lag is not None and lag.seconds is not None:
        measured = _moment(lag.measured_at_ms, confs)
        about = "The age of the oldest change of the base tables that the table did not have then."
        yield Figure("Lag", f"{lag.seconds} seconds at {measured}", about)
    if (last := table.last_refresh) is not None:
        read_at = _moment(last.started_at_ms, confs)
        yield Figure("Last refresh", read_at, "When the sources were read for the table's rows.")
        yield Figure("Strategy", last.strategy, "How the last refresh computed the rows.")
        if last.rows is not None:
            yield Figure("Rows", str(last.rows), "Rows that the last refresh wrote.")
    if (node := dict(table.definition.owner).get("dbt")) is not None:
        yield Figure("Declared by", node, "The dbt node whose statement made the table.")


def _moment(at_ms: int, confs: Mapping[str, str]) -> str:
    return f"{instant(at_ms, confs)} {confs.get(SESSION_TIME_ZONE) or 'UTC'}"


class Inspection:
    """Shows tables. The only change that it makes is to finish an unfinished statement."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def show_tables(self, statement: ShowTables) -> StatementResult:
        """List a schema's materialized tables with the figures of the registry.

        A table that is being created is listed as INITIALIZING after two seconds. Lags are measured
        now, for half a second; the remaining tables have none.
        """
        probe = TableName.of(*statement.schema, "_") if statement.schema else TableName("_")
        full = self._env.store.full_name(probe)
        shown = [
            entry
            for entry in self._entries(full.catalog or "", full.schema or "")
            if statement.pattern is None
            or matches(entry.name.name, statement.pattern) != statement.negated
        ]
        until_ms = self._env.now_ms() + _MEASURING_MS
        rows = (
            (
                entry.name.schema,
                entry.name.name,
                entry.refresh_mode,
                entry.freshness,
                entry.status,
                self._listed_lag(entry, until_ms),
                _instant(entry.last_refresh_at_ms),
            )
            for entry in shown
        )
        return StatementResult(_TABLES, tuple(rows))

    def _listed_lag(self, entry: RegistryEntry, until_ms: int) -> int | None:
        """Measure a lag for a list; return None for a table that cannot be measured."""
        if entry.status == RefreshStatus.INITIALIZING.value or self._env.now_ms() >= until_ms:
            return None
        goal = checks.Goal(
            entry.name, Freshness.parse(entry.freshness).seconds, RefreshMode(entry.refresh_mode)
        )
        try:
            state = self._env.states.newest(entry.name)
            lag = checks.measure(state, goal, self._env.states, self._env.now_ms())
        except Exception:  # noqa: BLE001 - one table's failure must not hide the others
            return None
        return lag.seconds

    def _entries(self, catalog: str, schema: str) -> list[RegistryEntry]:
        """Return the existing tables and those that are being created, by name."""
        there = self._env.registry.entries(catalog, schema)
        names = {entry.name for entry in there}
        initial = RefreshStatus.INITIALIZING.value
        coming = (
            RegistryEntry(
                job.table, "", job.refresh_mode, job.freshness, initial, None, job.last_heartbeat_ms
            )
            for job in jobs.initializing(self._env, catalog, schema)
            if job.table not in names
        )
        return sorted((*there, *coming), key=lambda entry: entry.name.name)

    def show_create(self, statement: ShowCreate) -> StatementResult:
        """Return the statement that creates the table, with the clauses as they were declared."""
        table = self._table(statement.name)
        text = create_text(table.definition, self._env.confs(), or_alter=statement.or_alter)
        return StatementResult(_CREATE, ((text,),))

    def describe(self, statement: DescribeTable) -> StatementResult:
        """Return the table's columns, and with EXTENDED its definition and state."""
        table = self._table(statement.name)
        rows = [(c.name, c.type.lower(), c.comment) for c in table.definition.resolved.columns]
        if statement.extended:
            rows += [("", "", None), ("# Materialized Table Information", "", None)]
            rows += [(label, text, None) for label, text in self._information(table)]
        return StatementResult(_DESCRIBE, tuple(rows))

    def _information(self, table: StoredTable) -> _Lines:
        confs = self._env.confs()
        engine, drift = self._looked_at(table)
        lag, keeper = checks.lag_if_known(self._env, table), jobs.keeper_of(self._env, table.name)
        handler = NO_MANAGER if keeper is None else keeper.describe()
        rows = definition_rows(table.definition, confs)
        return [*rows, *engine, *state_rows(table, lag, confs, handler), *drift]

    def _looked_at(self, table: StoredTable) -> tuple[_Lines, _Lines]:
        """Read the sources; return the problem as a row if that fails."""
        resolved = table.definition.resolved
        try:
            analyzed = self._env.stored_analyzer.analyze_stored(resolved)
            drifts = checks.drift_of(self._env, table.name)
        except MaterializedTableError as error:
            return [("Sources", problem_of(error))], []
        choice = kept_by_table(table, analyzed)
        engine = list(choice_rows(table.definition, choice))
        if new := new_source_columns(resolved, analyzed):
            engine.append(("New source columns", new))
        shown = (drift for drift in drifts if drift.kind not in _SHOWN_ELSEWHERE)
        return engine, [("Drift", str(drift)) for drift in shown]

    def _table(self, name: TableName) -> StoredTable:
        return stored_table(self._env, self._env.store.full_name(name))


def matches(name: str, pattern: str) -> bool:
    """Whether a table's name fits a LIKE pattern: `%` and `_` as in SQL, `*` as in Spark's SHOW.

    Case does not count, as in Spark's SHOW.
    """
    wild = {"%": ".*", "*": ".*", "_": "."}
    regex = "".join(wild.get(char) or re.escape(char) for char in pattern)
    return re.fullmatch(regex, name, re.IGNORECASE | re.DOTALL) is not None


class JobInspection:
    """Shows the refreshes of the current catalog's tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def show_jobs(self) -> StatementResult:
        """List the refreshes of the last 30 days, the newest first."""
        since = self._env.now_ms() - jobs.KEPT_MS
        found = self._env.execution_context.log.jobs(self._catalog(), since)
        return StatementResult(_JOBS, tuple(self._row(job) for job in found))

    def describe_job(self, job_id: str) -> StatementResult:
        """Show one refresh.

        Raises:
            MaterializedTableError: There is none, or its rows were removed.
        """
        catalog = self._catalog()
        job = self._env.execution_context.log.job(catalog, job_id)
        if job is None:
            raise conditions.JOB_NOT_FOUND(job_id=job_id, catalog=catalog)
        return StatementResult(_JOBS, (self._row(job),))

    def _catalog(self) -> str:
        return self._env.store.full_name(TableName("_")).catalog or ""

    def _row(self, job: Job) -> tuple[object, ...]:
        shown = jobs.with_effective_status(job, self._env)
        return (
            shown.job_id,
            str(shown.table),
            shown.kind.value,
            shown.status.value,
            _instant(shown.started_at_ms),
            _instant(shown.ended_at_ms),
            shown.rows,
            shown.error or None,
            shown.strategy or None,
            shown.reason or None,
        )


def _instant(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
