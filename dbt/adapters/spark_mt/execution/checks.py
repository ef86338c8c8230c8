"""Health, lag, drift and verification of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters.spark_mt.changes import drift
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    StoredTable,
    UnmanagedTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.errors import (
    ComparisonFailedError,
    MaterializedTableError,
    SourceNotFoundError,
)
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus, LagStage, SourceActivity
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    Positions,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.verification import VerificationResult
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.jobs import KEPT_MS, instant, with_effective_status
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
from dbt.adapters.spark_mt.execution.table_history import TableState
from dbt.adapters.spark_mt.planning.properties import properties_of
from dbt.adapters.spark_mt.query.analyzer import FORMATS_WITH_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.definition import FoundTable
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.definition.verification import RowDifference
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.table_history import SourceStates, Unread
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery


_REPLACE = "CREATE OR REPLACE MATERIALIZED TABLE (in dbt --full-refresh) creates it again"
_LOST = (
    "the state of its sources that the rows reflect is no longer known (a change while it was "
    "suspended, a RESTORE to a timestamp, or a log that was cleaned up)"
)
_PARTLY = "some partitions were refreshed to another state of the sources than the others"


class Goal(NamedTuple):
    """Freshness and mode of a table's definition, by its full name."""

    table: TableName
    freshness_seconds: int
    refresh_mode: RefreshMode


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a table to its base tables, and the lag that is allowed.

    Lags are stored as the instants of the missing changes. A missing change stays missing until the
    table commits, and its age grows meanwhile.

    Args:
        table: The full name.
        freshness_seconds: Its freshness.
        allowed_seconds: The largest lag at which it is MET. For mode CONTINUOUS that is the
            freshness. By design, a table in mode FULL lags by up to its freshness and the duration
            of a refresh. So the duration of its last refresh is added.
        measured_at_ms: Milliseconds since the epoch, UTC, as all times here.
        is_known: Whether its commits have the state of the sources that its rows reflect.
        since_ms: When the oldest missing change was made, at any level; None without one.
        own_since_ms: The same for its direct sources only.
        path: Tables from the first reader of the oldest missing change to this one. Each has the
            time from which it could read the change; None if it cannot yet.
        problem: Why a source could not be read, empty if all were. Every change after the last
            refresh of its readers then counts as missing.
        sources: Of a table that was late: the activity of its direct sources, where they record it.
    """

    table: str
    freshness_seconds: int
    allowed_seconds: float
    measured_at_ms: int
    is_known: bool = True
    since_ms: int | None = None
    own_since_ms: int | None = None
    path: tuple[tuple[str, int | None], ...] = ()
    problem: str = ""
    sources: tuple[SourceActivity, ...] = ()

    def seconds_at(self, now_ms: int) -> float | None:
        """Return the lag to the base tables; None when it is not known."""
        return self._age(self.since_ms, now_ms)

    def own_seconds_at(self, now_ms: int) -> float | None:
        """Return the lag to the direct sources; None when it is not known."""
        return self._age(self.own_since_ms, now_ms)

    def status_at(self, now_ms: int, *, is_active: bool) -> FreshnessStatus:
        """Decide whether a table is late. No other function decides that.

        Args:
            now_ms: The instant.
            is_active: Whether the table is refreshed at all.
        """
        if not is_active:
            return FreshnessStatus.NONE
        seconds = self.seconds_at(now_ms)
        if seconds is None:
            return FreshnessStatus.UNKNOWN
        return FreshnessStatus.MET if seconds <= self.allowed_seconds else FreshnessStatus.LATE

    def stages_at(self, now_ms: int) -> tuple[LagStage, ...]:
        """Return the lag by the tables for which the oldest missing change has waited."""
        return tuple(_stages(self.path, now_ms))

    @property
    def seconds(self) -> int | None:
        """The lag to the base tables when it was measured, in whole seconds."""
        return _whole(self.seconds_at(self.measured_at_ms))

    @property
    def own_seconds(self) -> int | None:
        """The lag to the direct sources when it was measured, in whole seconds."""
        return _whole(self.own_seconds_at(self.measured_at_ms))

    @property
    def stages(self) -> tuple[LagStage, ...]:
        """`stages_at` of the time when it was measured."""
        return self.stages_at(self.measured_at_ms)

    def _age(self, since_ms: int | None, now_ms: int) -> float | None:
        if not self.is_known:
            return None
        return 0.0 if since_ms is None else max(0, now_ms - since_ms) / 1000


def measure(
    state: TableState | None,
    goal: Goal,
    sources: SourceStates,
    now_ms: int,
    complete: Mapping[TableName, int] | None = None,
) -> Lag:
    """Measure the lag of a table.

    Args:
        state: Its newest state; None if its commits have none.
        goal: Freshness and mode of its definition.
        sources: Reads the changes of sources that their readers have not read.
        now_ms: Milliseconds since the epoch, UTC.
        complete: By table, an instant. The process that refreshes the table knows that nothing
            before it is missing. It counts for sources without versions, and for logs, which are
            then not read.
    """
    walk, state = _Walk(sources, complete), state or TableState(goal.table, -1, None)
    oldest = walk.oldest(state)
    own = min(walk.own(state), default=None)
    took = state.took_ms / 1000 if goal.refresh_mode is RefreshMode.FULL else 0
    lag = Lag(
        table=str(goal.table),
        freshness_seconds=goal.freshness_seconds,
        allowed_seconds=goal.freshness_seconds + took,
        measured_at_ms=now_ms,
        is_known=walk.is_known,
        since_ms=oldest[0].since_ms if oldest else None,
        own_since_ms=own,
        path=tuple((str(each.table), each.since_ms) for each in oldest),
        problem=walk.problem,
    )
    if lag.status_at(now_ms, is_active=True) is not FreshnessStatus.LATE:
        return lag
    found = (
        sources.activity(source)
        for source, position in _followed(state)
        if isinstance(position, VersionedPosition)
    )
    return replace(lag, sources=tuple(each for each in found if each is not None))


class _Missing(NamedTuple):
    """A table that lacks a change, and since when it could have it; None if it cannot yet."""

    table: TableName
    since_ms: int | None


_Path = tuple[_Missing, ...]


class _Walk:
    """Follows positions down to the base tables; each state of a table is read once."""

    def __init__(self, sources: SourceStates, complete: Mapping[TableName, int] | None) -> None:
        self._sources = sources
        self._complete = complete
        self._oldest: dict[tuple[TableName, int], _Path] = {}
        self.is_known = True
        self.problem = ""

    def oldest(self, state: TableState) -> _Path:
        """Return the path of the oldest missing change; empty if none is missing."""
        key = (state.name, state.version)
        if key not in self._oldest:
            paths = [path for path in self._paths(state) if path]
            self._oldest[key] = min(paths, key=lambda p: (p[0].since_ms or 0, -len(p)), default=())
        return self._oldest[key]

    def own(self, state: TableState) -> Iterator[int]:
        """Yield since when changes of direct sources are missing."""
        for source, position in _followed(state):
            unread = self._unread(source, position)
            since = self._read_at(state) if unread is None else unread.changed_at_ms
            if since is not None:
                yield since

    def _paths(self, state: TableState) -> Iterator[_Path]:
        if state.positions is None:
            self.is_known = False
        for source, position in _followed(state):
            unread = self._unread(source, position)
            if unread is None:
                since = self._read_at(state)
                self.is_known &= since is not None
                yield () if since is None else (_Missing(state.name, since),)
                continue
            here = _Missing(state.name, unread.changed_at_ms)
            yield () if here.since_ms is None else (here,)
            above = self.oldest(unread.state) if unread.state else ()
            yield (*above, here) if above else ()

    def _unread(self, source: TableName, position: Position) -> Unread | None:
        """Return what was not read of a source; None if the source does not have that."""
        if isinstance(position, UnknownPosition | DefinitionPosition):
            return None
        if isinstance(position, OffsetPosition) and (
            self._complete is not None or position.format not in FORMATS_WITH_OFFSETS
        ):
            return None
        try:
            return self._sources.unread(source, position)
        except SourceNotFoundError as error:
            self.problem = self.problem or errors.problem_of(error)
            return None

    def _read_at(self, state: TableState) -> int | None:
        complete = (self._complete or {}).get(state.name) if state.is_newest else None
        return state.read_at_ms if complete is None else complete


def _followed(state: TableState) -> Iterator[tuple[TableName, Position]]:
    for key, position in sorted((state.positions or {}).items()):
        if key.lower() not in state.unfollowed and not isinstance(position, DefinitionPosition):
            yield TableName.of(*key.split(".", 2)), position


def _stages(path: tuple[tuple[str, int | None], ...], now_ms: int) -> Iterator[LagStage]:
    """Yield the wait of each table, until the next one could have the change or until now."""
    began = path[0][1] if path else None
    for (table, _), (_, reached) in pairwise((*path, ("", None))):
        if began is None:
            return
        ended = now_ms if reached is None else min(now_ms, max(began, reached))
        yield LagStage(table, max(0, ended - began) / 1000)
        began = ended


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds)


def lag_of(environment: Environment, name: TableName) -> Lag:
    """Measure the lag of a table now; raises as `table_lag`, also without such a table."""
    return table_lag(environment, existing_table(environment, environment.store.full_name(name)))


def table_lag(environment: Environment, table: StoredTable) -> Lag:
    """Measure the lag of a table that was just read.

    Raises:
        MaterializedTableError: A source cannot be read.
    """
    resolved = table.definition.resolved
    goal = Goal(table.name, resolved.freshness.seconds, resolved.refresh_mode)
    state = environment.states.newest(table.name)
    return measure(state, goal, environment.states, environment.now_ms())


def lag_if_known(environment: Environment, table: StoredTable) -> Lag | None:
    """Measure the lag of a table; None if a source cannot be read."""
    try:
        return table_lag(environment, table)
    except MaterializedTableError:
        return None


def loaded_at(environment: Environment, name: TableName) -> int | None:
    """Return up to when a table has what was loaded, milliseconds since the epoch, UTC.

    That is when its rows last changed. A materialized table has all changes of its base tables
    that came before the oldest missing one, and all changes until now if none is missing.

    Returns:
        None for a table to which no rows were ever written.

    Raises:
        MaterializedTableError: The relation has no commits that show it.
    """
    full = environment.store.full_name(name)
    found = environment.store.find(full)
    if isinstance(found, StoredTable):
        lag = lag_if_known(environment, found)
        if lag is not None and lag.is_known:
            return lag.measured_at_ms if lag.since_ms is None else lag.since_ms
    try:
        return environment.states.changed_at(full)
    except SourceNotFoundError as error:
        problem = str(error.parameters["problem"])
        if isinstance(found, UnmanagedTable):
            problem = f"it is {found.what}"
        raise conditions.FRESHNESS_WITHOUT_COMMITS(table=full, problem=problem) from error


def drift_of(environment: Environment, name: TableName) -> tuple[drift.Drift, ...]:
    """Return the changes of a table by other means than its definition; change nothing."""
    full = environment.store.full_name(name)
    return tuple(_drift(environment, full, environment.store.find(full)))


def health_problems(environment: Environment, name: TableName) -> tuple[str, ...]:
    """Return why a table is not healthy, one sentence each; nothing for a healthy one.

    A healthy table exists, is ACTIVATED and matches its definition. No statement on it is
    unfinished, the last refresh that ended has not failed, and the last verification that compared
    its rows found them equal. Verifications that this process has queued end first.
    """
    full = environment.store.full_name(name)
    environment.verifications.settle(full)
    found = environment.store.find(full)
    drifts = _drift(environment, full, found)
    matters = [d for d in drifts if d.kind.matters or d.kind is drift.DriftKind.UNFINISHED]
    return (*map(str, matters), *_failures(environment, full, found))


def _drift(environment: Environment, name: TableName, found: FoundTable) -> Iterator[drift.Drift]:
    match found:
        case StoredTable():
            yield from drift.state_drift(found)
            yield from _against_catalog(environment, found)
        case InconsistentTable():
            yield drift.Drift(drift.DriftKind.TABLE, f"it was damaged: {found.problem}", _REPLACE)
        case Unreadable():
            problem = found.error.parameters.get("problem", found.error.condition)
            yield drift.Drift(
                drift.DriftKind.TABLE, f"its definition cannot be read: {problem}", _REPLACE
            )
        case UnmanagedTable():
            remedy = "drop it or give the model another name"
            yield drift.Drift(drift.DriftKind.TABLE, f"{found.what} has its name", remedy)
        case _:
            remedy = "the next run creates it"
            yield drift.Drift(drift.DriftKind.TABLE, f"there is no table {name}", remedy)


def _against_catalog(environment: Environment, table: StoredTable) -> Iterator[drift.Drift]:
    definition = table.definition
    if table.published is not None and table.published != definition:
        what = "properties or comments do not follow its definition yet"
        yield drift.Drift(
            drift.DriftKind.UNFINISHED, what, "the next statement on the table finishes this"
        )
        return
    entry = environment.observer.catalog_entry(table.name)
    wanted = properties_of(definition, environment.format_of(table.name))
    yield from drift.catalog_drift(definition, wanted, entry)


def _failures(environment: Environment, name: TableName, found: FoundTable) -> Iterator[str]:
    since = environment.now_ms() - KEPT_MS
    jobs = environment.execution_context.log.jobs(name.catalog or "", since)
    ours = [with_effective_status(job, environment) for job in jobs if job.table == name]
    ended = (job for job in ours if job.status is not JobStatus.RUNNING and not job.verification)
    last = next(ended, None)
    if last is not None and last.status is JobStatus.FAILED:
        yield f"the refresh of {instant(last.started_at_ms)} failed ({last.job_id}): {last.error}"
    definition = found.definition if isinstance(found, StoredTable) else None
    key = (definition.table_id, definition.generation) if definition else None
    if key is not None and (wrong := standing(ours, *key)) is not None:
        yield found_wrong(wrong)


def found_wrong(job: Job) -> str:
    """Return what a verification found that is not settled, as one sentence and its details."""
    return f"the verification of {instant(job.started_at_ms)} failed ({job.job_id}): {job.error}"


def standing(jobs: Iterable[Job], table_id: str, generation: int) -> Job | None:
    """Return the newest verification of a table if it found a difference.

    A verification that found equal rows ends an older finding. So does a changed definition.
    """
    decided = (
        job
        for job in jobs
        if (found := job.verification) is not None
        and found.result is not VerificationResult.SKIPPED
        and (found.table_id, found.generation) == (table_id, generation)
    )
    newest = max(decided, key=lambda job: job.started_at_ms, default=None)
    is_wrong = newest is not None and newest.status is JobStatus.FAILED
    return newest if is_wrong else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of a table and its query over the state of the sources that its rows reflect.

    Args:
        rows: The first rows that differ.
        total: How many differ, copies counted.
        problem: Why they cannot be compared; empty if they were.
        baseline: The baseline from which the table counts its sources, as text; empty for their
            beginning.
        note: A remark about the comparison, as text.
    """

    table: str
    rows: tuple[RowDifference, ...] = ()
    total: int = 0
    problem: str = ""
    baseline: str = ""
    note: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether the table was compared, and has the rows of its query."""
        return not self.problem and not self.total


def difference(environment: Environment, name: TableName, limit: int) -> Difference:
    """Compare a table with its query over the positions of its last commit; change nothing.

    It returns up to `limit` differing rows.

    Raises:
        MaterializedTableError: There is no such table, or its query is refused now.
    """
    table = existing_table(environment, environment.store.full_name(name))
    analyzed = environment.stored_analyzer.analyze_stored(table.definition.resolved)
    return compared(environment, AnalyzedTable(table, analyzed), limit)


def compared(
    environment: Environment, found: AnalyzedTable, limit: int, digits: int | None = None
) -> Difference:
    """Compare a version of a table with its query over the positions of that version.

    Args:
        environment: The ports.
        found: The table at the version.
        limit: The largest number of differing rows to return.
        digits: As for `TableObserver.differences`.

    Raises:
        MaterializedTableError: A source is gone.
    """
    table, analyzed = found.table, found.analyzed
    run = environment.run("COMPARE", analyzed)
    baseline = table.definition.baseline
    note = ""
    if analyzed.time_dependent:
        listed = ", ".join(analyzed.time_dependent)
        note = f"{listed} had the value of the comparison, not that of the refresh"
    result = Difference(
        str(table.name), baseline=baseline.describe() if baseline else "", note=note
    )
    positions = table.positions
    if positions is None:
        return replace(result, problem=_LOST)
    problems = [*_problems(environment, table, analyzed, run)]
    if problems:
        return replace(result, problem="; ".join(problems))
    run = replace(run, positions=positions, fixed=True)
    try:
        rows = environment.observer.differences(table, run, limit, digits)
    except ComparisonFailedError as error:
        return replace(result, problem=error.parameters["problem"])
    return replace(result, rows=rows.rows, total=rows.total)


def _problems(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> Iterator[str]:
    if analyzed.process is not None:
        yield f"its rows are the output of {analyzed.process}, and cannot be computed without it"
    if analyzed.nondeterministic:
        listed = ", ".join(analyzed.nondeterministic)
        yield f"the query gives other rows each time ({listed})"
    if environment.observer.is_partly_refreshed(table):
        yield _PARTLY
    yield from _lost_sources(environment, table.positions or {}, analyzed, run.positions)


def _lost_sources(
    environment: Environment, reflected: Positions, analyzed: AnalyzedQuery, now: Positions
) -> Iterator[str]:
    """Yield why a source cannot be read in the state that the rows reflect."""
    names = {str(source.name): source.name for source in analyzed.sources}
    for key in sorted(reflected.keys() ^ now.keys()):
        yield f"the query does not read {key} both then and now"
    for key in sorted(reflected.keys() & now.keys()):
        match reflected[key]:
            case UnknownPosition():
                yield f"the source {key} has no versions"
            case DefinitionPosition() as position if not position.same_state(now[key]):
                yield f"{key} was defined again since"
            case (VersionedPosition() | OffsetPosition()) as position if key in names and not (
                environment.sources.is_readable(names[key], position)
            ):
                yield f"{position} of the source {key} cannot be read any more"
