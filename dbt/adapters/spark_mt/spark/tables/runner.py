"""Runner of plan steps on Spark."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, singledispatchmethod
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.commit_metadata import encode_commit
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.execution.retries import retrying
from dbt.adapters.spark_mt.execution.table_loader import readable_definition
from dbt.adapters.spark_mt.planning import properties as table_properties
from dbt.adapters.spark_mt.planning import steps
from dbt.adapters.spark_mt.planning.constraints import violations_query
from dbt.adapters.spark_mt.resolution.columns import null_column
from dbt.adapters.spark_mt.spark.catalog import commit
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable, clustering_columns
from dbt.adapters.spark_mt.spark.session.errors import (
    failure_of,
    is_spark_error,
    suppress_spark_errors,
)
from dbt.adapters.spark_mt.spark.session.types import with_bounded_texts
from dbt.adapters.spark_mt.spark.tables.stored_sums import SumsTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        SparkFormat,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.registry.registry import SparkSystemLog
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.runner import StreamParts
    from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter

    _Write = Callable[[SparkSession], object]
    """Makes one small commit in a session."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a table has now.

    Args:
        comment: Its comment, empty without one.
        properties: Its properties.
        identity: The format's own identity of it.
        definition: The definition that is published, None where there is none that can be read.
    """

    comment: str
    properties: Mapping[str, str]
    identity: str
    definition: StoredDefinition | None = None


class SparkStepRunner:
    """Runner of steps, each in a private session; kept details of tables are dropped after it."""

    def __init__(
        self,
        tables: SparkTables,
        sessions: PrivateSessions,
        content: ContentWriter,
        log: SparkSystemLog,
        details: TableDetails,
        streams: StreamParts | None = None,
    ) -> None:
        self._streams = streams
        self._tables = tables
        self._sessions = sessions
        self._content = content
        self._log = log
        self._details = details
        self._sums = SumsTables(tables, details)

    def run(self, step: steps.Step) -> StepResult:
        """Carry out one step.

        Raises:
            CommitConflictError: Another commit came before this step's commit.
            RefreshFailedError: Spark could not compute or write the rows.
            ConstraintViolatedError: The rows break a declared key or check.
            MaterializedTableError: Spark was gone before it reported the result of the step.
            MaterializedTableError: Spark could not write anything else.
        """
        try:
            return self._run(step)
        except Exception as error:
            is_reported = step.phase is steps.Phase.AFTER or not is_spark_error(error)
            if is_reported or failure_of(error).is_cancelled:
                raise
            raise _explained(step, failure_of(error)) from error
        finally:
            self._details.forget()

    def undo(self, step: steps.Step) -> None:
        """Let a table refuse NULL again; where that fails, the next statement does it.

        Not every format can: the rows are checked by each refresh, too.
        """
        if not isinstance(step, steps.PrepareStorage):
            return
        for column in step.nullable or ():
            with suppress(MaterializedTableError), suppress_spark_errors():
                self._refuses_null(step, column)

    @singledispatchmethod
    def _run(self, step: steps.Step) -> StepResult:
        raise TypeError(step)

    @_run.register
    def _(self, step: steps.PrepareStorage) -> StepResult:
        name = step.definition.name
        writes = [] if step.nullable == () else self._loosening(step.definition)
        if step.maps_names:
            writes.append(self._setting(step.definition, self._names(name).name_mapping))
        self._change_metadata(step, name, *writes)
        return StepResult()

    def _loosening(self, definition: StoredDefinition) -> list[_Write]:
        """Return what lets the table take NULL in every column that may hold it.

        Columns of adopted tables may be NOT NULL in the table's schema.
        """
        name = definition.name
        with self._sessions.open() as session:
            fields = session.spark.table(name.sql).schema.fields
        wanted = {column.name.lower(): column.nullable for column in definition.resolved.columns}
        nullable = [f.name for f in fields if not f.nullable and wanted.get(f.name.lower(), True)]
        there = self._names(name).constraints(self._details.properties(name))
        gone = table_properties.obsolete_not_null(definition, there)
        return [
            *(partial(self._of(name).drop_constraint, name=name, constraint=each) for each in gone),
            *(
                _sql(f"ALTER TABLE {name.sql} ALTER COLUMN {quote(column)} DROP NOT NULL")
                for column in nullable
            ),
        ]

    def _setting(self, definition: StoredDefinition, properties: Mapping[str, str]) -> _Write:
        name = definition.name
        return partial(self._of(name).set_properties, name=name, properties=properties)

    def _of(self, name: TableName) -> SparkFormat:
        return commit.format_of(self._tables, self._details, name)

    def _names(self, name: TableName) -> TableFormat:
        return self._of(name).format

    @_run.register
    def _(self, step: steps.VerifyRows) -> StepResult:
        definition = step.definition
        rows = f"SELECT {_columns(definition, step.new_columns)} FROM {definition.name.sql}"
        query = violations_query(rows, definition.resolved)
        with self._sessions.open() as session:
            commit.raise_if_violated(session, definition.name, query)
        return StepResult()

    @_run.register
    def _(self, step: steps.Fill) -> StepResult:
        return self._content.fill(step, metadata_of(step))

    @_run.register
    def _(self, step: steps.FillPartitions) -> StepResult:
        return self._content.fill_partitions(step, metadata_of(step))

    @_run.register
    def _(self, step: steps.ApplyChanges) -> StepResult:
        return self._content.apply(step, metadata_of(step))

    @_run.register
    def _(self, step: steps.CommitDefinition) -> StepResult:
        self._commit_no_rows(
            step.definition.name,
            metadata_of(step),
            _columns(step.definition, step.new_columns),
            step.new_columns,
        )
        return StepResult(positions=step.positions)

    @_run.register
    def _(self, step: steps.ReserveSequence) -> StepResult:
        self._commit_no_rows(step.name, metadata_of(step))
        return StepResult()

    @_run.register
    def _(self, step: steps.Release) -> StepResult:
        with self._removing_sums(step.name, step.table_id):
            self._commit_no_rows(step.name, metadata_of(step))
        return StepResult()

    def _commit_no_rows(
        self,
        name: TableName,
        metadata: CommitMetadata,
        listed: str = "*",
        new_columns: tuple[Column, ...] = (),
    ) -> None:
        rows = f"SELECT {listed} FROM {name.sql} WHERE false"
        with self._sessions.open() as session:
            rows = with_bounded_texts(session.spark, rows, new_columns)
            append = partial(self._of(name).append, session.spark, name, rows)
            write = partial(append, adds_columns=bool(new_columns))
            commit.raise_if_other_table(self._tables, self._details, name, metadata)
            commit.fenced(self._of(name), session, name, metadata, write)

    @_run.register
    def _(self, step: steps.Publish) -> StepResult:
        return StepResult(warnings=retrying(lambda: self._publish(step)))

    def _publish(self, step: steps.Publish) -> tuple[str, ...]:
        """Bring the table in line, unless a newer definition was published meanwhile."""
        name, now = step.definition.name, self._published(step)
        self._details.forget()
        if table_properties.is_superseded(step, now.definition):
            return ()
        constraints = self._names(name).constraints(now.properties)
        wanted = table_properties.missing_not_null(step.definition, constraints).items()
        broken = tuple(column for _, column in wanted if not self._refuses_null(step, column))
        gone = table_properties.obsolete_not_null(step.definition, constraints)
        loosening = self._loosening(step.definition) if gone else []
        self._change_metadata(step, name, *loosening, *self._publishing(step, now))
        return tuple(table_properties.nulls_warning(name, column) for column in broken)

    def _publishing(self, step: steps.Publish, now: Published) -> list[_Write]:
        """Return what must be run, each write one small commit; the definition comes last.

        Until the definition is published, the next statement sees that something is missing and
        does all of this again.
        """
        name, declared = step.definition.name, step.definition.declared
        format_ = self._names(name)
        writes = [_sql(statement) for statement in comment_statements(step, now)]
        if clustering_columns(now.properties) != declared.clustered_by:
            writes.append(self._clustering(step.definition))
        if gone := table_properties.obsolete_properties(step, now.properties, format_):
            writes.append(partial(self._of(name).unset_properties, name=name, keys=gone))
        if missing := table_properties.missing_properties(
            step, now.properties, now.identity, format_
        ):
            writes.append(self._setting(step.definition, missing))
        return writes

    def _clustering(self, definition: StoredDefinition) -> _Write:
        name, columns = definition.name, definition.declared.clustered_by
        return partial(self._of(name).cluster, name=name, columns=columns)

    def _refuses_null(self, step: steps.Publish | steps.PrepareStorage, column: str) -> bool:
        """Let the table refuse NULL in a column; return whether it does now."""
        name, constraint = step.definition.name, table_properties.not_null_constraint(column)
        add = partial(self._of(name).add_not_null, name=name, constraint=constraint, column=column)
        try:
            self._change_metadata(step, name, add)
        except Exception as error:
            failure = failure_of(error)
            if not (failure.is_broken_by_rows or failure.is_constraint_known):
                raise
            return failure.is_constraint_known
        return True

    def _change_metadata(self, step: steps.Step, name: TableName, *writes: _Write) -> None:
        """Run writes without a fence, each one small commit that may be made again.

        Raises:
            CommitConflictError: Another change of the metadata came first.
        """
        with self._sessions.open() as session, commit.explaining_conflicts(name):
            for write in writes:
                metadata = encode_commit(metadata_of(step))
                made = partial(write, session.spark)
                self._of(name).commit(session.spark, name, metadata, None, made)

    def _published(self, step: steps.Publish) -> Published:
        name = step.definition.name
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            raise conditions.REFRESH_FAILED(table=name, problem=detail.problem or "it is gone")
        found = self._details.description(name)
        known = found.properties.get(self._names(name).identity_property)
        identity = (not step.is_of_another_table and known) or self._details.identity(name)
        stored = readable_definition(found.properties, name)
        return Published(found.comment, found.properties, identity, stored)

    @_run.register
    def _(self, step: steps.RemoveProperties) -> StepResult:
        ours = [
            key
            for key in self._details.properties(step.name)
            if key.startswith(table_properties.PREFIX)
        ]
        if ours:
            name = step.name
            unset = partial(self._of(name).unset_properties, name=name, keys=sorted(ours))
            retrying(lambda: self._change_metadata(step, step.name, unset))
        return StepResult()

    @_run.register
    def _(self, step: steps.Recluster) -> StepResult:
        write = self._clustering(step.definition)
        retrying(lambda: self._change_metadata(step, step.definition.name, write))
        return StepResult()

    @_run.register
    def _(self, step: steps.Register) -> StepResult:
        self._log.record(step)
        return StepResult()

    @_run.register
    def _(self, step: steps.RecordJob) -> StepResult:
        self._log.append(step.job)
        return StepResult()

    @_run.register
    def _(self, step: steps.DropTable) -> StepResult:
        with self._removing_sums(step.name, step.table_id) as session:
            session.spark.sql(f"DROP TABLE IF EXISTS {step.name.sql}")
        if self._streams is not None and step.table_id:
            self._streams.checkpoints.remove_others(step.table_id)
        return StepResult()

    @contextmanager
    def _removing_sums(self, name: TableName, table_id: str) -> Iterator[PrivateSession]:
        """Remove the partial sums of a table whose end the block commits.

        They go before that commit: nothing finds those that a killed statement would leave after
        it. A refresh in parallel may store them again before the commit, so they go after it, too.
        """
        with self._sessions.open() as session:
            remove = partial(self._sums.remove, session.spark, name.catalog, table_id)
            if table_id:
                remove()
            yield session
            if table_id:
                remove()

    @_run.register
    def _(self, step: steps.Unregister) -> StepResult:
        self._log.remove(step.name)
        return StepResult()


def _explained(step: steps.Step, failure: SparkFailure) -> MaterializedTableError:
    """Return the error for a failure before or at the commit of a step that reads its table only.

    Steps that read other tables, too, raise errors of their own.
    """
    definition: StoredDefinition | None = getattr(step, "definition", None)
    name: TableName | None = getattr(step, "name", None)
    table = definition.name if definition else name
    if failure.is_missing_table:  # another session dropped it after the read
        return conditions.CONCURRENT_CHANGE(table=table)
    problem = f"[{failure.condition}] {failure.message}"
    if failure.is_server_gone:
        return conditions.OUTCOME_UNKNOWN(table=table, gone="Spark", problem=problem)
    if failure.is_catalog_away or failure.is_outcome_unknown:
        gone = f"The catalog {table.catalog}" if table and table.catalog else "The catalog"
        return conditions.OUTCOME_UNKNOWN(table=table, gone=gone, problem=problem)
    return conditions.CHANGE_FAILED(table=table, problem=problem)


def _sql(statement: str) -> _Write:
    return lambda session: session.sql(statement)


def comment_statements(step: steps.Publish, now: Published) -> list[str]:
    """Return the statements that bring the comments of a table and of its columns in line."""
    table, comment = step.definition.name.sql, step.definition.declared.comment or ""
    statements = []
    if comment != now.comment:
        statements.append(f"COMMENT ON TABLE {table} IS {quote_text(comment)}")
    if changed := table_properties.changed_comments(step):
        items = ", ".join(f"{quote(n)} COMMENT {quote_text(c)}" for n, c in changed.items())
        statements.append(f"ALTER TABLE {table} ALTER COLUMN {items}")
    return statements


def _columns(definition: StoredDefinition, new: tuple[Column, ...]) -> str:
    """Return the columns of a definition as a query lists them, with NULL in new ones.

    The table itself may have new ones already, that a killed statement added.
    """
    if not new:
        return "*"
    names = {column.name for column in new}
    there = (quote(c.name) for c in definition.resolved.columns if c.name not in names)
    return ", ".join([*there, *map(null_column, new)])
