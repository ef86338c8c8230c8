"""Changes of existing tables: ALTER MATERIALIZED TABLE, adoption, release, SUSPEND, RESUME.

A plain table is adopted as a materialized one without rewriting it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes import compatibility
from dbt.adapters.spark_mt.changes.alterations import altered, with_added_query
from dbt.adapters.spark_mt.definition import conditions, modes
from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable, UnmanagedTable
from dbt.adapters.spark_mt.definition.errors import (
    CommitConflictError,
    ComparisonFailedError,
    MaterializedTableError,
    NotMaterializedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.positions import VersionedPosition, most_commits
from dbt.adapters.spark_mt.execution import create, executor, lookup, retries
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import Action, AdoptionTerms, StatementOutcome
from dbt.adapters.spark_mt.planning import planner, steps
from dbt.adapters.spark_mt.resolution import time_zones
from dbt.adapters.spark_mt.resolution.options import check_run_options, run_option_problems
from dbt.adapters.spark_mt.resolution.resolver import StatementContext
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.parser import ParsedStatement
from dbt.adapters.spark_mt.strategies.choice import choose_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from dbt.adapters.spark_mt.changes.alterations import ClauseAlteration
    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import (
        PlainTable,
        ResolvedDefinition,
        StoredDefinition,
    )
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.resolver import Resolution

    Alteration = ClauseAlteration | nodes.AlterQuery | nodes.AddQuery
    """The statements that change a definition and are no CREATE."""
    Plannable = nodes.CreateTable | nodes.Adopt | Alteration


_SHOWN = 3
"""The number of differing rows that an error names."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Result of deriving a table's freshness and mode again.

    Args:
        outcome: What was done; None after a failure.
        error: Why it failed; None otherwise.
    """

    table: str
    outcome: StatementOutcome | None = None
    error: MaterializedTableError | None = None


class Alterations:
    """Changes existing tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def alter(self, statement: Alteration) -> StatementOutcome:
        """Carry out an ALTER that changes the definition.

        Raises:
            MaterializedTableError: The statement is not valid here, or could not be carried out;
                nothing has changed then, except where `UnfinishedChangeError` says so.
        """
        name = self._env.store.full_name(statement.name)

        def alter() -> StatementOutcome:
            table = lookup.stored_table(self._env, name)
            return create.carry_out(self._env, self._planned(table, statement), table)

        return retries.retrying(alter, lambda: retries.writer_priority(self._env, name))

    def plan(self, statement: Alteration) -> tuple[steps.Plan, Action]:
        """Plan an ALTER without carrying it out.

        Raises:
            MaterializedTableError: The statement is not valid here; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        planned = self._planned(lookup.stored_table(self._env, name), statement)
        return planned.plan, planned.action

    def derive_again(
        self, catalog: str, names: Iterable[TableName] | None = None
    ) -> tuple[Derivation, ...]:
        """Derive freshness and mode again if the definition has no explicit ones.

        For a manager that starts under other settings. Tables that are gone are left out. A failure
        of one table does not stop the others.

        Args:
            catalog: The catalog whose registry lists the tables.
            names: Only these tables, if the caller knows that the others would not change.

        Returns:
            The tables that changed and those that failed.
        """
        wanted = self._env.registry.known(catalog) if names is None else names
        found = (self._derived(name) for name in wanted)
        return tuple(derivation for derivation in found if derivation is not None)

    def _planned(self, table: StoredTable, statement: Alteration) -> create.Planned:
        resolution = self._resolved(table, statement)
        if not isinstance(statement, nodes.AlterQuery) or not statement.options:
            return create.plan_change(self._env, table, resolution)
        definition = replace(table.definition, run_options=statement.options)
        running = replace(table, definition=definition)
        planned = create.plan_change(self._env, running, resolution)
        if planned.action is not Action.UNCHANGED or definition == table.definition:
            return planned
        return create.Planned(
            steps.plan_status(table, definition, "run options changed"), Action.ALTERED
        )

    def _resolved(self, table: StoredTable, statement: Alteration) -> Resolution:
        definition = table.definition
        if not isinstance(statement, nodes.AddQuery | nodes.AlterQuery):
            return self._env.resolve_clauses(altered(statement, definition.declared), definition)
        if isinstance(statement, nodes.AddQuery):
            added = self._env.analyzer.analyze(statement.query)
            declared = with_added_query(definition, added)
            # The first query keeps its meaning.
            statement_context = StatementContext(recorded=definition.resolved.source_columns)
        else:
            declared = altered(statement, definition.declared)
            problems = run_option_problems(str(table.name), statement.options)
            statement_context = StatementContext(extends_list=True, errors=problems)
        return self._env.resolve(table.name, declared, definition, statement_context)

    def _derived(self, name: TableName) -> Derivation | None:
        try:
            outcome = retries.retrying(lambda: self._derive(name))
        except (TableNotFoundError, NotMaterializedError):
            return None
        except MaterializedTableError as error:
            return Derivation(str(name), error=error)
        return None if outcome is None else Derivation(str(name), outcome)

    def _derive(self, name: TableName) -> StatementOutcome | None:
        table = lookup.stored_table(self._env, name)
        declared = table.definition.declared
        if declared.logical_refresh_mode is not modes.LogicalRefreshMode.AUTOMATIC:
            return None
        resolution = self._env.resolve_clauses(declared, table.definition)
        planned = create.plan_change(self._env, table, resolution)
        if planned.action is Action.UNCHANGED:
            return None
        return create.carry_out(self._env, planned, table)


def adoption(statement: nodes.Adopt) -> tuple[nodes.CreateTable, AdoptionTerms]:
    """Return the definition that ADOPT gives a table, and its terms."""
    form = nodes.CreateForm.CREATE_OR_ALTER
    create_or_alter = nodes.CreateTable(form, statement.name, statement.declared)
    return create_or_alter, AdoptionTerms(statement.as_of, statement.if_equal)


def plannable(statement: str | ParsedStatement) -> Plannable:
    """Return a statement that can be planned; a leading EXPLAIN makes no difference.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
        NotPlannableError: It is another statement.
    """
    parsed = ParsedStatement.of(statement)
    inner = parsed.node.statement if isinstance(parsed.node, nodes.Explain) else parsed.node
    if not isinstance(inner, nodes.PLANNED):
        raise conditions.NOT_PLANNABLE(statement=parsed.text.strip().partition("\n")[0][:80])
    return inner


def planned_by(statement: Plannable, environment: Environment) -> tuple[steps.Plan, Action]:
    """Plan a statement that would change a definition, and change nothing.

    Raises:
        MaterializedTableError: It is not valid here; every violation is named.
    """
    if isinstance(statement, nodes.CreateTable):
        return create.Definitions(environment).plan(statement)
    if isinstance(statement, nodes.Adopt):
        return Adoptions(environment).plan(*adoption(statement))
    return Alterations(environment).plan(statement)


class Lifecycle:
    """Suspends and resumes the refresh of a single table."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def suspend(self, name: TableName) -> StatementOutcome:
        """Suspend a table: its rows and positions stay, and no schedule or run refreshes it.

        A running refresh finishes: it plans again after the suspension.

        Raises:
            AlreadySuspendedError: It is suspended.
            MaterializedTableError: There is no such table, or its definition cannot be read.
        """
        full = self._env.store.full_name(name)
        return retries.retrying(lambda: self._suspend(full))

    def resume(self, name: TableName, run_options: Pairs = ()) -> StatementOutcome:
        """Resume a suspended table: catch up with its sources once, then activate it.

        The run options are those of its refreshes until the next SUSPEND or RESUME.

        Raises:
            AlreadyResumedError: It is active.
            MaterializedTableError: Some option is no run option.
            MaterializedTableError: The table cannot be refreshed; it stays suspended.
        """
        full = self._env.store.full_name(name)
        self._suspended(full)
        check_run_options(str(full), run_options)
        requested = RequestedRefresh(trigger="RESUME", run_options=run_options)
        refresh = Refreshes(self._env).carry_out(full, requested)
        return retries.retrying(lambda: self._resume(full, run_options, refresh))

    def _suspend(self, name: TableName) -> StatementOutcome:
        table = lookup.stored_table(self._env, name)
        definition = table.definition
        if definition.status is modes.RefreshStatus.SUSPENDED:
            reason = f" ({definition.status_reason})" if definition.status_reason else ""
            raise conditions.ALREADY_SUSPENDED(table=name, reason=reason)
        after = replace(definition, status=modes.RefreshStatus.SUSPENDED, run_options=())
        return self._changed(table, after, Action.SUSPENDED)

    def _resume(
        self, name: TableName, run_options: Pairs, refresh: RefreshOutcome
    ) -> StatementOutcome:
        table = self._suspended(name)
        after = replace(
            table.definition,
            status=modes.RefreshStatus.ACTIVATED,
            status_reason="",
            run_options=run_options,
        )
        return self._changed(table, after, Action.RESUMED, refresh)

    def _changed(
        self,
        table: StoredTable,
        after: StoredDefinition,
        action: Action,
        refresh: RefreshOutcome | None = None,
    ) -> StatementOutcome:
        change = action.value.lower()
        result = executor.perform(steps.plan_status(table, after, change), self._env)
        return StatementOutcome(
            table=str(table.name),
            action=action,
            changes=(change,),
            refresh_mode=after.resolved.refresh_mode.value,
            refresh=refresh,
            warnings=result.warnings,
            status=after.status.value,
        )

    def _suspended(self, name: TableName) -> StoredTable:
        table = lookup.stored_table(self._env, name)
        if table.definition.status is not modes.RefreshStatus.SUSPENDED:
            raise conditions.ALREADY_RESUMED(table=name)
        return table


