"""Statements of the design documents that their text alone decides: read, or refused with a fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.nodes import (
    CreateTable,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.errors import Condition, StatementSyntaxError

CREATE = "CREATE MATERIALIZED TABLE cat.db.t {0} AS SELECT a, b FROM s"
ALTER = "ALTER MATERIALIZED TABLE cat.db.t {0}"


@dataclass(frozen=True)
class Text:
    """A statement, and what its text comes to.

    Args:
        node: The class of the statement; None where it is Spark's, or refused.
        facts: Attributes of the statement by dotted name, or parameters of the error.
        error: Why it is refused.
    """

    flip: int
    section: str
    what: str
    sql: str
    node: type | None = None
    facts: dict[str, object] = field(default_factory=dict)
    error: Condition[StatementSyntaxError] | None = None
    differs: str = ""


def created(flip: int, section: str, clauses: str, differs: str = "", **declared: object) -> Text:
    """A CREATE that is read; `declared` are attributes of the definition."""
    facts = {f"declared.{name}": value for name, value in declared.items()}
    what = f"`{clauses}`" if clauses else "no clause at all"
    return Text(flip, section, what, CREATE.format(clauses), CreateTable, facts, differs=differs)


def altered(flip: int, section: str, form: str, node: type, **facts: object) -> Text:
    """An ALTER that is read."""
    return Text(flip, section, f"`ALTER … {form}`", ALTER.format(form), node, facts)
