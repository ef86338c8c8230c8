"""Changes of what a table holds: its query, its columns, the SQL confs that give it its meaning.

Each change has a `field`, its name for users; `describe()`, one short sentence; and an `effect`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.changes.effect import Effect, describe_change
from dbt.adapters.spark_mt.definition.identifier import quote

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Column


@dataclass(frozen=True, slots=True)
class QueryChanged:
    """The query; `text_only` where just comments, whitespace or a keyword's case differ."""

    text_only: bool
    field: ClassVar[str] = "query"
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
    field: ClassVar[str] = "columns"
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
    """New columns behind the old ones."""

    columns: tuple[Column, ...]
    field: ClassVar[str] = "columns"
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
    field: ClassVar[str] = "columns"
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
        """As Flink says it (seed 546 4.2.4)."""
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
    field: ClassVar[str] = "columns"
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.IMPOSSIBLE

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
class ConfChanged:
    """A SQL conf that changes what the query means; None stands for Spark's default."""

    key: str
    old: str | None
    new: str | None
    field: ClassVar[str] = "SQL confs"
    of_query: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.CONTENT

    def describe(self) -> str:
        """One short sentence."""
        return f"SQL conf {self.key} {describe_change(self.old, self.new)}."
