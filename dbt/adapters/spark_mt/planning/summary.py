"""What a statement would do to a table, for people who decide and for machines that watch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.planning.explain import computed_by, explain
from dbt.adapters.spark_mt.planning.phase import Phase
from dbt.adapters.spark_mt.planning.steps import ApplyChanges, Fill
from dbt.adapters.spark_mt.planning.verdict import Verdict, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.planning.explain import ExplainRow
    from dbt.adapters.spark_mt.planning.steps import Plan

_NOTHING = ("", "nothing")


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan in short.

    Args:
        table: Its full name.
        changes: One sentence per change of the definition.
        strategy: How rows would be computed; empty where none are.
        keeps: What stays as it is.
        loses: What is gone afterwards.
        warnings: Sentences that the user should read.
        condition: Of a refused statement: the error's condition.
        violations: Of a refused statement: every reason, with its remedy.
        engine: How the table is kept from then on: `stream/append`.
        reasons: Why it is kept so, each with its code.
    """

    table: str
    verdict: Verdict
    changes: tuple[str, ...] = ()
    strategy: str = ""
    keeps: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    condition: str = ""
    violations: tuple[str, ...] = ()
    engine: str = ""
    reasons: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows."""
        return {**asdict(self), "verdict": self.verdict.value}


def summarize(plan: Plan) -> PlanSummary:
    """Put a plan of a CREATE or an ALTER in short; the same rows as EXPLAIN's stand behind it."""
    rows = explain(plan)
    verdict = verdict_of(plan)
    pairs = zip(plan.steps, rows, strict=False)  # notes and a plan without steps have rows as well
    deciding = [row for step, row in pairs if step.phase is not Phase.AFTER]
    steps = [step for step in plan.steps if isinstance(step, Fill | ApplyChanges)]
    engine = plan.engine
    return PlanSummary(
        table=str(plan.table),
        verdict=verdict,
        changes=plan.changes,
        strategy="; ".join(_distinct(map(computed_by, steps))),
        keeps=_distinct(row[3] for row in deciding or rows),
        loses=_distinct(row[4] for row in deciding or rows),
        warnings=plan.warnings,
        engine=engine.name if engine else "",
        reasons=tuple(map(str, engine.reasons)) if engine else (),
    )


def explained(plan: Plan) -> tuple[ExplainRow, ...]:
    """Return the rows of EXPLAIN: every step, and in the last row what they come to."""
    rows = explain(plan)
    summary = summarize(plan)
    if summary.verdict is Verdict.UNCHANGED:
        return rows
    changes, keeps, loses = map("; ".join, (summary.changes, summary.keeps, summary.loses))
    return (*rows, ("in total", changes, summary.verdict.value, keeps, loses or "nothing", ""))


def refused(table: str, error: MaterializedTableError) -> PlanSummary:
    """Tell why a statement would be refused; nothing would be changed."""
    reasons = error.violations or ()
    head = str(error).split("\n  - ", 1)[0] if reasons else str(error)
    remedy = () if not reasons or not error.remedy else (str(error).rsplit("\n", 1)[-1],)
    return PlanSummary(
        table=table,
        verdict=Verdict.REFUSED,
        keeps=("everything: nothing would be changed",),
        condition=error.condition,
        violations=(head, *reasons, *remedy),
    )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text not in _NOTHING))
