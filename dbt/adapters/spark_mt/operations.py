"""What run-operations ask of the adapter: plans, and statements for many models at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import available
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.definition.identifier import TableName, quote_text
from dbt.adapters.spark_mt.execution.errors import AlreadyResumedError, AlreadySuspendedError
from dbt.adapters.spark_mt.execution.results import StatementOutcome
from dbt.adapters.spark_mt.failures import translated
from dbt.adapters.spark_mt.macro_methods import MaterializedTableAdapter
from dbt.adapters.spark_mt.model_planning import plan_model
from dbt.adapters.spark_mt.model_plans import PlanReport
from dbt.adapters.spark_mt.model_statements import nodes_in_order
from dbt.adapters.spark_mt.orphaned_tables import orphaned_tables
from dbt.adapters.spark_mt.response import response_of
from dbt.adapters.spark_mt.selection import select_models
from dbt.adapters.spark_mt.table_tests import (
    differing_rows,
    rows_query,
    stale_rows,
    unhealthy_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dbt.adapters.base.relation import BaseRelation

    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.model_plans import ModelPlan
    from dbt.adapters.spark_mt.orphaned_tables import OrphanedTable
    from dbt.adapters.spark_mt.selection import ModelNode
    from dbt.adapters.spark_mt.table_tests import FailingRow

    Act = Callable[[MaterializedTables, TableName], str]
    """Does something to a table and says what, in a few words."""


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation did to one table.

    Args:
        said: What was done, or the error.
    """

    table: str
    said: str
    failed: bool = False

    @property
    def line(self) -> str:
        """The result for people."""
        return f"{self.table}: {'FAILED, ' if self.failed else ''}{self.said}"


class OperationsAdapter(MaterializedTableAdapter):
    """The part of the adapter that the macros of run-operations call."""

    def materialized_tables(self) -> MaterializedTables:
        """The tables of this thread's connection."""
        return self._handle().tables()

    @available.parse_none
    def plan_materialized_tables(self, select: object, *, full_refresh: bool) -> PlanReport:
        """What a run would do for the selected models; nothing is changed."""
        manifest = self._manifest()
        with translated("plan"):
            models = select_models(nodes_in_order(manifest), select)
            plans: list[ModelPlan] = []
            changing: list[TableName] = []
            for model in models:
                plan = plan_model(
                    self, manifest, model, full_refresh=full_refresh, changing=changing
                )
                plans.append(plan)
                changing += [model.relation] if plan.changes_rows else []
            return PlanReport(tuple(plans))

    @available.parse_none
    def failures_of_plan(self, report: PlanReport, fail_on: str | None) -> tuple[str, ...]:
        """The tables for whose plan the operation is to fail."""
        with translated("fail_on"):
            return report.failures(fail_on)

    @available.parse_none
    def suspend_models(self, select: object) -> Iterator[OperationResult]:
        """Suspend the tables of the selected models, one by one."""
        return self._each(select, _suspend)

    @available.parse_none
    def resume_models(
        self, select: object, run_options: Mapping[str, object] | None
    ) -> Iterator[OperationResult]:
        """Resume the tables of the selected models, one by one, each with the run options."""
        options = {str(key): str(value) for key, value in (run_options or {}).items()}
        return self._each(select, lambda tables, name: _resume(tables, name, options))

    @available.parse_none
    def refresh_models(self, select: object, *, force: bool) -> Iterator[OperationResult]:
        """Refresh the tables of the selected models, one by one."""
        return self._each(select, lambda tables, name: _refresh(tables, name, force=force))

    @available.parse_none
    def drop_orphans(
        self, schemas: list[str] | None, *, dry_run: bool
    ) -> Iterator[OperationResult]:
        """Drop the tables whose model is gone, one by one, or say which these are."""
        for orphan in self._orphans(schemas):
            what = f"{orphan.reason} ({orphan.owner})"
            if dry_run:
                yield OperationResult(str(orphan.name), f"would be dropped, {what}")
            else:
                yield self._attempt(orphan.name, partial(_drop, what=what))

    @available.parse(lambda *_, **__: "")
    def stale_rows_sql(self, relation: BaseRelation, within: str | None) -> str:
        """A query for the rows that say why a table is not fresh."""
        return self._rows_sql(relation, lambda tables, name: stale_rows(tables, name, within))

    @available.parse(lambda *_, **__: "")
    def differing_rows_sql(self, relation: BaseRelation, show: int) -> str:
        """A query for the rows by which a table differs from its query."""
        return self._rows_sql(relation, lambda tables, name: differing_rows(tables, name, show))

    @available.parse(lambda *_, **__: "")
    def unhealthy_rows_sql(self, relation: BaseRelation) -> str:
        """A query for the rows that say why a table is not healthy."""
        return self._rows_sql(relation, unhealthy_rows)

    def _rows_sql(
        self,
        relation: BaseRelation,
        find: Callable[[MaterializedTables, str], Iterator[FailingRow]],
    ) -> str:
        handle = self._handle()
        with translated(f"test of {relation}"), handle.busy():
            return rows_query(find(handle.tables(), self.full_name(relation)))

    @available
    def fail_operation(self, failures: list[str]) -> None:
        """End the operation with what went wrong.

        Raises:
            DbtRuntimeError: There is something.
        """
        if failures:
            raise DbtRuntimeError("\n".join(failures))

    def _manifest(self) -> Any:  # noqa: ANN401 - dbt-core's Manifest
        manifest = self.get_macro_resolver()
        if manifest is None:
            raise DbtRuntimeError("dbt has not given the adapter its project.")  # noqa: EM101, TRY003 - dbt's error class takes a text
        return manifest

    def _each(self, select: object, act: Act) -> Iterator[OperationResult]:
        with translated("select"):
            models = select_models(nodes_in_order(self._manifest()), select)
        return (self._attempt(model.relation, act) for model in models)

    def _attempt(self, name: TableName, act: Act) -> OperationResult:
        """Do it; a failure does not keep the others from their turn, a cancellation does."""
        handle = self._handle()
        try:
            with translated(f"operation on {name}"), handle.busy():
                return OperationResult(str(name), act(handle.tables(), name))
        except DbtRuntimeError as error:
            if handle.is_cancelled:
                raise
            return OperationResult(str(name), str(error.msg), failed=True)

    def _orphans(self, schemas: list[str] | None) -> tuple[OrphanedTable, ...]:
        nodes = nodes_in_order(self._manifest())
        handle = self._handle()
        with translated("orphans"), handle.busy():
            tables = handle.tables()
            places = _places(nodes, schemas, self.config.credentials.database)
            found = [d for catalog, schema in places for d in tables.declared(schema, catalog)]
            return tuple(orphaned_tables(self.config.project_name, found, nodes))


