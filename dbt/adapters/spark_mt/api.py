"""Materialized tables from Python: notebooks, jobs, and the dbt adapter itself.

from dbt.adapters.spark_mt.api import MaterializedTables
MaterializedTables(spark).sql("CREATE OR ALTER MATERIALIZED TABLE hourly AS SELECT …").show()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.configuration import configuration_changes, keep_configuration
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.checks import TableChecks
from dbt.adapters.spark_mt.definition.table_state import StoredTable, Unreadable
from dbt.adapters.spark_mt.execution.adoption import Adoptions
from dbt.adapters.spark_mt.execution.figures import figures_of
from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
from dbt.adapters.spark_mt.execution.results import StatementOutcome
from dbt.adapters.spark_mt.handover import TableHandover, create_or_alter
from dbt.adapters.spark_mt.hosting import TableHosting
from dbt.adapters.spark_mt.planning.planner import plan_registration
from dbt.adapters.spark_mt.planning.steps import Unregister
from dbt.adapters.spark_mt.repairing import TableRepair
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.renderer import render
from dbt.adapters.spark_mt.statements.routing import parse_name, parse_statement
from dbt.adapters.spark_mt.waiting import TableWaiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.alterations import Derivation
    from dbt.adapters.spark_mt.execution.figures import Figure
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome, StatementResult


@dataclass(frozen=True, slots=True)
class KeptConfiguration:
    """A statement with everything but the query as it is stored.

    Args:
        statement: The statement's text.
        left: The changes that it leaves out, one sentence each.
    """

    statement: str
    left: tuple[str, ...] = ()


class MaterializedTables(TableChecks, TableHandover, TableHosting, TableRepair, TableWaiting):
    """Materialized tables of one Spark session.

    Args:
        spark: A classic or a Connect session. Statements are analysed in it, and never change its
            settings.
        owner: Returns who declares the table of the statement that runs; stored with a new one.
        clock: Returns the current instant, aware.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._spark = spark
        self._environment = SparkEnvironment(
            spark, owner=owner, **({} if clock is None else {"clock": clock})
        )
        self._manager = MaterializedTableManager(self._environment.value)
        self._adoptions = Adoptions(self._environment.value, self._manager.definitions)

    def execute(self, statement: str) -> StatementResult | None:
        """Carry out a statement about materialized tables.

        Returns:
            Its rows and outcome; None for any other SQL, for which nothing was done.

        Raises:
            MaterializedTableError: The statement is not valid or failed; `condition`, `parameters`
                and `violations` tell why.
        """
        parsed = parse_statement(statement)
        if parsed is None:
            self._environment.value.recent.forget()
            return None
        self._environment.details.forget()
        result = self._manager.execute(parsed)
        self._tell_host(result.outcome)
        return result

    def sql(self, statement: str) -> DataFrame:
        """Run any SQL: ours here, everything else in Spark, byte for byte.

        Raises:
            MaterializedTableError: A statement about materialized tables is not valid or failed.
        """
        result = self.execute(statement)
        if result is None:
            return self._spark.sql(statement)
        schema = ", ".join(f"`{column.name}` {column.type}" for column in result.columns)
        return self._spark.createDataFrame([tuple(row) for row in result.rows], schema)

    def refresh(
        self, name: str, *, scheduled_at: datetime | None = None, force: bool = False
    ) -> RefreshOutcome:
        """Refresh a table.

        Args:
            name: The table's name, in backticks where it needs them.
            scheduled_at: The scheduled time, aware, of a run that a scheduler starts; a table with
                date formatters then gets the partitions of the period before it.
            force: Compute the rows even if no source has moved.
        """
        self._environment.details.forget()
        table = parse_name(name)
        if scheduled_at is not None:
            return self._manager.refreshes.refresh_scheduled(table, scheduled_at)
        return self._manager.refreshes.refresh(table, force=force)

    def derive_again(self, catalog: str | None = None) -> tuple[Derivation, ...]:
        """Derive freshness and refresh mode again where definitions left them open.

        After a setting such as the threshold between the modes was changed (semantics 3). It reads
        the registry once and looks at each table; one that changes costs a small commit.

        Args:
            catalog: The catalog of the tables; None for the current one.

        Returns:
            The tables that changed, with what was done, and those that failed, with the error.
        """
        self._environment.details.forget()
        catalog = catalog or self._spark.catalog.currentCatalog()
        return self._manager.alterations.derive_again(catalog)

    def validate(
        self, statement: str, *, adopting: bool = False, as_of: datetime | None = None
    ) -> StatementOutcome:
        """Check a CREATE statement completely and change nothing.

        Args:
            statement: The statement.
            adopting: Whether `adopt` would carry it out.
            as_of: As for `adopt`.

        Raises:
            MaterializedTableError: It could not be carried out; every violation is named.
        """
        self._environment.details.forget()
        if adopting:
            plan, action = self._adoptions.plan(create_or_alter(statement), as_of)
        else:
            plan, action = self._manager.definitions.plan(_create(statement))
        return StatementOutcome(
            str(plan.table), action, plan.changes, message="validated", warnings=plan.warnings
        )

    def keep_configuration(self, statement: str) -> KeptConfiguration:
        """Return CREATE OR ALTER with every aspect but the query as the table has it."""
        self._environment.details.forget()
        created = _create(statement)
        environment = self._environment.value
        name = environment.store.full_name(created.name)
        found = environment.store.find(name)
        if not isinstance(found, StoredTable) or created.form is not CreateForm.CREATE_OR_ALTER:
            return KeptConfiguration(statement)
        wanted = environment.resolve(name, created.asked, found.definition)
        left = configuration_changes(diff(found.definition.resolved, wanted.definition))
        if not left:
            return KeptConfiguration(statement)
        kept = keep_configuration(created, found.definition)
        return KeptConfiguration(render(kept), tuple(change.describe() for change in left))

    def names(self, schema: str, catalog: str | None = None) -> frozenset[str]:
        """Return the names of a schema's materialized tables, as the registry has them."""
        environment = self._environment.value
        catalog = catalog or self._spark.catalog.currentCatalog()
        return frozenset(e.name.name for e in environment.registry.entries(catalog, schema))

    def figures(self, schema: str, catalog: str | None = None) -> dict[str, tuple[Figure, ...]]:
        """Return what is known of each table of a schema, by its name in lower case.

        One read of the registry, and for each table its properties and newest commits; sources are
        not looked at.
        """
        self._environment.details.forget()
        environment = self._environment.value
        confs = environment.confs()
        catalog = catalog or self._spark.catalog.currentCatalog()
        shown = {}
        for entry in environment.registry.entries(catalog, schema):
            found = environment.store.find(entry.name)
            if isinstance(found, StoredTable):
                shown[entry.name.name.lower()] = figures_of(found, entry, confs)
        return shown

    def is_materialized(self, name: TableName) -> bool:
        """Look at the table itself and tell whether it is a materialized table."""
        self._environment.details.forget()
        environment = self._environment.value
        found = environment.store.find(environment.store.full_name(name))
        return isinstance(found, StoredTable | Unreadable)

    def register(self, name: TableName) -> None:
        """Write a table's row in the registry, which did not know the table under this name.

        It costs one small commit of the registry; there is none when `name` is not ours.
        """
        self._environment.details.forget()
        environment = self._environment.value
        found = environment.store.find(environment.store.full_name(name))
        if isinstance(found, StoredTable):
            environment.runner.run(plan_registration(found))

    def forget(self, name: TableName) -> None:
        """Take a name out of the registry, whose table was renamed or dropped by other means."""
        environment = self._environment.value
        environment.runner.run(Unregister(environment.store.full_name(name)))

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns that a query of a materialized table would have; nothing is computed.

        Raises:
            QueryError: Spark refuses the query.
            TemporaryObjectError: It uses something that only this session knows.
        """
        return self._environment.value.analyzer.analyze(query).columns

    def reads(self, query: str, name: TableName) -> bool:
        """Whether `query` reads `name`, directly or through views; nothing is computed."""
        environment = self._environment.value
        full = environment.store.full_name(name)
        return any(source.name == full for source in environment.analyzer.analyze(query).sources)

    def cancel(self) -> None:
        """Interrupt what this object runs, in every session that it has opened."""
        self._environment.sessions.interrupt()


def _create(statement: str) -> CreateTable:
    parsed = parse_statement(statement)
    if not isinstance(parsed, CreateTable):
        raise TypeError("expected CREATE MATERIALIZED TABLE")  # noqa: TRY003, EM101 - for programmers
    return parsed
