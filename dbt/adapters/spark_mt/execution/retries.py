"""Retries of a statement that lost a conflict, with writer priority.

A batch commits faster than a query is recomputed, so a statement that fills a hosted table could
lose every conflict. After the first one, it records in the log that it runs, and takes the next
sequence number by a commit without rows. The host's batch then loses, and the host waits for the
statement that the log names.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import (
    StoredTable,
)
from dbt.adapters.spark_mt.definition.errors import (
    CommitConflictError,
    CommitNotMadeError,
    ExecutorLostError,
)
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution.executor import execute
from dbt.adapters.spark_mt.execution.job_recorder import JobRecorder, tried_again
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment

    _T = TypeVar("_T")

_ATTEMPTS = 5
_TRANSIENT = (CommitConflictError, CommitNotMadeError, ExecutorLostError)


def retrying(
    operation: Callable[[], _T],
    writer_priority: Callable[[], AbstractContextManager[None]] = nullcontext,
    *,
    is_one_job: bool = False,
) -> _T:
    """Run `operation` again when its commit was not made, or when an executor was lost with rows.

    It reads everything again each time.

    Args:
        operation: What is run.
        writer_priority: All attempts after the first one run in it.
        is_one_job: Whether all attempts are one job, which ends with the last of them.

    Raises:
        CommitConflictError: Other writers were first; it is the last of five attempts.
        CommitNotMadeError: The catalog failed at the commits; it is the last of five attempts.
        ExecutorLostError: An executor was lost; it is the last of five attempts.
    """
    no_ends = _TRANSIENT if is_one_job else ()
    with suppress(*_TRANSIENT), tried_again(no_ends):
        return operation()
    with writer_priority():
        for _ in range(_ATTEMPTS - 2):
            with suppress(*_TRANSIENT), tried_again(no_ends):
                return operation()
        return operation()


@contextmanager
def writer_priority(environment: Environment, name: TableName) -> Iterator[None]:
    """Keep hosts of the table with a full name from beginning new batches while the block runs.

    Hosts wait only while the log has recent heartbeats of the block's job, so never for ever. If
    no host wrote the newest rows, the block runs without priority.
    """
    environment.store.forget()
    table = environment.store.find(name)
    last = table.last_refresh if isinstance(table, StoredTable) else None
    if not isinstance(table, StoredTable) or last is None or last.trigger != steps.HOSTED:
        yield
        return
    resolved, now = table.definition.resolved, environment.now_ms()
    job = Job(
        job_id=environment.new_id(),
        table=table.name,
        kind=JobKind.MANUAL,
        status=JobStatus.RUNNING,
        started_at_ms=now,
        last_heartbeat_ms=now,
        owner=environment.execution_context.processes.owner(),
        trigger="TURN",
        refresh_mode=resolved.refresh_mode.value,
        freshness=resolved.freshness.sql,
    )
    recorder = JobRecorder(environment, job)
    recorder.beat()
    heartbeat = environment.execution_context.heartbeat(recorder.beat)
    try:
        _take_number(environment, name)
        yield
    finally:
        heartbeat.stop()
        recorder.write(recorder.ended(JobStatus.SKIPPED))


def _take_number(environment: Environment, name: TableName) -> None:
    """Commit no rows and the same definition; a batch may win a few conflicts before that."""
    for _ in range(_ATTEMPTS):
        environment.store.forget()
        table = environment.store.find(name)
        if not isinstance(table, StoredTable):
            return
        planned = steps.definition_steps(table, table.definition, table.positions)
        with suppress(CommitConflictError):
            execute(
                steps.Plan(name, planned),
                environment.runner,
                environment.execution_context.run_both,
            )
            return
