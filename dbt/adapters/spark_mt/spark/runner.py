"""Carries out the steps of a plan on Spark and Delta Lake."""

from __future__ import annotations

import secrets
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_facts import encode_commit
from dbt.adapters.spark_mt.definition.identifier import quote_text
from dbt.adapters.spark_mt.execution.errors import (
    ChangeFailedError,
    OutcomeUnknownError,
    RefreshFailedError,
)
from dbt.adapters.spark_mt.execution.identification import readable_definition
from dbt.adapters.spark_mt.execution.ports import CommitConflictError, StepResult
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.step_facts import facts_of
from dbt.adapters.spark_mt.planning.guard import violations_query
from dbt.adapters.spark_mt.planning.marks import RaiseFence, Release, Unpublish
from dbt.adapters.spark_mt.planning.phase import Phase
from dbt.adapters.spark_mt.planning.properties import DELTA_ID, PREFIX
from dbt.adapters.spark_mt.planning.publication import is_superseded
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    DropTable,
    Fill,
    FillPartitions,
    PrepareStorage,
    Publish,
    Recluster,
    RecordJob,
    Register,
    Step,
    Unregister,
    VerifyRows,
)
from dbt.adapters.spark_mt.resolution.content import null_column
from dbt.adapters.spark_mt.spark.commits import explaining_conflicts, fenced, raise_if_violated
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.publishing import (
    Published,
    listed,
    publish_statements,
    recluster_statement,
)
from dbt.adapters.spark_mt.spark.table_details import NoTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.spark.content import ContentWriter
    from dbt.adapters.spark_mt.spark.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.parts import StreamParts
    from dbt.adapters.spark_mt.spark.system_log import SparkSystemLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetails

    _Write = Callable[[], object]


