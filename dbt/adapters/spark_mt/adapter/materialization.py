"""Decision of a run for a model.

`dbt run` carries out what `decide` returns, and `plan_materialized_tables` reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.adapter.catalog import format_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution import results
from dbt.adapters.spark_mt.handle import STAGED, unstaged
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict

if TYPE_CHECKING:
    from dbt.adapters.base.relation import BaseRelation

    from dbt.adapters.spark_mt.adapter.config import ModelSettings
    from dbt.adapters.spark_mt.adapter.responses import MaterializedTableResponse
    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.relation import SparkMTRelation
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement

BACKUP = "__dbt_backup"
_SENTENCES = ("changes", "keeps", "loses", "warnings", "violations", "reasons", "not_used")


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
    # A table without versions cannot be compared, and is refused in any case.
    is_comparable = format_of(existing) is not None
    is_adopted = settings.adopt is not None and (is_comparable or not settings.adopt.if_equal)
    if is_adopted and existing.is_table and not full_refresh:
        return Decision(Method.ADOPT, ours, ours, existing, validates, settings.adopt)
    if not (existing.is_view or full_refresh or validates):
        raise conditions.EXPECTED(table=name_of(relation), what="a plain table")
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
