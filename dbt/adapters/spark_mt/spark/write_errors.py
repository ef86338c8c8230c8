"""Turns what Spark raises while rows are computed and written into errors of ours."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.errors import RefreshFailedError, RefreshSchemaError
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.planning.guard import violations_query
from dbt.adapters.spark_mt.spark.commits import raise_if_violated
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.table_details import NoTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.planning.batches import WriteBatch
    from dbt.adapters.spark_mt.planning.steps import ApplyChanges, Fill, FillPartitions
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession
    from dbt.adapters.spark_mt.spark.table_details import TableDetails

    Writing = Fill | FillPartitions | ApplyChanges | WriteBatch

_RAISED = frozenset({"USER_RAISED_EXCEPTION", "TASK_WRITE_FAILED"})
"""Which condition a broken constraint has; Connect tells only the outer one."""


@dataclass(slots=True)
class Attempt:
    """The query whose rows are about to be written, once it is known."""

    content: str = ""


class WriteErrors:
    """Explains failures of writes by what stands in the table's log now."""

    def __init__(self, log: DeltaLog, details: TableDetails) -> None:
        self._log = log
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
            self._raise_violations(session, step, attempt, failure)
            raise self._explained(step, failure) from error

    def _explained(self, step: Writing, failure: SparkFailure) -> Exception:
        table = step.definition.name
        if self._is_overtaken(step):
            return CommitConflictError(table=table)
        if failure.is_schema_mismatch:
            return RefreshSchemaError(violations=[failure.message], table=table)
        problem = f"[{failure.condition}] {failure.message}"
        return RefreshFailedError(table=table, problem=problem)

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

    def _is_overtaken(self, step: Writing) -> bool:
        """Whether a commit of ours or a DROP came first; Spark may fail on it before any fence.

        An appended column, for one, makes the statement one column short.
        """
        self._details.forget()
        detail = self._details.of(step.definition.name)
        if isinstance(detail, NoTable) or not detail.is_delta:
            return isinstance(detail, NoTable) and not detail.kind and step.seq > 1
        commits = self._log.backwards(detail.location)
        seqs = (commit.facts.seq for commit in commits if commit.facts and commit.facts.seq)
        return next(seqs, 0) >= step.seq
