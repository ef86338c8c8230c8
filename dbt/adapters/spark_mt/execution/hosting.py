"""Keeps one table fresh for as long as somebody wants it: the life of a hosted refresh.

A host talks to nobody. It looks at the table's own log, and the fence decides: a statement that
commits beside it makes the next batch lose, and the host then begins again from what the table says
about itself (design sections 3, 5, 6). So nothing that a host knows can be wrong for long, and
killing it loses nothing.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from random import random
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.errors import (
    NotMaterializedError,
    TableNotFoundError,
    problem_of,
)
from dbt.adapters.spark_mt.execution.giving_up import Failures, give_up
from dbt.adapters.spark_mt.execution.holds import others_under_way
from dbt.adapters.spark_mt.execution.host_progress import PATIENT, HostPhase, HostProgress
from dbt.adapters.spark_mt.execution.hosted_streams import HostedStream, Overtaken, stream_task
from dbt.adapters.spark_mt.execution.hosting_errors import NotContinuousError
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.steps import HOSTED
from dbt.adapters.spark_mt.resolution.options import read_options

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.host_progress import HostPolicy
    from dbt.adapters.spark_mt.execution.refreshes import Refreshes
    from dbt.adapters.spark_mt.execution.streams import StreamTask


_LOGGER = logging.getLogger(__name__)
_WATCH_MS = 1_000
"""How often a stream's state is looked at, which is in memory."""


