"""Hosted table: the refresh loop of one table.

A host reads the log of its table, and the fence decides conflicts. A statement that commits in
parallel makes the next batch fail, and the host starts again from the state of the table. So a host
that is killed loses nothing.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from random import random
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import (
    CommitConflictError,
    NotContinuousError,
    NotMaterializedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.freshness import LONGEST_SECONDS
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.baseline import chosen
from dbt.adapters.spark_mt.execution.jobs import others_running
from dbt.adapters.spark_mt.execution.lookup import stored_table
from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
from dbt.adapters.spark_mt.execution.refresh import RequestedRefresh, stream_task
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.execution.source_columns import raise_if_unfit
from dbt.adapters.spark_mt.hosting import policy as host_policy
from dbt.adapters.spark_mt.hosting.hosted_stream import Conflict, HostedStream
from dbt.adapters.spark_mt.planning.steps import HOSTED
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.strategies.strategy import STREAM, Refusal, Request

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StreamTask
    from dbt.adapters.spark_mt.execution.refresh import Refreshes


_LOGGER = logging.getLogger(__name__)
_NO_STREAMS = Refusal.of(STREAM, "NO_STREAMS", "streams cannot be run over Spark Connect")
_WATCH_MS = 1_000
_LONGEST_WATCH_MS = 5_000
"""How often a stream's state is looked at: two calls to the JVM, a millisecond of a core."""