def _places(
    nodes: tuple[ModelNode, ...], schemas: list[str] | None, catalog: str
) -> list[tuple[str, str]]:
    """The schemas to look at: those of the project's nodes for this target, unless told others."""
    if schemas is not None:
        return [(catalog, schema) for schema in schemas]
    of_nodes = {(n.relation.catalog or catalog, n.relation.schema or "") for n in nodes}
    return sorted(of_nodes)


def _suspend(tables: MaterializedTables, name: TableName) -> str:
    try:
        tables.execute(f"ALTER MATERIALIZED TABLE {name.sql} SUSPEND")
    except AlreadySuspendedError:
        return "SUSPENDED already"
    return "SUSPENDED"


def _resume(tables: MaterializedTables, name: TableName, options: Mapping[str, str]) -> str:
    listed = ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in options.items())
    clause = f" WITH ({listed})" if listed else ""
    try:
        result = tables.execute(f"ALTER MATERIALIZED TABLE {name.sql} RESUME{clause}")
    except AlreadyResumedError:
        return "ACTIVATED already"
    outcome = result.outcome if result else None
    return "RESUMED" if outcome is None or outcome.refresh is None else _with_refresh(outcome)


def _with_refresh(outcome: StatementOutcome) -> str:
    refreshed = StatementOutcome(outcome.table, None, refresh=outcome.refresh)
    return f"RESUMED, {response_of(refreshed)}"


def _refresh(tables: MaterializedTables, name: TableName, *, force: bool) -> str:
    outcome = tables.refresh(name.sql, force=force)
    return str(response_of(StatementOutcome(outcome.table, None, refresh=outcome)))


def _drop(tables: MaterializedTables, name: TableName, *, what: str) -> str:
    tables.execute(f"DROP MATERIALIZED TABLE {name.sql}")
    return f"DROPPED, {what}"
