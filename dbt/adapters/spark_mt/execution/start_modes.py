"""Start positions of a new or changed definition, by its START_MODE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import Changed
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
from dbt.adapters.spark_mt.definition.modes import RefreshMode, StartModeType
from dbt.adapters.spark_mt.definition.positions import Baseline, ChangeKind, positions_of
from dbt.adapters.spark_mt.execution.baseline import read_after, reading, with_origin
from dbt.adapters.spark_mt.planning.steps import counted_from
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.resolution import start_instants, time_zones
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.statements.clauses import Effect
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.whole_table import advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, SourcePositions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import Plan, RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution
    from dbt.adapters.spark_mt.resolution.row_lineage import RowShape
    from dbt.adapters.spark_mt.strategies.strategy import Choice


_NO_KEY = (
    "rows that are there already would be computed again and doubled, because the table has no "
    "PRIMARY KEY by which they could be replaced"
)
_REWRITTEN = "since then rows of {source} were removed or changed, and {why}"
_WHOLE = (
    "the table has rows that stay, and its query cannot be applied to changes alone, because "
    "{problem}"
)
_ADD_KEY = (
    "a PRIMARY KEY that is what the query groups by, or what distinguishes its rows, or FROM_NOW, "
    "which keeps all rows and skips what happened until now"
)


_FILL = strategy.RefreshInputs(strategy.Request.FILL)
_STARTS = strategy.Refusal.of(
    strategy.STREAM, "START", "a start computes rows, and a stream resumes after them"
)


@dataclass(frozen=True, slots=True)
class Begun:
    """A definition with its start positions.

    Args:
        resolution: The definition, with the instant of its start and warnings.
        baseline: The positions from which its sources count; None if all source data counts.
    """

    resolution: Resolution
    run: RefreshRun
    baseline: Baseline | None = None

    def counted(self, plan: Plan) -> Plan:
        """Return the plan of a new table that counts its sources from the start."""
        if self.baseline is None:
            return plan
        return counted_from(plan, self.baseline)


def filling(environment: Environment, trigger: str, resolution: Resolution) -> RefreshRun:
    """Return a new run that computes all rows of a definition."""
    run = environment.run(trigger, resolution.analyzed)
    choice = choose(resolution.definition, resolution.analyzed, None, _FILL)
    return replace(run, choice=choice)


def begin(environment: Environment, name: TableName, resolution: Resolution, trigger: str) -> Begun:
    """Start a table that is created or replaced; RESUME_OR_x means x.

    Raises:
        InvalidDefinitionError: The sources changed in a way that cannot be followed.
    """
    run = filling(environment, trigger, resolution)
    fallback = resolution.definition.start_mode.mode.type.fallback
    if not _acts(resolution) or fallback is StartModeType.FROM_BEGINNING:
        return Begun(resolution, with_origin(environment, resolution.definition, run))
    evaluated = _evaluated(environment, name, resolution)
    return _Starter(environment, name, evaluated, run, "the table is filled").fresh()


def begin_again(
    environment: Environment,
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
) -> Begun | None:
    """Start a changed definition, if `changes` affect the rows.

    Returns:
        The start; None if all source data counts.

    Raises:
        InvalidDefinitionError: The start mode is not possible for this query and this table.
    """
    start_type = resolution.definition.start_mode.mode.type
    if not _acts(resolution) or start_type is StartModeType.FROM_BEGINNING:
        return None
    run = filling(environment, "ALTER", resolution)
    is_declared = any(
        c.kind is Changed.CLAUSE and c.subject == "start_mode" and c.effect is Effect.CONTENT
        for c in changes
    )
    reason = "the start mode changed" if is_declared else "the query changed"
    if not start_type.resumes:
        resolution = _evaluated(environment, table.name, resolution)
    starter = _Starter(environment, table.name, resolution, run, reason)
    if environment.store.is_empty(table.name):
        return starter.empty(table)
    return starter.kept(table, widens=any(c.kind is Changed.TYPE_WIDENED for c in changes))


def _evaluated(environment: Environment, name: TableName, resolution: Resolution) -> Resolution:
    """Evaluate the start mode at the current instant, at which it takes effect."""
    definition = resolution.definition
    zone = time_zones.parse_zone(
        dict(definition.context.confs).get(time_zones.SESSION_TIME_ZONE, "UTC")
    )
    mode = definition.start_mode.mode
    resolved = start_instants.resolve_start_mode(mode, None, environment.clock(), zone, str(name))
    return replace(resolution, definition=replace(definition, start_mode=resolved))


def _acts(resolution: Resolution) -> bool:
    """Whether the start mode has an effect; in mode FULL it is only stored."""
    return resolution.definition.refresh_mode is RefreshMode.CONTINUOUS


@dataclass(frozen=True, slots=True)
class _Starter:
    environment: Environment
    name: TableName
    resolution: Resolution
    run: RefreshRun
    reason: str

    @property
    def shape(self) -> RowShape:
        return row_shape(self.resolution.definition, self.resolution.analyzed)

    def fresh(self) -> Begun:
        """Start without older rows: the query over the rows added since the instant."""
        since, warnings = self._instant_positions()
        return self._started(since, None, warnings)

    def empty(self, table: StoredTable) -> Begun:
        """Start an empty table: resume at known positions, or begin at the instant."""
        if not self._mode.resumes:
            return self.fresh()
        since, problem = self._resumed(table)
        return self._fallback(table, problem) if problem else self._started(since, None, ())

    def kept(self, table: StoredTable, *, widens: bool) -> Begun:
        """Start after the existing rows, which stay."""
        if widens:
            raise self._refused(problem="a widened column needs all rows to be written again")
        if self._mode.resumes:
            since, problem = self._resumed(table)
            if problem:
                return self._fallback(table, problem)
            return self._started(since, table, ())
        if not self._is_now and self._by_changes(keeps_rows=True).strategy == strategy.APPEND:
            raise self._refused(problem=_NO_KEY)
        since, warnings = self._instant_positions()
        before = table.positions or {}
        skipped = (
            f"{name}: what happened after {before.get(name, 'an unknown position')} up to {upto} "
            "is not processed."
            for name, upto in since
            if self._is_now and before.get(name) != upto
        )
        return self._started(since, table, (*warnings, *skipped))

    @property
    def _mode(self) -> StartModeType:
        return self.resolution.definition.start_mode.mode.type

    @property
    def _is_now(self) -> bool:
        mode = self.resolution.definition.start_mode.mode
        return mode.type.fallback is StartModeType.FROM_NOW and mode.interval is None

    def _instant_positions(self) -> tuple[SourcePositions, tuple[str, ...]]:
        """Return the positions before the instant; for FROM_NOW those that the refresh reads."""
        newest = positions_of(self.shape.followed, self.run.positions)
        instant = self.resolution.definition.start_mode.instant_ms
        if self._is_now or instant is None:
            return newest, ()
        names = {str(source.name): source.name for source in self.run.sources}
        since: list[tuple[str, FollowedPosition]] = []
        warnings: list[str] = []
        for name, upto in newest:
            found = self.environment.sources.position_at(names[name], instant)
            later = found.position.reaches(upto)
            since.append((name, upto if later else found.position))
            if not found.is_complete:
                warnings.append(
                    f"The log of {name} begins after the instant of {self._sql}: all of its rows "
                    "count."
                )
        return tuple(since), tuple(warnings)

    def _resumed(self, table: StoredTable) -> tuple[SourcePositions, str]:
        """Return the positions of the rows, or why a refresh cannot resume at them."""
        followed, positions = self.shape.followed, table.positions
        if positions is None:
            return (), "the positions of the rows in the sources are not known"
        since = positions_of(followed, positions)
        known = {name for name, _ in since}
        if missing := [name for name in followed if name not in known]:
            return (), f"the rows do not reflect {', '.join(missing)} up to a known position"
        problem = self._changed_types(since) or self._lost(since)
        return ((), problem) if problem else (since, "")

    def _lost(self, since: SourcePositions) -> str:
        """Say of which sources the changes since some positions cannot be read."""
        kinds = self._kinds(since)
        lost = [n for n, k in kinds.items() if k in (ChangeKind.GONE, ChangeKind.REPLACED)]
        return "; ".join(f"{name}: {kinds[name].value}" for name in lost)

    def _fallback(self, table: StoredTable, problem: str) -> Begun:
        """Use the start mode after RESUME_OR_, with a warning."""
        mode = self.resolution.definition.start_mode.mode
        fallback = replace(mode, type=mode.type.fallback)
        warning = f"START_MODE = {mode.sql} cannot resume, because {problem}: {fallback.sql} holds."
        if fallback.type is StartModeType.FROM_BEGINNING:
            noted = (*self.resolution.warnings, warning)
            return Begun(replace(self.resolution, warnings=noted), self.run)
        definition = self.resolution.definition
        start_mode = replace(definition.start_mode, mode=fallback)
        inner = replace(self.resolution, definition=replace(definition, start_mode=start_mode))
        resolution = _evaluated(self.environment, self.name, inner)
        starter = replace(self, resolution=resolution)
        empty = self.environment.store.is_empty(table.name)
        begun = starter.empty(table) if empty else starter.kept(table, widens=False)
        resolved = begun.resolution.definition
        own = replace(resolved, start_mode=replace(resolved.start_mode, mode=mode))
        noted = (*begun.resolution.warnings, warning)
        return replace(begun, resolution=replace(begun.resolution, definition=own, warnings=noted))

    def _started(
        self, since: SourcePositions, kept: StoredTable | None, warnings: tuple[str, ...]
    ) -> Begun:
        by_changes = self._by_changes(keeps_rows=kept is not None)
        if changes := self._changed_types(since):
            raise self._refused(problem=changes)
        kinds = {} if by_changes.strategy == strategy.MERGE else self._kinds(since)
        for name, kind in kinds.items():
            if kind is ChangeKind.REMOVED:
                why = "there is no PRIMARY KEY by which the rows that this reaches could be found"
                if by_changes.strategy == strategy.WINDOW:
                    why = "the query is computed over the rows added since then as a whole"
                raise self._refused(problem=_REWRITTEN.format(source=name, why=why))
        baseline = Baseline(since, kept.version if kept else None, f"START_MODE = {self._sql}")
        noted = (
            *self.resolution.warnings,
            *warnings,
            *advice(replace(by_changes, since=since), self.shape.reason, self._retention(since)),
        )
        resolution = replace(self.resolution, warnings=noted)
        run = replace(self.run, choice=self._of_start(baseline))
        return Begun(resolution, run, baseline)

    def _retention(self, since: SourcePositions) -> str:
        """Return the properties that say how long the commits of sources can be read."""
        names = dict(since)
        tables = (s for s in self.run.sources if s.kind is SourceKind.VERSIONED)
        formats = (self.environment.format_of(s.name) for s in tables if str(s.name) in names)
        kept = (f"{f.log_retention} ({f.log_retention_default} by default)" for f in formats)
        return " and ".join(dict.fromkeys(kept)) or "retention"

    def _of_start(self, baseline: Baseline) -> Choice:
        """Return the strategy that computes the rows of the start."""
        definition, analyzed = self.resolution.definition, self.resolution.analyzed
        if not baseline.keeps_rows:
            return choose(definition, analyzed, baseline, _FILL)
        newest = self.run.positions

        def moved(since: SourcePositions) -> dict[str, ChangeKind]:
            kinds = {True: ChangeKind.NONE, False: ChangeKind.ADDED}
            return {name: kinds[newest.get(name) == after] for name, after in since}

        before = dict(baseline.positions)
        inputs = strategy.RefreshInputs(strategy.Request.REFRESH, before, newest, moved)
        return choose(definition, analyzed, baseline, inputs, (_STARTS,))

    def _by_changes(self, *, keeps_rows: bool) -> Choice:
        """Return the strategy for later changes of the sources, without streams."""
        definition, analyzed = self.resolution.definition, self.resolution.analyzed
        baseline = Baseline((), 0 if keeps_rows else None, f"START_MODE = {self._sql}")
        choice = choose(definition, analyzed, baseline, excluded=(_STARTS,))
        if choice.strategy != strategy.NONE:
            return choice
        shape = self.shape
        if shape.unversioned:
            names = ", ".join(shape.unversioned)
            raise self._refused(problem=f"the changes of {names} are not recorded")
        raise self._refused(problem=_WHOLE.format(problem=shape.problem))

    def _kinds(self, since: SourcePositions) -> dict[str, ChangeKind]:
        return read_after(partial(self.environment.sources.changes, net=True), self._run, since)

    def _changed_types(self, since: SourcePositions) -> str:
        """Say which columns of the sources have other types now than at some positions."""
        found = read_after(self.environment.sources.changed_types, self._run, since)
        return "; ".join(
            f"since then columns of {name} have other types: {', '.join(changes)}"
            for name, changes in found.items()
            if changes
        )

    @property
    def _run(self) -> RefreshRun:
        """The run with the columns that the query reads."""
        return reading(self.run, self.resolution.definition, self.resolution.analyzed)

    def _refused(self, *, problem: str) -> InvalidDefinitionError:
        return conditions.UNSUPPORTED_START_MODE_CHANGE(
            table=self.name,
            startMode=self._sql,
            reason=self.reason,
            problem=problem,
            alternative=_ADD_KEY,
        )

    @property
    def _sql(self) -> str:
        return self.resolution.definition.start_mode.mode.sql
