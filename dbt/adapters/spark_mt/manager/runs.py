"""Runs of refreshes in a few threads: submitted, scheduled and retried.

A submission is answered before its run begins. One run per table at a time, upstream before
downstream. A run waits for upstream tables that are due at the same time, up to a bound.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from random import random
from threading import Condition
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import (
    NotMaterializedError,
    SuspendedError,
    TableNotFoundError,
    problem_of,
)
from dbt.adapters.spark_mt.execution.executor import LONGEST_ERROR, JobRecorder, existing_table
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.hosting.policy import Failures, suspend_failing
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.resolution.durations import SESSION_TIME_ZONE
from dbt.adapters.spark_mt.resolution.options import check_run_options
from dbt.adapters.spark_mt.statements.nodes import PartitionValue
from dbt.adapters.spark_mt.statements.parser import parse_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.execution.context import RunningHeartbeat
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.hosting.policy import HostPolicy
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


@dataclass(frozen=True, slots=True)
class Run:
    """A refresh that shall be run.

    Args:
        table: Of which table.
        requested: What was asked for.
        ready_at_ms: Before when it must not begin, milliseconds since the epoch, UTC.
        patience_ms: How long after that it waits for upstream tables at most.
        replaces: Whether it makes up for every run of the table that is pending: a run over the
            newest state of the sources does, one for certain partitions does not.
        is_submitted: Whether a user submitted this run and has its id: its job is written also when
            it does not begin.
    """

    table: TableName
    requested: RequestedRefresh
    ready_at_ms: int
    patience_ms: int = 0
    replaces: bool = False
    is_submitted: bool = False

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
        withdrawn: Takes each submitted run that will not begin.
    """

    def __init__(
        self,
        perform: Callable[[Run], Run | None],
        execute: Execute,
        most: int,
        now_ms: Callable[[], int],
        withdrawn: Callable[[Run], None] = lambda _: None,
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

    def is_running(self, table: TableName) -> bool:
        """Whether a run of the table is in progress."""
        queue = self._queues.get(table)
        return queue is not None and queue.is_running

    def order_by(self, upstream: Mapping[TableName, frozenset[TableName]]) -> None:
        """Set which tables come before which."""
        with self._changed:
            self._upstream = upstream

    def submit(self, run: Run) -> None:
        """Add a run; it begins when its time has come."""
        with self._changed:
            if not self._is_closed:
                queue = self._queues.setdefault(run.table, _Queue())
                if run.replaces:
                    queue.pending = deque(each for each in queue.pending if not each.replaces)
                queue.pending.append(run)
                self._changed.notify_all()
                return
        if run.is_submitted:
            self._withdrawn(run)

    def withdraw(self, table: TableName) -> None:
        """Withdraw every pending run of a table; a running one continues."""
        self._take_back(table, lambda _: True)

    def withdraw_scheduled(self, table: TableName) -> None:
        """Take back what a schedule asked for; what people asked for stays."""
        self._take_back(table, lambda run: not run.is_submitted)

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
            tables = tuple(self._queues)
            self._changed.notify_all()
        for table in tables:
            self.withdraw(table)
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
        for run in taken:
            if run.is_submitted:
                self._withdrawn(run)

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
    """

    def __init__(
        self,
        environment: Callable[[], Environment],
        policy: HostPolicy,
        gone: Callable[[TableName], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._gone = gone
        self._now_ms = now_ms
        self._failures: dict[TableName, Failures] = {}
        self._waiting_runs: dict[str, tuple[JobRecorder, RunningHeartbeat]] = {}

    def record(self, job: Job) -> None:
        """Write the row of a run before it begins, with heartbeats while it waits."""
        environment = self._environment()
        recorder = JobRecorder(environment, job)
        recorder.write(job)
        heartbeat = environment.execution_context.heartbeat(recorder.beat)
        self._waiting_runs[job.job_id] = recorder, heartbeat

    def cancel(self, run: Run) -> None:
        """Write that a run will not begin."""
        recorder = self._stopped_waiting(run)
        if recorder is not None:
            error = "it was taken back before it began: the table or its manager is no more"
            recorder.write(recorder.ended(JobStatus.CANCELED, error=error))

    def failures(self, table: TableName) -> Failures:
        """Return how often in a row the scheduled runs of a table failed."""
        return self._failures.get(table, Failures())

    def perform(self, run: Run) -> Run | None:
        """Carry out a run; errors are written to its job, not raised.

        Returns:
            The run that tries it again; None where nothing is to be tried again.
        """
        recorder, began_ms = self._stopped_waiting(run), self._now_ms()
        try:
            environment = self._environment()
        except Exception as error:  # noqa: BLE001 - a session that is gone is a failure as any other
            if recorder is not None:
                text = problem_of(error)[:LONGEST_ERROR]
                _settle(recorder, recorder.ended(JobStatus.FAILED, error=text))
            return self._failed(run, error)
        requested = run.requested
        if not requested.refresh_id:
            requested = replace(requested, refresh_id=environment.new_id())
        if recorder is None:
            job = _job(environment, run.table, requested, began_ms)
            recorder = JobRecorder(environment, job)
        return self._carry_out(environment, replace(run, requested=requested), recorder)

    def _carry_out(self, environment: Environment, run: Run, recorder: JobRecorder) -> Run | None:
        try:
            outcome = Refreshes(environment).carry_out(run.table, run.requested)
        except (TableNotFoundError, NotMaterializedError) as error:
            self._failures.pop(run.table, None)
            self._gone(run.table)
            self._refused(run, recorder, JobStatus.FAILED, error)
        except SuspendedError as error:
            self._refused(run, recorder, JobStatus.CANCELED, error)
        except BaseException as error:  # noqa: BLE001 - a run must not end the thread of others
            _settle(recorder, recorder.failed(error))
            return self._failed(run, error)
        else:
            self._succeeded(run, recorder, outcome)
        return None

    def _refused(
        self, run: Run, recorder: JobRecorder, status: JobStatus, error: Exception
    ) -> None:
        """Write the failure if a user submitted the run; a schedule may be a moment too late."""
        if run.is_submitted:
            _settle(recorder, recorder.ended(status, error=problem_of(error)[:LONGEST_ERROR]))

    def _succeeded(self, run: Run, recorder: JobRecorder, outcome: RefreshOutcome) -> None:
        if run.requested.scheduled_at is not None:
            self._failures.pop(run.table, None)
        if run.is_submitted:
            skipped = outcome.status is RefreshResult.UP_TO_DATE
            status = JobStatus.SKIPPED if skipped else JobStatus.FINISHED
            _settle(recorder, recorder.ended(status, outcome.rows))

    def _stopped_waiting(self, run: Run) -> JobRecorder | None:
        """Return what writes the rows of a run that waited, and stop its heartbeats."""
        recorder, heartbeat = self._waiting_runs.pop(run.requested.refresh_id, (None, None))
        if heartbeat is not None:
            heartbeat.stop()
        return recorder

    def _failed(self, run: Run, error: BaseException) -> Run | None:
        """Return the run that tries it again; whoever asks by hand asks again himself."""
        failures = self.failures(run.table).after(error)
        _LOGGER.warning("the refresh of %s failed: %s", run.table, failures.problem)
        if run.is_submitted:
            return None
        if isinstance(error, CommitConflictError):
            return self._again(run, self._policy.first_pause)
        self._failures[run.table] = failures
        if 0 < self._policy.give_up_after <= failures.same:
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
            _LOGGER.warning("%s could not be suspended: %s", table, problem_of(error))
        else:
            self._failures.pop(table, None)


def _settle(recorder: JobRecorder, last: Job) -> None:
    """Write the last row of a run, unless what carried it out has done so already."""
    log = recorder.environment.execution_context.log
    try:
        found = log.job(last.table.catalog or "", last.job_id)
    except Exception as problem:  # noqa: BLE001 - to write the end twice is better than never
        _LOGGER.warning("the log of refreshes could not be read: %s", problem_of(problem))
        found = None
    if found is None or found.status is JobStatus.RUNNING:
        recorder.write(last)


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


@dataclass(frozen=True, slots=True)
class Submissions:
    """Checks, names and begins refreshes."""

    environment: Callable[[], Environment]
    dispatcher: Dispatcher
    refreshing: Refreshing
    read_time: ReadTime

    def submit(self, request: RefreshRequest) -> str:
        """Begin a refresh.

        Returns:
            Its name, under which the log of refreshes knows it already.

        Raises:
            SuspendedError: A schedule asks, and the table is suspended.
            InvalidScheduleTimeError: The scheduled time cannot be read.
            MaterializedTableError: There is no such table, or some option is no run option.
        """
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
        resolved = table.definition.resolved
        job = replace(
            _job(environment, table.name, requested, environment.now_ms()),
            refresh_mode=resolved.refresh_mode.value,
            freshness=resolved.freshness.sql,
        )
        self.refreshing.record(job)
        self.dispatcher.submit(Run(table.name, requested, environment.now_ms(), is_submitted=True))
        return requested.refresh_id

    def _scheduled_at(self, table: StoredTable, request: RefreshRequest) -> datetime:
        definition = table.definition
        if definition.status is RefreshStatus.SUSPENDED:
            reason = definition.status_reason
            raise SuspendedError(table=table.name, reason=f" ({reason})" if reason else "")
        zone = dict(definition.resolved.context.confs).get(SESSION_TIME_ZONE, "UTC")
        return self.read_time(request.schedule_time or "", request.schedule_time_format, zone)
