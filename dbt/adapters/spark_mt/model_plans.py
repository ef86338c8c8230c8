"""What `plan_materialized_tables` prints: for people, or as one JSON document. Pure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.planning.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.changes.drift import Drift
    from dbt.adapters.spark_mt.planning.summary import PlanSummary

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
