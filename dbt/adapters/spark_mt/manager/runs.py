"""Runs of refreshes in a few threads: submitted, scheduled and retried.

A submission is answered before its run begins. One run per table at a time, upstream before
downstream. A run waits for upstream tables that are due at the same time, up to a bound.

An accepted run has one row in the log, which says what was asked for. Rows of several submissions
are written in one commit. A run that waits writes nothing more: the lease of the manager shows that
it will begin. A manager that stops leaves these rows, and the next one takes the runs up.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from random import random
from threading import Condition, Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.errors import (
    CommitConflictError,
    NotMaterializedError,
    SuspendedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.job_recorder import LONGEST_ERROR, JobRecorder
from dbt.adapters.spark_mt.execution.jobs import KEPT_MS, TOO_OLD, WAITING_MS
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.hosting.policy import Failures, suspend_failing
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.resolution.options import check_run_options
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE
from dbt.adapters.spark_mt.statements.nodes import PartitionValue
from dbt.adapters.spark_mt.statements.parser import parse_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.hosting.policy import HostPolicy
    from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
    from dbt.adapters.spark_mt.manager.views import RefreshRequest

    Execute = Callable[[Callable[[], None]], object]
    """Runs an action somewhere else, soon."""
    ReadTime = Callable[[str, str, str], datetime]
    """Reads a text by a pattern in a zone."""


_LOGGER = logging.getLogger(__name__)
_REST = "REST"
"""The trigger of a run that a person submitted."""
IDLE_MS = 60_000
"""How long the dispatcher sleeps at most when nothing is pending."""
MOST_ACCEPTED = 5_000
"""How many accepted runs wait at most: their rows are a few commits, and each is a small object."""
_REMEMBERED = 4 * MOST_ACCEPTED
_GROUP_MS = 5_000
"""Within this time after a write, rows of accepted runs wait for the next tick, which writes them
in one commit."""


@dataclass(frozen=True, slots=True)
class Run:
    """A refresh that waits for its start.

    Args:
        table: Of which table.
        requested: What was asked for.
        ready_at_ms: Before when it must not begin, milliseconds since the epoch, UTC.
        patience_ms: How long after that it waits for upstream tables at most.
        replaces: Whether it makes up for every run of the table that is pending: a run over the
            newest state of the sources does, one for certain partitions does not.
        accepted: The row of a run that a user submitted, and has the id of: its end is written
            also when it does not begin. None for the others.
    """

    table: TableName
    requested: RequestedRefresh
    ready_at_ms: int
    patience_ms: int = 0
    replaces: bool = False
    accepted: Job | None = None

    @property
    def is_submitted(self) -> bool:
        """Whether a user submitted it."""
        return self.accepted is not None

    @property
    def keeps_order(self) -> bool:
        """Whether it must not begin before older ones that are tried again."""
        return not self.replaces and not self.is_submitted


@dataclass(slots=True)
class _Queue:
    pending: deque[Run] = field(default_factory=deque)
    is_running: bool = False

    def first_ready(self, now: int) -> Run | None:
        """Return the run that may begin; those for partitions begin in their order."""
        if self.is_running:
            return None
        blocked = False
        for run in self.pending:
            if run.ready_at_ms <= now and not (blocked and run.keeps_order):
                return run
            blocked = blocked or run.keeps_order
        return None


class Dispatcher:
    """Decides which pending run comes next.

    Args:
        perform: Carries a run out, and returns the one that tries it again; it never raises.
        execute: Runs an action in one of a pool's threads.
        most: How many runs at a time.
        now_ms: Milliseconds since the epoch, UTC.
        withdrawn: Takes the submitted runs that will not begin.
    """

    def __init__(
        self,
        perform: Callable[[Run], Run | None],
        execute: Execute,
        most: int,
        now_ms: Callable[[], int],
        withdrawn: Callable[[Sequence[Run]], None] = lambda _: None,
    ) -> None:
        self._perform = perform
        self._execute = execute
        self._most = most
        self._now_ms = now_ms
        self._withdrawn = withdrawn
        self._queues: dict[TableName, _Queue] = {}
        self._upstream: Mapping[TableName, frozenset[TableName]] = {}
        self._changed = Condition()
        self._running = 0
        self._is_closed = False

    @property
    def running(self) -> int:
        """How many runs are in progress."""
        return self._running

    @property
    def waiting(self) -> int:
        """How many submitted runs have not begun."""
        with self._changed:
            return sum(run.is_submitted for queue in self._queues.values() for run in queue.pending)

    def is_running(self, table: TableName) -> bool:
        """Whether a run of the table is in progress."""
        queue = self._queues.get(table)
        return queue is not None and queue.is_running

    def order_by(self, upstream: Mapping[TableName, frozenset[TableName]]) -> None:
        """Set which tables come before which."""
        with self._changed:
            self._upstream = upstream

    def submit(self, run: Run) -> None:
        """Add a run; it begins when its time has come. After the end none is added."""
        with self._changed:
            if self._is_closed:
                return
            queue = self._queues.setdefault(run.table, _Queue())
            if run.replaces:
                queue.pending = deque(each for each in queue.pending if not each.replaces)
            queue.pending.append(run)
            self._changed.notify_all()

    def withdraw(self, table: TableName) -> None:
        """Withdraw every pending run of a table; a running one continues."""
        self._take_back(table, lambda _: True)

    def withdraw_scheduled(self, table: TableName) -> None:
        """Take back what a schedule asked for; what people asked for stays."""
        self._take_back(table, lambda run: not run.is_submitted)

    def clear(self) -> tuple[Run, ...]:
        """Drop every pending run, and return those that were submitted: the log has them."""
        with self._changed:
            dropped = [run for queue in self._queues.values() for run in queue.pending]
            self._queues = {name: q for name, q in self._queues.items() if q.is_running}
            for queue in self._queues.values():
                queue.pending.clear()
            return tuple(run for run in dropped if run.is_submitted)

    def retry_now(self, table: TableName) -> None:
        """Try at once what waits to be tried again: the table was changed."""
        with self._changed:
            queue, now = self._queues.get(table), self._now_ms()
            if queue is not None:
                soon = (replace(r, ready_at_ms=min(r.ready_at_ms, now)) for r in queue.pending)
                queue.pending = deque(soon)
                self._changed.notify_all()

    def dispatch(self) -> int:
        """Begin every run that may begin now.

        Returns:
            Milliseconds until another one may.
        """
        with self._changed:
            now = self._now_ms()
            while self._running < self._most and (run := self._next(now)) is not None:
                queue = self._queues[run.table]
                queue.pending.remove(run)
                queue.is_running = True
                self._running += 1
                self._execute(partial(self._run, run))
            return self._pause(now)

    def work(self) -> None:
        """Begin runs until closed; for a thread of its own."""
        with self._changed:
            while not self._is_closed:
                self._changed.wait(max(self.dispatch(), 1) / 1000)

    def close(self, within_s: float) -> bool:
        """Begin nothing more, and wait for what runs.

        Args:
            within_s: The longest time to wait, in seconds.

        Returns:
            Whether everything has ended by then.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.clear()
        with self._changed:
            return self._changed.wait_for(lambda: self._running == 0, within_s)

    def _take_back(self, table: TableName, chosen: Callable[[Run], bool]) -> None:
        with self._changed:
            queue = self._queues.get(table)
            if queue is None:
                return
            taken = [run for run in queue.pending if chosen(run)]
            queue.pending = deque(run for run in queue.pending if not chosen(run))
            self._tidy(table)
        if submitted := [run for run in taken if run.is_submitted]:
            self._withdrawn(submitted)

    def _tidy(self, table: TableName) -> None:
        queue = self._queues[table]
        if not queue.pending and not queue.is_running:
            del self._queues[table]

    def _run(self, run: Run) -> None:
        again: Run | None = None
        try:
            again = self._perform(run)
        finally:
            with self._changed:
                queue = self._queues[run.table]
                queue.is_running = False
                self._running -= 1
                if again is not None and again.replaces and any(r.replaces for r in queue.pending):
                    again = None  # a newer run that is pending does what the failed one should do
                if again is not None and not self._is_closed:
                    queue.pending.appendleft(again)
                self._tidy(run.table)
                self._changed.notify_all()

    def _next(self, now: int) -> Run | None:
        found = (queue.first_ready(now) for queue in self._queues.values())
        ready = sorted((run for run in found if run is not None), key=lambda run: run.ready_at_ms)
        return next((run for run in ready if not self._must_wait(run, now)), None)

    def _must_wait(self, run: Run, now: int) -> bool:
        """Whether an upstream table is about to be refreshed, and there is still time to wait."""
        if now >= run.ready_at_ms + run.patience_ms:
            return False
        upstream = map(self._queues.get, self._upstream.get(run.table, ()))
        return any(
            queue is not None
            and (queue.is_running or any(each.ready_at_ms <= now for each in queue.pending))
            for queue in upstream
        )

    def _pause(self, now: int) -> int:
        times = [
            at
            for queue in self._queues.values()
            if not queue.is_running
            for run in queue.pending
            for at in (run.ready_at_ms, run.ready_at_ms + run.patience_ms)
            if at > now
        ]
        return min([at - now for at in times], default=IDLE_MS)


