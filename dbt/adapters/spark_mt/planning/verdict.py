"""What a plan means for a table, in one word."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.steps import CommitDefinition, Fill, FillMode, Publish, Register

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.planning.steps import Plan, Step


class Verdict(Enum):
    """What a statement would do to a table, the lightest first."""

    UNCHANGED = "unchanged"
    METADATA_ONLY = "metadata only"
    """The definition, comments or properties change; no row is read or written."""
    IN_PLACE = "in place"
    """The rows that are there stay; they are checked, get columns, or more rows are added."""
    CREATED = "created"
    REBUILT = "rebuilt"
    """All rows are computed anew and replaced in one commit."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Something that the query reads is not there yet."""


def verdict_of(plan: Plan) -> Verdict:
    """Judge a plan of a CREATE or an ALTER by what its steps do to the rows."""
    if not plan.changes:
        return Verdict.UNCHANGED
    fills = [step for step in plan.steps if isinstance(step, Fill)]
    if fills:
        created = any(step.mode is FillMode.CREATE for step in fills)
        return Verdict.CREATED if created else Verdict.REBUILT
    return Verdict.METADATA_ONLY if all(map(_is_metadata, plan.steps)) else Verdict.IN_PLACE


def _is_metadata(step: Step) -> bool:
    if isinstance(step, CommitDefinition):
        return not step.new_columns
    return isinstance(step, Publish | Register)
