"""CREATE in its three forms, and DROP (semantics 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_state import (
    Damaged,
    Missing,
    StoredTable,
    Stranger,
    Unreadable,
)
from dbt.adapters.spark_mt.execution.errors import (
    DamagedTableError,
    NotMaterializedError,
    PartitionedReplaceError,
    TableExistsError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.execution.executor import execute
from dbt.adapters.spark_mt.execution.holds import raise_if_initializing
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.execution.planned import Planned, carry_out, plan_change
from dbt.adapters.spark_mt.execution.precedence import going_first
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.starts import begin
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.planner import plan_create, plan_drop, plan_replace
from dbt.adapters.spark_mt.planning.steps import Plan, Unregister
from dbt.adapters.spark_mt.statements.nodes import CreateForm

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import Found
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.statements.nodes import CreateTable, DropTable


@dataclass(slots=True)
class _Attempt:
    """What the attempts of one statement have seen so far."""

    started_ms: int
    saw_nothing: bool = False

    def is_orphan(self, found: Found) -> bool:
        """Whether `found` was left by a CREATE that was killed.

        Delta skips our first commit when the directory holds a commit with the same number; by
        that, the table which nobody could see becomes visible. Its rows are older than this
        statement, while the table was not there when the statement began.
        """
        if not self.saw_nothing or not isinstance(found, StoredTable):
            return False
        return found.last_refresh is None or found.last_refresh.committed_at_ms < self.started_ms


class Definitions:
    """Creates, changes, replaces and drops tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def create(self, statement: CreateTable) -> StatementOutcome:
        """Carry out a CREATE statement.

        Raises:
            MaterializedTableError: The statement is not valid here, or could not be carried out;
                nothing has changed then, except where `UnfinishedChangeError` says so.
        """
        self._env.recent.forget()
        name = self._env.store.full_name(statement.name)
        attempt = _Attempt(self._env.now_ms())
        return retrying(
            lambda: self._create(name, statement, attempt), lambda: going_first(self._env, name)
        )

    def drop(self, statement: DropTable) -> StatementOutcome:
        """Carry out DROP MATERIALIZED TABLE.

        Raises:
            TableNotFoundError: There is no such table, and IF EXISTS was not said.
            TableInitializingError: Somebody is creating it at this moment.
            NotMaterializedError: Something else has the name.
        """
        self._env.recent.forget()
        name = self._env.store.full_name(statement.name)
        found = self._env.store.find(name)
        self._forget_if_gone(name, found)
        if isinstance(found, Stranger):
            raise NotMaterializedError(table=name, kind=found.kind)
        if isinstance(found, Missing):
            raise_if_initializing(self._env, name)
            if statement.if_exists:
                return StatementOutcome(str(name), Action.UNCHANGED, message="does not exist")
            raise TableNotFoundError(table=name)
        table_id = found.table_id if isinstance(found, Unreadable) else found.definition.table_id
        result = perform(plan_drop(name, table_id), self._env)
        return StatementOutcome(
            str(name), Action.DROPPED, ("table dropped",), warnings=result.warnings
        )

    def _forget_if_gone(self, name: TableName, found: Found) -> None:
        """Take a name out of the registry whose table a DROP removed that was then killed.

        A table of somebody else's that gets the name later would be listed as one of ours.
        """
        if isinstance(found, Missing | Stranger) and self._env.registry.knows(name):
            execute(Plan(name, (Unregister(name),)), self._env.runner)

    def plan(self, statement: CreateTable) -> tuple[Plan, Action]:
        """Plan a CREATE statement without carrying it out.

        Raises:
            MaterializedTableError: The statement is not valid here; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        planned = self._planned(name, statement, self._env.store.find(name))
        return planned.plan, planned.action

    def _create(
        self, name: TableName, statement: CreateTable, attempt: _Attempt
    ) -> StatementOutcome:
        found = self._env.store.find(name)
        if isinstance(found, Stranger):
            self._forget_if_gone(name, found)
        if isinstance(found, StoredTable) and found.never_published:
            found = stored_table(self._env, name)
        orphan = attempt.is_orphan(found)
        if orphan:
            statement = replace(statement, form=CreateForm.CREATE_OR_REPLACE)
        planned = self._planned(name, statement, found)
        attempt.saw_nothing = isinstance(found, Missing)
        outcome = carry_out(self._env, planned, found)
        return replace(outcome, action=Action.CREATED) if orphan else outcome

    def _planned(self, name: TableName, statement: CreateTable, found: Found) -> Planned:
        if isinstance(found, Stranger):
            raise NotMaterializedError(table=name, kind=found.kind)
        if isinstance(found, Missing):
            resolution = self._env.resolve(name, statement.asked, None)
            begun = begin(self._env, name, resolution, "CREATE")
            new, owner = self._env.new_id(), self._env.owner()
            plan = plan_create(name, new, begun.resolution, begun.run, owner)
            return Planned(begun.counted(plan), Action.CREATED, begun.run)
        if statement.form is CreateForm.CREATE_OR_REPLACE:
            return self._replaced(name, statement, found)
        if isinstance(found, Unreadable):
            raise found.error
        if isinstance(found, Damaged):
            raise DamagedTableError(table=name, problem=found.problem)
        if statement.form is CreateForm.CREATE_OR_ALTER:
            return self._altered(name, statement, found)
        if statement.if_not_exists:
            return Planned(Plan(name, ()), Action.UNCHANGED)
        raise TableExistsError(table=name)

    def _replaced(
        self, name: TableName, statement: CreateTable, found: StoredTable | Damaged | Unreadable
    ) -> Planned:
        clustered = not isinstance(found, Unreadable) and found.definition.asked.clustered_by
        if statement.asked.partitioned_by and clustered:
            raise PartitionedReplaceError(table=name)
        resolution = self._env.resolve(name, statement.asked, None)
        begun = begin(self._env, name, resolution, "REPLACE")
        plan = plan_replace(found, begun.resolution, begun.run, self._env.owner())
        return Planned(begun.counted(plan), Action.REPLACED, begun.run)

    def _altered(self, name: TableName, statement: CreateTable, table: StoredTable) -> Planned:
        resolution = self._env.resolve(name, statement.asked, table.definition)
        planned = plan_change(self._env, table, resolution, declares=True)
        if planned.action is Action.UNCHANGED and not table.unpublished:
            self._env.recent.keep(table, resolution.analyzed)
        return planned