class Refreshing:
    """Performs runs; one object serves all threads.

    Args:
        environment: Makes the ports of one run.
        policy: How failed runs are tried again.
        gone: Takes a table that turned out not to be there any more.
        now_ms: Milliseconds since the epoch, UTC.
        log: The log of refreshes; it defers the ends of submitted runs until the next tick.
    """

    def __init__(
        self,
        environment: Callable[[], Environment],
        policy: HostPolicy,
        gone: Callable[[TableName], None],
        now_ms: Callable[[], int],
        log: BufferedJobLog,
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._gone = gone
        self._now_ms = now_ms
        self._log = log
        self._failures: dict[TableName, Failures] = {}

    def cancel(self, runs: Sequence[Run]) -> None:
        """Defer rows that say that runs will not begin; the next tick writes them together."""
        error = "it was taken back before it began: the table is no more"
        for run in runs:
            self._ended(run, JobStatus.CANCELED, error=error)

    def failures(self, table: TableName) -> Failures:
        """Return how often in a row the scheduled runs of a table failed."""
        return self._failures.get(table, Failures())

    def perform(self, run: Run) -> Run | None:
        """Carry out a run; errors are written to its job, not raised.

        Returns:
            The run that tries it again; None where nothing is to be tried again.
        """
        began_ms = self._now_ms()
        try:
            environment = self._environment()
        except Exception as error:  # noqa: BLE001 - a session that is gone is a failure as any other
            self._ended(run, JobStatus.FAILED, error=errors.problem_of(error))
            return self._failed(run, error)
        requested = run.requested
        if not requested.refresh_id:
            requested = replace(requested, refresh_id=environment.new_id())
        run = replace(run, requested=requested)
        try:
            outcome = Refreshes(environment).carry_out(run.table, requested)
        except (TableNotFoundError, NotMaterializedError) as error:
            self._failures.pop(run.table, None)
            self._gone(run.table)
            self._ended(run, JobStatus.FAILED, error=errors.problem_of(error))
        except SuspendedError as error:
            self._ended(run, JobStatus.CANCELED, error=errors.problem_of(error))
        except BaseException as error:  # noqa: BLE001 - a run must not end the thread of others
            job = run.accepted or _job(environment, run.table, requested, began_ms)
            self._log.settle(JobRecorder(environment, replace(job, request="")).failed(error))
            return self._failed(run, error)
        else:
            self._succeeded(run, outcome)
        return None

    def _succeeded(self, run: Run, outcome: RefreshOutcome) -> None:
        if run.requested.scheduled_at is not None:
            self._failures.pop(run.table, None)
        skipped = outcome.status is RefreshResult.UP_TO_DATE
        status = JobStatus.SKIPPED if skipped else JobStatus.FINISHED
        self._ended(run, status, outcome.rows)

    def _ended(self, run: Run, status: JobStatus, rows: int | None = None, error: str = "") -> None:
        """Write the end of a run that a user submitted; a schedule may be a moment too late."""
        if run.accepted is not None:
            self._log.settle(_end_of(run.accepted, status, self._now_ms(), rows, error))

    def _failed(self, run: Run, error: BaseException) -> Run | None:
        """Return the run that tries it again; whoever asks by hand asks again himself."""
        failures = self.failures(run.table).after(error)
        _LOGGER.warning("the refresh of %s failed: %s", run.table, failures.problem)
        if run.is_submitted:
            return None
        if isinstance(error, CommitConflictError):
            return self._again(run, self._policy.first_pause)
        self._failures[run.table] = failures
        if 0 < self._policy.suspend_after <= failures.same:
            self._suspend_failing(run.table, failures)
        return self._again(run, self._policy.pause_after(failures.count + 1, random()))  # noqa: S311 - no secret

    def _again(self, run: Run, pause_ms: int) -> Run:
        requested = replace(run.requested, refresh_id="")
        return replace(run, requested=requested, ready_at_ms=self._now_ms() + pause_ms)

    def _suspend_failing(self, table: TableName, failures: Failures) -> None:
        """Suspend the table; its pending runs are withdrawn in the next tick, or are refused."""
        try:
            suspend_failing(self._environment(), table, failures)
        except Exception as error:  # noqa: BLE001 - the next failure tries it again
            _LOGGER.warning("%s could not be suspended: %s", table, errors.problem_of(error))
        else:
            self._failures.pop(table, None)


def _end_of(
    job: Job, status: JobStatus, now_ms: int, rows: int | None = None, error: str = ""
) -> Job:
    """Return the last row of an accepted run."""
    return replace(
        job,
        status=status,
        request="",
        ended_at_ms=now_ms,
        last_heartbeat_ms=now_ms,
        rows=rows,
        error=error[:LONGEST_ERROR],
    )


def _job(
    environment: Environment, table: TableName, requested: RequestedRefresh, began_ms: int
) -> Job:
    """Return the first row of a run, as far as the definition of its table is not needed."""
    at = requested.scheduled_at
    return Job(
        job_id=requested.refresh_id,
        table=table,
        kind=JobKind.MANUAL if at is None else JobKind.SCHEDULED,
        status=JobStatus.RUNNING,
        started_at_ms=began_ms,
        last_heartbeat_ms=began_ms,
        owner=environment.execution_context.processes.owner(),
        trigger=requested.trigger,
        scheduled_at_ms=None if at is None else round(at.timestamp() * 1000),
    )


def encode_request(requested: RequestedRefresh) -> str:
    """Return what was asked for, as the log keeps it while the run waits."""
    at = requested.scheduled_at
    document = {
        "partition": [[value.column, value.literal] for value in requested.partition],
        "run_options": requested.run_options,
        "trigger": requested.trigger,
        "scheduled_at": None if at is None else at.isoformat(),
    }
    return json.dumps({key: value for key, value in document.items() if value}, sort_keys=True)


def decode_request(text: str, refresh_id: str) -> RequestedRefresh:
    """Return what `encode_request` was given; unknown keys are ignored.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: A newer release wrote it otherwise.
    """
    document = json.loads(text)
    options, at = document.get("run_options"), document.get("scheduled_at")
    return RequestedRefresh(
        partition=tuple(PartitionValue(c, value) for c, value in document.get("partition", ())),
        trigger=document.get("trigger", _REST),
        run_options=None if options is None else tuple((k, v) for k, v in options),
        refresh_id=refresh_id,
        scheduled_at=None if at is None else datetime.fromisoformat(at),
    )


@dataclass(frozen=True, slots=True)
class Submissions:
    """Checks, accepts and queues refreshes, and takes up those that another manager accepted.

    Args:
        environment: Makes the ports of one run.
        dispatcher: Runs them.
        log: The log of refreshes, with the rows that wait to be written.
        read_time: Reads a scheduled time.
        catalog: Whose refreshes.
        leads: Whether this process holds the lease. One that does not only writes the row, and the
            manager that holds the lease takes the run up.
        most: How many accepted runs may wait.
    """

    environment: Callable[[], Environment]
    dispatcher: Dispatcher
    log: BufferedJobLog
    read_time: ReadTime
    catalog: str
    leads: Callable[[], bool]
    most: int = MOST_ACCEPTED
    _taken: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """The newest runs that were queued here: the log may say for a while that they wait."""
    _lock: Lock = field(default_factory=Lock)

    def submit(self, request: RefreshRequest) -> str:
        """Accept a refresh.

        Returns:
            Its name, under which the log of refreshes knows it already.

        Raises:
            MaterializedTableError: Too many wait.
            SuspendedError: A schedule asks, and the table is suspended.
            MaterializedTableError: The scheduled time cannot be read.
            MaterializedTableError: There is no such table, or some option is no run option.
        """
        if self._waiting() >= self.most:
            reason = f"{self.most} refreshes wait already"
            raise conditions.REFRESH_NOT_ACCEPTED(table=request.table, reason=reason)
        environment = self.environment()
        table = existing_table(environment, environment.store.full_name(parse_name(request.table)))
        if request.run_options:
            check_run_options(str(table.name), request.run_options)
        scheduled_at = self._scheduled_at(table, request) if request.is_periodic else None
        requested = RequestedRefresh(
            partition=tuple(PartitionValue(c, quote_text(value)) for c, value in request.partition),
            trigger=SCHEDULED if request.is_periodic else _REST,
            run_options=request.run_options or None,
            refresh_id=environment.new_id(),
            scheduled_at=scheduled_at,
        )
        resolved, now_ms = table.definition.resolved, environment.now_ms()
        job = replace(
            _job(environment, table.name, requested, now_ms),
            refresh_mode=resolved.refresh_mode.value,
            freshness=resolved.freshness.sql,
            request=encode_request(requested),
        )
        self._accept(Run(table.name, requested, now_ms, accepted=job))
        return requested.refresh_id

    def take_up(self) -> None:
        """Queue the runs of the log that wait, and are not queued here.

        Raises:
            Exception: The log could not be read.
        """
        now_ms = self.log.now_ms()
        for job in self.log.accepted(self.catalog, now_ms - KEPT_MS):
            if not self._remember(job):
                continue
            run, problem = _run_of(job, now_ms)
            if run is not None:
                self.dispatcher.submit(run)
            else:
                self.log.accept(_end_of(job, JobStatus.CANCELED, now_ms, error=problem))

    def leave(self) -> None:
        """Drop what waits here; the log has it, for the manager that leads next."""
        with self._lock:
            for run in self.dispatcher.clear():
                self._taken.pop(run.requested.refresh_id, None)
                self.log.forget(run.requested.refresh_id)

    def _waiting(self) -> int:
        if self.leads():
            return self.dispatcher.waiting
        return len(self.log.accepted(self.catalog, self.log.now_ms() - WAITING_MS))

    def _accept(self, run: Run) -> None:
        """Keep the row of a run and queue it; the row is written with those of other runs."""
        job = run.accepted
        assert job is not None  # noqa: S101 - `submit` made it
        if self.leads():
            self.log.accept(job)
        else:
            self.log.deferred.changed(job)
        if self.leads() and self._remember(job):
            self.dispatcher.submit(run)
        try:
            self.log.deferred.write_apart(_GROUP_MS)
        except Exception as error:  # noqa: BLE001 - the row waits, and the next tick writes it
            _LOGGER.warning("the log of refreshes was not written: %s", errors.problem_of(error))

    def _remember(self, job: Job) -> bool:
        with self._lock:
            is_new = job.job_id not in self._taken
            self._taken[job.job_id] = None
            while len(self._taken) > _REMEMBERED:
                self._taken.popitem(last=False)
            return is_new

    def _scheduled_at(self, table: StoredTable, request: RefreshRequest) -> datetime:
        definition = table.definition
        if definition.status is RefreshStatus.SUSPENDED:
            reason = definition.status_reason
            raise conditions.SUSPENDED(table=table.name, reason=f" ({reason})" if reason else "")
        zone = dict(definition.resolved.context.confs).get(SESSION_TIME_ZONE, "UTC")
        return self.read_time(request.schedule_time or "", request.schedule_time_format, zone)


def _run_of(job: Job, now_ms: int) -> tuple[Run | None, str]:
    """Return the run of an accepted job; or none, and why it will not begin."""
    if now_ms - job.last_heartbeat_ms > WAITING_MS:
        return None, TOO_OLD
    try:
        requested = decode_request(job.request, job.job_id)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return None, f"this release cannot read what was asked for: {error}"
    return Run(job.table, requested, now_ms, accepted=job), ""
