"""Materialization of a model: its column list, the decision, its plan and its response.

`decide` is the one decision. `dbt run` carries it out, and `plan_materialized_tables` reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution import results
from dbt.adapters.spark_mt.handle import STAGED, unstaged
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbt.adapters.base.relation import BaseRelation

    from dbt.adapters.spark_mt.adapter.config import ModelSettings
    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.relation import SparkMTRelation
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement


BACKUP = "__dbt_backup"
_SENTENCES = ("changes", "keeps", "loses", "warnings", "violations", "reasons", "not_used")
_NOT_RENDERED = ("unique", "foreign_key", "custom")


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a column list, and what could not be put into it."""

    items: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def column_items(
    model: Mapping[str, Any], key: Sequence[str], columns: Sequence[tuple[str, str]] | None
) -> Items:
    """The items of a model's column list.

    Args:
        model: The model as Jinja has it, with `columns` and `constraints`.
        key: The primary key of its config; empty where a contract may name it.
        columns: Name and type of the query's columns if descriptions become comments, else None.
    """
    if model["config"]["contract"]["enforced"]:
        return contract_items(model, key, comments=columns is not None)
    return documented_items(columns or [], model["columns"] if columns else {}, key)


def contract_items(model: Mapping[str, Any], key: Sequence[str], *, comments: bool) -> Items:
    """The items for a model with an enforced contract; arguments as for `column_items`."""
    items, constraints = [], [dict(each) for each in model.get("constraints", ())]
    for column in model["columns"].values():
        own = column.get("constraints", ())
        constraints += [{**each, "columns": [column["name"]]} for each in own]
        not_null = " NOT NULL" if any(each["type"] == "not_null" for each in own) else ""
        comment = _comment(column.get("description")) if comments else ""
        items.append(f"{quote(column['name'])} {column['data_type']}{not_null}{comment}")
    named = next((each.get("columns") for each in constraints if each["type"] == "primary_key"), ())
    items += _key_item(key or named or ())
    for each in constraints:
        if each["type"] == "check":
            name = f"CONSTRAINT {quote(each['name'])} " if each.get("name") else ""
            items.append(f"{name}CHECK ({each['expression']})")
    warnings = (
        f"constraint {each['type']} ({', '.join(each.get('columns', ()))}): "
        "no materialized table has it."
        for each in constraints
        if each["type"] in _NOT_RENDERED and each.get("warn_unsupported", True)
    )
    return Items(tuple(items), tuple(warnings))


def documented_items(
    columns: Sequence[tuple[str, str]], docs: Mapping[str, Any], key: Sequence[str]
) -> Items:
    """The items for a model without contract.

    Args:
        columns: Name and type of the query's columns, in their order.
        docs: The model's documented columns; where there are none, the columns need no items.
        key: The primary key.
    """
    by_name = {name.lower(): column.get("description") for name, column in docs.items()}
    if not any(by_name.values()):
        return Items(_key_item(key))
    described = (f"{quote(n)} {t}{_comment(by_name.get(n.lower()))}" for n, t in columns)
    return Items((*described, *_key_item(key)))


def _comment(text: str | None) -> str:
    return f" COMMENT {quote_text(text)}" if text else ""


def _key_item(columns: Sequence[str]) -> tuple[str, ...]:
    listed = ", ".join(map(quote, columns))
    return (f"PRIMARY KEY ({listed}) NOT ENFORCED",) if listed else ()


@dataclass(frozen=True, slots=True)
class RelationStep:
    """What the adapter does to a relation before or after a statement."""

    relation: SparkMTRelation


class Drop(RelationStep):
    """Drop the relation, if it is there."""


class Release(RelationStep):
    """Make a plain table of the materialized one."""


@dataclass(frozen=True, slots=True)
class Rename(RelationStep):
    """Rename the relation."""

    to: SparkMTRelation


def swap(
    existing: SparkMTRelation, staged: SparkMTRelation, relation: SparkMTRelation
) -> tuple[RelationStep, ...]:
    """The steps that give a staged relation the name of an existing one, which they drop.

    The staged relation has its rows before them. A failure leaves the existing one there.
    """
    backup = existing.with_suffix(BACKUP)
    return Drop(backup), Rename(existing, backup), Rename(staged, relation), Drop(backup)


