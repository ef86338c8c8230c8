"""REFRESH, of a whole table or of partitions, asked for or scheduled (semantics 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    FollowedPosition,
    UnknownPosition,
    same_positions,
)
from dbt.adapters.spark_mt.execution.appending import appends, plan_appended
from dbt.adapters.spark_mt.execution.asked_refresh import AskedRefresh
from dbt.adapters.spark_mt.execution.catching_up import CaughtUp, catch_up
from dbt.adapters.spark_mt.execution.errors import (
    InvalidPartitionValueError,
    PositionsNotReadableError,
    RefreshSchemaError,
    SuspendedError,
    UnknownPartitionKeyError,
)
from dbt.adapters.spark_mt.execution.follow import (
    counted_since,
    follows_sources,
    has_moved,
    plan_changes,
)
from dbt.adapters.spark_mt.execution.jobs import perform, record_skipped
from dbt.adapters.spark_mt.execution.loss_guard import losing_nothing
from dbt.adapters.spark_mt.execution.outcomes import shown
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.execution.refresh_notes import foreign, note_of, overwritten
from dbt.adapters.spark_mt.execution.results import RefreshOutcome, RefreshResult
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.periods import scheduled_partitions
from dbt.adapters.spark_mt.planning.planner import plan_partitions, plan_refresh
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.result_columns import result_problems
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE, parse_zone

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.periods import Partition
    from dbt.adapters.spark_mt.planning.steps import Plan, RefreshRun
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery
    from dbt.adapters.spark_mt.statements.nodes import PartitionValue


class Refreshes:
    """Brings tables up to date."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def refresh(
        self,
        name: TableName,
        partition: tuple[PartitionValue, ...] = (),
        *,
        trigger: str = "REFRESH",
        force: bool = False,
        run_options: Pairs | None = None,
    ) -> RefreshOutcome:
        """Refresh a table, or one partition of it, over the newest state of its sources.

        Args:
            name: The table.
            partition: The partition to refresh; empty for the whole table.
            trigger: What asks for it, for the commit.
            force: Compute the rows even if no source has moved.
            run_options: How to run it; None for the options that the table has.

        Raises:
            MaterializedTableError: The refresh cannot be done; the table keeps its rows.
        """
        return self.carry_out(name, AskedRefresh(partition, trigger, force, run_options))

    def refresh_scheduled(self, name: TableName, scheduled_at: datetime) -> RefreshOutcome:
        """Do the run that is due at `scheduled_at`, an aware time.

        A table with date formatters gets the partitions of every period that the run stands for; a
        table without them is refreshed whole.
        """
        return self.carry_out(name, AskedRefresh(trigger=SCHEDULED, scheduled_at=scheduled_at))

    def carry_out(self, name: TableName, asked: AskedRefresh) -> RefreshOutcome:
        """Refresh a table as it was asked for.

        Raises:
            SuspendedError: A schedule asks, and the table is suspended.
            MaterializedTableError: The refresh cannot be done; the table keeps its rows.
        """
        full = self._env.store.full_name(name)
        if asked.scheduled_at is not None:
            return retrying(lambda: self._scheduled(full, asked))
        return retrying(lambda: self._refresh(full, asked))

    def _refresh(self, name: TableName, asked: AskedRefresh) -> RefreshOutcome:
        recent = self._env.recent.take(name)
        table = recent[0] if recent else stored_table(self._env, name)
        table = asked.run_by(table)
        if asked.partition:
            wanted = self._checked(table, asked.partition)
            return self._partitions(table, (wanted,), asked)
        resolved = table.definition.resolved
        analyzed = recent[1] if recent else self._env.stored_analyzer.analyze_stored(resolved)
        run = asked.named(self._env.run(asked.trigger, analyzed, resolved))
        if not asked.force and not _must_run(table, analyzed, run):
            return self._up_to_date(table, run)
        _raise_if_unfit(table, analyzed)
        if run.keeps_checkpoint and not asked.force:
            caught_up = catch_up(self._env, table, run)
            if isinstance(caught_up, CaughtUp):
                return self._caught_up(table, run, caught_up)
        table, plan, run = self._planned(table, analyzed, run, force=asked.force)
        result = perform(plan, self._env)
        return self._outcome(table, run, result, (), overwritten(table, run))

    def _caught_up(self, table: StoredTable, run: RefreshRun, found: CaughtUp) -> RefreshOutcome:
        """Tell what a stream did that had nothing more to read."""
        done = found.done
        if done is None:
            return self._up_to_date(table, run)
        run = replace(run, strategy=run.engine.strategy if run.engine else run.strategy)
        result = StepResult(done.rows, done.committed_at_ms, done.table.positions, found.warnings)
        return self._outcome(table, run, result, (), ())

    def _planned(
        self, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun, *, force: bool
    ) -> tuple[StoredTable, Plan, RefreshRun]:
        """Return the table as users see it afterwards, the plan, and the run by its strategy."""
        if follows_sources(table, analyzed):
            return table, *plan_changes(self._env, table, analyzed, run)
        appended = None if force else plan_appended(self._env, table, analyzed, run)
        if appended is not None:
            return table, *appended
        run = losing_nothing(self._env, table, run)
        return _counted_whole(table), plan_refresh(table, run), run

    def _scheduled(self, name: TableName, asked: AskedRefresh) -> RefreshOutcome:
        table = asked.run_by(stored_table(self._env, name))
        if table.definition.status is RefreshStatus.SUSPENDED:
            reason = table.definition.status_reason
            raise SuspendedError(table=name, reason=f" ({reason})" if reason else "")
        resolved = table.definition.resolved
        formatters = _formatters(table)
        if not formatters or asked.scheduled_at is None:
            return self._refresh(name, asked)
        zone = parse_zone(dict(resolved.context.confs)[SESSION_TIME_ZONE])
        wanted = scheduled_partitions(formatters, asked.scheduled_at, resolved.freshness, zone)
        return self._partitions(table, wanted, asked)

    def _partitions(
        self, table: StoredTable, wanted: tuple[Partition, ...], asked: AskedRefresh
    ) -> RefreshOutcome:
        resolved = table.definition.resolved
        analyzed = self._env.stored_analyzer.analyze_stored(resolved)
        _raise_if_unfit(table, analyzed)
        run = asked.named(self._env.run(asked.trigger, analyzed))
        if resolved.refresh_mode is RefreshMode.CONTINUOUS and table.positions is not None:
            self._raise_if_unreadable(table, run)
            run = replace(run, positions=table.positions, fixed=True)
        since = counted_since(self._env, table, analyzed, run)
        result = perform(plan_partitions(table, wanted, run, since), self._env)
        labels = tuple("/".join(f"{c}={v or 'NULL'}" for c, v in part) for part in wanted)
        return self._outcome(table, run, result, labels, ())

    def _raise_if_unreadable(self, table: StoredTable, run: RefreshRun) -> None:
        """A source made anew has other rows under an old version's number, or none."""
        names = {str(source.name): source.name for source in run.sources}
        gone = [
            name
            for name, position in (table.positions or {}).items()
            if name not in names or not self._is_readable(names[name], position, run.positions)
        ]
        if gone:
            problem = "it was made anew, or is defined otherwise now"
            raise PositionsNotReadableError(sources=", ".join(gone), problem=problem)

    def _is_readable(self, source: TableName, position: Position, now: Positions) -> bool:
        if isinstance(position, FollowedPosition):
            return self._env.sources.is_readable(source, position)
        return position == now[str(source)]

    def _checked(self, table: StoredTable, partition: tuple[PartitionValue, ...]) -> Partition:
        definition = table.definition
        available = {c.lower(): c for c in definition.asked.partitioned_by}
        unknown = [item.column for item in partition if item.column.lower() not in available]
        if unknown:
            raise UnknownPartitionKeyError(
                table=table.name,
                keys=", ".join(unknown),
                available=", ".join(available.values()) or "none, it is not partitioned",
            )
        types = {c.name.lower(): c.type for c in definition.resolved.columns}
        for item in partition:
            type_ = types[item.column.lower()]
            if item.literal is not None and not self._env.store.castable(item.literal, type_):
                raise InvalidPartitionValueError(
                    literal=item.literal, type=type_, column=item.column
                )
        return tuple((available[item.column.lower()], item.literal) for item in partition)

    def _up_to_date(self, table: StoredTable, run: RefreshRun) -> RefreshOutcome:
        record_skipped(self._env, table.definition, run)
        positions = shown(table.positions)
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

    def _outcome(
        self,
        table: StoredTable,
        run: RefreshRun,
        result: StepResult,
        partitions: tuple[str, ...],
        notes: tuple[str, ...],
    ) -> RefreshOutcome:
        return RefreshOutcome(
            refresh_id=run.refresh_id,
            table=str(table.name),
            strategy="partition" if partitions else run.strategy,
            status=RefreshResult.REFRESHED,
            rows=result.rows,
            partitions=partitions,
            positions_from=shown(table.positions),
            positions_to=shown(result.positions or run.positions),
            duration_ms=self._env.now_ms() - run.started_at_ms,
            warnings=(*result.warnings, *notes),
            note=note_of(table),
        )


def _must_run(table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> bool:
    """Whether the rows may differ from the query's result now."""
    if follows_sources(table, analyzed) or appends(table, analyzed):
        return has_moved(table, analyzed, run)
    if table.positions is None or analyzed.time_dependent:
        return True
    if any(isinstance(position, UnknownPosition) for position in run.positions.values()):
        return True
    return not same_positions(table.positions, run.positions)


def _raise_if_unfit(table: StoredTable, analyzed: AnalyzedQuery) -> None:
    """Refuse a result that would change the table's columns, or that they cannot hold."""
    if problems := result_problems(table.definition.resolved, analyzed.columns):
        raise RefreshSchemaError(violations=problems, table=table.name)


def _counted_whole(table: StoredTable) -> StoredTable:
    """What a table is for its users whose rows were all computed."""
    return replace(table, definition=replace(table.definition, baseline=None))


def _formatters(table: StoredTable) -> dict[str, str]:
    """The datetime pattern of each partition column that has one, in the order of the columns."""
    asked = table.definition.asked
    patterns = dict(read_options(asked.options).date_formatters)
    return {c: patterns[c.lower()] for c in asked.partitioned_by if c.lower() in patterns}
