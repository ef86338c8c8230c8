"""Adoption of plain tables as materialized tables without rewriting them, and release."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.adoption import AdoptionRefusedError, adoption_problems
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.definition.table_state import Missing, UnmanagedTable
from dbt.adapters.spark_mt.execution.create import Planned, carry_out
from dbt.adapters.spark_mt.execution.errors import NotMaterializedError, TableNotFoundError
from dbt.adapters.spark_mt.execution.executor import perform, retrying
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.planning.adoption import plan_adoption, plan_release, plan_release_rest
from dbt.adapters.spark_mt.planning.steps import Plan, ReserveSequence
from dbt.adapters.spark_mt.resolution.durations import (
    SESSION_TIME_ZONE,
    epoch_milliseconds,
    parse_zone,
)
from dbt.adapters.spark_mt.resolution.resolver import StatementContext

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.definition.table_state import PlainTable
    from dbt.adapters.spark_mt.execution.create import Definitions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.statements.nodes import CreateTable


_HIGHEST = 2**40
"""A bound above every sequence number in a log."""


class AdoptionInstantError(MaterializedTableError):
    """The positions of the sources at the instant that the rows reflect are not known."""

    condition = "MATERIALIZED_TABLE_INVALID_ADOPTION_INSTANT"
    text = "{table} cannot be adopted as of {instant}; nothing was changed:"
    remedy = (
        "Name an instant that is past and that the logs of all sources still reach, or none: then "
        "the rows are trusted to reflect the sources as they are now."
    )


class Adoptions:
    """Adoption of plain tables, and release of materialized ones."""

    def __init__(self, environment: Environment, definitions: Definitions) -> None:
        self._env = environment
        self._definitions = definitions

    def adopt(self, statement: CreateTable, as_of: datetime | None = None) -> StatementOutcome:
        """Carry out CREATE OR ALTER, and adopt a plain table that has the name.

        Args:
            statement: The definition.
            as_of: The instant whose state of the sources the table's rows reflect. Without a zone
                it is in the session's. None for now. It has no effect on a materialized table.

        Raises:
            AdoptionRefusedError: The table does not fit; every difference is named.
            AdoptionInstantError: The positions of the sources at that instant are not known.
            ConstraintViolatedError: Rows of the table break a declared key or check.
            MaterializedTableError: As CREATE OR ALTER; nothing has changed then.
        """
        name = self._env.store.full_name(statement.name)
        return retrying(lambda: self._adopt(name, statement, as_of))

    def plan(self, statement: CreateTable, as_of: datetime | None = None) -> tuple[Plan, Action]:
        """Plan what `adopt` would do, and change nothing.

        Raises:
            MaterializedTableError: It could not be done; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        found = self._env.store.find(name)
        if not isinstance(found, UnmanagedTable):
            return self._definitions.plan(statement)
        planned = self._planned(self._plain(found), statement, as_of)
        return planned.plan, planned.action

    def release(self, name: TableName) -> StatementOutcome:
        """Make a plain table of a materialized one; rows, history and identity stay.

        A plain table stays a plain table. An unfinished release before is finished.

        Raises:
            TableNotFoundError: There is no such table.
            NotMaterializedError: It is a view, or another kind of table.
        """
        full = self._env.store.full_name(name)
        return retrying(lambda: self._release(full))

    def _adopt(
        self, name: TableName, statement: CreateTable, as_of: datetime | None
    ) -> StatementOutcome:
        found = self._env.store.find(name)
        if not isinstance(found, UnmanagedTable):
            return self._definitions.create(statement)
        table = self._plain(found)
        planned = self._planned(table, statement, as_of)
        if not table.is_fence_known:
            self._reserve_sequence(table)
            # This read sees every commit before the reserved number; the fence rejects later ones.
            return self._adopt(name, statement, as_of)
        return carry_out(self._env, planned, found)

    def _plain(self, found: UnmanagedTable) -> PlainTable:
        table = self._env.store.plain(found.name)
        if table is None:
            title = self._env.format.title
            problem = f"It is a {found.kind}, and only a plain {title} table can be adopted."
            raise AdoptionRefusedError(violations=[problem], table=found.name)
        return table

    def _planned(
        self, table: PlainTable, statement: CreateTable, as_of: datetime | None
    ) -> Planned:
        statement_context = StatementContext(compare=lambda wanted: _refusals(table, wanted))
        resolution = self._env.resolve(table.name, statement.declared, None, statement_context)
        for refusal in _refusals(table, resolution.definition):
            raise refusal
        positions = self._positions(table.name, resolution.analyzed, as_of)
        table_id, owner = self._env.new_id(), self._env.owner()
        plan = plan_adoption(table, table_id, resolution, positions, owner)
        return Planned(plan, Action.ADOPTED)

    def _reserve_sequence(self, table: PlainTable) -> None:
        """Commit a number above those of the log; the format does not expose the next one."""
        seq = table.version + 2
        while seq < _HIGHEST:
            with suppress(CommitConflictError):
                perform(Plan(table.name, (ReserveSequence(table.name, seq),)), self._env)
                return
            seq *= 2
        raise CommitConflictError(table=table.name)

    def _positions(
        self, name: TableName, analyzed: AnalyzedQuery, as_of: datetime | None
    ) -> Positions:
        now = self._env.sources.positions(analyzed.sources)
        if as_of is None:
            return now
        zone = parse_zone(self._env.confs().get(SESSION_TIME_ZONE, "UTC"))
        instant = as_of if as_of.tzinfo else as_of.replace(tzinfo=zone)
        problems: list[str] = []
        if instant > self._env.clock():
            problems.append("It lies in the future.")
        found: dict[str, Position] = dict(now)
        for source in analyzed.sources:
            if problems or not isinstance(now[str(source.name)], VersionedPosition):
                continue
            start = self._env.sources.position_at(source.name, epoch_milliseconds(instant) + 1)
            found[str(source.name)] = start.position
            if not start.is_complete:
                problems.append(f"The log of {source.name} does not reach back so far.")
        if problems:
            raise AdoptionInstantError(violations=problems, table=name, instant=instant)
        return found

    def _release(self, name: TableName) -> StatementOutcome:
        found = self._env.store.find(name)
        if isinstance(found, Missing):
            raise TableNotFoundError(table=name)
        if not isinstance(found, UnmanagedTable):
            result = perform(plan_release(found), self._env)
            return StatementOutcome(
                str(name), Action.RELEASED, ("table released",), warnings=result.warnings
            )
        table = self._env.store.plain(name)
        if table is None or (table.leftover is not None and not table.seq):
            raise NotMaterializedError(table=name, kind=found.kind)
        result = perform(plan_release_rest(name), self._env)
        message = "it is a plain table already"
        return StatementOutcome(
            str(name), Action.UNCHANGED, message=message, warnings=result.warnings
        )


def _refusals(table: PlainTable, wanted: ResolvedDefinition) -> tuple[AdoptionRefusedError, ...]:
    """Return the error that names every difference that prevents the adoption, if there is one."""
    problems = adoption_problems(table, wanted)
    return (AdoptionRefusedError(violations=problems, table=table.name),) if problems else ()
