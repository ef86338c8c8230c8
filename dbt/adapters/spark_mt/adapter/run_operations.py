"""dbt run-operations on the materialized tables of many models, and on orphaned tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.adapter.materialization import response_of
from dbt.adapters.spark_mt.execution.errors import AlreadyResumedError, AlreadySuspendedError
from dbt.adapters.spark_mt.execution.results import StatementOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.adapter.model_plan import ModelNode
    from dbt.adapters.spark_mt.api import Declared, MaterializedTables
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome


_EPHEMERAL = "ephemeral"


@dataclass(frozen=True, slots=True)
class OrphanedTable:
    """A materialized table that no model of its project makes any more.

    Args:
        owner: The model that made it.
        reason: What became of the model, for people.
    """

    name: TableName
    owner: str
    reason: str


def orphaned_tables(
    project: str, tables: Iterable[Declared], nodes: Iterable[ModelNode]
) -> Iterator[OrphanedTable]:
    """Yield the tables that a project made and no longer has a model for.

    A table is not orphaned if a node of any materialization makes a relation of its name: the next
    run replaces it. Tables of other projects, and tables without an owner, are not orphaned.

    Args:
        project: The project's name.
        tables: The materialized tables in the schemas of the project.
        nodes: All nodes of the project and its packages that make relations.
    """
    nodes = tuple(nodes)
    taken = {_key(node.relation) for node in nodes if node.materialized != _EPHEMERAL}
    by_id = {node.unique_id: node for node in nodes}
    for table in tables:
        owner = dict(table.owner).get("dbt", "")
        if owner.split(".")[1:2] == [project] and _key(table.name) not in taken:
            yield OrphanedTable(table.name, owner, _reason(owner, by_id))


def _reason(owner: str, by_id: Mapping[str, ModelNode]) -> str:
    node = by_id.get(owner)
    if node is None:
        return "the model is gone"
    if node.materialized == _EPHEMERAL:
        return "the model is ephemeral now"
    return f"the model makes {node.relation} now"


def _key(name: TableName) -> str:
    return str(name).lower()


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


def schemas_of(
    nodes: tuple[ModelNode, ...], schemas: list[str] | None, catalog: str
) -> list[tuple[str, str]]:
    """The schemas to search for orphans: the named ones, else those of the project's nodes."""
    if schemas is not None:
        return [(catalog, schema) for schema in schemas]
    of_nodes = {(n.relation.catalog or catalog, n.relation.schema or "") for n in nodes}
    return sorted(of_nodes)


def suspend(tables: MaterializedTables, name: TableName) -> str:
    """Suspend a table."""
    try:
        tables.suspend(name.sql)
    except AlreadySuspendedError:
        return "SUSPENDED already"
    return "SUSPENDED"


def resume(tables: MaterializedTables, name: TableName, run_options: Mapping[str, str]) -> str:
    """Resume a table, with run options."""
    try:
        outcome = tables.resume(name.sql, run_options)
    except AlreadyResumedError:
        return "ACTIVATED already"
    return "RESUMED" if outcome.refresh is None else f"RESUMED, {_refreshed(outcome.refresh)}"


def refresh(tables: MaterializedTables, name: TableName, *, force: bool) -> str:
    """Refresh a table, even if no source has moved with `force`."""
    return _refreshed(tables.refresh(name.sql, force=force))


def _refreshed(outcome: RefreshOutcome) -> str:
    return str(response_of(StatementOutcome(outcome.table, None, refresh=outcome)))


def drop(tables: MaterializedTables, name: TableName, *, what: str) -> str:
    """Drop a table."""
    tables.execute(f"DROP MATERIALIZED TABLE {name.sql}")
    return f"DROPPED, {what}"
