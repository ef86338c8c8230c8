"""EXPLAIN and plan summaries: the steps of a plan as rows, with a verdict and its cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.positions import Positions, SourcePositions
    from dbt.adapters.spark_mt.strategies.strategy import Choice


ExplainRow = tuple[str, str, str, str, str, str]
"""step, change, effect, keeps, loses, reason."""

_KEEPS = "the old rows stay visible until the commit; table id, history, grants"


_ROWS: dict[type, ExplainRow] = {
    steps.VerifyRows: (
        "verify rows",
        "",
        "rows are checked, none written",
        "rows",
        "nothing",
        "constraints",
    ),
    steps.Publish: (
        "publish",
        "",
        "properties and comments follow the commit",
        "rows",
        "nothing",
        "",
    ),
    steps.Recluster: ("cluster", "", "clustering columns set again", "rows", "nothing", ""),
    steps.Register: ("register", "", "a row in the registry", "rows", "nothing", ""),
}
"""The rows of steps that do the same for every table."""
_NOTHING = ("", "nothing")


def explain(plan: steps.Plan) -> tuple[ExplainRow, ...]:
    """Return the rows of EXPLAIN: every step, why the engine was chosen, and what to know."""
    if not plan.steps:
        return (("none", "", "unchanged: nothing would be done", "everything", "nothing", ""),)
    changes = "; ".join(plan.changes)
    rows = [_row(step, changes) for step in plan.steps]
    if plan.choice is not None:
        rows += _reasons(plan.choice)
    rows += [("note", "", warning, "", "", "") for warning in plan.warnings]
    return tuple(rows)


def _reasons(choice: Choice) -> Iterator[ExplainRow]:
    """One row for each reason of the choice, and for each of a strategy that is not used."""
    for reason in choice.reasons:
        yield ("engine", reason.subject, choice.name, "", "", str(reason))
    for strategy, reason in choice.refusals:
        yield ("not used", reason.subject, strategy, "", "", str(reason))


def _row(step: steps.Step, changes: str) -> ExplainRow:
    match step:
        case steps.Fill():
            row = _fill_row(step, changes)
        case steps.PrepareStorage():
            names = ["the names of columns are mapped"] if step.maps_names else []
            nullable = [f"{column} may be NULL" for column in step.nullable or ()]
            effect = "table properties set" if names else "NOT NULL of the table dropped"
            reason = "column names" if names else "the new rows"
            what = ", ".join(names + nullable)
            row = ("prepare storage", what, effect, "rows", "nothing", reason)
        case steps.ApplyChanges():
            what = "rows changed in" if step.changes_rows else "rows added to"
            read = _range(step.since, step.run.positions, what)
            effect = f"computed by {step.run.choice.name}: {read}; one commit"
            reason = "each source row gives its own rows"
            if step.changes_rows:
                reason = "the rows are those of the query over all source rows"
            elif step.replaces_keys:
                reason = "rows of touched keys are those of the new state"
            row = ("apply changes", changes, effect, "all other rows", "nothing", reason)
        case steps.CommitDefinition(adopts=True):
            effect = "the table is taken over as it is; one commit without rows"
            row = ("adopt", changes, effect, "rows, history, table id", "nothing", "")
        case steps.CommitDefinition():
            effect = "one commit without rows"
            row = ("commit definition", changes, effect, "rows", "nothing", "")
        case _:
            row = _ROWS[type(step)]
    return row


def _fill_row(step: steps.Fill, changes: str) -> ExplainRow:
    effect = f"computed by {step.run.choice.name}: {_over(step)}; one commit"
    resolved = step.definition.resolved
    freshness = resolved.freshness.sql + ("" if resolved.declared.freshness else " by default")
    reason = f"freshness {freshness}, {resolved.refresh_mode.value}"
    if step.mode is steps.FillMode.CREATE:
        return ("create", changes, effect, "", "nothing", reason)
    if step.mode is steps.FillMode.REPLACE:
        return ("replace", changes, effect, _KEEPS, "the old rows", reason)
    return ("fill", changes, effect, _KEEPS, "the old query's rows", reason)


def _over(step: steps.Fill) -> str:
    positions = sorted(step.run.positions.items())
    if not positions:
        return "no sources"
    if step.since is not None:
        return _range(step.since, step.run.positions)
    return ", ".join(f"{name} at {position}" for name, position in positions)


def _range(since: SourcePositions, upto: Positions, what: str = "rows added to") -> str:
    parts = (f"{name} after {after} up to {upto[name]}" for name, after in since)
    return f"{what} {', '.join(parts)}"


class Verdict(Enum):
    """What a statement would do to a table, the lightest first."""

    UNCHANGED = "unchanged"
    METADATA_ONLY = "metadata only"
    """The definition, comments or properties change; no row is read or written."""
    IN_PLACE = "in place"
    """The rows that are there stay; they are checked, get columns, or more rows are added."""
    CREATED = "created"
    REBUILT = "rebuilt"
    """All rows are computed again and replaced in one commit."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Something that the query reads is not there yet."""


