"""Plan of a dbt project: what `dbt run` would do for each model; changes nothing.

Models are compiled as dbt-core's own tasks compile them. Decision and statement of each model are
those of `dbt run`.
"""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.adapter.materialization import decide, plan_decision
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict, refused
from dbt.adapters.spark_mt.query.analyzer import QueryError
from dbt.adapters.spark_mt.resolution.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.adapter.config import ModelSettings
    from dbt.adapters.spark_mt.adapter.materialization import Decision
    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.changes.drift import Drift
    from dbt.adapters.spark_mt.relation import SparkMTRelation


MATERIALIZED_TABLE = "materialized_table"
_TAG = "tag:"


class UnknownModelError(MaterializedTableError):
    """`select` names something that is no model of the project."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_MODEL"
    text = "`select` does not fit the project's models of materialization materialized_table:"
    remedy = (
        "Name models as a text or a list, with * for any characters, or tag:<tag>. Nothing was "
        "changed."
    )


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node of a dbt project that makes a relation.

    Args:
        unique_id: `model.<project>.<name>`.
        relation: The table or view that it makes; an ephemeral model makes none.
        materialized: Its materialization.
    """

    unique_id: str
    name: str
    materialized: str
    relation: TableName
    tags: tuple[str, ...] = ()

    @property
    def is_materialized_table(self) -> bool:
        """Whether operations on materialized tables are about it."""
        return self.materialized == MATERIALIZED_TABLE


def select_models(models: Iterable[ModelNode], select: object) -> tuple[ModelNode, ...]:
    """Return the models of materialized tables that `select` names, in the given order.

    Args:
        models: All models.
        select: What the user gave: None for all, names in one text or as a list, with `*`, or
            `tag:<tag>`.

    Raises:
        UnknownModelError: Some name or tag fits no model; all of them are listed.
    """
    models = tuple(models)
    candidates = tuple(model for model in models if model.is_materialized_table)
    if select is None:
        return candidates
    wanted = _words(select)
    unknown = [word for word in wanted if not any(_fits(model, word) for model in candidates)]
    if unknown or not wanted:
        problems = [_problem(word, models) for word in unknown] or ["it is empty"]
        raise UnknownModelError(violations=problems)
    return tuple(model for model in candidates if any(_fits(model, word) for word in wanted))


