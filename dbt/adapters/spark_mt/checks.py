"""What can be asked about materialized tables without changing anything; a part of `api`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, about
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.table_state import Damaged, StoredTable
from dbt.adapters.spark_mt.execution.health import drift_of, health_problems, lag_of
from dbt.adapters.spark_mt.execution.verification import difference
from dbt.adapters.spark_mt.planning.summary import refused, summarize
from dbt.adapters.spark_mt.statements.nodes import PLANNED, Explain
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.changes.drift import Drift
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.execution.health import Lag
    from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
    from dbt.adapters.spark_mt.execution.verification import Difference
    from dbt.adapters.spark_mt.planning.summary import PlanSummary
    from dbt.adapters.spark_mt.spark.environment import SparkEnvironment


@dataclass(frozen=True, slots=True)
class Declared:
    """A table and who declares it; for dbt `(("dbt", "model.<project>.<name>"),)`."""

    name: TableName
    owner: Pairs


class TableChecks:
    """Looks at tables of one Spark session."""

    _environment: SparkEnvironment
    _manager: MaterializedTableManager

    def plan(self, statement: str) -> PlanSummary:
        """Tell what a CREATE, or an ALTER of the definition, would do; nothing is changed.

        Args:
            statement: The statement; EXPLAIN before it changes nothing.

        Returns:
            Also for a statement that would be refused, with every violation.
        """
        self._environment.details.forget()
        parsed = parse_statement(statement)
        inner = parsed.statement if isinstance(parsed, Explain) else parsed
        if not isinstance(inner, PLANNED):
            raise TypeError("expected CREATE or ALTER of a definition")  # noqa: TRY003, EM101 - for programmers
        name = self._environment.value.store.full_name(inner.name)
        try:
            with about(name):
                plan, _ = self._manager.plan(inner)
        except MaterializedTableError as error:
            return refused(str(name), error)
        return summarize(plan)

    def drift(self, name: str) -> tuple[Drift, ...]:
        """Return what was changed about a table by other means than its definition.

        Args:
            name: The table's name, in backticks where it needs them.
        """
        self._environment.details.forget()
        return drift_of(self._environment.value, _parsed(name))

    def health(self, name: str) -> tuple[str, ...]:
        """Return why a table is not healthy, one sentence each; nothing for a healthy one.

        Args:
            name: As for `drift`.
        """
        self._environment.details.forget()
        return health_problems(self._environment.value, _parsed(name))

    def lag(self, name: str) -> Lag:
        """Measure how far a table lies behind its sources now.

        Args:
            name: As for `drift`.

        Raises:
            MaterializedTableError: There is no such table, or its query is refused now.
        """
        self._environment.details.forget()
        return lag_of(self._environment.value, _parsed(name))

    def difference(self, name: str, *, limit: int = 100) -> Difference:
        """Compare a table with its query over the state of the sources that its rows reflect.

        It costs what the query costs. Rows are compared as bags: each as often as it occurs.

        Args:
            name: As for `drift`.
            limit: How many differing rows to name at most.

        Raises:
            MaterializedTableError: There is no such table, or its query is refused now.
        """
        self._environment.details.forget()
        return difference(self._environment.value, _parsed(name), limit)

    def declared(self, schema: str, catalog: str | None = None) -> tuple[Declared, ...]:
        """Return the materialized tables of a schema with who declares them.

        Args:
            schema: The schema; one that does not exist has none.
            catalog: Its catalog; None for the current one.
        """
        self._environment.details.forget()
        return tuple(self._declared(schema, catalog))

    def _declared(self, schema: str, catalog: str | None) -> Iterator[Declared]:
        environment = self._environment.value
        probe = environment.store.full_name(TableName("_", schema, catalog))
        for entry in environment.registry.entries(probe.catalog or "", probe.schema or ""):
            found = environment.store.find(entry.name)
            if isinstance(found, StoredTable | Damaged):
                yield Declared(entry.name, found.definition.owner)


def _parsed(name: str) -> TableName:
    parsed = parse_statement(f"DROP MATERIALIZED TABLE {name}")
    if parsed is None or not hasattr(parsed, "name"):
        raise TypeError(name)
    found: TableName = parsed.name
    return found
