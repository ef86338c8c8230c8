"""The statement that `dbt run` would send for a model, without running the model.

The only module that renders nodes by itself. It calls what dbt-core's own tasks call, lazily: the
compiler, the context of a node, and the macros in it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.selection import ModelNode, dependency_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.config import ModelSettings

_SOURCE = "source"
_RELATIONAL = frozenset({"model", "seed", "snapshot", _SOURCE})
_STAGED = "__dbt_staged"


@dataclass(frozen=True, slots=True)
class ModelStatement:
    """A model as a statement.

    Args:
        statement: CREATE OR ALTER, or CREATE OR REPLACE for a full refresh.
        staged: The same query and clauses for a table that nothing has the name of.
        query: The model's compiled SQL.
        settings: Its validated config.
        full_refresh: Whether the statement replaces the table.
    """

    statement: str
    staged: str
    query: str
    settings: ModelSettings
    full_refresh: bool


def nodes_in_order(manifest: Any) -> tuple[ModelNode, ...]:  # noqa: ANN401 - dbt-core's Manifest
    """Return every node that makes a relation, parents before their children."""
    nodes = {uid: node for uid, node in manifest.nodes.items() if node.resource_type in _RELATIONAL}
    parents = {
        uid: [parent for parent in node.depends_on_nodes if parent in nodes]
        for uid, node in nodes.items()
    }
    return tuple(_node(uid, nodes[uid]) for uid in dependency_order(parents))


def upstream_relations(manifest: Any, unique_id: str) -> Iterator[TableName]:  # noqa: ANN401
    """Yield the relations that a model reads, through ephemeral models."""
    seen: set[str] = set()
    left = list(manifest.nodes[unique_id].depends_on_nodes)
    while left:
        uid = left.pop()
        node = manifest.nodes.get(uid) or manifest.sources.get(uid)
        if uid in seen or node is None or node.resource_type not in _RELATIONAL:
            continue
        seen.add(uid)
        if node.config.get("materialized") == "ephemeral":
            left += node.depends_on_nodes
        else:
            yield _relation(node)


def model_statement(
    adapter: Any,  # noqa: ANN401 - ours; importing its class here would be a cycle
    manifest: Any,  # noqa: ANN401 - dbt-core's Manifest
    unique_id: str,
    *,
    full_refresh: bool,
) -> ModelStatement:
    """Render a model as `dbt run` would; only queries that the model itself asks for are run.

    Args:
        adapter: The adapter, with a connection.
        manifest: The project; it is not changed.
        unique_id: The model.
        full_refresh: Whether the run would have `--full-refresh`; the model's config wins.

    Raises:
        DbtRuntimeError: The model cannot be compiled, or its config cannot be used.
    """
    from dbt.compilation import Compiler  # noqa: PLC0415 - dbt-core is slow to load
    from dbt.context.providers import generate_runtime_model_context  # noqa: PLC0415

    node: Any = deepcopy(manifest.nodes[unique_id])
    node = Compiler(adapter.config).compile_node(node, manifest, {}, write=False)
    query: str = node.compiled_code
    context = generate_runtime_model_context(node, adapter.config, manifest)
    adapter.require_sql(context["model"], "materialized_table")
    settings = adapter.materialized_table_settings(context["config"])
    relation = context["this"].incorporate(type=context["this"].MaterializedTable)
    staged = relation.incorporate(path={"identifier": relation.identifier + _STAGED})
    wanted = node.config.get("full_refresh")
    replaces = full_refresh if wanted is None else bool(wanted)
    kind = "create_or_replace" if replaces else "create_or_alter"
    return ModelStatement(
        statement=_macro(context, kind)(relation, settings, query),
        staged=_macro(context, "create_or_alter")(staged, settings, query),
        query=query,
        settings=settings,
        full_refresh=replaces,
    )


def _macro(context: Mapping[str, Any], kind: str) -> Any:  # noqa: ANN401 - a macro
    return context[f"{kind}_materialized_table"]


def _node(unique_id: str, node: Any) -> ModelNode:  # noqa: ANN401 - dbt-core's node
    materialized = node.config.get("materialized") or ""
    return ModelNode(unique_id, node.name, materialized, _relation(node), tuple(node.tags))


def _relation(node: Any) -> TableName:  # noqa: ANN401 - dbt-core's node
    name = node.identifier if node.resource_type == _SOURCE else node.alias
    return TableName.of(*filter(None, (node.database, node.schema, name)))
