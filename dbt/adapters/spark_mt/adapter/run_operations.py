"""dbt run-operations on the materialized tables of many models, planning among them.

A plan changes nothing. Its models are compiled as dbt-core's own tasks compile them, and the
decision and the statement of each are those of `dbt run`.
"""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.adapter.config import settings_of
from dbt.adapters.spark_mt.adapter.materialization import decide, plan_decision
from dbt.adapters.spark_mt.adapter.python_models import require_sql
from dbt.adapters.spark_mt.adapter.responses import response_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    MaterializedTableError,
    did_you_mean,
)
from dbt.adapters.spark_mt.execution.results import StatementOutcome
from dbt.adapters.spark_mt.handle import translated
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict, refused
from dbt.adapters.spark_mt.statements.parser import ParsedStatement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.adapter.config import ModelSettings
    from dbt.adapters.spark_mt.adapter.materialization import Decision
    from dbt.adapters.spark_mt.api import Declared, MaterializedTables
    from dbt.adapters.spark_mt.changes.drift import Drift
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.relation import SparkMTRelation


MATERIALIZED_TABLE = "materialized_table"
_EPHEMERAL = "ephemeral"
_SOURCE = "source"
_RELATIONAL = frozenset({"model", "seed", "snapshot", _SOURCE})
_TAG = "tag:"
_FAIL_ON = {
    "refused": {Verdict.REFUSED},
    "rebuilt": {Verdict.REFUSED, Verdict.REBUILT},
    "any": set(Verdict) - {Verdict.UNCHANGED},
}


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node of a dbt project that makes `relation`; an ephemeral model makes none."""

    unique_id: str
    name: str
    materialized: str
    relation: TableName
    tags: tuple[str, ...] = ()


def select_models(models: Iterable[ModelNode], select: object) -> tuple[ModelNode, ...]:
    """Return the models of materialized tables that `select` names, in the given order.

    Args:
        models: All models.
        select: What the user gave: None for all, names with `*` or `tag:<tag>` in a text or list.

    Raises:
        MaterializedTableError: Some name or tag fits no model; all of them are listed.
    """
    models = tuple(models)
    candidates = tuple(model for model in models if model.materialized == MATERIALIZED_TABLE)
    if select is None:
        return candidates
    wanted = _words(select)
    unknown = [word for word in wanted if not any(_fits(model, word) for model in candidates)]
    if unknown or not wanted:
        problems = [_problem(word, models, candidates) for word in unknown] or ["it is empty"]
        raise conditions.UNKNOWN_MODEL(violations=problems)
    return tuple(model for model in candidates if any(_fits(model, word) for word in wanted))


def dependency_order(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return all ids such that parents come before their children; alphabetical where free."""
    sorter = TopologicalSorter({child: sorted(parents[child]) for child in sorted(parents)})
    return tuple(sorter.static_order())


def _words(select: object) -> Sequence[str]:
    if isinstance(select, str):
        return select.replace(",", " ").split()
    if isinstance(select, list | tuple) and all(isinstance(word, str) for word in select):
        return [word.strip() for word in select if word.strip()]
    raise conditions.UNKNOWN_MODEL(
        violations=[f"it is neither a text nor a list of texts: {select!r}"]
    )


def _fits(model: ModelNode, word: str) -> bool:
    if word.startswith(_TAG):
        return any(fnmatchcase(tag, word.removeprefix(_TAG)) for tag in model.tags)
    return fnmatchcase(model.name, word) or model.unique_id == word


def _problem(word: str, models: Sequence[ModelNode], candidates: Sequence[ModelNode]) -> str:
    if word.startswith(_TAG):
        tags = {tag for model in candidates for tag in model.tags}
        known = (_TAG + tag for tag in tags)
        return f"no such model is tagged {word.removeprefix(_TAG)}.{did_you_mean(word, known)}"
    other = next((model for model in models if model.name == word), None)
    if other is not None:
        return f"the model {word} is of materialization {other.materialized}."
    return f"there is no model {word}.{did_you_mean(word, (m.name for m in candidates))}"


def nodes_in_order(manifest: Any) -> tuple[ModelNode, ...]:  # noqa: ANN401 - dbt-core's Manifest
    """Return every node that makes a relation, parents before their children."""
    nodes = {uid: node for uid, node in manifest.nodes.items() if node.resource_type in _RELATIONAL}
    parents = {
        uid: [parent for parent in node.depends_on_nodes if parent in nodes]
        for uid, node in nodes.items()
    }
    found = []
    for uid in dependency_order(parents):
        node = nodes[uid]
        materialized = node.config.get("materialized") or ""
        relation = _relation_name(node)
        found.append(ModelNode(uid, node.name, materialized, relation, tuple(node.tags)))
    return tuple(found)


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
        if node.config.get("materialized") == _EPHEMERAL:
            left += node.depends_on_nodes
        else:
            yield _relation_name(node)


def _relation_name(node: Any) -> TableName:  # noqa: ANN401 - dbt-core's node
    name = node.identifier if node.resource_type == _SOURCE else node.alias
    return TableName.of(*filter(None, (node.database, node.schema, name)))


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """What a run would do for one model; `drift` is what changed outside of dbt."""

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
        labelled: tuple[tuple[str, Iterable[str]], ...] = (
            ("change", summary.changes),
            ("computed by", filter(None, [summary.strategy])),
            ("engine", filter(None, [summary.engine])),
            ("because", summary.reasons),
            ("not used", summary.not_used),
            ("keeps", summary.keeps),
            ("loses", summary.loses),
            ("reason", summary.violations),
            ("note", self.notes),
            ("warning", summary.warnings),
            ("drift", map(str, self.drift)),
        )
        for label, texts in labelled:
            for text in texts:
                first, *more = text.splitlines() or [""]
                yield f"  {label:<12}{first}"
                yield from (f"  {'':<12}{line}" for line in more)

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
            raise conditions.INVALID_VALUE(detail=f"fail_on is {fail_on!r}; it can be {known}.")
        return tuple(
            f"{plan.summary.table} would be {plan.summary.verdict.value}"
            for plan in self.plans
            if plan.summary.verdict in _FAIL_ON[fail_on]
        )