class Method(Enum):
    """How a run brings a relation in line with its model."""

    ALTER = "alter"
    """CREATE OR ALTER; creates the table if there is none."""
    REPLACE = "replace"
    """CREATE OR REPLACE, for a full refresh."""
    ADOPT = "adopt"
    """CREATE OR ALTER that takes a plain table over with its rows."""
    SWAP = "swap"
    """CREATE OR ALTER of a staged table, which then takes the name of a view or plain table."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a run does for a model.

    Args:
        relation: The model's materialized table.
        target: The relation that the statement names: the staged one for a swap.
        existing: What has the model's name now; None if nothing has.
        validates: Whether the statement is only checked (`--empty` and `--sample`), because the
            query that dbt renders then is not the model's.
        adopt: On which terms a plain table is adopted; None if none is.
    """

    method: Method
    relation: SparkMTRelation
    target: SparkMTRelation
    existing: SparkMTRelation | None
    validates: bool = False
    adopt: results.AdoptionTerms | None = None

    @property
    def replaces(self) -> bool:
        """Whether the statement is CREATE OR REPLACE."""
        return self.method is Method.REPLACE

    @property
    def stand_in(self) -> SparkMTRelation | None:
        """The view that a check creates in place of a missing table.

        Downstream models can then run. The next run without the flag replaces it.
        """
        if self.validates and (self.existing is None or self.existing.is_view):
            return self.relation.as_view()
        return None

    @property
    def steps_before(self) -> tuple[RelationStep, ...]:
        """What is done to relations before the statement."""
        return (Drop(self.target),) if self.method is Method.SWAP else ()

    @property
    def steps_after(self) -> tuple[RelationStep, ...]:
        """What is done to relations when the target has its rows."""
        if self.method is not Method.SWAP or self.existing is None:
            return ()
        return swap(self.existing, self.target, self.relation)

    @property
    def result(self) -> SparkMTRelation:
        """The relation that is there after the run."""
        if self.validates:
            return self.stand_in or self.existing or self.relation
        return self.relation


def decide(
    relation: SparkMTRelation,
    existing: SparkMTRelation | None,
    settings: ModelSettings,
    *,
    full_refresh: bool,
    validates: bool = False,
) -> Decision:
    """Decide what a run does for a model.

    Args:
        relation: The model's relation.
        existing: What has its name now, with the type that it really has.
        settings: The model's validated config.
        full_refresh: Whether the run replaces what is there.
        validates: Whether the statement is only checked.

    Raises:
        NotMaterializedError: A plain table has the name that cannot be adopted. It may hold history
            that no query rebuilds, so only a full refresh takes its place.
    """
    ours = relation.as_table()
    if existing is None or existing.is_materialized_table:
        method = Method.REPLACE if full_refresh else Method.ALTER
        return Decision(method, ours, ours, existing, validates)
    # A table of another format has no versions to compare, and is refused in any case.
    is_adopted = settings.adopt is not None and (existing.is_delta or not settings.adopt.if_equal)
    if is_adopted and existing.is_table and not full_refresh:
        return Decision(Method.ADOPT, ours, ours, existing, validates, settings.adopt)
    if not (existing.is_view or full_refresh or validates):
        raise conditions.EXPECTED(table=name_of(relation), kind="plain table")
    return Decision(Method.SWAP, ours, ours.with_suffix(STAGED), existing, validates)


def settled(
    tables: MaterializedTables,
    decision: Decision,
    statement: ParsedStatement,
    settings: ModelSettings,
) -> results.KeptConfiguration:
    """Apply `on_configuration_change`, which governs everything but the query.

    Raises:
        ConfigurationChangedError: The configuration changed, and the policy is `fail`.
    """
    policy = settings.on_configuration_change
    if policy == "apply" or decision.method is not Method.ALTER or decision.existing is None:
        return results.KeptConfiguration(statement)
    kept = tables.keep_configuration(statement)
    if kept.left and policy == "fail":
        raise conditions.CONFIGURATION_CHANGED(
            table=name_of(decision.relation), violations=kept.left
        )
    return kept


def check_swap(tables: MaterializedTables, decision: Decision, query: str) -> None:
    """Refuse a query that reads the relation whose place the table would take.

    Raises:
        InvalidDefinitionError: It does.
    """
    name = name_of(decision.relation)
    if decision.method is Method.SWAP and tables.reads(query, name):
        raise conditions.READS_ITSELF(table=name, path=f"{name} reads {name}")


def plan_decision(
    tables: MaterializedTables,
    decision: Decision,
    statement: ParsedStatement,
    settings: ModelSettings,
    query: str,
) -> tuple[PlanSummary, tuple[str, ...]]:
    """Return the plan of a decision, and notes on it; nothing is changed.

    Arguments as for `SparkMTAdapter.materialize`.

    Raises:
        MaterializedTableError: The run would refuse it.
    """
    check_swap(tables, decision, query)
    kept = settled(tables, decision, statement, settings)
    summary = tables.plan(kept.parsed, adopt=decision.adopt)
    if decision.method is Method.SWAP and decision.existing is not None:
        summary = _unstaged(summary)
        if summary.verdict is not Verdict.REFUSED:
            is_view = decision.existing.is_view
            kind = "view" if is_view else "plain table with its rows and history"
            verdict = Verdict.CREATED if is_view else Verdict.REBUILT
            summary = replace(summary, verdict=verdict, loses=(f"the {kind}",))
    notes = [f"left by on_configuration_change = continue: {change}" for change in kept.left]
    is_compared = decision.adopt is not None and decision.adopt.if_equal
    if is_compared and summary.verdict is not Verdict.REFUSED:
        notes.append("the run computes the query to compare the rows, and refuses others")
    return summary, tuple(notes)


