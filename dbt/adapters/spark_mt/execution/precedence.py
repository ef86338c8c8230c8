"""Lets a statement go first that has lost to a host.

A batch commits faster than a query is computed anew: beside a busy host a statement that fills its
table could lose each time. So one that has lost says in the log of refreshes that it is under way,
and takes the next number by a commit without rows. The host's batch loses to that one, and the host
then waits for whoever the log names (design section 3: "a manager waits for it").
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.executor import execute
from dbt.adapters.spark_mt.execution.jobs import JobTeller
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.planning.parts import definition_steps
from dbt.adapters.spark_mt.planning.steps import HOSTED, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment

_ATTEMPTS = 5


@contextmanager
def going_first(environment: Environment, name: TableName) -> Iterator[None]:
    """Keep hosts of a table from beginning new batches while the block runs.

    It never keeps them for ever: they wait only for who is heard of. Where the newest rows are no
    host's, the block just runs.

    Args:
        environment: The ports.
        name: The table's full name.
    """
    environment.store.forget()
    table = environment.store.find(name)
    if not isinstance(table, StoredTable) or not _is_hosted(table):
        yield
        return
    told = JobTeller(environment, _turn(environment, table))
    told.beat()
    beating = environment.conduct.heartbeat(told.beat)
    try:
        _take_number(environment, name)
        yield
    finally:
        beating.stop()
        told.write(told.ended(JobStatus.SKIPPED))


def _is_hosted(table: StoredTable) -> bool:
    return table.last_refresh is not None and table.last_refresh.trigger == HOSTED


def _take_number(environment: Environment, name: TableName) -> None:
    """Commit no rows and the same definition; a batch may win a few times more."""
    for _ in range(_ATTEMPTS):
        environment.store.forget()
        table = environment.store.find(name)
        if not isinstance(table, StoredTable):
            return
        steps = definition_steps(table, table.definition, table.positions)
        with suppress(CommitConflictError):
            execute(Plan(name, steps), environment.runner, environment.conduct.beside)
            return


def _turn(environment: Environment, table: StoredTable) -> Job:
    resolved, now = table.definition.resolved, environment.now_ms()
    return Job(
        job_id=environment.new_id(),
        table=table.name,
        kind=JobKind.MANUAL,
        status=JobStatus.RUNNING,
        started_at_ms=now,
        heard_at_ms=now,
        owner=environment.conduct.processes.owner(),
        trigger="TURN",
        refresh_mode=resolved.refresh_mode.value,
        freshness=resolved.freshness.sql,
    )
