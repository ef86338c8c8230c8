"""Running jobs of a table, and the manager that refreshes it.

A RUNNING row of the refresh log never blocks another writer. It counts only while its owner sends
heartbeats, or holds the lease of the catalog. A CREATE competes with it in any case: the fence
decides. A refresh that a manager has accepted waits without rows until it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus, StoredHandler

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job, Lease
    from dbt.adapters.spark_mt.execution.environment import Environment


SILENCE_MS = 60_000
"""Time without a heartbeat after which an owner counts as gone."""
HOST_SILENCE_MS = 180_000
"""The same for a stream that is hosted without a manager, which has a row a minute."""
WAITING_MS = 24 * 3600 * 1000
"""How long an accepted refresh waits for a manager while none is there."""
TOO_OLD = f"it was accepted, and no manager took it up within {WAITING_MS // 3_600_000} hours"
KEPT_MS = 30 * 24 * 3600 * 1000
"""How long rows of jobs are kept."""


def with_effective_status(job: Job, environment: Environment) -> Job:
    """Return a job with its effective status.

    A RUNNING job whose owner is gone has FAILED. An accepted one that no manager has taken up for a
    day is CANCELED.
    """
    if job.status is not JobStatus.RUNNING:
        return job
    problem = (_why_not_begun if job.request else _why_not_running)(job, environment)
    if not problem:
        return job
    status = JobStatus.CANCELED if job.request else JobStatus.FAILED
    return replace(job, status=status, ended_at_ms=job.last_heartbeat_ms, error=problem)


def _why_not_running(job: Job, environment: Environment) -> str:
    """Return why a refresh does not run any more; empty if it runs."""
    silence_ms = HOST_SILENCE_MS if job.kind is JobKind.CONTINUOUS else SILENCE_MS
    if environment.execution_context.processes.is_gone(job.owner):
        return f"{job.owner} is gone"
    if environment.now_ms() - job.last_heartbeat_ms <= silence_ms:
        return ""
    lease = environment.managers.live(job.table.catalog or "")
    if lease is not None and lease.owner == job.owner:  # the lease covers what its holder runs
        return ""
    return f"{job.owner} has sent no heartbeat since {instant(job.last_heartbeat_ms)}"


def _why_not_begun(job: Job, environment: Environment) -> str:
    """Return why an accepted refresh will not begin; empty if a manager will begin it."""
    age_ms = environment.now_ms() - job.last_heartbeat_ms
    waits = age_ms <= WAITING_MS or environment.managers.live(job.table.catalog or "") is not None
    return "" if waits else TOO_OLD


def others_running(environment: Environment, name: TableName) -> bool:
    """Whether a process other than a host fills the table `name` now."""
    running = _running(environment, name, environment.now_ms() - HOST_SILENCE_MS)
    return any(
        job.kind is not JobKind.CONTINUOUS
        and not job.request
        and with_effective_status(job, environment) is job
        for job in running
    )


def initializing(environment: Environment, catalog: str, schema: str) -> tuple[Job, ...]:
    """Return the refreshes that are about to create tables of a schema, one for each table."""
    since = environment.now_ms() - HOST_SILENCE_MS
    running = environment.execution_context.log.running(catalog, schema, since)
    live = [job for job in running if with_effective_status(job, environment) is job]
    newest_first = sorted(live, key=lambda job: job.started_at_ms)[::-1]
    by_table = {job.table: job for job in newest_first if job.creates}
    return tuple(by_table.values())


def raise_if_initializing(environment: Environment, name: TableName) -> None:
    """Raise an error for a missing table that another process is creating.

    The rows of creators that are gone are ended in the log.

    Raises:
        MaterializedTableError: A running process is creating it.
    """
    since = environment.now_ms() - KEPT_MS
    for job in _running(environment, name, since):
        now = with_effective_status(job, environment)
        if now.status is not JobStatus.RUNNING:
            environment.execution_context.log.append(now)
        elif job.creates:
            began = instant(job.started_at_ms)
            raise conditions.INITIALIZING(table=name, owner=job.owner, since=began)


def instant(at_ms: int) -> str:
    """Return an instant as text, in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _running(environment: Environment, name: TableName, since_ms: int) -> list[Job]:
    log = environment.execution_context.log
    running = log.running(name.catalog or "", name.schema or "", since_ms)
    return [job for job in running if job.table == name]


@dataclass(frozen=True, slots=True)
class Keeper:
    """The manager that refreshes a table, and the handler that it recorded for the table."""

    lease: Lease
    handler: StoredHandler

    def describe(self) -> str:
        """Return the manager as text."""
        stored = self.handler.description
        return f"{stored}, run by {self.lease.owner}" if self.handler.scheduler else stored


def keeper_of(environment: Environment, name: TableName) -> Keeper | None:
    """Return the live manager that refreshes a table, or None without one.

    A handler that this release cannot read counts as none: a refresh by a statement is then fenced
    against the manager's.
    """
    lease = environment.managers.live(name.catalog or "")
    if lease is None:
        return None
    stored = environment.handlers(name)
    try:
        return Keeper(lease, StoredHandler.decode(stored)) if stored else None
    except ValueError:
        return None