class HostedTable:
    """The refresh of one CONTINUOUS table, as steps that the host times.

    Args:
        name: The table's full name.
        environment: The ports.
        refreshes: Brings the table up to date where no stream can.
        policy: How it spends its time.
        turns: When it may refresh, shared with the other tables of the process; its own by default.
    """

    def __init__(
        self,
        name: TableName,
        environment: Environment,
        refreshes: Refreshes,
        policy: host_policy.HostPolicy = host_policy.PATIENT,
        turns: host_policy.Turns | None = None,
    ) -> None:
        self._turns = turns or host_policy.Turns(1, environment.now_ms)
        self._pace = host_policy.Pace()
        self._leaves = False
        self._name = name
        self._env = environment
        self._refreshes = refreshes
        self._policy = policy
        self._stream: HostedStream | None = None
        self._must_refresh = False
        self._had_conflict = False
        self._failures = host_policy.Failures()
        self._compacted = 0
        self._looked_at_log_ms = 0
        self._every_ms = 0
        self._inputs_ms = 0
        self._watch_ms = min(max(_WATCH_MS, policy.look), _LONGEST_WATCH_MS)
        self.progress = host_policy.HostProgress(str(name))

    def notice(self) -> None:
        """Check the table's log in the next tick."""
        self._looked_at_log_ms = 0
        self._env.up_to_date.forget(self._name)

    def tick(self) -> int:
        """Do what is due now.

        Returns:
            Milliseconds until there is something to do again; -1 when it has ended.
        """
        try:
            return self._tick()
        except (
            TableNotFoundError,
            NotMaterializedError,
            NotContinuousError,
        ) as error:
            self.end()
            self._note(phase=host_policy.HostPhase.ENDED, problem=errors.problem_of(error))
            return -1
        except (CommitConflictError, host_policy.TurnGivenUpError) as error:
            self._had_conflict |= isinstance(error, CommitConflictError)
            return 0
        except Exception as error:  # noqa: BLE001 - no error of a refresh ends a host
            return self._failed(error)

    def leave(self) -> None:
        """Wait for no turn any more: the host is about to stop; other threads may call it."""
        self._leaves = True
        self._turns.look_again()

    def end(self) -> None:
        """Stop between two batches."""
        self._stop_stream()
        self._note(phase=host_policy.HostPhase.ENDED)

    def _tick(self) -> int:
        if self._stream is not None:
            return self._watched(self._stream)
        return self._every_ms if self._is_up_to_date() else self._look()

    def _look(self) -> int:
        """Look at the table itself, and do what follows."""
        self._env.store.forget()
        table = stored_table(self._env, self._name)
        self._note(positions=table.positions)
        if table.definition.resolved.refresh_mode is not RefreshMode.CONTINUOUS:
            raise conditions.NOT_CONTINUOUS(table=self._name)
        if table.definition.status is RefreshStatus.SUSPENDED:
            reason = table.definition.status_reason or "by the user"
            self._note(phase=host_policy.HostPhase.SUSPENDED, problem=reason, failures=0)
            return self._policy.look
        if self._had_conflict and others_running(self._env, self._name):
            self._note(phase=host_policy.HostPhase.FOLLOWING)
            return self._policy.look
        self._had_conflict = False
        return self._follow(table)

    def _is_up_to_date(self) -> bool:
        """Look whether anything can have changed since the table was up to date."""
        if (
            self.progress.phase is not host_policy.HostPhase.FOLLOWING
            or self._must_refresh
            or self._had_conflict
        ):
            return False
        checked_at_ms = self._env.now_ms()
        if self._env.up_to_date.find(self._name) is None:
            return False
        self._note(checked_at_ms=checked_at_ms)
        return True

    def _follow(self, table: StoredTable) -> int:
        """Start a stream, or refresh where no stream can be started."""
        analyzed = self._env.stored_analyzer.analyze_stored(table.definition.resolved)
        raise_if_unfit(table, analyzed)
        analyzed_table = AnalyzedTable(table, analyzed)
        self._inputs_ms = self._oldest_inputs_ms(analyzed_table)
        run = self._env.run(HOSTED, analyzed, table.definition.resolved, table.definition.baseline)
        no_streams = () if self._env.streams else (_NO_STREAMS,)
        run = chosen(self._env, table, analyzed, run, Request.HOST, no_streams)
        self._note(choice=run.choice)
        is_stream = run.choice.runs_batches
        every_ms = self._every_ms = self._trigger_ms(table.definition, is_stream=is_stream)
        task = stream_task(self._env, table, run, every_ms) if is_stream else None
        if task is None or self._must_refresh:
            self._refresh(analyzed_table)
        if task is None:
            self._note(failures=0, problem="")
            return every_ms
        if not self._stream_begun(task):
            self._note(phase=host_policy.HostPhase.FOLLOWING)
        return min(every_ms, self._watch_ms if self._stream else self._policy.look)

    def _stream_begun(self, task: StreamTask) -> bool:
        """Start a stream, if the source has moved and the task is not that before a refresh."""
        streams = self._env.streams
        if self.progress.positions != task.table.positions or streams is None:
            return False
        self._stream = HostedStream(self._env, streams.start(task), task)
        self._note(phase=host_policy.HostPhase.STREAMING)
        return True

    def _refresh(self, analyzed_table: AnalyzedTable) -> None:
        """Bring the table up to date in one commit, over whatever happened to the sources."""
        freshness = analyzed_table.table.definition.resolved.freshness
        due_ms = self.progress.checked_at_ms + freshness.seconds * 1000
        began_ms = self._env.now_ms()
        with self._turns.turn(due_ms, lambda: self._leaves):
            checked_at_ms = self._env.now_ms()
            requested = RequestedRefresh(trigger=HOSTED)
            outcome = self._refreshes.carry_out(self._name, requested, analyzed_table)
        self._must_refresh = False
        if outcome.status is RefreshResult.REFRESHED:
            self._pace.took(self._env.now_ms() - began_ms)
            done, found = self.progress, self._env.store.find(self._name)
            self._note(
                batches=done.batches + 1,
                rows=done.rows + (outcome.rows or 0),
                committed_at_ms=self._env.now_ms(),
                positions=found.positions if isinstance(found, StoredTable) else None,
                failures=0,
                problem="",
            )
        self._note(phase=host_policy.HostPhase.FOLLOWING, checked_at_ms=checked_at_ms)
        if self._is_compaction_due():
            self._compact(analyzed_table.table.definition.table_id)

    def _watched(self, stream: HostedStream) -> int:
        """Watch a running stream; return the pause until the next tick."""
        if (batch := stream.take()) is not None:
            self._pace.took(batch.took_ms)
            self._every_ms = self._trigger_ms(stream.task.table.definition, is_stream=True)
            done = self.progress
            self._note(
                positions=batch.positions,
                batches=done.batches + batch.batches,
                rows=done.rows + batch.rows,
                committed_at_ms=batch.committed_at_ms,
                failures=0,
                problem="",
            )
        since_ms = self._env.now_ms() - self.progress.checked_at_ms
        if since_ms >= (stream.task.every_ms or 0):  # no trigger can have begun before
            self._note(checked_at_ms=max(self.progress.checked_at_ms, stream.checked_at_ms))
        stream.report()
        if not stream.is_active:
            return self._stream_ended(stream)
        if not stream.is_in_batch and self._is_interrupted(stream):
            return 0
        return min(stream.task.every_ms or _WATCH_MS, self._watch_ms)

    def _is_interrupted(self, stream: HostedStream) -> bool:
        """Stop a stream between two batches where something else comes first."""
        if host_policy.differs(stream.task.every_ms or 0, self._every_ms):
            self._stop_stream()
            return True
        if self._is_compaction_due():
            self._stop_stream()
            self._compact(stream.task.table.definition.table_id)
            return True
        if self._is_check_due() and (conflict := stream.conflict()) is not Conflict.NO:
            self._stop_stream()
            self._had_conflict = conflict is Conflict.WRITTEN
            return True
        return False

    def _stream_ended(self, stream: HostedStream) -> int:
        failure = stream.failure
        self._stop_stream()
        if failure is None or isinstance(failure, CommitConflictError):
            self._had_conflict = True
            return 0
        return self._failed(failure)

    def _is_compaction_due(self) -> bool:
        after = self._policy.compact_after
        return 0 < after <= self.progress.batches - self._compacted

    def _compact(self, table_id: str) -> None:
        """Merge small files between two commits, which have no conflict with it therefore."""
        self._compacted = self.progress.batches
        try:
            self._env.storage.compact(self._name, table_id)
        except Exception as error:  # noqa: BLE001 - the rows are right; the next time does it
            _LOGGER.warning("%s was not compacted: %s", self._name, errors.problem_of(error))

    def _is_check_due(self) -> bool:
        now = self._env.now_ms()
        if now - self._looked_at_log_ms < self._policy.look:
            return False
        self._looked_at_log_ms = now
        return True

    def _failed(self, error: Exception) -> int:
        """Try again after a pause, and then by a refresh: that can do what a stream cannot."""
        self._stop_stream()
        self._must_refresh = True
        before = self._failures if self.progress.failures else host_policy.Failures()
        failures = self._failures = before.after(error)
        self._note(
            phase=host_policy.HostPhase.FAILING, failures=failures.count, problem=failures.problem
        )
        if 0 < self._policy.suspend_after <= failures.same:
            try:
                host_policy.suspend_failing(self._env, self._name, failures)
            except Exception as problem:  # noqa: BLE001 - the next failure tries it again
                _LOGGER.warning(
                    "%s could not be suspended: %s", self._name, errors.problem_of(problem)
                )
        return self._policy.pause_after(failures.count, random())  # noqa: S311 - no secret

    def _stop_stream(self) -> None:
        if self._stream is not None:
            self._stream.end()
            self._stream = None

    def _trigger_ms(self, definition: StoredDefinition, *, is_stream: bool) -> int:
        """By the pace of the table, unless table, session or run options have another value."""
        resolved = definition.resolved
        options = {**dict(resolved.declared.options), **dict(definition.run_options)}
        own = read_options(tuple(options.items())).trigger_interval
        interval = own or self._env.settings().trigger_interval
        if interval:
            return max(1, int(min(interval.total_seconds(), LONGEST_SECONDS) * 1000))
        freshness_ms = resolved.freshness.seconds * 1000
        return max(1, self._pace.interval_ms(freshness_ms, self._inputs_ms, is_stream=is_stream))

    def _oldest_inputs_ms(self, analyzed_table: AnalyzedTable) -> int:
        """Return the longest freshness of the materialized tables that the query reads."""
        sources = analyzed_table.analyzed.sources
        found = (self._env.store.find(each.name) for each in sources if each.has_positions)
        fresh = (t.definition.resolved.freshness for t in found if isinstance(t, StoredTable))
        return 1000 * max((freshness.seconds for freshness in fresh), default=0)

    def _note(self, **changes: object) -> None:
        self.progress = replace(self.progress, **changes)  # type: ignore[arg-type]
