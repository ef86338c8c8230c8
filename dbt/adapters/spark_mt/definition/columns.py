"""Columns and constraints of a materialized table."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark_mt.definition.identifier import quote


@dataclass(frozen=True, slots=True)
class Column:
    """A resolved column.

    Args:
        name: The name, without quotes.
        type: Spark's DDL type in its canonical spelling, such as `DECIMAL(10,2)`.
        nullable: False only where a typed column list said NOT NULL.
        comment: The column's comment, if it has one.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None

    def __str__(self) -> str:
        """As Flink prints it: `` `price` DECIMAL(10,2) ``."""
        return f"{quote(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """An item of a statement's column list; `type` is None in a list of bare names."""

    name: str
    type: str | None = None
    not_null: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """A declared key; the only mode is NOT ENFORCED, it is checked at each refresh."""

    columns: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint; `expression` is kept as text."""

    expression: str
    name: str | None = None


Constraint = PrimaryKey | Check
