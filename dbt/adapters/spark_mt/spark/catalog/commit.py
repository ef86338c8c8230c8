"""Fenced commits on Spark: preconditions, violations, errors of writers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.commit_metadata import encode_commit
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.table_history import is_other_table
from dbt.adapters.spark_mt.planning.constraints import violations_query
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.outages import outage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.errors import RefreshFailedError
    from dbt.adapters.spark_mt.planning.steps import (
        ApplyChanges,
        Fill,
        FillPartitions,
        WriteBatch,
    )
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        SparkFormat,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession

    Writing: TypeAlias = Fill | FillPartitions | ApplyChanges | WriteBatch


_RAISED = frozenset({"USER_RAISED_EXCEPTION", "TASK_WRITE_FAILED"})
"""Which condition a broken constraint has; Connect reports only the outer one."""


def fenced(
    format_: SparkFormat,
    session: PrivateSession,
    name: TableName,
    metadata: CommitMetadata,
    write: Callable[[], object],
) -> int:
    """Make one fenced commit and return its version.

    Raises:
        CommitConflictError: Another commit of ours, or a change that cannot be reconciled, was
            first. The format skips a write whose number is taken, and fails one in parallel to it.
    """
    with explaining_conflicts(name):
        version = format_.commit(session.spark, name, encode_commit(metadata), metadata.seq, write)
    if version is None:
        raise conditions.CONCURRENT_CHANGE(table=name)
    return version


def table_of(details: TableDetails, name: TableName) -> TableRef:
    """Return a materialized table that was there when its refresh began.

    Raises:
        CommitConflictError: It is gone.
    """
    table = details.table(name)
    if table is None:
        raise conditions.CONCURRENT_CHANGE(table=name)
    return table


def format_of(tables: SparkTables, details: TableDetails, name: TableName) -> SparkFormat:
    """Return the format of a materialized table; raises as `table_of`."""
    return tables.written(table_of(details, name))


def raise_if_other_table(
    tables: SparkTables, details: TableDetails, name: TableName, metadata: CommitMetadata
) -> None:
    """Refuse to write into a table that is not the one for which the commit was planned.

    Only what happens after this, and before the format begins to write, is not noticed.

    Raises:
        CommitConflictError: The table is gone, was released, or was dropped and created again.
    """
    detail = details.of(name)
    if isinstance(detail, TableRef):
        is_other = is_other_table(tables.history(detail).backwards(detail), metadata)
    else:
        is_other = not isinstance(detail, NoTable) or not detail.kind
    if is_other:
        raise conditions.CONCURRENT_CHANGE(table=name)


@contextmanager
def explaining_conflicts(name: TableName) -> Iterator[None]:
    """Turn what Spark raises when another commit came first into an error of ours.

    Raises:
        CommitConflictError: A change that cannot be reconciled was first.
    """
    try:
        yield
    except Exception as error:
        if is_spark_error(error) and failure_of(error).is_conflict:
            raise conditions.CONCURRENT_CHANGE(table=name) from error
        raise


def raise_if_violated(session: PrivateSession, name: TableName, query: str | None) -> None:
    """Run a query for violations and raise them.

    Raises:
        ConstraintViolatedError: There are some; each names the constraint and the values.
    """
    if query is None:
        return
    rows = session.spark.sql(query).collect()
    if rows:
        found = [f"{row['violation']}: {row['row_values']}" for row in rows]
        raise conditions.CONSTRAINT_VIOLATED(violations=found, table=name)


@dataclass(slots=True)
class Attempt:
    """The query whose rows are about to be written, once it is known."""

    content: str = ""


class WriteErrors:
    """Explanation of failures of writes by the commits that the table's log has now."""

    def __init__(self, tables: SparkTables, details: TableDetails) -> None:
        self._tables = tables
        self._details = details

    @contextmanager
    def explaining(self, session: PrivateSession, step: Writing) -> Iterator[Attempt]:
        """Turn what Spark raises while rows are computed and written into an error of ours."""
        attempt = Attempt()
        try:
            yield attempt
        except Exception as error:
            failure = failure_of(error)
            if not is_spark_error(error) or failure.is_cancelled or failure.is_server_gone:
                raise
            if (away := outage(failure)) is not None:
                raise away from error
            self._raise_violations(session, step, attempt, failure)
            raise self._explained(step, failure) from error

    def _explained(self, step: Writing, failure: SparkFailure) -> Exception:
        table = step.definition.name
        if self.has_conflict(step):
            return conditions.CONCURRENT_CHANGE(table=table)
        if failure.is_lost_executor:
            return conditions.EXECUTOR_LOST(table=table)
        if failure.is_schema_mismatch:
            return conditions.RESULT_CHANGED(violations=[failure.message], table=table)
        return self._not_computed(step, failure)

    def _not_computed(self, step: Writing, failure: SparkFailure) -> RefreshFailedError:
        """Return the error of rows that Spark did not compute; of changes, which files are gone."""
        table, problem = step.definition.name, f"[{failure.condition}] {failure.message}"
        since = getattr(step, "since", None)
        if not since or not failure.is_unreadable_version:
            return conditions.REFRESH_FAILED(table=table, problem=problem)
        sources = self._named_in(failure, [name for name, _ in since])
        return conditions.SOURCE_FILES_GONE(table=table, sources=sources, problem=problem)

    def _named_in(self, failure: SparkFailure, names: Sequence[str]) -> str:
        """Return the sources whose files a failure names; all of them where it names none."""
        found = [name for name in names if self._directory(name) in failure.message]
        return ", ".join(found or names)

    def _directory(self, name: str) -> str:
        detail = self._details.of(TableName.of(*name.split(".", 2)))
        directory = (
            self._tables.of(detail).directory(detail) if isinstance(detail, TableRef) else ""
        )
        return directory.partition(":")[2].lstrip("/") or name

    def _raise_violations(
        self,
        session: PrivateSession,
        step: Writing,
        attempt: Attempt,
        failure: SparkFailure,
    ) -> None:
        """Name the rows that break a constraint, when it is a constraint that broke."""
        if failure.main_condition in _RAISED and attempt.content:
            query = violations_query(attempt.content, step.definition.resolved)
            raise_if_violated(session, step.definition.name, query)

    def has_conflict(self, step: Writing) -> bool:
        """Whether a commit of ours or a DROP came first; Spark may fail on it before any fence.

        An appended column, for one, makes the statement one column short.
        """
        self._details.forget()
        detail = self._details.of(step.definition.name)
        if not isinstance(detail, TableRef):
            return isinstance(detail, NoTable) and not detail.kind and step.seq > 1
        commits = self._tables.history(detail).backwards(detail)
        seqs = (
            commit.metadata.seq for commit in commits if commit.metadata and commit.metadata.seq
        )
        return next(seqs, 0) >= step.seq