@dataclass(frozen=True, slots=True)
class Project:
    """A dbt project, and what there is of its relations.

    Args:
        config: Of dbt's run.
        manifest: Of the project.
        tables: The materialized tables.
        existing: Returns the relation that has a name; None if none has.
        made_in: Returns the format of the tables that are made in a catalog.
    """

    config: Any
    manifest: Any
    tables: MaterializedTables
    existing: Callable[[TableName], SparkMTRelation | None]
    made_in: Callable[[str], TableFormat]


def plan_models(project: Project, models: Iterable[ModelNode], *, full_refresh: bool) -> PlanReport:
    """Plan a run of models, in their order; the manifest is not changed.

    `full_refresh` is whether the run would have `--full-refresh`; a model's config wins.
    """
    plans: list[ModelPlan] = []
    changing: list[TableName] = []
    for model in models:
        plan = _plan(project, model, changing, full_refresh=full_refresh)
        plans.append(plan)
        changing += [model.relation] if plan.changes_rows else []
    return PlanReport(tuple(plans))


def _plan(
    project: Project, model: ModelNode, changing: Collection[TableName], *, full_refresh: bool
) -> ModelPlan:
    """Plan a run of a model; `changing` are the tables that the same run would change before."""
    tables, existing = project.tables, project.existing(model.relation)
    ours = existing is not None and tables.is_materialized(model.relation)
    upstream = set(upstream_relations(project.manifest, model.unique_id))
    missing = sorted(str(name) for name in upstream if project.existing(name) is None)
    if missing:  # before its sources are there, a query cannot be analysed
        created = existing is None
        verdict = Verdict.CREATED if created else Verdict.UNKNOWN
        summary = PlanSummary(str(model.relation), verdict, ("table created",) if created else ())
        note = f"the query cannot be analysed yet: {', '.join(missing)} not there"
        return ModelPlan(model.unique_id, summary, notes=(note,))
    if existing is not None and existing.is_table and ours:
        existing = existing.as_table()
    notes: tuple[str, ...] = ()
    try:
        rendered = _rendered(project, model.unique_id, existing, full_refresh=full_refresh)
        summary, notes = plan_decision(tables, *rendered)
    except MaterializedTableError as error:
        summary = refused(str(model.relation), error)
    except DbtRuntimeError as error:
        text = (str(error.msg),)
        summary = PlanSummary(str(model.relation), Verdict.REFUSED, violations=text)
    drift = tables.drift(model.relation.sql) if ours else ()
    awaited = upstream & set(changing)
    if summary.condition == conditions.QUERY_ERROR.name and awaited:
        # The query may fit its sources after the run has changed them.
        listed = ", ".join(sorted(map(str, awaited)))
        note = (
            f"the query does not fit its sources as they are; the run would change {listed} before"
        )
        summary, notes = replace(summary, verdict=Verdict.UNKNOWN), (*notes, note)
    return ModelPlan(model.unique_id, summary, drift, notes)


def _rendered(
    project: Project, unique_id: str, existing: SparkMTRelation | None, *, full_refresh: bool
) -> tuple[Decision, ParsedStatement, ModelSettings, str]:
    """The decision of a run, its statement, the model's config and its compiled SQL.

    Only queries that the model itself asks for are run.
    """
    from dbt.compilation import Compiler  # noqa: PLC0415 - dbt-core is slow to load
    from dbt.context.providers import generate_runtime_model_context  # noqa: PLC0415

    config, manifest = project.config, project.manifest
    node: Any = deepcopy(manifest.nodes[unique_id])
    node = Compiler(config).compile_node(node, manifest, {}, write=False)
    context = generate_runtime_model_context(node, config, manifest)
    with translated("config"):
        require_sql(context["model"], MATERIALIZED_TABLE)
        made_in = project.made_in(node.database)
        settings = settings_of(context["config"].model, config.models, made_in)
    wanted = node.config.get("full_refresh")
    replaces = full_refresh if wanted is None else bool(wanted)
    decision = decide(context["this"], existing, settings, full_refresh=replaces)
    query: str = node.compiled_code
    statement: str = context["materialized_table_statement"](decision, settings, query)
    return decision, ParsedStatement.of(statement), settings, query


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
    taken = {str(node.relation).lower() for node in nodes if node.materialized != _EPHEMERAL}
    by_id = {node.unique_id: node for node in nodes}
    for table in tables:
        owner = dict(table.owner).get("dbt", "")
        if owner.split(".")[1:2] == [project] and str(table.name).lower() not in taken:
            yield OrphanedTable(table.name, owner, _reason(owner, by_id))


def _reason(owner: str, by_id: Mapping[str, ModelNode]) -> str:
    node = by_id.get(owner)
    if node is None:
        return "the model is gone"
    if node.materialized == _EPHEMERAL:
        return "the model is ephemeral now"
    return f"the model makes {node.relation} now"


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation did to one table, or why it failed."""

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
    """Suspend a table; like the operations below, it returns what was done in a few words."""
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
