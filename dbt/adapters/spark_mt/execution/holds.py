"""Who fills a table at this moment, and what that means for others (semantics 8, INITIALIZING).

A hold is the RUNNING row of a job. It never locks anybody out: it counts only while its owner is
heard of, and a CREATE competes with it all the same; the fence decides.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus
from dbt.adapters.spark_mt.execution.errors import TableInitializingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.environment import Environment

SILENCE_MS = 60_000
"""After how long without a heartbeat an owner counts as gone."""
KEPT_MS = 30 * 24 * 3600 * 1000
"""How long rows of jobs are kept."""


def judged(job: Job, environment: Environment) -> Job:
    """Return a job as it really stands: one whose owner is gone has failed, whatever it says."""
    if job.status is not JobStatus.RUNNING:
        return job
    if environment.conduct.processes.is_gone(job.owner):
        reason = f"{job.owner} is gone"
    elif environment.now_ms() - job.heard_at_ms > SILENCE_MS:
        reason = f"{job.owner} has not been heard of since {instant(job.heard_at_ms)}"
    else:
        return job
    return replace(job, status=JobStatus.FAILED, ended_at_ms=job.heard_at_ms, error=reason)


def holder(environment: Environment, name: TableName) -> Job | None:
    """Return the refresh that fills the table `name` now, of several the one that began first."""
    return next(iter(_holders(environment, name)), None)


def others_under_way(environment: Environment, name: TableName) -> bool:
    """Whether somebody fills the table `name` now who is no host."""
    return any(job.kind is not JobKind.CONTINUOUS for job in _holders(environment, name))


def initializing(environment: Environment, catalog: str, schema: str) -> tuple[Job, ...]:
    """Return the refreshes that are about to create tables of a schema, one for each table."""
    since = environment.now_ms() - SILENCE_MS
    running = environment.conduct.log.running(catalog, schema, since)
    by_table = {job.table: job for job in reversed(_live(environment, running)) if job.creates}
    return tuple(by_table.values())


def raise_if_initializing(environment: Environment, name: TableName) -> None:
    """To be called for a table that is not there, before saying so.

    What a creator left behind that is gone is ended in the log.

    Raises:
        TableInitializingError: Somebody alive is creating it.
    """
    since = environment.now_ms() - KEPT_MS
    for job in _running(environment, name, since):
        now = judged(job, environment)
        if now.status is not JobStatus.RUNNING:
            environment.conduct.log.append(now)
        elif job.creates:
            began = instant(job.started_at_ms)
            raise TableInitializingError(table=name, owner=job.owner, since=began)


def instant(at_ms: int) -> str:
    """Return an instant for people, in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _holders(environment: Environment, name: TableName) -> list[Job]:
    since = environment.now_ms() - SILENCE_MS
    return _live(environment, _running(environment, name, since))


def _running(environment: Environment, name: TableName, since_ms: int) -> list[Job]:
    log = environment.conduct.log
    running = log.running(name.catalog or "", name.schema or "", since_ms)
    return [job for job in running if job.table == name]


def _live(environment: Environment, jobs: Iterable[Job]) -> list[Job]:
    live = [job for job in jobs if judged(job, environment) is job]
    return sorted(live, key=lambda job: job.started_at_ms)
