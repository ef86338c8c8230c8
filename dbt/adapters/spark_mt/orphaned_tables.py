"""Tables of a project whose model is gone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.checks import Declared
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.selection import ModelNode

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

    A table is never one of them while some node makes a relation of its name, of whatever
    materialization: the next run takes care of it. Tables of other projects, and tables that nobody
    declares, are never ones.

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
