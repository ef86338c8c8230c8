"""The refresh of a table with a baseline: what changed in its sources is applied, once.

Such a table is never computed again from the beginning: that would bring in what its start mode
left out. Where it cannot follow, it is suspended with the reason (semantics 7, "Baseline").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    DefinitionPosition,
    FollowedPosition,
    OffsetPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.baseline_errors import (
    BaselineBrokenError,
    PartitionUnderBaselineError,
    PositionsLostError,
    SourceHistoryGoneError,
    SourceMadeAnewError,
    SourceRewrittenError,
)
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.planning.planner import plan_status
from dbt.adapters.spark_mt.planning.window_plans import plan_follow
from dbt.adapters.spark_mt.planning.windows import (
    ChangeKind,
    Strategy,
    can_follow,
    positions_of,
    strategy_of,
)
from dbt.adapters.spark_mt.resolution.query_shape import row_shape

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.baseline import Baseline, SourcePositions
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import Plan, RefreshRun
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape

_NO_KEY = "there is no PRIMARY KEY by which its rows could be found"
_DEFINED_ANEW = "a view was defined anew, by which all rows since the baseline are computed again"
_WHOLE = "the query is computed over the rows since the baseline as a whole"


@dataclass(frozen=True, slots=True)
class Ranges:
    """What happened to sources since some positions.

    Args:
        table: The table, for errors.
        since: The positions.
        kinds: What happened, by source.
    """

    table: TableName
    since: SourcePositions
    kinds: dict[str, ChangeKind]

    def raise_unless(self, *allowed: ChangeKind, why: str = "") -> None:
        """Raise what happened to the first source to which something else happened.

        Raises:
            BaselineBrokenError: As the condition says.
        """
        for name, after in self.since:
            kind = self.kinds[name]
            if kind in allowed:
                continue
            if kind is ChangeKind.GONE:
                raise SourceHistoryGoneError(table=self.table, source=name, after=after)
            if kind is ChangeKind.REPLACED:
                raise SourceMadeAnewError(table=self.table, source=name, after=after)
            raise SourceRewrittenError(table=self.table, source=name, after=after, why=why)

    def holds(self, kind: ChangeKind) -> bool:
        """Whether this happened to one of them."""
        return kind in self.kinds.values()


def read_ranges(
    environment: Environment, table: TableName, run: RefreshRun, since: SourcePositions
) -> Ranges:
    """Ask what happened to sources between some positions and those of the run."""
    names = {str(source.name): source.name for source in run.sources}
    kinds = {}
    for name, after in since:
        upto = run.positions[name]
        if isinstance(upto, FollowedPosition):
            kinds[name] = environment.sources.changes(names[name], after, upto)
    return Ranges(table, since, kinds)


def follows_sources(table: StoredTable, analyzed: AnalyzedQuery) -> bool:
    """Whether a table is brought up to date by what changed in its sources, and not as a whole.

    An adopted table that cannot be is computed as a whole, and mode FULL always does that.
    """
    definition = table.definition
    if (
        definition.baseline is None
        or definition.resolved.refresh_mode is not RefreshMode.CONTINUOUS
    ):
        return False
    return not definition.baseline.is_adopted or can_follow(definition.resolved, analyzed)


def counted_since(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> SourcePositions | None:
    """Return since when source rows count for partitions of a table; None where all do.

    Raises:
        PartitionUnderBaselineError: The table keeps rows that a partition would lose.
        BaselineBrokenError: What was added since the baseline cannot be told.
    """
    baseline = table.definition.baseline
    if baseline is None or not follows_sources(table, analyzed):
        return None
    if baseline.keeps_rows:
        raise PartitionUnderBaselineError(table=table.name, baseline=baseline.describe())
    ranges = read_ranges(environment, table.name, run, baseline.positions)
    ranges.raise_unless(ChangeKind.NONE, ChangeKind.ADDED, why=_WHOLE)
    return baseline.positions


def plan_changes(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> tuple[Plan, RefreshRun]:
    """Plan what brings a table with a baseline up to date; suspend it where that is impossible.

    Returns:
        The plan, and the run with its strategy.

    Raises:
        BaselineBrokenError: It cannot follow its sources; it was suspended.
    """
    follower = _Follower(environment, table, row_shape(table.definition.resolved, analyzed), run)
    try:
        strategy, since = follower.choose()
    except BaselineBrokenError as error:
        _suspend(environment, table, error.reason)
        raise
    run = replace(run, strategy=strategy.value)
    return plan_follow(table, run, strategy, since), run


def suspend_if_lost(environment: Environment, table: StoredTable, ranges: Ranges) -> None:
    """Suspend a table whose log no longer holds what the table has not read.

    What the log dropped before is in the table alone: computing all rows again would lose it.

    Raises:
        BaselineBrokenError: That is so; the table was suspended.
    """
    logs = tuple((name, at) for name, at in ranges.since if isinstance(at, OffsetPosition))
    try:
        replace(ranges, since=logs).raise_unless(ChangeKind.NONE, ChangeKind.ADDED)
    except BaselineBrokenError as error:
        _suspend(environment, table, error.reason)
        raise


def has_moved(table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> bool:
    """Whether a source that the table follows stands elsewhere than it stood.

    Tables that are looked up do not count: their rows are those of the moment of each refresh.
    """
    if table.positions is None or analyzed.time_dependent or defined_anew(table, run):
        return True
    followed = row_shape(table.definition.resolved, analyzed).followed
    known = positions_of(followed, table.positions)
    return known != positions_of(followed, run.positions) or len(known) != len(followed)


def defined_anew(table: StoredTable, run: RefreshRun) -> tuple[str, ...]:
    """Return the views and functions that are defined otherwise than when the rows were made."""
    before = table.positions or {}
    return tuple(
        name
        for name, now in sorted(run.positions.items())
        if isinstance(now, DefinitionPosition) and before.get(name) != now
    )


@dataclass(frozen=True, slots=True)
class _Follower:
    environment: Environment
    table: StoredTable
    shape: RowShape
    run: RefreshRun

    def choose(self) -> tuple[Strategy, SourcePositions]:
        """Return how to refresh this time, and since which positions."""
        definition = self.table.definition
        baseline = definition.baseline
        if baseline is None:
            raise ValueError(definition.name)
        keeps = baseline.keeps_rows
        strategy = strategy_of(self.shape, definition.resolved, keeps_rows=keeps)
        if strategy is None:
            problem = self.shape.problem or f"nobody can tell what changes in {self._unversioned()}"
            raise BaselineBrokenError(table=self.table.name, problem=problem)
        anew = not keeps and strategy is not Strategy.WINDOW and defined_anew(self.table, self.run)
        if strategy is Strategy.WINDOW or anew:
            return Strategy.WINDOW, self._window(baseline, _DEFINED_ANEW if anew else _WHOLE)
        if strategy is Strategy.MERGE:
            return self._merge()
        return self._append(baseline)

    def _merge(self) -> tuple[Strategy, SourcePositions]:
        """Where no row changed, a commit without rows takes the positions on."""
        since = self._since_last()
        ranges = self._ranges(since)
        ranges.raise_unless(ChangeKind.NONE, ChangeKind.ADDED, ChangeKind.REMOVED)
        nothing = set(ranges.kinds.values()) <= {ChangeKind.NONE}
        return (Strategy.APPEND if nothing else Strategy.MERGE), since

    def _append(self, baseline: Baseline) -> tuple[Strategy, SourcePositions]:
        """Rows that came and went since the baseline are no harm where nothing was kept."""
        since = self._since_last()
        ranges = self._ranges(since)
        if ranges.holds(ChangeKind.REMOVED) and not baseline.keeps_rows:
            return Strategy.WINDOW, self._window(baseline, _NO_KEY)
        ranges.raise_unless(ChangeKind.NONE, ChangeKind.ADDED, why=_NO_KEY)
        return Strategy.APPEND, since

    def _window(self, baseline: Baseline, why: str) -> SourcePositions:
        """All rows since the baseline count, which must be the same sources."""
        since = dict(baseline.positions)
        missing = [name for name in self.shape.followed if name not in since]
        if missing:
            raise PositionsLostError(table=self.table.name, source=", ".join(missing))
        self._raise_if_made_anew(baseline)
        self._ranges(baseline.positions).raise_unless(ChangeKind.NONE, ChangeKind.ADDED, why=why)
        return baseline.positions

    def _raise_if_made_anew(self, baseline: Baseline) -> None:
        """A beginning has no identity by which another table of the name could be told."""
        names = {str(source.name): source.name for source in self.run.sources}
        for name, after in baseline.positions:
            last = (self.table.positions or {}).get(name)
            if after != BEFORE_ALL or not isinstance(last, VersionedPosition):
                continue
            if not self.environment.sources.is_readable(names[name], last):
                raise SourceMadeAnewError(table=self.table.name, source=name, after=last)

    def _since_last(self) -> SourcePositions:
        followed = self.shape.followed
        since = positions_of(followed, self.table.positions or {})
        known = {name for name, _ in since}
        if missing := [name for name in followed if name not in known]:
            raise PositionsLostError(table=self.table.name, source=", ".join(missing))
        return since

    def _ranges(self, since: SourcePositions) -> Ranges:
        return read_ranges(self.environment, self.table.name, self.run, since)

    def _unversioned(self) -> str:
        return ", ".join(self.shape.unversioned)


def _suspend(environment: Environment, table: StoredTable, reason: str) -> None:
    """Suspend a table with the reason, unless it is suspended already."""
    definition = table.definition
    if definition.status is RefreshStatus.SUSPENDED:
        return
    after = replace(definition, status=RefreshStatus.SUSPENDED, status_reason=reason)
    perform(plan_status(table, after, f"suspended, because {reason}"), environment)
