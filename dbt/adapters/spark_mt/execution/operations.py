"""Operations of the facade `MaterializedTables` on ports, without an engine.

Each operation reads its tables again. None relies on the results of an operation before it.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.spark_mt.changes.differ import configuration_changes, diff, keep_configuration
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable, Unreadable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, about
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus, Wait
from dbt.adapters.spark_mt.definition.positions import (
    FollowedPosition,
    left_positions,
    reaches,
)
from dbt.adapters.spark_mt.execution import alter, failing_rows, results
from dbt.adapters.spark_mt.execution.create import Definitions
from dbt.adapters.spark_mt.execution.jobs import keeper_of
from dbt.adapters.spark_mt.execution.lookup import stored_table
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.show import Inspection, JobInspection
from dbt.adapters.spark_mt.planning.explain import PlanSummary, explained, refused, summarize
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.parser import ParsedStatement, parse_name
from dbt.adapters.spark_mt.statements.renderer import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.jobs import Keeper
    from dbt.adapters.spark_mt.execution.results import RefreshPolicy, Relay
    from dbt.adapters.spark_mt.planning.steps import Plan


OperationsT = TypeVar("OperationsT", bound="TableOperations")
_POLL_S = 0.5


_CREATE_OR_ALTER = nodes.CreateForm.CREATE_OR_ALTER
_EXPLAIN = results.columns(
    *((name, "STRING") for name in ("step", "change", "effect", "keeps", "loses", "reason"))
)


def await_started(
    environment: Environment,
    name: TableName,
    at_most_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Keeper:
    """Wait until a manager refreshes a table.

    Raises:
        WaitTimeoutError: No manager does within the time, in seconds.
    """
    for _ in range(max(1, int(at_most_s / _POLL_S))):
        if (keeper := keeper_of(environment, name)) is not None:
            return keeper
        pause(_POLL_S)
    running = environment.managers.live(name.catalog or "")
    problem = f"{running.owner} has not taken it over" if running else "no manager runs"
    raise conditions.WAIT_TIMEOUT(
        table=name, wanted="started", seconds=round(at_most_s), problem=problem
    )


def await_fresh(
    environment: Environment,
    name: TableName,
    at_most_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> StoredTable:
    """Wait until the rows of a CONTINUOUS table reflect what its sources have now.

    Returns:
        The table as it is then.

    Raises:
        WaitTimeoutError: They do not within the time, in seconds, or never will.
    """
    table = stored_table(environment, name)
    resolved = table.definition.resolved
    analyzed = environment.stored_analyzer.analyze_stored(resolved)
    followed = row_shape(resolved, analyzed).followed
    now = environment.sources.positions(analyzed.sources)
    wanted = {s: at for s in followed if isinstance(at := now[s], FollowedPosition)}
    left = left_positions(table.positions, wanted)
    for _ in range(max(1, int(at_most_s / _POLL_S))):
        if reaches(table.positions, wanted, left):
            return table
        if table.definition.status is RefreshStatus.SUSPENDED:
            break
        pause(_POLL_S)
        environment.store.forget()
        table = stored_table(environment, name)
    definition = table.definition
    problem = "its sources have more than its rows reflect"
    if definition.status is RefreshStatus.SUSPENDED:
        problem = f"it is suspended ({definition.status_reason or 'by the user'})"
    elif definition.resolved.refresh_mode is not RefreshMode.CONTINUOUS:
        problem = "it is refreshed at its scheduled times"
    raise conditions.WAIT_TIMEOUT(
        table=name, wanted="fresh", seconds=round(at_most_s), problem=problem
    )


@contextmanager
def no_unexpected(environment: Environment) -> Iterator[None]:
    """Raise every error of the block as one of ours.

    It is the last net: what a statement expects is handled where it occurs. KeyboardInterrupt and
    the error of a cancelled statement pass as they are.

    Raises:
        MaterializedTableError: The block ended with another error, its cause.
    """
    try:
        yield
    except MaterializedTableError:
        raise
    except Exception as error:
        problem = environment.described(error)
        if problem is None:
            raise
        unexpected = conditions.UNEXPECTED_ERROR(problem=problem)
        raise (environment.outage_of(error) or unexpected) from error


def netted(kind: type[OperationsT]) -> type[OperationsT]:
    """Let the public methods that a class of operations defines raise errors of ours only.

    `sql` passes statements of others on to the engine, whose errors stay what they are.
    """
    for name, method in tuple(vars(kind).items()):
        if not name.startswith("_") and name != "sql" and isinstance(method, FunctionType):
            setattr(kind, name, _netted(method))
    return kind


def _netted(method: FunctionType) -> Callable[..., object]:
    @wraps(method)
    def call(self: TableOperations, *arguments: object, **named: object) -> object:
        with no_unexpected(self.environment):
            return method(self, *arguments, **named)

    return call


@netted
class TableOperations:
    """Statements, refreshes, plans and checks of materialized tables.

    Args:
        environment: The ports.
        relay: Executes statements that change or refresh a table in the driver, where streams can
            run and no question of a statement is a call over the network. None where this process
            is the driver, or where no manager serves it.
    """

    def __init__(self, environment: Environment, relay: Relay | None = None) -> None:
        self.environment = environment
        self._relay = relay

    def execute(self, statement: str | ParsedStatement) -> results.StatementResult | None:
        """Carry out a statement about materialized tables.

        Args:
            statement: A text of any SQL, or a parsed one.

        Returns:
            Its rows and outcome; None for any other SQL, which is not executed.

        Raises:
            MaterializedTableError: The statement is not valid or failed; `condition`, `parameters`
                and `violations` have the reasons.
        """
        parsed = ParsedStatement.of(statement)
        return None if parsed.node is None else self._carried_out(parsed.node, parsed.text)

    def materialize(
        self,
        statement: str | ParsedStatement,
        *,
        adopt: results.AdoptionTerms | None = None,
        refresh: RefreshPolicy = "auto",
    ) -> results.StatementOutcome:
        """Carry out CREATE OR ALTER or CREATE OR REPLACE, and bring the rows up to date.

        A table whose definition and sources are the same costs one check of them. The rows of a
        suspended table, and those of a table that this statement adopts, stay as they are.

        Args:
            statement: The statement.
            adopt: On which terms a plain table of the name is adopted, as `adopt` does; None if it
                is refused.
            refresh: `auto` refreshes unless a manager does, `always` computes all rows, `never`
                does not refresh. A statement that fills the table fills it in any case.

        Raises:
            MaterializedTableError: The statement is not valid or failed.
        """
        parsed = ParsedStatement.of(statement)
        create = created(parsed, *((_CREATE_OR_ALTER,) if adopt else ()))
        if self._relay is not None:
            sent = results.RelayedStatement(parsed.text, refresh, adopt)
            relayed = self._relay(sent).outcome
            if relayed is None:
                raise TypeError(parsed.text)
            return relayed
        environment = self._current()
        name = environment.store.full_name(create.name)
        with about(name), no_unexpected(environment):
            if adopt is not None:
                outcome, analyzed_table = alter.Adoptions(environment).adopt(create, adopt)
            else:
                outcome, analyzed_table = Definitions(environment).create(create)
            self._done(outcome)
            if outcome.refresh is not None or outcome.is_settled or refresh == "never":
                return outcome
            if refresh == "auto" and keeper_of(environment, name) is not None:
                return outcome
            environment = environment if analyzed_table else self._current()
            requested = RequestedRefresh(force=refresh == "always")
            done = Refreshes(environment).carry_out(name, requested, analyzed_table)
        return replace(outcome, refresh=done)

    def plan(
        self, statement: str | ParsedStatement, *, adopt: results.AdoptionTerms | None = None
    ) -> PlanSummary:
        """Summarize the plan of a CREATE, or of an ALTER of the definition; change nothing.

        Args:
            statement: The statement; a leading EXPLAIN makes no difference.
            adopt: As for `materialize`; no rows are compared here.

        Returns:
            The summary; for a statement that would be refused, with every violation.

        Raises:
            NotPlannableError: It is another statement.
        """
        parsed = ParsedStatement.of(statement)
        inner = alter.plannable(parsed)
        name = self.environment.store.full_name(inner.name)
        try:
            with about(name), no_unexpected(self.environment):
                if adopt is not None:
                    create = created(parsed, _CREATE_OR_ALTER)
                    planned, _ = alter.Adoptions(self._current()).plan(create, adopt)
                else:
                    planned, _ = alter.planned_by(inner, self._current())
        except MaterializedTableError as error:
            return refused(str(name), error)
        return summarize(planned)

    def explain(self, statement: str | ParsedStatement) -> results.StatementResult:
        """Return the rows of EXPLAIN for a CREATE, or an ALTER of the definition.

        Raises:
            NotPlannableError: It is another statement.
            MaterializedTableError: It would be refused; every violation is named.
        """
        inner, environment = alter.plannable(statement), self._current()
        with about(environment.store.full_name(inner.name)), no_unexpected(environment):
            return _explained(alter.planned_by(inner, environment)[0])

    def validate(
        self, statement: str | ParsedStatement, *, adopt: results.AdoptionTerms | None = None
    ) -> results.StatementOutcome:
        """Check a CREATE statement completely, and change nothing.

        Args:
            statement: The statement.
            adopt: As for `materialize`; no rows are compared here.

        Raises:
            MaterializedTableError: It could not be carried out; every violation is named.
        """
        if adopt is not None:
            create = created(statement, _CREATE_OR_ALTER)
            planned, action = alter.Adoptions(self._current()).plan(create, adopt)
        else:
            planned, action = alter.planned_by(created(statement), self._current())
        return results.StatementOutcome(
            str(planned.table),
            action,
            planned.changes,
            message="validated",
            warnings=planned.warnings,
        )

    def keep_configuration(self, statement: str | ParsedStatement) -> results.KeptConfiguration:
        """Return CREATE OR ALTER with every clause but the query as the table has it."""
        parsed = ParsedStatement.of(statement)
        create = created(parsed)
        environment = self._current()
        name = environment.store.full_name(create.name)
        found = environment.store.find(name)
        if not isinstance(found, StoredTable) or create.form is not _CREATE_OR_ALTER:
            return results.KeptConfiguration(parsed)
        wanted = environment.resolve(name, create.declared, found.definition)
        left = configuration_changes(diff(found.definition.resolved, wanted.definition))
        if not left:
            return results.KeptConfiguration(parsed)
        kept = keep_configuration(create, found.definition)
        sentences = tuple(change.describe() for change in left)
        return results.KeptConfiguration(ParsedStatement(render(kept), kept), sentences)

    def refresh(
        self, name: str, *, scheduled_at: datetime | None = None, force: bool = False
    ) -> results.RefreshOutcome:
        """Refresh a table.

        Args:
            name: The table's name, in backticks where it needs them.
            scheduled_at: The scheduled time of a run that a scheduler starts, without a zone in the
                table's own. A table with date formatters then gets the partitions of the period
                before it.
            force: Compute the rows even if no source has changed.
        """
        table = parse_name(name)
        if self._relay is not None and scheduled_at is None and not force:
            relayed = self._relay(results.RelayedStatement(render(nodes.Refresh(table)))).outcome
            if relayed is not None and relayed.refresh is not None:
                return relayed.refresh
        requested = RequestedRefresh(force=force)
        if scheduled_at is not None:
            requested = RequestedRefresh(trigger=SCHEDULED, scheduled_at=scheduled_at)
        environment = self._current()
        with about(name), no_unexpected(environment):
            return Refreshes(environment).carry_out(table, requested)

    def suspend(self, name: str) -> results.StatementOutcome:
        """Suspend a table: no schedule and no run refreshes it until it is resumed.

        Args:
            name: The table's name, in backticks where it needs them.

        Raises:
            MaterializedTableError: There is no such table, or it is suspended already.
        """
        return self._changed(nodes.Suspend(parse_name(name)))

    def resume(
        self, name: str, run_options: Mapping[str, str] | None = None
    ) -> results.StatementOutcome:
        """Bring a suspended table up to date, and let it be refreshed again.

        Args:
            name: The table's name, in backticks where it needs them.
            run_options: Options of its refreshes from now on, until it is suspended or resumed.

        Raises:
            MaterializedTableError: There is no such table, it is not suspended, or it cannot be
                refreshed; it stays as it is.
        """
        options = tuple((run_options or {}).items())
        return self._changed(nodes.Resume(parse_name(name), options))

    def adopt(
        self,
        statement: str | ParsedStatement,
        *,
        as_of: datetime | None = None,
        if_equal: bool = False,
    ) -> results.StatementOutcome:
        """Carry out CREATE OR ALTER, and adopt a plain table of the name.

        The table keeps its rows, files, history and identity; it costs one commit. Its rows
        are trusted to be what the query has at `as_of` until a refresh computes the whole table.

        Args:
            statement: CREATE OR ALTER MATERIALIZED TABLE. If there is no table, or a materialized
                one, it does the same as without adoption.
            as_of: The instant whose state of the sources the rows reflect. Without a zone it is in
                the session's. None for now.
            if_equal: Trusts nothing: the query is computed once, and the table is adopted only if
                it has the same rows.

        Raises:
            MaterializedTableError: The table does not fit, or the statement is not valid; every
                difference is named, and nothing has changed.
        """
        terms = results.AdoptionTerms(as_of, if_equal)
        create = created(statement, _CREATE_OR_ALTER)
        return alter.Adoptions(self._current()).adopt(create, terms)[0]

    def keeper(self, name: str) -> str:
        """Return the manager that refreshes a table, as text; empty without one.

        Args:
            name: The table's name, in backticks where it needs them.
        """
        found = keeper_of(self.environment, self.environment.store.full_name(parse_name(name)))
        return "" if found is None else found.describe()

    def wait_for(self, name: str, wait: Wait, at_most: float) -> None:
        """Wait for the manager that refreshes a table; without one, return at once.

        A table that is refreshed at scheduled times is made fresh by a refresh now.

        Args:
            name: The table's name, in backticks where it needs them.
            wait: What to wait for.
            at_most: The longest time, in seconds.

        Raises:
            WaitTimeoutError: It does not occur within the time.
        """
        if wait is Wait.NONE:
            return
        full = self.environment.store.full_name(parse_name(name))
        if self.environment.managers.live(full.catalog or "") is None:
            return
        environment = self._current()
        if wait is Wait.STARTED:
            await_started(environment, full, at_most)
            return
        resolved = stored_table(environment, full).definition.resolved
        if resolved.refresh_mode is RefreshMode.FULL:
            self.refresh(full.sql)
        else:
            await_fresh(environment, full, at_most)

    def is_materialized(self, name: TableName) -> bool:
        """Return whether a table is a materialized one, by reading the table itself."""
        store = self._current().store
        return isinstance(store.find(store.full_name(name)), StoredTable | Unreadable)

    def reads(self, query: str, name: TableName) -> bool:
        """Whether `query` reads `name`, directly or through views; no row is computed."""
        full = self.environment.store.full_name(name)
        return any(s.name == full for s in self.environment.analyzer.analyze(query).sources)

    def _carried_out(self, statement: nodes.Statement, text: str) -> results.StatementResult:
        """Carry out a statement, here or in the driver."""
        if self._relay is not None and isinstance(statement, nodes.RELAYED):
            return self._relay(results.RelayedStatement(text))
        result = carried_out(statement, self._current())
        if result.outcome is not None:
            self._done(result.outcome)
        return result

    def _changed(self, statement: nodes.Suspend | nodes.Resume) -> results.StatementOutcome:
        outcome = self._carried_out(statement, render(statement)).outcome
        if outcome is None:
            raise TypeError(statement)
        return outcome

    def _done(self, outcome: results.StatementOutcome) -> results.StatementOutcome:
        """Return the outcome of a statement; a subclass acts on what changed."""
        return outcome

    def _current(self) -> Environment:
        """Return the ports, which read every table again from now on."""
        self.environment.store.forget()
        return self.environment

    def _schema(self, catalog: str | None, schema: str | None = None) -> tuple[str, str]:
        full = self.environment.store.full_name(TableName("_", schema, catalog))
        return full.catalog or "", full.schema or ""


def executed(
    parsed: ParsedStatement, sent: results.RelayedStatement, operations: TableOperations
) -> results.StatementResult:
    """Execute a statement that another process sent.

    Args:
        parsed: The statement, parsed in this process.
        sent: The statement as it was sent.
        operations: Operations in the session of the sender.

    Raises:
        MaterializedTableError: As `execute` and `materialize`.
        TypeError: It is no statement about materialized tables.
    """
    if sent.refresh is None:
        result = operations.execute(parsed)
    else:
        outcome = operations.materialize(parsed, adopt=sent.adopt, refresh=sent.refresh)
        result = results.StatementResult((), (), outcome)
    if result is None:
        raise TypeError(sent)
    return result


def _adopted(statement: nodes.Adopt, environment: Environment) -> results.StatementOutcome:
    return alter.Adoptions(environment).adopt(*alter.adoption(statement))[0]


_CARRY_OUT: dict[type, Callable[[Any, Environment], results.StatementResult]] = {
    nodes.CreateTable: lambda s, e: results.change_result(
        s.form.value, Definitions(e).create(s)[0]
    ),
    nodes.Release: lambda s, e: results.change_result(
        "RELEASE", alter.Adoptions(e).release(s.name)
    ),
    nodes.CheckTable: failing_rows.checked,
    nodes.DropTable: lambda s, e: results.change_result("DROP", Definitions(e).drop(s)),
    nodes.Refresh: lambda s, e: results.refresh_result(
        Refreshes(e).carry_out(s.name, RequestedRefresh(s.partition))
    ),
    nodes.Suspend: lambda s, e: results.change_result(
        "SUSPEND", alter.Lifecycle(e).suspend(s.name)
    ),
    nodes.Resume: lambda s, e: results.change_result(
        "RESUME", alter.Lifecycle(e).resume(s.name, s.options)
    ),
    **dict.fromkeys(
        [each for each in nodes.PLANNED if each is not nodes.CreateTable],
        lambda s, e: results.change_result("ALTER", alter.Alterations(e).alter(s)),
    ),
    nodes.Adopt: lambda s, e: results.change_result("ADOPT", _adopted(s, e)),
    nodes.Explain: lambda s, e: _explained(alter.planned_by(s.statement, e)[0]),
    nodes.ShowTables: lambda s, e: Inspection(e).show_tables(s),
    nodes.ShowCreate: lambda s, e: Inspection(e).show_create(s),
    nodes.DescribeTable: lambda s, e: Inspection(e).describe(s),
    nodes.ShowJobs: lambda _, e: JobInspection(e).show_jobs(),
    nodes.DescribeJob: lambda s, e: JobInspection(e).describe_job(s.job_id),
}
"""The function that carries out each kind of statement."""


def carried_out(statement: nodes.Statement, environment: Environment) -> results.StatementResult:
    """Carry out a statement.

    Raises:
        MaterializedTableError: It is not valid here, or failed; it names the table.
    """
    inner = statement.statement if isinstance(statement, nodes.Explain) else statement
    if isinstance(inner, nodes.ShowTables | nodes.ShowJobs | nodes.DescribeJob):
        return _CARRY_OUT[type(statement)](statement, environment)
    with about(inner.name), no_unexpected(environment):
        return _CARRY_OUT[type(statement)](statement, environment)


def _explained(plan: Plan) -> results.StatementResult:
    return results.StatementResult(_EXPLAIN, explained(plan))


def created(statement: str | ParsedStatement, *forms: nodes.CreateForm) -> nodes.CreateTable:
    """Return CREATE MATERIALIZED TABLE in one of the expected forms, or without any in every form.

    Raises:
        MaterializedTableError: It is another statement.
    """
    parsed = ParsedStatement.of(statement)
    create = parsed.node
    if not isinstance(create, nodes.CreateTable) or (forms and create.form not in forms):
        expected = " or ".join(form.value for form in forms) or "CREATE"
        raise conditions.OTHER_STATEMENT(expected=expected, statement=parsed.text.strip()[:80])
    return create