def dependency_order(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return all ids such that parents come before their children; alphabetical where free.

    Args:
        parents: The ids that each id depends on.
    """
    sorter = TopologicalSorter({child: sorted(parents[child]) for child in sorted(parents)})
    return tuple(sorter.static_order())


def _words(select: object) -> Sequence[str]:
    if isinstance(select, str):
        return select.replace(",", " ").split()
    if isinstance(select, list | tuple) and all(isinstance(word, str) for word in select):
        return [word.strip() for word in select if word.strip()]
    raise UnknownModelError(violations=[f"it is neither a text nor a list of texts: {select!r}"])


def _fits(model: ModelNode, word: str) -> bool:
    if word.startswith(_TAG):
        return any(fnmatchcase(tag, word.removeprefix(_TAG)) for tag in model.tags)
    return fnmatchcase(model.name, word) or model.unique_id == word


def _problem(word: str, models: Sequence[ModelNode]) -> str:
    candidates = [model for model in models if model.is_materialized_table]
    if word.startswith(_TAG):
        tags = {tag for model in candidates for tag in model.tags}
        known = (_TAG + tag for tag in tags)
        return f"no such model is tagged {word.removeprefix(_TAG)}.{did_you_mean(word, known)}"
    other = next((model for model in models if model.name == word), None)
    if other is not None:
        return f"the model {word} is of materialization {other.materialized}."
    return f"there is no model {word}.{did_you_mean(word, (m.name for m in candidates))}"


_SOURCE = "source"
_RELATIONAL = frozenset({"model", "seed", "snapshot", _SOURCE})


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
            yield _relation_name(node)


def _node(unique_id: str, node: Any) -> ModelNode:  # noqa: ANN401 - dbt-core's node
    materialized = node.config.get("materialized") or ""
    return ModelNode(unique_id, node.name, materialized, _relation_name(node), tuple(node.tags))


def _relation_name(node: Any) -> TableName:  # noqa: ANN401 - dbt-core's node
    name = node.identifier if node.resource_type == _SOURCE else node.alias
    return TableName.of(*filter(None, (node.database, node.schema, name)))


_FAIL_ON = {
    "refused": {Verdict.REFUSED},
    "rebuilt": {Verdict.REFUSED, Verdict.REBUILT},
    "any": set(Verdict) - {Verdict.UNCHANGED},
}


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """What a run would do for one model.

    Args:
        unique_id: The model.
        summary: What its statement would do.
        drift: What was changed about its table outside of dbt.
        notes: Sentences that say more about the plan.
    """

    unique_id: str
    summary: PlanSummary
    drift: tuple[Drift, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changes_rows(self) -> bool:
        """Whether models that read the table may see other rows or columns after the run."""
        return self.summary.verdict not in {Verdict.UNCHANGED, Verdict.METADATA_ONLY}

    def lines(self) -> Iterator[str]:
        """Yield the plan for people."""
        summary = self.summary
        yield f"{summary.table}: {summary.verdict.value}"
        yield from _labelled("change", summary.changes)
        yield from _labelled("computed by", (summary.strategy,) if summary.strategy else ())
        yield from _labelled("kept by", (summary.engine,) if summary.engine else ())
        yield from _labelled("because", summary.reasons)
        yield from _labelled("not used", summary.not_used)
        yield from _labelled("keeps", summary.keeps)
        yield from _labelled("loses", summary.loses)
        yield from _labelled("reason", summary.violations)
        yield from _labelled("note", self.notes)
        yield from _labelled("warning", summary.warnings)
        yield from _labelled("drift", tuple(map(str, self.drift)))

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows."""
        drift = [{"kind": d.kind.value, "found": d.found, "remedy": d.remedy} for d in self.drift]
        plan = self.summary.as_dict()
        return {"model": self.unique_id, **plan, "notes": self.notes, "drift": drift}


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What a run would do."""

    plans: tuple[ModelPlan, ...]

    def text(self) -> str:
        """Return the report for people."""
        parts = ["\n".join(plan.lines()) for plan in self.plans]
        return "\n".join([*parts, self.totals()])

    def json(self) -> str:
        """Return the report as one JSON document."""
        counts = Counter(plan.summary.verdict.value for plan in self.plans)
        document = {"models": [plan.as_dict() for plan in self.plans], "totals": counts}
        return json.dumps(document, indent=2)

    def totals(self) -> str:
        """Return one line: how many models, and what happens to them."""
        counts = Counter(plan.summary.verdict for plan in self.plans)
        parts = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
        drifted = sum(bool(plan.drift) for plan in self.plans)
        drift = f"; {drifted} changed outside of dbt" if drifted else ""
        models = "1 model" if len(self.plans) == 1 else f"{len(self.plans)} models"
        return f"{models}: {', '.join(parts) or 'none selected'}{drift}"

    def failures(self, fail_on: str | None) -> tuple[str, ...]:
        """Return the tables whose verdict `fail_on` asks to fail for.

        Args:
            fail_on: `refused`, `rebuilt` (or worse), `any` (anything but unchanged), or None.

        Raises:
            InvalidValueError: It is none of these.
        """
        if fail_on is None:
            return ()
        if fail_on not in _FAIL_ON:
            known = ", ".join(_FAIL_ON)
            raise InvalidValueError(detail=f"fail_on is {fail_on!r}; it can be {known}.")
        return tuple(
            f"{plan.summary.table} would be {plan.summary.verdict.value}"
            for plan in self.plans
            if plan.summary.verdict in _FAIL_ON[fail_on]
        )


def _labelled(label: str, texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        first, *more = text.splitlines() or [""]
        yield f"  {label:<12}{first}"
        yield from (f"  {'':<12}{line}" for line in more)


def plan_models(
    adapter: Any,  # noqa: ANN401 - ours; importing its class here would be a cycle
    manifest: Any,  # noqa: ANN401 - dbt-core's Manifest
    models: Iterable[ModelNode],
    *,
    full_refresh: bool,
) -> PlanReport:
    """Plan a run of models, in their order; arguments as for `plan_model`."""
    plans: list[ModelPlan] = []
    changing: list[TableName] = []
    for model in models:
        plan = plan_model(adapter, manifest, model, full_refresh=full_refresh, changing=changing)
        plans.append(plan)
        changing += [model.relation] if plan.changes_rows else []
    return PlanReport(tuple(plans))


def plan_model(
    adapter: Any,  # noqa: ANN401 - ours; importing its class here would be a cycle
    manifest: Any,  # noqa: ANN401 - dbt-core's Manifest
    model: ModelNode,
    *,
    full_refresh: bool,
    changing: Collection[TableName] = (),
) -> ModelPlan:
    """Plan a run of a model.

    Args:
        adapter: The adapter, with a connection.
        manifest: The project; it is not changed.
        model: The model.
        full_refresh: Whether the run would have `--full-refresh`; the model's config wins.
        changing: Tables that the same run would change before.
    """
    from dbt_common.exceptions import DbtRuntimeError  # noqa: PLC0415 - dbt is slow to load

    tables: MaterializedTables = adapter.materialized_tables()
    existing = _existing_relation(adapter, model.relation)
    ours = existing is not None and tables.is_materialized(model.relation)
    upstream = set(upstream_relations(manifest, model.unique_id))
    missing = sorted(str(name) for name in upstream if _existing_relation(adapter, name) is None)
    if missing:
        return _not_yet(model, missing, exists=existing is not None)
    if existing is not None and existing.is_table and ours:
        existing = existing.as_table()
    notes: tuple[str, ...] = ()
    try:
        rendered = _rendered(adapter, manifest, model.unique_id, existing, full_refresh)
        summary, notes = plan_decision(tables, *rendered)
    except MaterializedTableError as error:
        summary = refused(str(model.relation), error)
    except DbtRuntimeError as error:
        text = (str(error.msg),)
        summary = PlanSummary(str(model.relation), Verdict.REFUSED, violations=text)
    drift = tables.drift(model.relation.sql) if ours else ()
    summary, waiting = _awaiting(summary, upstream & set(changing))
    return ModelPlan(model.unique_id, summary, drift, (*notes, *waiting))


def _rendered(
    adapter: Any,  # noqa: ANN401
    manifest: Any,  # noqa: ANN401
    unique_id: str,
    existing: SparkMTRelation | None,
    full_refresh: bool,  # noqa: FBT001 - one caller
) -> tuple[Decision, str, ModelSettings, str]:
    """The decision of a run, its statement, the model's config and its compiled SQL.

    Only queries that the model itself asks for are run.
    """
    from dbt.compilation import Compiler  # noqa: PLC0415 - dbt-core is slow to load
    from dbt.context.providers import generate_runtime_model_context  # noqa: PLC0415

    node: Any = deepcopy(manifest.nodes[unique_id])
    node = Compiler(adapter.config).compile_node(node, manifest, {}, write=False)
    context = generate_runtime_model_context(node, adapter.config, manifest)
    adapter.require_sql(context["model"], MATERIALIZED_TABLE)
    settings = adapter.materialized_table_settings(context["config"])
    wanted = node.config.get("full_refresh")
    replaces = full_refresh if wanted is None else bool(wanted)
    decision = decide(context["this"], existing, settings, full_refresh=replaces)
    query: str = node.compiled_code
    statement: str = context["materialized_table_statement"](decision, settings, query)
    return decision, statement, settings, query


def _existing_relation(adapter: Any, name: TableName) -> SparkMTRelation | None:  # noqa: ANN401
    found: SparkMTRelation | None = adapter.get_relation(name.catalog, name.schema, name.name)
    return found


def _not_yet(model: ModelNode, missing: list[str], *, exists: bool) -> ModelPlan:
    """The plan of a model whose query cannot be analysed before its sources are there."""
    verdict = Verdict.UNKNOWN if exists else Verdict.CREATED
    summary = PlanSummary(str(model.relation), verdict, () if exists else ("table created",))
    note = f"the query cannot be analysed yet: {', '.join(missing)} not there"
    return ModelPlan(model.unique_id, summary, notes=(note,))


def _awaiting(
    summary: PlanSummary, changing: Collection[TableName]
) -> tuple[PlanSummary, tuple[str, ...]]:
    """The plan of a query that may fit its sources after the run has changed them."""
    if summary.condition != QueryError.condition or not changing:
        return summary, ()
    listed = ", ".join(sorted(map(str, changing)))
    note = f"the query does not fit its sources as they are; the run would change {listed} before"
    return replace(summary, verdict=Verdict.UNKNOWN), (note,)