def verdict_of(plan: steps.Plan) -> Verdict:
    """Decide the verdict on a plan of a CREATE or an ALTER by what its steps do to the rows."""
    if not plan.changes:
        return Verdict.UNCHANGED
    fills = [step for step in plan.steps if isinstance(step, steps.Fill)]
    if fills:
        created = any(step.mode is steps.FillMode.CREATE for step in fills)
        return Verdict.CREATED if created else Verdict.REBUILT
    return Verdict.METADATA_ONLY if all(map(_is_metadata, plan.steps)) else Verdict.IN_PLACE


def _is_metadata(step: steps.Step) -> bool:
    if isinstance(step, steps.CommitDefinition):
        return not step.new_columns
    return isinstance(step, steps.Publish | steps.Register)


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
        not_used: Strategies that it is not kept by, each with a reason.
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
    not_used: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows."""
        return {**asdict(self), "verdict": self.verdict.value}


def summarize(plan: steps.Plan) -> PlanSummary:
    """Summarise a plan of a CREATE or an ALTER, from the same rows as EXPLAIN's."""
    rows = explain(plan)
    verdict = verdict_of(plan)
    pairs = zip(plan.steps, rows, strict=False)  # notes and a plan without steps have rows as well
    deciding = [row for step, row in pairs if step.phase is not steps.Phase.AFTER]
    writing = [step for step in plan.steps if isinstance(step, steps.Fill | steps.ApplyChanges)]
    choice = plan.choice
    return PlanSummary(
        table=str(plan.table),
        verdict=verdict,
        changes=plan.changes,
        strategy="; ".join(_distinct(step.run.choice.name for step in writing)),
        keeps=_distinct(row[3] for row in deciding or rows),
        loses=_distinct(row[4] for row in deciding or rows),
        warnings=plan.warnings,
        engine=choice.name if choice else "",
        reasons=tuple(map(str, choice.reasons)) if choice else (),
        not_used=tuple(f"{name}: {why}" for name, why in choice.refusals) if choice else (),
    )


def explained(plan: steps.Plan) -> tuple[ExplainRow, ...]:
    """Return the rows of EXPLAIN: every step, and in the last row what they come to."""
    rows = explain(plan)
    summary = summarize(plan)
    if summary.verdict is Verdict.UNCHANGED:
        return rows
    changes, keeps, loses = map("; ".join, (summary.changes, summary.keeps, summary.loses))
    return (*rows, ("in total", changes, summary.verdict.value, keeps, loses or "nothing", ""))


def refused(table: str, error: MaterializedTableError) -> PlanSummary:
    """Summarise why a statement would be refused; nothing would be changed."""
    reasons = error.violations or ()
    head = str(error).split("\n  - ", 1)[0] if reasons else str(error)
    remedy = () if not reasons or not error.kind.remedy else (str(error).rsplit("\n", 1)[-1],)
    return PlanSummary(
        table=table,
        verdict=Verdict.REFUSED,
        keeps=("everything: nothing would be changed",),
        condition=error.condition,
        violations=(head, *reasons, *remedy),
    )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text not in _NOTHING))