class SparkStepRunner:
    """Runs each step in a private session, and forgets what it knew of the table afterwards."""

    def __init__(
        self,
        sessions: PrivateSessions,
        content: ContentWriter,
        log: SparkSystemLog,
        details: TableDetails,
        streams: StreamParts | None = None,
    ) -> None:
        self._streams = streams
        self._sessions = sessions
        self._content = content
        self._log = log
        self._details = details

    def run(self, step: Step) -> StepResult:
        """Carry out one step.

        Raises:
            CommitConflictError: Another commit came before this step's commit.
            RefreshFailedError: Spark could not compute or write the rows.
            ConstraintViolatedError: The rows break a declared key or check.
            OutcomeUnknownError: Spark was gone before it said what became of the step.
            ChangeFailedError: Spark could not write anything else.
        """
        try:
            return self._run(step)
        except Exception as error:
            is_told = step.phase is Phase.AFTER or not is_spark_error(error)
            if is_told or failure_of(error).is_cancelled:
                raise
            raise _explained(step, failure_of(error)) from error
        finally:
            self._details.forget()

    def undo(self, step: Step) -> None:
        """Nothing to do: every commit of ours is whole or absent, and steps before it leave none.

        A CREATE that failed may leave files which no table refers to; the next CREATE of the name
        takes the directory over.
        """

    @singledispatchmethod
    def _run(self, step: Step) -> StepResult:
        raise TypeError(step)

    @_run.register
    def _(self, step: PrepareStorage) -> StepResult:
        name, properties = step.definition.name, listed(dict(step.properties))
        self._change_metadata(
            step, name, f"ALTER TABLE {name.sql} SET TBLPROPERTIES ({properties})"
        )
        return StepResult()

    @_run.register
    def _(self, step: VerifyRows) -> StepResult:
        definition = step.definition
        rows = f"SELECT *{_nulls(step.new_columns)} FROM {definition.name.sql}"
        query = violations_query(rows, definition.resolved)
        with self._sessions.open() as session:
            raise_if_violated(session, definition.name, query)
        return StepResult()

    @_run.register
    def _(self, step: Fill) -> StepResult:
        return self._content.fill(step, _facts(step))

    @_run.register
    def _(self, step: FillPartitions) -> StepResult:
        return self._content.fill_partitions(step, _facts(step))

    @_run.register
    def _(self, step: ApplyChanges) -> StepResult:
        return self._content.apply(step, _facts(step))

    @_run.register
    def _(self, step: CommitDefinition) -> StepResult:
        self._commit_no_rows(step.definition.name, _facts(step), step.new_columns)
        return StepResult(positions=step.positions)

    @_run.register(RaiseFence)
    @_run.register(Release)
    def _(self, step: RaiseFence | Release) -> StepResult:
        self._commit_no_rows(step.name, _facts(step))
        return StepResult()

    def _commit_no_rows(
        self, name: TableName, facts: CommitFacts, new_columns: tuple[Column, ...] = ()
    ) -> None:
        nulls = _nulls(new_columns)
        statement = f"INSERT INTO {name.sql} SELECT *{nulls} FROM {name.sql} WHERE false"
        with (
            self._sessions.open() as session,
            session.merging_schema(enabled=bool(new_columns)),
        ):
            fenced(session, name, facts, _sql(session, statement))

    @_run.register
    def _(self, step: Publish) -> StepResult:
        retrying(lambda: self._publish(step))
        return StepResult()

    def _publish(self, step: Publish) -> None:
        """Bring the table in line, unless somebody published a newer definition meanwhile."""
        now = self._published(step)
        self._details.forget()
        if is_superseded(step, now.definition):
            return
        self._change_metadata(step, step.definition.name, *publish_statements(step, now))

    def _change_metadata(self, step: Step, name: TableName, *statements: str) -> None:
        """Run statements without a fence, each one small commit that may be made again.

        Raises:
            CommitConflictError: Another change of the metadata came first.
        """
        with self._sessions.open() as session, explaining_conflicts(name):
            for statement in statements:
                session.commit(encode_commit(_facts(step)), None, _sql(session, statement))

    def _published(self, step: Publish) -> Published:
        name = step.definition.name
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            raise RefreshFailedError(table=name, problem=detail.problem or "it is gone")
        properties = self._details.properties(name)
        known = "" if step.is_of_another_table else properties.get(DELTA_ID)
        identity = known or self._details.delta_id(name)
        return Published(
            detail.comment, properties, identity, readable_definition(properties, name)
        )

    @_run.register
    def _(self, step: Unpublish) -> StepResult:
        ours = [key for key in self._details.properties(step.name) if key.startswith(PREFIX)]
        if ours:
            keys = ", ".join(map(quote_text, sorted(ours)))
            statement = f"ALTER TABLE {step.name.sql} UNSET TBLPROPERTIES IF EXISTS ({keys})"
            retrying(lambda: self._change_metadata(step, step.name, statement))
        return StepResult()

    @_run.register
    def _(self, step: Recluster) -> StepResult:
        statement = recluster_statement(step.definition)
        retrying(lambda: self._change_metadata(step, step.definition.name, statement))
        return StepResult()

    @_run.register
    def _(self, step: Register) -> StepResult:
        self._log.record(step)
        return StepResult()

    @_run.register
    def _(self, step: RecordJob) -> StepResult:
        self._log.append(step.job)
        return StepResult()

    @_run.register
    def _(self, step: DropTable) -> StepResult:
        with self._sessions.open() as session:
            session.spark.sql(f"DROP TABLE IF EXISTS {step.name.sql}")
        if self._streams is not None and step.table_id:
            self._streams.checkpoints.remove_others(step.table_id)
        return StepResult()

    @_run.register
    def _(self, step: Unregister) -> StepResult:
        self._log.remove(step.name)
        return StepResult()


def _explained(step: Step, failure: SparkFailure) -> MaterializedTableError:
    """Say what a failure before or at the commit means, of a step that knows its table only.

    Those that read other tables, too, have explained it themselves.
    """
    definition: StoredDefinition | None = getattr(step, "definition", None)
    name: TableName | None = getattr(step, "name", None)
    table = definition.name if definition else name
    if failure.is_missing_table:  # somebody dropped it after we looked
        return CommitConflictError(table=table)
    problem = f"[{failure.condition}] {failure.message}"
    if failure.is_server_gone:
        return OutcomeUnknownError(table=table, problem=problem)
    return ChangeFailedError(table=table, problem=problem)


def _sql(session: PrivateSession, statement: str) -> _Write:
    return lambda: session.spark.sql(statement)


def _nulls(columns: tuple[Column, ...]) -> str:
    return "".join(f", {null_column(column)}" for column in columns)


def _facts(step: Step) -> CommitFacts:
    return facts_of(step, secrets.token_hex(8))
