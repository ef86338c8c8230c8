"""Changes between two definitions, as values with a sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.resolution.options import redacted
from dbt.adapters.spark_mt.statements.clauses import BY_FIELD, Effect

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Column


def describe_change(old: str | None, new: str | None) -> str:
    """Return what happened to a value, to follow its name; None stands for no value."""
    if old is None:
        return f"set to {new}"
    return f"removed, it was {old}" if new is None else f"changed from {old} to {new}"


def describe_text_change(old: str | None, new: str | None) -> str:
    """Return the same for free text, in quotes."""
    return describe_change(*(None if text is None else quote_text(text) for text in (old, new)))


class Changed(Enum):
    """What changed; the value is the sentence about it, a template over the facts of a change."""

    QUERY = "The query changed."
    QUERY_TEXT = "The query's text changed, its meaning did not."
    SOURCE_COLUMNS = "The source {subject}."
    CONF = "SQL conf {subject} {change}."
    COLUMN_LIST = "The column list takes its columns from other columns of the query."
    COLUMN_LIST_TEXT = "The column list is written differently."
    COLUMNS_APPENDED = "{columns} appended: {new}."
    COLUMNS_DROPPED = "The table's {old_count} columns became {new_count}."
    COLUMNS_MISMATCHED = "{mismatch}"
    TYPE_WIDENED = "Column {quoted} widened from {old} to {new}."
    NULL_ALLOWED = "Column {quoted} allows NULL."
    NULL_FORBIDDEN = "Column {quoted} no longer allows NULL."
    COLUMN_COMMENT = "Comment of column {quoted} {text_change}."
    CLAUSE = "{clause} {change}."
    OPTION = "Option '{subject}' {text_change}."
    PRIMARY_KEY = "Primary key {change}."
    CHECK_ADDED = "Constraint{subject} added."
    CHECK_DROPPED = "Constraint{subject} dropped."

    @property
    def of_query(self) -> bool:
        """Whether the query or its columns changed, and not the configuration."""
        return self in {
            Changed.QUERY,
            Changed.QUERY_TEXT,
            Changed.SOURCE_COLUMNS,
            Changed.CONF,
            Changed.COLUMN_LIST,
            Changed.COLUMN_LIST_TEXT,
            Changed.COLUMNS_APPENDED,
            Changed.COLUMNS_DROPPED,
            Changed.COLUMNS_MISMATCHED,
            Changed.TYPE_WIDENED,
        }


@dataclass(frozen=True, slots=True)
class ColumnMismatch:
    """A place at which old and new columns differ; positions count from 0.

    Args:
        widens: Whether the option `schema.type-widening` would make it possible.
    """

    position: int
    old: Column
    new: Column
    widens: bool = False

    def __str__(self) -> str:
        """In the wording of FLIP-546."""
        return (
            f"Column mismatch at position {self.position}: Original column is [{self.old}], "
            f"but new column is [{self.new}]."
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A change between two definitions.

    Args:
        kind: What changed.
        effect: What the change does to the table.
        subject: Which one of its kind: a column, an option, a conf, a constraint, or the field of a
            clause.
        old: The value before; None for no value. Columns are a tuple of these.
        new: The value as wanted.
        mismatches: Every place at which old and new columns differ.
    """

    kind: Changed
    effect: Effect
    subject: str = ""
    old: Any = None
    new: Any = None
    mismatches: tuple[ColumnMismatch, ...] = ()

    def describe(self) -> str:
        """Return the sentence about it; values that Spark would hide are hidden."""
        return self.kind.value.format_map(self._facts())

    def _facts(self) -> dict[str, object]:
        old, new = self.old, self.new
        facts: dict[str, object] = {"subject": self.subject, "old": old, "new": new}
        if self.kind in {Changed.COLUMNS_APPENDED, Changed.COLUMNS_DROPPED}:
            many = len(new) > 1
            facts |= {"columns": "Columns" if many else "Column", "new": ", ".join(map(str, new))}
            facts |= {"old_count": len(old or ()), "new_count": len(new)}
        elif self.kind is Changed.COLUMNS_MISMATCHED:
            facts["mismatch"] = self.mismatches[0]
        elif self.kind is Changed.CLAUSE:
            clause = BY_FIELD[self.subject]
            facts["clause"] = (clause.noun or clause.label).capitalize()
            facts["change"] = describe_change(old, new)
        elif self.kind in {Changed.OPTION, Changed.COLUMN_COMMENT}:
            if self.kind is Changed.OPTION:
                old, new = (v if v is None else redacted(self.subject, v) for v in (old, new))
            facts |= {"quoted": quote(self.subject), "text_change": describe_text_change(old, new)}
        else:
            facts |= {"quoted": quote(self.subject), "change": describe_change(old, new)}
        return facts
