"""Changes of configuration: the clauses of a definition that are not its query.

Each change has a `field`, its name for users; `describe()`, one short sentence; and an `effect`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.changes.effect import Effect, describe_change, describe_text_change
from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.resolution.options import (
    STORAGE_PREFIX,
    TRIGGER_INTERVAL,
    TYPE_WIDENING,
    formatter_column,
    redacted,
)
from dbt.adapters.spark_mt.resolution.process_functions import PROCESS_FUNCTION
from dbt.adapters.spark_mt.resolution.watermarks import WATERMARK

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Check, PrimaryKey


@dataclass(frozen=True, slots=True)
class ColumnNullabilityChanged:
    """A column's NOT NULL was added (existing rows must be checked) or removed."""

    column: str
    nullable: bool
    field: ClassVar[str] = "constraints"
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
    field: ClassVar[str] = "column comment"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.TEXT

    def describe(self) -> str:
        """One short sentence."""
        return f"Comment of column {quote(self.column)} {describe_text_change(self.old, self.new)}."


@dataclass(frozen=True, slots=True)
class CommentChanged:
    """The table's comment."""

    old: str | None
    new: str | None
    field: ClassVar[str] = "comment"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.TEXT

    def describe(self) -> str:
        """One short sentence."""
        return f"Comment {describe_text_change(self.old, self.new)}."


@dataclass(frozen=True, slots=True)
class _ClauseChanged:
    """A clause as asked and as resolved, both for people.

    Args:
        old: As before, with how it came about.
        new: As wanted.
        effect: Metadata only, where just what was asked differs.
    """

    old: str
    new: str
    effect: Effect
    of_query: ClassVar[bool] = False
    field: ClassVar[str]

    def describe(self) -> str:
        """One short sentence."""
        name = f"{self.field[0].upper()}{self.field[1:]}"
        return f"{name} changed from {self.old} to {self.new}."


@dataclass(frozen=True, slots=True)
class FreshnessChanged(_ClauseChanged):
    """The freshness."""

    field: ClassVar[str] = "freshness"


@dataclass(frozen=True, slots=True)
class RefreshModeChanged(_ClauseChanged):
    """The refresh mode."""

    field: ClassVar[str] = "refresh mode"


@dataclass(frozen=True, slots=True)
class StartModeChanged(_ClauseChanged):
    """The start mode."""

    field: ClassVar[str] = "start mode"


@dataclass(frozen=True, slots=True)
class StateRetentionChanged(_ClauseChanged):
    """The state retention; it acts at the next change of the query."""

    field: ClassVar[str] = "state retention"


@dataclass(frozen=True, slots=True)
class OptionSet:
    """An option has another value, or is new (`old` is None)."""

    key: str
    old: str | None
    new: str
    field: ClassVar[str] = "options"
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
    field: ClassVar[str] = "options"
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
    field: ClassVar[str] = "primary key"
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
    field: ClassVar[str] = "constraints"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        return f"{_check(self.check)} added."


@dataclass(frozen=True, slots=True)
class CheckDropped:
    """A CHECK that is gone."""

    check: Check
    field: ClassVar[str] = "constraints"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        return f"{_check(self.check)} dropped."


@dataclass(frozen=True, slots=True)
class PartitioningChanged:
    """Other partition columns, or another order of them."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    field: ClassVar[str] = "partitioning"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.IMPOSSIBLE

    def describe(self) -> str:
        """One short sentence."""
        return f"Partitioning {describe_change(_names(self.old), _names(self.new))}."


@dataclass(frozen=True, slots=True)
class ClusteringChanged:
    """Other clustering columns."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    field: ClassVar[str] = "clustering"
    of_query: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.STORAGE

    def describe(self) -> str:
        """One short sentence."""
        return f"Clustering {describe_change(_names(self.old), _names(self.new))}."


def _option_effect(key: str) -> Effect:
    if key.startswith(STORAGE_PREFIX) or key == TYPE_WIDENING:
        return Effect.STORAGE
    if key == PROCESS_FUNCTION:
        return Effect.CONTENT
    if key in (TRIGGER_INTERVAL, WATERMARK) or formatter_column(key) is not None:
        return Effect.REFRESH
    return Effect.TEXT


def _names(names: tuple[str, ...]) -> str | None:
    return f"({', '.join(quote(n) for n in names)})" if names else None


def _key(key: PrimaryKey | None) -> str | None:
    if key is None:
        return None
    return f"{_names(key.columns)}" + (f" named {quote(key.name)}" if key.name else "")


def _check(check: Check) -> str:
    name = f" {quote(check.name)}" if check.name else ""
    return f"Constraint{name} CHECK ({check.expression})"
