"""Changes between two definitions: a closed union of values.

Each change has `describe()`, one short sentence, and an `effect`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.resolution.options import (
    TRIGGER_INTERVAL,
    formatter_column,
    redacted,
)
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION, WATERMARK
from dbt.adapters.spark_mt.statements.clauses import BY_FIELD, Effect, names_text

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Check, Column, PrimaryKey


def describe_change(old: str | None, new: str | None) -> str:
    """Return what happened to a value, to follow its name; None stands for no value."""
    if old is None:
        return f"set to {new}"
    return f"removed, it was {old}" if new is None else f"changed from {old} to {new}"


def describe_text_change(old: str | None, new: str | None) -> str:
    """Return the same for free text, in quotes."""
    return describe_change(*(None if text is None else quote_text(text) for text in (old, new)))


@dataclass(frozen=True, slots=True)
class QueryChanged:
    """The query; `text_only` where just comments, whitespace or a keyword's case differ."""

    text_only: bool
    of_query: ClassVar[bool] = True

    @property
    def effect(self) -> Effect:
        """Another text for the same query is stored, and that is all."""
        return Effect.TEXT if self.text_only else Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        if self.text_only:
            return "The query's text changed, its meaning did not."
        return "The query changed."


@dataclass(frozen=True, slots=True)
class ColumnListChanged:
    """The column list was written differently, while the table's columns stay.

    Args:
        same_content: Whether each column still comes from the same column of the query.
    """

    same_content: bool
    of_query: ClassVar[bool] = True

    @property
    def effect(self) -> Effect:
        """Columns that come from other columns of the query hold other values."""
        return Effect.TEXT if self.same_content else Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        if self.same_content:
            return "The column list is written differently."
        return "The column list takes its columns from other columns of the query."


@dataclass(frozen=True, slots=True)
class ColumnsAppended:
    """New columns after the old ones."""

    columns: tuple[Column, ...]
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        names = ", ".join(str(c) for c in self.columns)
        return f"{'Column' if len(self.columns) == 1 else 'Columns'} appended: {names}."


@dataclass(frozen=True, slots=True)
class ColumnTypeWidened:
    """A column whose new type holds every old value, under the option `schema.type-widening`."""

    column: str
    old: str
    new: str
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        return f"Column {quote(self.column)} widened from {self.old} to {self.new}."


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
class ColumnsMismatched:
    """Columns were dropped, renamed, moved or typed differently."""

    old: tuple[Column, ...]
    new: tuple[Column, ...]
    mismatches: tuple[ColumnMismatch, ...]
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.IMPOSSIBLE

    @property
    def appended(self) -> tuple[Column, ...]:
        """The columns after those that the table has."""
        return self.new[len(self.old) :]

    @property
    def drops(self) -> bool:
        """Whether there are fewer columns than before."""
        return len(self.new) < len(self.old)

    def describe(self) -> str:
        """One short sentence."""
        if self.drops:
            return f"The table's {len(self.old)} columns became {len(self.new)}."
        return str(self.mismatches[0])


@dataclass(frozen=True, slots=True)
class SourceColumnsChanged:
    """The columns of a source, where the query takes them over; `what` says which."""

    what: str
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        return f"The source {self.what}."


@dataclass(frozen=True, slots=True)
class ConfChanged:
    """A SQL conf that changes what the query means; None stands for Spark's default."""

    key: str
    old: str | None
    new: str | None
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        return f"SQL conf {self.key} {describe_change(self.old, self.new)}."


@dataclass(frozen=True, slots=True)
class ColumnNullabilityChanged:
    """A column's NOT NULL was added (existing rows must be checked) or removed."""

    column: str
    nullable: bool
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        verb = "allows" if self.nullable else "no longer allows"
        return f"Column {quote(self.column)} {verb} NULL."


@dataclass(frozen=True, slots=True)
class ColumnCommentChanged:
    """A column's comment."""

    column: str
    old: str | None
    new: str | None
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.TEXT

    def describe(self) -> str:
        """One short sentence."""
        return f"Comment of column {quote(self.column)} {describe_text_change(self.old, self.new)}."


@dataclass(frozen=True, slots=True)
class ClauseChanged:
    """A clause, as asked or as resolved.

    Args:
        clause: Its field in the definitions.
        old: The value before, with where it came from; None for no value.
        new: The value as wanted.
        effect: Metadata only, if just what was asked differs.
    """

    clause: str
    old: str | None
    new: str | None
    effect: Effect
    of_query: ClassVar[bool] = False

    def describe(self) -> str:
        """One short sentence."""
        clause = BY_FIELD[self.clause]
        name = (clause.noun or clause.label).capitalize()
        return f"{name} {describe_change(self.old, self.new)}."


@dataclass(frozen=True, slots=True)
class OptionSet:
    """An option has another value, or is new (`old` is None)."""

    key: str
    old: str | None
    new: str
    of_query: ClassVar[bool] = False

    @property
    def effect(self) -> Effect:
        """By the option's name."""
        return _option_effect(self.key)

    def describe(self) -> str:
        """One short sentence; values that Spark would hide are hidden."""
        old = None if self.old is None else redacted(self.key, self.old)
        return f"Option '{self.key}' {describe_text_change(old, redacted(self.key, self.new))}."


@dataclass(frozen=True, slots=True)
class OptionReset:
    """An option is gone."""

    key: str
    old: str
    of_query: ClassVar[bool] = False

    @property
    def effect(self) -> Effect:
        """By the option's name."""
        return _option_effect(self.key)

    def describe(self) -> str:
        """One short sentence; values that Spark would hide are hidden."""
        return f"Option '{self.key}' {describe_text_change(redacted(self.key, self.old), None)}."


@dataclass(frozen=True, slots=True)
class PrimaryKeyChanged:
    """The declared key; existing rows must be checked against a new one."""

    old: PrimaryKey | None
    new: PrimaryKey | None
    same_columns: bool
    of_query: ClassVar[bool] = False

    @property
    def effect(self) -> Effect:
        """Another name or order for the same key is metadata."""
        return Effect.TEXT if self.same_columns else Effect.REFRESH

    def describe(self) -> str:
        """One short sentence."""
        return f"Primary key {describe_change(_key(self.old), _key(self.new))}."


@dataclass(frozen=True, slots=True)
class CheckAdded:
    """A new CHECK; existing rows must be checked against it."""

    check: Check
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        return f"{_check(self.check)} added."


@dataclass(frozen=True, slots=True)
class CheckDropped:
    """A CHECK that is gone."""

    check: Check
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        return f"{_check(self.check)} dropped."


def _option_effect(key: str) -> Effect:
    """Every option is a property of the table; some have another effect, too."""
    if key == PROCESS_FUNCTION:
        return Effect.CONTENT
    if key in (TRIGGER_INTERVAL, WATERMARK) or formatter_column(key) is not None:
        return Effect.REFRESH
    return Effect.STORAGE


def _key(key: PrimaryKey | None) -> str | None:
    if key is None:
        return None
    return f"{names_text(key.columns)}" + (f" named {quote(key.name)}" if key.name else "")


def _check(check: Check) -> str:
    name = f" {quote(check.name)}" if check.name else ""
    return f"Constraint{name} CHECK ({check.expression})"


Change = (
    QueryChanged
    | SourceColumnsChanged
    | ColumnListChanged
    | ColumnsAppended
    | ColumnTypeWidened
    | ColumnsMismatched
    | ColumnNullabilityChanged
    | ColumnCommentChanged
    | ClauseChanged
    | OptionSet
    | OptionReset
    | PrimaryKeyChanged
    | CheckAdded
    | CheckDropped
    | ConfChanged
)
