"""REFRESH of a whole table or of partitions, on request or by schedule.

`strategies.choice` chooses the strategy by which a refresh computes the rows. A stream that keeps a
checkpoint reads all available rows and ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    ConstraintViolatedError,
    MaterializedTableError,
    RefreshFailedError,
    RefreshSchemaError,
    SourceFilesGoneError,
)
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    FollowedPosition,
    UnknownPosition,
    same_positions,
)
from dbt.adapters.spark_mt.execution import baseline as baselines
from dbt.adapters.spark_mt.execution import executor, job_recorder, lookup, retries
from dbt.adapters.spark_mt.execution.errors import cause_of_suspension
from dbt.adapters.spark_mt.execution.ports import Committed, StepResult, StreamTask
from dbt.adapters.spark_mt.execution.results import RefreshOutcome, RefreshResult
from dbt.adapters.spark_mt.execution.source_columns import raise_if_unfit
from dbt.adapters.spark_mt.planning.planner import plan_partitions, plan_refresh
from dbt.adapters.spark_mt.planning.schedule import scheduled_partitions
from dbt.adapters.spark_mt.planning.steps import plan_registration
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE, parse_zone
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
    from dbt.adapters.spark_mt.planning.schedule import Partition
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.statements.nodes import PartitionValue


_NOT_APPLIED = (
    RefreshFailedError,
    RefreshSchemaError,
    ConstraintViolatedError,
)
"""Errors after which a change of a result cannot be applied: the next strategy is chosen then."""


@dataclass(frozen=True, slots=True)
class RequestedRefresh:
    """A refresh with its options.

    Args:
        partition: The partition to refresh; empty for the whole table.
        trigger: The statement, schedule or host that starts it, for the commit.
        force: Compute the rows even if no source has changed.
        run_options: Its run options; None for those of the table.
        refresh_id: Its id; empty for a new one.
        scheduled_at: The scheduled time of a run of a schedule, without a zone in the table's own.
            A table with date formatters then gets the partitions of every period that the run
            stands for.
    """

    partition: tuple[PartitionValue, ...] = ()
    trigger: str = "REFRESH"
    force: bool = False
    run_options: Pairs | None = None
    refresh_id: str = ""
    scheduled_at: datetime | None = None

    def scheduled_for(self, table: StoredTable) -> RequestedRefresh:
        """Return the request with its scheduled time in a zone, by default that of the table."""
        if self.scheduled_at is None or self.scheduled_at.tzinfo is not None:
            return self
        return replace(self, scheduled_at=self.scheduled_at.replace(tzinfo=_zone(table)))

    def named(self, run: RefreshRun) -> RefreshRun:
        """Return a run with the requested id and the scheduled time."""
        at = self.scheduled_at
        return replace(
            run,
            refresh_id=self.refresh_id or run.refresh_id,
            scheduled_at_ms=None if at is None else round(at.timestamp() * 1000),
        )

    def run_by(self, table: StoredTable) -> StoredTable:
        """Return a table with the run options of this refresh, if it has any."""
        if self.run_options is None:
            return table
        return replace(table, definition=replace(table.definition, run_options=self.run_options))


def chosen_or_suspended(
    environment: Environment,
    table: StoredTable,
    analyzed: AnalyzedQuery,
    run: RefreshRun,
    request: strategy.Request,
    excluded: Sequence[strategy.Refusal] = (),
) -> RefreshRun:
    """Return a run with the strategy that it uses; suspend a table for which there is none.

    Raises:
        BaselineBrokenError: It cannot follow its sources; it was suspended.
    """
    run = baselines.chosen(environment, table, analyzed, run, request, excluded)
    if run.choice.strategy == strategy.NONE:
        error = baselines.broken(environment, table.name, run)
        reason = cause_of_suspension(error)
        executor.suspend(environment, table, reason, f"suspended, because {reason}")
        raise error
    return run


def note_of(table: StoredTable) -> str:
    """Describe the baseline, because of which the rows are not those of all source data."""
    baseline = table.definition.baseline
    return baseline.describe() if baseline is not None else ""


def foreign(table: StoredTable, fate: str) -> tuple[str, ...]:
    """Describe changes by others, and what happens to them."""
    if not table.foreign_commits:
        return ()
    listed = ", ".join(f"{c.operation} in version {c.version}" for c in table.foreign_commits)
    return (f"{table.name} has changes that are not ours ({listed}); {fate}.",)


class Refreshes:
    """Brings tables up to date."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def carry_out(
        self,
        name: TableName,
        requested: RequestedRefresh,
        analyzed_table: AnalyzedTable | None = None,
    ) -> RefreshOutcome:
        """Refresh a table over the newest state of its sources, as requested.

        Args:
            name: The table.
            requested: The refresh.
            analyzed_table: The table as the same statement read it; None to read it.

        Raises:
            SuspendedError: It is a run of a schedule, and the table is suspended.
            MaterializedTableError: The refresh cannot be done; the table keeps its rows.
        """
        full = self._env.store.full_name(name)
        is_one_job = bool(requested.refresh_id)
        if requested.scheduled_at is not None:
            return self._unchanged(full, requested) or retries.retrying(
                lambda: self._scheduled(full, requested), is_one_job=is_one_job
            )
        # Another writer may have changed the table before the second attempt.
        first = [analyzed_table]
        return retries.retrying(
            lambda: self._refresh(full, requested, first.pop() if first else None),
            is_one_job=is_one_job,
        )

    def _unchanged(self, name: TableName, requested: RequestedRefresh) -> RefreshOutcome | None:
        """Skip a scheduled refresh of a table that was up to date, if nothing changed since."""
        found = self._env.up_to_date.find(name)
        if found is None or requested.run_options is not None:
            return None
        run_id, now = self._env.new_id(), self._env.now_ms()
        run = replace(found.run, refresh_id=run_id, trigger=requested.trigger, started_at_ms=now)
        return self._up_to_date(found.table, requested.scheduled_for(found.table).named(run))

    def _refresh(
        self, name: TableName, requested: RequestedRefresh, analyzed_table: AnalyzedTable | None
    ) -> RefreshOutcome:
        if analyzed_table is not None and not requested.partition:
            table = requested.run_by(analyzed_table.table)
            return self._whole(table, analyzed_table.analyzed, requested)
        table = requested.run_by(lookup.stored_table(self._env, name))
        if requested.partition:
            wanted = self._checked(table, requested.partition)
            return self._partitions(table, (wanted,), requested)
        return self._whole(table, self._analyzed(table), requested)

    def _analyzed(self, table: StoredTable) -> AnalyzedQuery:
        return self._env.stored_analyzer.analyze_stored(table.definition.resolved)

    def _whole(
        self, table: StoredTable, analyzed: AnalyzedQuery, requested: RequestedRefresh
    ) -> RefreshOutcome:
        resolved = table.definition.resolved
        run = requested.named(
            self._env.run(requested.trigger, analyzed, resolved, table.definition.baseline)
        )
        if not (requested.force or self._must_run(table, analyzed, run)):
            self._env.up_to_date.remember(table, analyzed, run)
            return self._up_to_date(table, run)
        raise_if_unfit(table, analyzed)
        kept, request = (
            run,
            strategy.Request.FORCED if requested.force else strategy.Request.REFRESH,
        )
        if run.choice.keeps_checkpoint and self._env.streams is None:
            raise conditions.STREAMS_OVER_CONNECT(table=table.name, reason=run.choice.reason)
        failed: list[strategy.Refusal] = []
        while True:
            try:
                run = chosen_or_suspended(self._env, table, analyzed, kept, request, failed)
            except Exception as error:
                if failed:  # the attempts did not end the job
                    job = job_recorder.job_of(self._env, table.definition, run)
                    job_recorder.JobRecorder(self._env, job).fail(error)
                raise
            done = self._attempt(table, run)
            if not isinstance(done, strategy.Refusal):
                return done
            failed.append(done)

    def _attempt(self, table: StoredTable, run: RefreshRun) -> RefreshOutcome | strategy.Refusal:
        """Refresh a table by the strategy of a run, or return why another one must be chosen."""
        if run.choice.runs_batches:
            return self._caught_up(table, run)
        is_change = run.choice.write is strategy.Write.CHANGE
        others = (SourceFilesGoneError, *(_NOT_APPLIED if is_change else ()))
        try:
            with job_recorder.tried_again(others):
                return self._written(table, run)
        except SourceFilesGoneError as error:
            return _files_gone(table, run, error)
        except _NOT_APPLIED as error:
            if not is_change:
                raise
            return _not_applied(run, error)

    def _written(self, table: StoredTable, run: RefreshRun) -> RefreshOutcome:
        """Compute and write the rows of a whole table by the strategy of a run."""
        counts_all = run.choice.write is strategy.Write.REPLACE and run.choice.since is None
        if counts_all:
            run = baselines.without_data_loss(self._env, table, run)
        result = executor.perform(plan_refresh(table, run), self._env)
        if counts_all:  # all rows were computed, so the table has no baseline
            table = replace(table, definition=replace(table.definition, baseline=None))
        if result.version is not None:
            written = replace(table, version=result.version, positions=result.positions)
            self._env.verifications.submit(Committed(written, run))
        fate = "this refresh has overwritten them"
        if run.choice.write is not strategy.Write.REPLACE:
            fate = "they stay, except in rows that this refresh computed"
        return self._outcome(table, run, result, notes=foreign(table, fate))

    def _caught_up(self, table: StoredTable, run: RefreshRun) -> RefreshOutcome | strategy.Refusal:
        """Resume the stream of a table until it has read what its sources have now.

        Returns:
            Its outcome; or why it cannot resume, so that another strategy must be chosen.

        Raises:
            MaterializedTableError: Streams cannot be run here.
            MaterializedTableError: A batch cannot be committed.
        """
        environment = self._env
        if environment.streams is None:
            raise conditions.STREAMS_OVER_CONNECT(table=table.name, reason=run.choice.reason)
        stream = environment.streams.start(stream_task(environment, table, run))
        recorder = job_recorder.JobRecorder(
            environment, job_recorder.job_of(environment, table.definition, run)
        )
        heartbeat = environment.execution_context.heartbeat(recorder.beat)
        try:
            stream.wait()
            done, failure = stream.done, stream.failure
        except BaseException as error:
            recorder.fail(error)
            raise
        finally:
            heartbeat.stop()
            stream.stop()
        if failure is not None:
            if (
                isinstance(failure, MaterializedTableError)
                and failure.kind is not conditions.CHECKPOINT_LOST
            ):
                recorder.fail(failure)
                raise failure  # a batch cannot be committed
            problem = str(failure).strip().partition("\n")[0]
            return strategy.Refusal.of(strategy.STREAM, "STREAM_FAILED", problem)
        if done is None:
            return self._up_to_date(table, run)
        recorder.write(recorder.ended(JobStatus.FINISHED, rows=done.rows))
        environment.runner.run(plan_registration(done.table))
        problems = tuple(recorder.problems)
        result = StepResult(done.rows, done.committed_at_ms, done.table.positions, problems)
        return self._outcome(table, run, result)

    def _scheduled(self, name: TableName, requested: RequestedRefresh) -> RefreshOutcome:
        table = requested.run_by(lookup.stored_table(self._env, name))
        if table.definition.status is RefreshStatus.SUSPENDED:
            reason = table.definition.status_reason
            raise conditions.SUSPENDED(table=name, reason=f" ({reason})" if reason else "")
        requested, formatters = requested.scheduled_for(table), _formatters(table)
        if not formatters or requested.scheduled_at is None:
            return self._whole(table, self._analyzed(table), requested)
        wanted = scheduled_partitions(
            formatters,
            requested.scheduled_at,
            table.definition.resolved.freshness,
            _zone(table),
        )
        return self._partitions(table, wanted, requested)

    def _partitions(
        self, table: StoredTable, wanted: tuple[Partition, ...], requested: RequestedRefresh
    ) -> RefreshOutcome:
        resolved, analyzed = table.definition.resolved, self._analyzed(table)
        raise_if_unfit(table, analyzed)
        run = requested.named(self._env.run(requested.trigger, analyzed))
        if resolved.refresh_mode is RefreshMode.CONTINUOUS and table.positions is not None:
            self._raise_if_unreadable(table, run)
            run = replace(run, positions=table.positions, fixed=True)
        run = baselines.chosen_for_partitions(self._env, table, analyzed, run)
        result = executor.perform(plan_partitions(table, wanted, run), self._env)
        labels = tuple("/".join(f"{c}={v or 'NULL'}" for c, v in part) for part in wanted)
        return self._outcome(table, run, result, labels)

    def _raise_if_unreadable(self, table: StoredTable, run: RefreshRun) -> None:
        """Refuse positions of a source that was created again: its versions have other rows."""
        names = {str(source.name): source.name for source in run.sources}
        gone = [
            name
            for name, position in (table.positions or {}).items()
            if name not in names or not self._is_readable(names[name], position, run.positions)
        ]
        if gone:
            problem = "it was created again, or has another definition now"
            raise conditions.POSITIONS_NOT_READABLE(sources=", ".join(gone), problem=problem)

    def _is_readable(self, source: TableName, position: Position, now: Positions) -> bool:
        if isinstance(position, FollowedPosition):
            return self._env.sources.is_readable(source, position)
        return position.same_state(now[str(source)])

    def _checked(self, table: StoredTable, partition: tuple[PartitionValue, ...]) -> Partition:
        definition = table.definition
        available = {c.lower(): c for c in definition.declared.partitioned_by}
        unknown = [item.column for item in partition if item.column.lower() not in available]
        if unknown:
            raise conditions.UNKNOWN_PARTITION_KEY(
                table=table.name,
                keys=", ".join(unknown),
                available=", ".join(available.values()) or "none, it is not partitioned",
            )
        types = {c.name.lower(): c.type for c in definition.resolved.columns}
        for item in partition:
            type_ = types[item.column.lower()]
            if item.literal is not None and not self._env.store.castable(item.literal, type_):
                raise conditions.INVALID_PARTITION_VALUE(
                    literal=item.literal, type=type_, column=item.column
                )
        return tuple((available[item.column.lower()], item.literal) for item in partition)

    def _up_to_date(self, table: StoredTable, run: RefreshRun) -> RefreshOutcome:
        job_recorder.record_skipped(self._env, table.definition, run)
        positions = baselines.shown(table.positions)
        return RefreshOutcome(
            refresh_id=run.refresh_id,
            table=str(table.name),
            strategy="skip",
            status=RefreshResult.UP_TO_DATE,
            rows=None,
            partitions=(),
            positions_from=positions,
            positions_to=positions,
            duration_ms=self._env.now_ms() - run.started_at_ms,
            warnings=foreign(table, "they stay, because no source has changed"),
            note=note_of(table),
        )

    def _must_run(self, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> bool:
        """Whether the rows may differ from the query's result now.

        Under a baseline a refresh records the new positions in any case: the older ones get out of
        reach of the log, and such a table cannot be computed again.
        """
        if table.positions is None or not _may_differ(table, analyzed, run):
            return table.positions is None
        if table.definition.baseline is not None or run.choice.keeps_checkpoint:
            return True
        resolved = table.definition.resolved
        return not baselines.unchanged(self._env, resolved, analyzed, table.positions, run)

    def _outcome(
        self,
        table: StoredTable,
        run: RefreshRun,
        result: StepResult,
        partitions: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> RefreshOutcome:
        return replace(
            baselines.refresh_outcome(self._env, table.name, run, table.positions, result),
            strategy="partition" if partitions else run.strategy,
            partitions=partitions,
            warnings=(*result.warnings, *notes),
            note=note_of(table),
        )


def _not_applied(run: RefreshRun, error: MaterializedTableError) -> strategy.Refusal:
    """Return why a change could not be applied: by its rule, or by what failed."""
    reason = error.parameters.get("reason")
    if reason is not None:
        return strategy.Refusal.of(run.strategy, reason, error.parameters["problem"])
    problem = str(error).partition("\n")[0]
    return strategy.Refusal.of(run.strategy, "CHANGE_FAILED", problem)


def _files_gone(
    table: StoredTable, run: RefreshRun, error: SourceFilesGoneError
) -> strategy.Refusal:
    """Refuse the strategy of a run whose changes cannot be read any more.

    A table with a baseline cannot be computed again: it ends with this reason.
    """
    reasons = tuple(
        Reason(
            "SOURCE_HISTORY_GONE",
            name,
            f"what happened to {name} since then cannot be read: its files were removed",
        )
        for name in error.parameters["sources"].split(", ")
    )
    is_final = table.definition.baseline is not None
    return strategy.Refusal(run.strategy, reasons, is_final, run.choice.since or ())


def _may_differ(table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> bool:
    """Whether the rows may differ from the query's result now, by the positions alone."""
    if run.choice.reads_changes:
        return baselines.has_moved(table, analyzed, run)
    if table.positions is None or analyzed.time_dependent:
        return True
    if any(isinstance(position, UnknownPosition) for position in run.positions.values()):
        return True
    return not same_positions(table.positions, run.positions)


def _zone(table: StoredTable) -> tzinfo:
    """Return the time zone of a table's query."""
    return parse_zone(dict(table.definition.resolved.context.confs)[SESSION_TIME_ZONE])


def _formatters(table: StoredTable) -> dict[str, str]:
    """Return the datetime pattern of each partition column with one, in the columns' order."""
    declared = table.definition.declared
    patterns = dict(read_options(declared.options).date_formatters)
    return {c: patterns[c.lower()] for c in declared.partitioned_by if c.lower() in patterns}


def stream_task(
    environment: Environment, table: StoredTable, run: RefreshRun, every_ms: int | None = None
) -> StreamTask:
    """Return the task of the stream that a run was chosen to resume; fields of `StreamTask`."""
    verifications = environment.verifications

    def committed(written: StoredTable) -> None:
        verifications.submit(Committed(written, run))

    resumes = table.stream if run.choice.keeps_checkpoint else None
    return StreamTask(table, run, resumes, every_ms, committed)
