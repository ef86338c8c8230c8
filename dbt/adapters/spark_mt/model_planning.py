"""What `dbt run` would do for a model; nothing is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.errors import NotMaterializedError
from dbt.adapters.spark_mt.model_plans import ModelPlan
from dbt.adapters.spark_mt.model_statements import model_statement, upstream_relations
from dbt.adapters.spark_mt.planning.summary import PlanSummary, refused
from dbt.adapters.spark_mt.planning.verdict import Verdict
from dbt.adapters.spark_mt.resolution.cycles import SelfReferenceError
from dbt.adapters.spark_mt.resolution.query_errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Collection

    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.model_statements import ModelStatement
    from dbt.adapters.spark_mt.relation import SparkMTRelation
    from dbt.adapters.spark_mt.selection import ModelNode

_CREATED = "table created"


class ConfigurationChangedError(MaterializedTableError):
    """The configuration of a model changed whose `on_configuration_change` is `fail`."""

    condition = "MATERIALIZED_TABLE_CONFIGURATION_CHANGED"
    text = (
        "Configuration changes were identified and `on_configuration_change` was set to `fail` for "
        "{table}:"
    )
    remedy = (
        "Set on_configuration_change to apply or continue, or take the change back; nothing is "
        "changed, the query included."
    )


def plan_model(
    adapter: Any,  # noqa: ANN401 - ours; importing its class here would be a cycle
    manifest: Any,  # noqa: ANN401 - dbt-core's Manifest
    model: ModelNode,
    *,
    full_refresh: bool,
    changing: Collection[TableName] = (),
) -> ModelPlan:
    """Tell what a run would do for a model.

    Args:
        adapter: The adapter, with a connection.
        manifest: The project.
        model: The model.
        full_refresh: Whether the run would have `--full-refresh`.
        changing: Tables that the same run would change before.
    """
    from dbt_common.exceptions import DbtRuntimeError  # noqa: PLC0415 - dbt is slow to load

    tables: MaterializedTables = adapter.materialized_tables()
    there = _relation(adapter, model.relation)
    ours = there is not None and tables.is_materialized(model.relation)
    upstream = set(upstream_relations(manifest, model.unique_id))
    missing = sorted(str(name) for name in upstream if _relation(adapter, name) is None)
    if missing:
        return _not_yet(model, missing, exists=there is not None)
    try:
        wanted = model_statement(adapter, manifest, model.unique_id, full_refresh=full_refresh)
        if there is not None and not ours:
            return ModelPlan(model.unique_id, _in_place_of(tables, model.relation, there, wanted))
        summary, notes = _settled(tables, model.relation, wanted, exists=ours)
    except MaterializedTableError as error:
        summary, notes = refused(str(model.relation), error), ()
    except DbtRuntimeError as error:
        text = (str(error.msg),)
        summary = PlanSummary(str(model.relation), Verdict.REFUSED, violations=text)
        notes = ()
    drift = tables.drift(model.relation.sql) if ours else ()
    summary, waiting = _awaiting(summary, upstream & set(changing))
    return ModelPlan(model.unique_id, summary, drift, (*notes, *waiting))


def _relation(adapter: Any, name: TableName) -> SparkMTRelation | None:  # noqa: ANN401
    found: SparkMTRelation | None = adapter.get_relation(name.catalog, name.schema, name.name)
    return found


def _not_yet(model: ModelNode, missing: list[str], *, exists: bool) -> ModelPlan:
    """A query cannot be analysed before everything is there that it reads."""
    verdict = Verdict.UNKNOWN if exists else Verdict.CREATED
    changes = () if exists else (_CREATED,)
    note = f"the query cannot be analysed yet: {', '.join(missing)} not there"
    return ModelPlan(
        model.unique_id, PlanSummary(str(model.relation), verdict, changes), notes=(note,)
    )


def _awaiting(
    summary: PlanSummary, changing: Collection[TableName]
) -> tuple[PlanSummary, tuple[str, ...]]:
    """A query that does not fit its sources as they are may fit what the run makes of them."""
    if summary.condition != QueryError.condition or not changing:
        return summary, ()
    listed = ", ".join(sorted(map(str, changing)))
    note = f"the query does not fit its sources as they are; the run would change {listed} before"
    return replace(summary, verdict=Verdict.UNKNOWN), (note,)


def _settled(
    tables: MaterializedTables, name: TableName, wanted: ModelStatement, *, exists: bool
) -> tuple[PlanSummary, tuple[str, ...]]:
    """Plan the statement as `on_configuration_change` settles it."""
    policy = wanted.settings.on_configuration_change
    if policy == "apply" or not exists or wanted.full_refresh:
        return tables.plan(wanted.statement), ()
    kept = tables.keep_configuration(wanted.statement)
    if not kept.left:
        return tables.plan(wanted.statement), ()
    if policy == "fail":
        return refused(str(name), ConfigurationChangedError(table=name, violations=kept.left)), ()
    notes = (f"left by on_configuration_change = continue: {change}" for change in kept.left)
    return tables.plan(kept.statement), tuple(notes)


def _in_place_of(
    tables: MaterializedTables,
    name: TableName,
    there: SparkMTRelation,
    wanted: ModelStatement,
) -> PlanSummary:
    """Plan a materialized table that takes the place of a view or, asked to, of a plain table."""
    if not there.is_view and not wanted.full_refresh:
        return _over_plain_table(tables, name, wanted)
    if tables.reads(wanted.query, name):
        return refused(str(name), SelfReferenceError(table=name, path=f"{name} reads {name}"))
    summary = tables.plan(wanted.staged)
    if summary.verdict is Verdict.REFUSED:
        return replace(summary, table=str(name))
    kind = "view" if there.is_view else "plain table with its rows and history"
    verdict = Verdict.CREATED if there.is_view else Verdict.REBUILT
    return replace(summary, table=str(name), verdict=verdict, loses=(f"the {kind}",))


def _over_plain_table(
    tables: MaterializedTables, name: TableName, wanted: ModelStatement
) -> PlanSummary:
    """A plain table may hold what no query rebuilds: it is taken over, or left alone."""
    adopt = wanted.settings.adopt
    if adopt.wanted:
        return tables.plan_adoption(wanted.statement, as_of=adopt.as_of)
    return refused(str(name), NotMaterializedError(table=name, kind="plain table"))
