"""Computes a materialized table's query over one state of its sources and writes the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.execution.hosting_errors import StreamsOverConnectError
from dbt.adapters.spark_mt.execution.ports import CommitConflictError, StepResult
from dbt.adapters.spark_mt.planning.guard import guarded, outside_duplicates_query
from dbt.adapters.spark_mt.planning.properties import location_of, properties_of
from dbt.adapters.spark_mt.planning.steps import SCHEDULED, FillMode, Method
from dbt.adapters.spark_mt.resolution.run_options import session_confs
from dbt.adapters.spark_mt.spark.commits import fenced, raise_if_violated
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.merge_sql import computed_rows, merge_statement
from dbt.adapters.spark_mt.spark.orphans import next_seq
from dbt.adapters.spark_mt.spark.publishing import listed
from dbt.adapters.spark_mt.spark.query_rows import QueryRows
from dbt.adapters.spark_mt.spark.streams.filler import StreamFiller
from dbt.adapters.spark_mt.spark.table_details import NoTable
from dbt.adapters.spark_mt.spark.write_errors import WriteErrors

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.planning.steps import ApplyChanges, Fill, FillPartitions
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.streams.parts import StreamParts
    from dbt.adapters.spark_mt.spark.table_details import TableDetails
    from dbt.adapters.spark_mt.spark.write_errors import Attempt

_MERGE_CONFS = {"spark.databricks.delta.merge.materializeSource": "none"}
"""The rows of a MERGE are those of fixed versions: reading them twice is safe, and faster."""
_TAKEN = frozenset({"TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS"})
_ORPHAN = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"


class ContentWriter:
    """Writes whole tables and partitions, each in one fenced commit."""

    def __init__(
        self,
        sessions: PrivateSessions,
        sources: SparkSourceReader,
        log: DeltaLog,
        details: TableDetails,
        streams: StreamParts | None,
    ) -> None:
        self._sessions = sessions
        self._rows = QueryRows(sources, log, details)
        self._log = log
        self._details = details
        self._errors = WriteErrors(log, details)
        self._filler = StreamFiller(sessions, streams, self._errors) if streams else None

    def fill(self, step: Fill, facts: CommitFacts) -> StepResult:
        """Replace all rows.

        Raises:
            CommitConflictError: Another commit came first.
            ConstraintViolatedError: The rows break a declared key or check.
            RefreshSchemaError: The query's result no longer fits the table.
            RefreshFailedError: Spark could not compute or write the rows.
        """
        definition = step.definition
        if step.run.keeps_checkpoint:
            version, positions = self._fill_from_stream(step, facts)
            return self._result(definition, version, positions)
        opened = self._sessions.open(definition.resolved.context)
        with opened as session, self._errors.explaining(session, step) as attempt:
            attempt.content, positions = self._content(session, step)
            facts = replace(facts, positions=positions)
            rows = guarded(attempt.content, definition.resolved)
            version = self._write(session, step, facts, rows)
        return self._result(definition, version, positions)

    def _fill_from_stream(self, step: Fill, facts: CommitFacts) -> tuple[int, Positions]:
        if self._filler is None:
            reason = step.run.engine.reason if step.run.engine else ""
            raise StreamsOverConnectError(table=step.definition.name, reason=reason)
        return self._filler.fill(step, facts, self._write)

    def fill_partitions(self, step: FillPartitions, facts: CommitFacts) -> StepResult:
        """Replace the rows of some partitions; raises as `fill` does."""
        definition = step.definition
        with self._sessions.open(definition.resolved.context) as session:
            with self._errors.explaining(session, step) as attempt:
                content, positions = self._content(session, step)
                facts = replace(facts, partition_positions=positions)
                attempt.content = f"SELECT * FROM (\n{content}\n) WHERE {_condition(step)}"
                version = self._write_partitions(session, step, facts, attempt.content)
            result = self._result(definition, version, positions)
            return replace(result, warnings=_empty_run(session, step, result, content))

    def apply(self, step: ApplyChanges, facts: CommitFacts) -> StepResult:
        """Apply what changed in the sources; raises as `fill` does."""
        definition = step.definition
        opened = self._sessions.open(definition.resolved.context)
        with opened as session, self._errors.explaining(session, step) as attempt:
            session.configure(session_confs(definition.run_options))
            statement = self._change_statement(session, step, attempt)
            with session.merging_schema(enabled=step.changes_definition):
                write = partial(session.spark.sql, statement)
                version = fenced(session, definition.name, facts, write)
        return self._result(definition, version, step.run.positions)

    def _change_statement(
        self, session: PrivateSession, step: ApplyChanges, attempt: Attempt
    ) -> str:
        definition, run = step.definition, step.run
        key = definition.asked.primary_key
        if step.method is Method.APPEND or key is None:
            attempt.content = self._rows.added(session, definition, run, step.since)
            rows = guarded(attempt.content, definition.resolved)
            return f"INSERT INTO {definition.name.sql}\n{rows}"
        session.configure(_MERGE_CONFS)
        touched = self._rows.touched(session, definition, run, step.since)
        content, _ = self._rows.whole(session, definition, run)
        attempt.content = computed_rows(content, touched, key.columns)
        rows = guarded(attempt.content, definition.resolved)
        return merge_statement(definition, rows, touched, adds_columns=step.changes_definition)

    def _write_partitions(
        self, session: PrivateSession, step: FillPartitions, facts: CommitFacts, content: str
    ) -> int:
        definition = step.definition
        condition = _condition(step)
        self._check_other_partitions(session, step, content, condition)
        rows = guarded(content, definition.resolved)
        statement = f"INSERT INTO {definition.name.sql} REPLACE WHERE {condition}\n{rows}"
        return fenced(session, definition.name, facts, lambda: session.spark.sql(statement))

    def _check_other_partitions(
        self, session: PrivateSession, step: FillPartitions, content: str, condition: str
    ) -> None:
        table = step.definition.name
        query = outside_duplicates_query(content, step.definition.resolved, table.sql, condition)
        raise_if_violated(session, table, query)

    def _content(
        self, session: PrivateSession, step: Fill | FillPartitions
    ) -> tuple[str, Positions]:
        """Return the rows as a query, and the state of the sources that it reads."""
        session.configure(session_confs(step.definition.run_options))
        if step.since is None:
            return self._rows.whole(session, step.definition, step.run)
        content = self._rows.added(session, step.definition, step.run, step.since)
        return content, step.run.positions

    def _write(self, session: PrivateSession, step: Fill, facts: CommitFacts, rows: str) -> int:
        name = step.definition.name
        if step.mode is FillMode.CREATE:
            return self._create(session, step.definition, facts, rows)
        if step.mode is FillMode.REPLACE:
            writer = session.spark.sql(rows).write.format("delta").mode("overwrite")
            writer = writer.option("overwriteSchema", "true")
            if step.definition.asked.partitioned_by:
                writer = writer.partitionBy(*step.definition.asked.partitioned_by)
            return fenced(session, name, facts, lambda: writer.saveAsTable(name.sql))
        statement = f"INSERT OVERWRITE TABLE {name.sql}\n{rows}"
        with session.merging_schema(enabled=step.changes_definition):
            return fenced(session, name, facts, lambda: session.spark.sql(statement))

    def _create(
        self, session: PrivateSession, definition: StoredDefinition, facts: CommitFacts, rows: str
    ) -> int:
        """Create the table and its rows in one commit, taking over what a killed CREATE left."""
        statement = create_statement(definition, rows)
        name = definition.name
        try:
            return fenced(session, name, facts, lambda: session.spark.sql(f"CREATE {statement}"))
        except Exception as error:
            if not is_spark_error(error):
                raise
            failure = failure_of(error)
            if failure.main_condition in _TAKEN:
                raise CommitConflictError(table=name) from error
            if failure.main_condition != _ORPHAN:
                raise
        seq = next_seq(self._log, failure.parameter("tableLocation"), definition)
        replacing = f"CREATE OR REPLACE {statement}"
        return fenced(session, name, replace(facts, seq=seq), lambda: session.spark.sql(replacing))

    def _result(
        self, definition: StoredDefinition, version: int, positions: Positions
    ) -> StepResult:
        self._details.forget()
        detail = self._details.of(definition.name)
        if isinstance(detail, NoTable):
            return StepResult(positions=positions)
        commit = self._log.commit(detail.location, version)
        if commit is None:
            return StepResult(positions=positions)
        return StepResult(commit.rows, commit.timestamp_ms, positions)


def create_statement(definition: StoredDefinition, rows: str) -> str:
    """Return `TABLE … AS rows` with everything that the table has from its first commit on."""
    asked = definition.asked
    clauses = [f"TABLE {definition.name.sql} USING delta"]
    if asked.partitioned_by:
        clauses.append(f"PARTITIONED BY ({', '.join(map(quote, asked.partitioned_by))})")
    if asked.clustered_by:
        clauses.append(f"CLUSTER BY ({', '.join(map(quote, asked.clustered_by))})")
    if (location := location_of(definition)) is not None:
        clauses.append(f"LOCATION {quote_text(location)}")
    if asked.comment is not None:
        clauses.append(f"COMMENT {quote_text(asked.comment)}")
    clauses.append(f"TBLPROPERTIES ({listed(properties_of(definition))})")
    return "\n".join(clauses) + f"\nAS {rows}"


def _empty_run(
    session: PrivateSession, step: FillPartitions, result: StepResult, content: str
) -> tuple[str, ...]:
    """Warn when a scheduled run wrote nothing although the query has rows of other partitions."""
    if result.rows or step.run.trigger != SCHEDULED:
        return ()
    columns = ", ".join(quote(column) for column, _ in step.partitions[-1])
    try:
        found = session.spark.sql(f"SELECT {columns} FROM (\n{content}\n) LIMIT 1").collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return (f"The run wrote no rows; whether it should have: {failure_of(error).message}",)
    if not found:
        return ()
    wanted = ", ".join(f"{column} = {literal}" for column, literal in step.partitions[-1])
    there = ", ".join(f"{column} = '{value}'" for column, value in found[0].asDict().items())
    warning = (
        f"The scheduled run of {step.definition.name} wrote no rows for {wanted}, while the query "
        f"has rows for {there}: compare the date formatter with the values of the query."
    )
    return (warning,)


def _condition(step: FillPartitions) -> str:
    types = {column.name.lower(): column.type for column in step.definition.resolved.columns}
    alternatives = []
    for partition in step.partitions:
        parts = [
            f"{quote(column)} IS NULL"
            if literal is None
            else f"{quote(column)} = CAST({literal} AS {types[column.lower()]})"
            for column, literal in partition
        ]
        alternatives.append("(" + " AND ".join(parts) + ")")
    return "(" + " OR ".join(alternatives) + ")"