def _unstaged(summary: PlanSummary) -> PlanSummary:
    texts: dict[str, Any] = {
        name: tuple(map(unstaged, getattr(summary, name))) for name in _SENTENCES
    }
    return replace(summary, table=unstaged(summary.table), **texts)


def completed(
    response: MaterializedTableResponse, decision: Decision, kept: results.KeptConfiguration
) -> MaterializedTableResponse:
    """The response to a statement that was carried out for a decision, with all its warnings."""
    warnings = response.warnings
    if decision.method is Method.SWAP:
        warnings = [unstaged(warning) for warning in warnings]
    if kept.left:
        left = (
            "Configuration changes were identified and `on_configuration_change` was set to "
            f"`continue` for `{decision.relation}`: {'; '.join(kept.left)}"
        )
        warnings = [left, *warnings]
    return replace(response, warnings=warnings)


def name_of(relation: BaseRelation) -> TableName:
    """The name of a relation."""
    parts = (relation.database, relation.schema, relation.identifier)
    return TableName.of(*(part for part in parts if part))


@dataclass
class MaterializedTableResponse(AdapterResponse):
    """The facts of a materialized table's run.

    Args:
        action: CREATED, ALTERED, REPLACED, UNCHANGED …; None where only a refresh was asked for.
        changes: One sentence per change of the definition.
        refresh_mode: The mode that the table resolved to.
        refresh: REFRESHED or UP_TO_DATE; None when nothing was refreshed.
        strategy: How the refresh computed its result.
        rows: Rows that the refresh wrote.
        refresh_id: Names the refresh in the table's commits and in SHOW JOBS.
        positions_from: Source positions before, by source.
        positions_to: Source positions after.
        warnings: Sentences that the user should read.
        status: The table's status: ACTIVATED or SUSPENDED.
    """

    action: str | None = None
    changes: list[str] = field(default_factory=list)
    refresh_mode: str = ""
    refresh: str | None = None
    strategy: str | None = None
    rows: int | None = None
    refresh_id: str | None = None
    positions_from: dict[str, str] = field(default_factory=dict)
    positions_to: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    status: str = ""

    @property
    def is_altered(self) -> bool:
        """Whether the definition of an existing table was changed."""
        return self.action == results.Action.ALTERED.value

    @property
    def is_settled(self) -> bool:
        """Whether the run leaves the rows as they are: of a suspended or just adopted table."""
        return results.rows_stay(self.status, results.Action(self.action) if self.action else None)


def response_of(outcome: results.StatementOutcome) -> MaterializedTableResponse:
    """The response to a statement about materialized tables."""
    response = MaterializedTableResponse(
        _message=_message(outcome),
        action=outcome.action.value if outcome.action else None,
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
        status=outcome.status,
    )
    if (refresh := outcome.refresh) is not None:
        response.rows_affected = refresh.rows
        response.refresh = refresh.status.value
        response.strategy = refresh.strategy
        response.rows = refresh.rows
        response.refresh_id = refresh.refresh_id
        response.positions_from = dict(refresh.positions_from)
        response.positions_to = dict(refresh.positions_to)
        response.warnings += [w for w in refresh.warnings if w not in response.warnings]
    return response


def validated(outcome: results.StatementOutcome) -> MaterializedTableResponse:
    """The response to a statement that was only checked."""
    return MaterializedTableResponse(
        _message="VALIDATED",
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
    )


def _message(outcome: results.StatementOutcome) -> str:
    refresh, action = outcome.refresh, outcome.action
    if outcome.status == RefreshStatus.SUSPENDED.value:
        changed = f", {_altered(outcome)}" if action is results.Action.ALTERED else ""
        return f"{results.Action.SUSPENDED.value}{changed}"
    if refresh is None or action not in {None, results.Action.UNCHANGED, results.Action.ALTERED}:
        done = _altered(outcome) if action is results.Action.ALTERED else action and action.value
        return done or "OK"
    refreshed = "UP TO DATE"
    if refresh.status is not results.RefreshResult.UP_TO_DATE:
        refreshed = "REFRESHED" if refresh.rows is None else f"REFRESHED {refresh.rows} rows"
    return f"{_altered(outcome)}, {refreshed}" if action is results.Action.ALTERED else refreshed


def _altered(outcome: results.StatementOutcome) -> str:
    count = len(outcome.changes)
    return f"ALTERED {count} change{'' if count == 1 else 's'}"