class Adoptions:
    """Adoption of plain tables, and release of materialized ones."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def adopt(
        self, statement: nodes.CreateTable, terms: AdoptionTerms
    ) -> tuple[StatementOutcome, AnalyzedTable | None]:
        """Carry out CREATE OR ALTER, and adopt a plain table that has the name.

        It has no effect on a materialized table.

        Returns:
            As `Definitions.create`.

        Raises:
            MaterializedTableError: The table does not fit; every difference is named.
            MaterializedTableError: The positions of the sources at that instant are not known.
            ConstraintViolatedError: Rows of the table break a declared key or check.
            MaterializedTableError: Its rows are not those of the query, and the terms ask for that.
            MaterializedTableError: As CREATE OR ALTER; nothing has changed then.
        """
        name = self._env.store.full_name(statement.name)
        return retries.retrying(lambda: self._adopt(name, statement, terms))

    def plan(self, statement: nodes.CreateTable, terms: AdoptionTerms) -> tuple[steps.Plan, Action]:
        """Plan what `adopt` would do, and change nothing; no rows are compared.

        Raises:
            MaterializedTableError: It could not be done; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        found = self._env.store.find(name)
        if not isinstance(found, UnmanagedTable):
            return create.Definitions(self._env).plan(statement, found)
        table = self._plain(found)
        resolution = self._resolution(table, statement)
        planned = self._planned(table, resolution, terms)
        return planned.plan, planned.action

    def release(self, name: TableName) -> StatementOutcome:
        """Make a plain table of a materialized one; rows, history and identity stay.

        A plain table stays a plain table. An unfinished release before is finished.

        Raises:
            TableNotFoundError: There is no such table.
            NotMaterializedError: It is a view, or another kind of table.
        """
        full = self._env.store.full_name(name)
        return retries.retrying(lambda: self._release(full))

    def _adopt(
        self, name: TableName, statement: nodes.CreateTable, terms: AdoptionTerms
    ) -> tuple[StatementOutcome, AnalyzedTable | None]:
        found = self._env.store.find(name)
        if not isinstance(found, UnmanagedTable):
            return create.Definitions(self._env).create(statement, found)
        table = self._plain(found)
        resolution = self._resolution(table, statement)
        planned = self._planned(table, resolution, terms)
        if not table.is_fence_known:
            self._reserve_sequence(table)
            # This read sees every commit before the reserved number; the fence rejects later ones.
            return self._adopt(name, statement, terms)
        if terms.if_equal:
            differences = [*self._differences(table, planned.plan, resolution.analyzed)]
            if differences:
                raise conditions.ROWS_DIFFER(violations=differences, table=name)
            if not self._env.store.is_newest(name, table.version):
                raise conditions.CONCURRENT_CHANGE(table=name)
        return create.carry_out(self._env, planned, found), None

    def _plain(self, found: UnmanagedTable) -> PlainTable:
        table = self._env.store.plain(found.name)
        if table is None:
            title = self._env.format_of(found.name).title
            problem = f"It is {found.what}, and only a plain {title} table can be adopted."
            raise conditions.CANNOT_ADOPT(violations=[problem], table=found.name)
        return table

    def _resolution(self, table: PlainTable, statement: nodes.CreateTable) -> Resolution:
        statement_context = StatementContext(
            compare=lambda wanted: _refusals(table, wanted), columns=table.columns
        )
        resolution = self._env.resolve(table.name, statement.declared, None, statement_context)
        for refusal in _refusals(table, resolution.definition):
            raise refusal
        return resolution

    def _planned(
        self, table: PlainTable, resolution: Resolution, terms: AdoptionTerms
    ) -> create.Planned:
        positions = self._positions(table.name, resolution.analyzed, terms.as_of)
        baseline = None if terms.if_equal else planner.adopted_baseline(table, positions)
        table_id, owner = self._env.new_id(), self._env.owner()
        choice = choose_for(resolution, baseline)
        plan = planner.plan_adoption(
            table, table_id, resolution, positions, choice, owner, baseline=baseline
        )
        return create.Planned(plan, Action.ADOPTED)

    def _differences(
        self, table: PlainTable, plan: steps.Plan, analyzed: AnalyzedQuery
    ) -> Iterator[str]:
        """Yield why the rows are not those of the query, at the positions of the plan."""
        commit = next(step for step in plan.steps if isinstance(step, steps.CommitDefinition))
        definition = commit.definition
        yield from (f"The query has a new column, {c.name}." for c in commit.new_columns)
        if (
            definition.resolved.start_mode.mode.type.fallback
            is not modes.StartModeType.FROM_BEGINNING
        ):
            yield "START_MODE leaves rows of the sources out."
        if analyzed.process is not None:
            yield f"The rows are the output of {analyzed.process}."
        if analyzed.nondeterministic:
            listed = ", ".join(analyzed.nondeterministic)
            yield f"The query gives other rows each time ({listed})."
        if commit.new_columns or analyzed.process is not None or analyzed.nondeterministic:
            return
        stored = StoredTable(definition, table.seq, table.version, table.columns, commit.positions)
        run = self._env.run("COMPARE", analyzed)
        run = replace(run, positions=commit.positions or {}, fixed=True)
        try:
            found = self._env.observer.differences(stored, run, _SHOWN)
        except ComparisonFailedError as error:
            yield str(error.parameters["problem"])
            return
        if found.total:
            yield f"{found.total} rows differ, such as:"
        for row in found.rows:
            yield f"{row.side.value}: {row.row}"

    def _reserve_sequence(self, table: PlainTable) -> None:
        """Commit a number above those of the log; the format does not expose the next one."""
        seq = most_commits(table.version) + 1
        while seq < 2**40:  # above every sequence number in a log
            with suppress(CommitConflictError):
                executor.perform(
                    steps.Plan(table.name, (steps.ReserveSequence(table.name, seq),)), self._env
                )
                return
            seq *= 2
        raise conditions.CONCURRENT_CHANGE(table=table.name)

    def _positions(
        self, name: TableName, analyzed: AnalyzedQuery, as_of: datetime | None
    ) -> Positions:
        now = self._env.sources.positions(analyzed.sources)
        if as_of is None:
            return now
        zone = time_zones.parse_zone(self._env.confs().get(time_zones.SESSION_TIME_ZONE, "UTC"))
        instant = as_of if as_of.tzinfo else as_of.replace(tzinfo=zone)
        problems: list[str] = []
        if instant > self._env.clock():
            problems.append("It lies in the future.")
        found: dict[str, Position] = dict(now)
        for source in analyzed.sources:
            if problems or not isinstance(now[str(source.name)], VersionedPosition):
                continue
            start = self._env.sources.position_at(
                source.name, time_zones.epoch_milliseconds(instant) + 1
            )
            found[str(source.name)] = start.position
            if not start.is_complete:
                problems.append(f"The log of {source.name} does not reach back so far.")
        if problems:
            raise conditions.INVALID_ADOPTION_INSTANT(
                violations=problems, table=name, instant=instant
            )
        return found

    def _release(self, name: TableName) -> StatementOutcome:
        found = self._env.store.find(name)
        if isinstance(found, Missing):
            raise conditions.NOT_FOUND(table=name)
        if not isinstance(found, UnmanagedTable):
            result = executor.perform(planner.plan_release(found), self._env)
            return StatementOutcome(
                str(name), Action.RELEASED, ("table released",), warnings=result.warnings
            )
        table = self._env.store.plain(name)
        if table is None or (table.leftover is not None and not table.seq):
            raise conditions.EXPECTED(table=name, what=found.what)
        result = executor.perform(planner.plan_release_rest(name), self._env)
        message = "it is a plain table already"
        return StatementOutcome(
            str(name), Action.UNCHANGED, message=message, warnings=result.warnings
        )


def _refusals(table: PlainTable, wanted: ResolvedDefinition) -> tuple[MaterializedTableError, ...]:
    """Return the error that names every difference that prevents the adoption, if there is one."""
    problems = compatibility.adoption_problems(table, wanted)
    return (conditions.CANNOT_ADOPT(violations=problems, table=table.name),) if problems else ()