class HostedTable:
    """The refresh of one CONTINUOUS table, as steps that somebody else times.

    Args:
        name: The table's full name.
        environment: The ports.
        refreshes: Brings the table up to date where no stream can.
        policy: How it spends its time.
    """

    def __init__(
        self,
        name: TableName,
        environment: Environment,
        refreshes: Refreshes,
        policy: HostPolicy = PATIENT,
    ) -> None:
        self._name = name
        self._env = environment
        self._refreshes = refreshes
        self._policy = policy
        self._stream: HostedStream | None = None
        self._must_refresh = False
        self._was_beaten = False
        self._failures = Failures()
        self._looked_at_log_ms = 0
        self.progress = HostProgress(str(name))

    def notice(self) -> None:
        """Look at the table's log in the next tick: somebody says that it was changed."""
        self._looked_at_log_ms = 0

    def tick(self) -> int:
        """Do what is due now.

        Returns:
            Milliseconds until there is something to do again; -1 when it has ended.
        """
        try:
            return self._tick()
        except (TableNotFoundError, NotMaterializedError, NotContinuousError) as error:
            self.end()
            self._note(phase=HostPhase.ENDED, problem=problem_of(error))
            return -1
        except CommitConflictError:
            self._was_beaten = True
            return 0
        except Exception as error:  # noqa: BLE001 - a host outlives whatever a refresh may raise
            return self._failed(error)

    def end(self) -> None:
        """Stop between two batches."""
        self._stop_stream()
        self._note(phase=HostPhase.ENDED)

    def _tick(self) -> int:
        if self._stream is not None:
            return self._watched(self._stream)
        self._env.store.forget()
        table = stored_table(self._env, self._name)
        self._note(positions=table.positions)
        if table.definition.resolved.refresh_mode is not RefreshMode.CONTINUOUS:
            raise NotContinuousError(table=self._name)
        if table.definition.status is RefreshStatus.SUSPENDED:
            reason = table.definition.status_reason or "by the user"
            self._note(phase=HostPhase.SUSPENDED, problem=reason, failures=0)
            return self._policy.look
        if self._was_beaten and others_under_way(self._env, self._name):
            self._note(phase=HostPhase.FOLLOWING)
            return self._policy.look
        self._was_beaten = False
        return self._follow(table)

    def _follow(self, table: StoredTable) -> int:
        """Start a stream, or refresh where no stream can be started."""
        every_ms = self._trigger_ms(table.definition)
        analyzed = self._env.stored_analyzer.analyze_stored(table.definition.resolved)
        run = self._env.run(HOSTED, analyzed, table.definition.resolved)
        self._note(engine=run.engine)
        task = stream_task(self._env, table, run, every_ms)
        if task is None or self._must_refresh:
            self._refresh()
        if task is None:
            self._note(failures=0, problem="")
            return every_ms
        if not self._stream_begun(task):
            self._note(phase=HostPhase.FOLLOWING)
        return min(every_ms, self._policy.look)

    def _stream_begun(self, task: StreamTask) -> bool:
        """Start a stream, if the source has moved and the task is not that before a refresh."""
        streams = self._env.streams
        if self.progress.positions != task.table.positions or streams is None:
            return False
        self._stream = HostedStream(self._env, streams.start(task), task)
        self._note(phase=HostPhase.STREAMING)
        return True

    def _refresh(self) -> None:
        """Bring the table up to date in one commit, over whatever happened to the sources."""
        looked_at_ms = self._env.now_ms()
        outcome = self._refreshes.refresh(self._name, trigger=HOSTED)
        self._must_refresh = False
        if outcome.status is RefreshResult.REFRESHED:
            done = self.progress
            self._note(
                batches=done.batches + 1,
                rows=done.rows + (outcome.rows or 0),
                committed_at_ms=self._env.now_ms(),
                positions=self._positions(),
                failures=0,
                problem="",
            )
        self._note(phase=HostPhase.FOLLOWING, looked_at_ms=looked_at_ms)

    def _positions(self) -> Positions | None:
        found = self._env.store.find(self._name)
        return found.positions if isinstance(found, StoredTable) else None

    def _watched(self, stream: HostedStream) -> int:
        """Look after a stream that goes on, and say what follows from its end."""
        if (batch := stream.take()) is not None:
            done = self.progress
            self.progress = replace(
                done,
                positions=batch.positions,
                batches=done.batches + batch.batches,
                rows=done.rows + batch.rows,
                committed_at_ms=batch.committed_at_ms,
                failures=0,
                problem="",
            )
        self._note(looked_at_ms=max(self.progress.looked_at_ms, stream.looked_at_ms))
        if stream.is_active:
            may_look = not stream.is_in_batch and self._is_time_to_look()
            if may_look and (overtaken := stream.overtaken()) is not Overtaken.NO:
                self._stop_stream()
                self._was_beaten = overtaken is Overtaken.WRITTEN
                return 0
            return min(stream.task.every_ms or _WATCH_MS, _WATCH_MS)
        failure = stream.failure
        self._stop_stream()
        if failure is None or isinstance(failure, CommitConflictError):
            self._was_beaten = True
            return 0
        return self._failed(failure)

    def _is_time_to_look(self) -> bool:
        now = self._env.now_ms()
        if now - self._looked_at_log_ms < self._policy.look:
            return False
        self._looked_at_log_ms = now
        return True

    def _failed(self, error: Exception) -> int:
        """Try again after a pause, and then by a refresh: that can do what a stream cannot."""
        self._stop_stream()
        self._must_refresh = True
        before = self._failures if self.progress.failures else Failures()
        failures = self._failures = before.after(error)
        self._note(phase=HostPhase.FAILING, failures=failures.count, problem=failures.problem)
        if 0 < self._policy.give_up_after <= failures.same:
            self._give_up(failures)
        return self._policy.pause_after(failures.count, random())  # noqa: S311 - no secret

    def _give_up(self, failures: Failures) -> None:
        """Suspend the table; where that fails as well, the next failure tries it again."""
        try:
            give_up(self._env, self._name, failures)
        except Exception as error:  # noqa: BLE001 - a host outlives that, too
            _LOGGER.warning("%s could not be suspended: %s", self._name, problem_of(error))

    def _stop_stream(self) -> None:
        if self._stream is not None:
            self._stream.end()
            self._stream = None

    def _trigger_ms(self, definition: StoredDefinition) -> int:
        """Half of the freshness, unless table, session or run options say so (semantics 4)."""
        resolved = definition.resolved
        options = {**dict(resolved.asked.options), **dict(definition.run_options)}
        own = read_options(tuple(options.items())).trigger_interval
        interval = own or self._env.settings().trigger_interval
        seconds = interval.total_seconds() if interval else resolved.freshness.seconds / 2
        return max(1, int(seconds * 1000))

    def _note(self, **facts: object) -> None:
        self.progress = replace(self.progress, **facts)  # type: ignore[arg-type]
