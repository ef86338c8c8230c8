"""A plan for people: the same steps that would be executed, as rows (semantics 11)."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    Fill,
    FillMode,
    Method,
    Plan,
    PrepareStorage,
    Publish,
    Recluster,
    Register,
    Step,
    VerifyRows,
)
from dbt.adapters.spark_mt.planning.windows import Strategy
from dbt.adapters.spark_mt.resolution.engines import BATCH, INCREMENTAL, RECOMPUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.resolution.engines import Engine

ExplainRow = tuple[str, str, str, str, str, str]
"""step, change, effect, keeps, loses, reason."""

_KEEPS = "the old rows stay visible until the commit; table id, history, grants"


def explain(plan: Plan) -> tuple[ExplainRow, ...]:
    """Return the rows of EXPLAIN: every step, why the engine was chosen, and what to know."""
    if not plan.steps:
        return (("none", "", "unchanged: nothing would be done", "everything", "nothing", ""),)
    changes = "; ".join(plan.changes)
    rows = [_row(step, changes) for step in plan.steps]
    if plan.engine is not None:
        rows += _reasons(plan.engine)
    rows += [("note", "", warning, "", "", "") for warning in plan.warnings]
    return tuple(rows)


def _reasons(engine: Engine) -> Iterator[ExplainRow]:
    """One row for each operator and each source that had a part in the choice."""
    for reason in engine.reasons:
        yield ("engine", reason.subject, f"kept by {engine.name}", "", "", str(reason))


@singledispatch
def _row(step: Step, changes: str) -> ExplainRow:
    raise TypeError(step, changes)


@_row.register
def _(step: PrepareStorage, changes: str) -> ExplainRow:  # noqa: ARG001 - one signature for all
    listed = ", ".join(f"{key} = {value}" for key, value in step.properties)
    return ("prepare storage", listed, "table properties set", "rows", "nothing", "column names")


@_row.register
def _(step: VerifyRows, changes: str) -> ExplainRow:  # noqa: ARG001 - one signature for all
    return ("verify rows", "", "rows are checked, none written", "rows", "nothing", "constraints")


@_row.register
def _(step: Fill, changes: str) -> ExplainRow:
    effect = f"computed by {computed_by(step)}: {_over(step)}; one commit"
    reason = _freshness(step.definition.resolved)
    if step.mode is FillMode.CREATE:
        return ("create", changes, effect, "", "nothing", reason)
    if step.mode is FillMode.REPLACE:
        return ("replace", changes, effect, _KEEPS, "the old rows", reason)
    return ("fill", changes, effect, _KEEPS, "the old query's rows", reason)


@_row.register
def _(step: ApplyChanges, changes: str) -> ExplainRow:
    effect = f"computed by {computed_by(step)}: {_changes(step)}; one commit"
    what = "rows of touched keys are those of the new state"
    reason = what if step.method is Method.MERGE else "each source row gives its own rows"
    return ("apply changes", changes, effect, "all other rows", "nothing", reason)


@_row.register
def _(step: CommitDefinition, changes: str) -> ExplainRow:
    if step.adopts:
        effect = "the table is taken over as it is; one commit without rows"
        return ("adopt", changes, effect, "rows, history, table id", "nothing", "")
    return ("commit definition", changes, "one commit without rows", "rows", "nothing", "")


@_row.register
def _(step: Publish, changes: str) -> ExplainRow:  # noqa: ARG001 - one signature for all
    return ("publish", "", "properties and comments follow the commit", "rows", "nothing", "")


@_row.register
def _(step: Recluster, changes: str) -> ExplainRow:  # noqa: ARG001 - one signature for all
    return ("cluster", "", "clustering columns set again", "rows", "nothing", "")


@_row.register
def _(step: Register, changes: str) -> ExplainRow:  # noqa: ARG001 - one signature for all
    return ("register", "", "a row in the registry", "rows", "nothing", "")


def _over(step: Fill) -> str:
    positions = sorted(step.run.positions.items())
    if not positions:
        return "no sources"
    if step.since is not None:
        return _range(step.since, step.run.positions)
    return ", ".join(f"{name} at {position}" for name, position in positions)


def computed_by(step: Fill | ApplyChanges) -> str:
    """Return the engine and strategy by which a step computes rows: `incremental/merge`.

    Whatever keeps a table later on, one query over one state of its sources fills it; unless its
    rows come out of a stream that cannot go on without the checkpoint in which it began.
    """
    if step.run.engine is not None and step.run.keeps_checkpoint and isinstance(step, Fill):
        return step.run.engine.name
    full = step.definition.resolved.refresh_mode is RefreshMode.FULL
    engine = BATCH if full else INCREMENTAL
    if isinstance(step, ApplyChanges):
        return f"{engine}/{step.method.value}"
    return f"{engine}/{RECOMPUTE if step.since is None else Strategy.WINDOW.value}"


def _changes(step: ApplyChanges) -> str:
    return _range(step.since, step.run.positions)


def _range(since: SourcePositions, upto: Positions) -> str:
    parts = (f"{name} after {after} up to {upto[name]}" for name, after in since)
    return "rows added to " + ", ".join(parts)


def _freshness(resolved: ResolvedDefinition) -> str:
    freshness = resolved.freshness.sql + ("" if resolved.asked.freshness else " by default")
    return f"freshness {freshness}, {resolved.refresh_mode.value}"
