"""Running jobs of a table, and the processes that own them.

A RUNNING row of the refresh log never blocks another writer. It counts only while its owner sends
heartbeats. A CREATE competes with it in any case: the fence decides.
"""

from __future__ import annotations

import getpass
import os
import socket
import sys
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.errors import TableInitializingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.environment import Environment


SILENCE_MS = 60_000
"""Time without a heartbeat after which an owner counts as gone."""
HOST_SILENCE_MS = 180_000
"""The same for a stream that is hosted without a manager, which has a row a minute."""
KEPT_MS = 30 * 24 * 3600 * 1000
"""How long rows of jobs are kept."""


def with_effective_status(job: Job, environment: Environment) -> Job:
    """Return a job with its effective status: FAILED for a RUNNING job whose owner is gone."""
    if job.status is not JobStatus.RUNNING:
        return job
    if environment.execution_context.processes.is_gone(job.owner):
        reason = f"{job.owner} is gone"
    elif environment.now_ms() - job.last_heartbeat_ms > _silence_of(job):
        if _is_covered(job, environment):
            return job
        reason = f"{job.owner} has sent no heartbeat since {instant(job.last_heartbeat_ms)}"
    else:
        return job
    return replace(job, status=JobStatus.FAILED, ended_at_ms=job.last_heartbeat_ms, error=reason)


def _silence_of(job: Job) -> int:
    return HOST_SILENCE_MS if job.kind is JobKind.CONTINUOUS else SILENCE_MS


def _is_covered(job: Job, environment: Environment) -> bool:
    """Whether a job is a stream of the manager with the catalog's lease, which covers the job."""
    if job.kind is not JobKind.CONTINUOUS:
        return False
    lease = environment.managers.live(job.table.catalog or "")
    return lease is not None and lease.owner == job.owner


def others_running(environment: Environment, name: TableName) -> bool:
    """Whether a process other than a host fills the table `name` now."""
    return any(job.kind is not JobKind.CONTINUOUS for job in _holders(environment, name))


def initializing(environment: Environment, catalog: str, schema: str) -> tuple[Job, ...]:
    """Return the refreshes that are about to create tables of a schema, one for each table."""
    since = environment.now_ms() - SILENCE_MS
    running = environment.execution_context.log.running(catalog, schema, since)
    by_table = {job.table: job for job in reversed(_live(environment, running)) if job.creates}
    return tuple(by_table.values())


def raise_if_initializing(environment: Environment, name: TableName) -> None:
    """Raise an error for a missing table that another process is creating.

    The rows of creators that are gone are ended in the log.

    Raises:
        TableInitializingError: A running process is creating it.
    """
    since = environment.now_ms() - KEPT_MS
    for job in _running(environment, name, since):
        now = with_effective_status(job, environment)
        if now.status is not JobStatus.RUNNING:
            environment.execution_context.log.append(now)
        elif job.creates:
            began = instant(job.started_at_ms)
            raise TableInitializingError(table=name, owner=job.owner, since=began)


def instant(at_ms: int) -> str:
    """Return an instant as text, in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _holders(environment: Environment, name: TableName) -> list[Job]:
    since = environment.now_ms() - SILENCE_MS
    return _live(environment, _running(environment, name, since))


def _running(environment: Environment, name: TableName, since_ms: int) -> list[Job]:
    log = environment.execution_context.log
    running = log.running(name.catalog or "", name.schema or "", since_ms)
    return [job for job in running if job.table == name]


def _live(environment: Environment, jobs: Iterable[Job]) -> list[Job]:
    live = [job for job in jobs if with_effective_status(job, environment) is job]
    return sorted(live, key=lambda job: job.started_at_ms)


_START_TIME = 19
"""Index of the start time among the fields of `/proc/<pid>/stat` after the command's name."""


class LocalProcesses:
    """Reads the processes of this machine only.

    If the system has `/proc` (Linux), a process is identified by its number, its start time and the
    namespace of the number. So a reused number or a process of another container is not taken for
    it. On other systems the number alone counts, and on Windows no process counts as gone.
    """

    def owner(self) -> Owner:
        """Return this process."""
        pid = os.getpid()
        return Owner(_host(), pid, _identity(pid), _user())

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` has certainly ended; False for a process of another machine."""
        if owner.host != _host() or sys.platform == "win32":
            return False
        here = _identity(os.getpid())
        if _namespace(here) != _namespace(owner.process):
            return False
        return not _exists(owner.pid) or (bool(here) and _identity(owner.pid) != owner.process)


@cache
def _host() -> str:
    return socket.gethostname()


@cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user without a name
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _identity(pid: int) -> str:
    """Return namespace and start of a process; empty without `/proc`, or without the process."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - Path would resolve the link
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{namespace} {stat.rpartition(')')[2].split()[_START_TIME]}"


def _namespace(identity: str) -> str:
    return identity.partition(" ")[0]
