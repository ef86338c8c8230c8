"""Names of tables, columns and constraints of a materialized table, columns of its sources."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Parts = tuple[str, ...]
"""Parts of a dotted name, the outermost first."""
_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^`.]+)")


Pairs = tuple[tuple[str, str], ...]
"""A mapping as a sorted tuple, so that the values which hold it stay hashable."""


def quote(part: str) -> str:
    """Return `part` as a Spark identifier in backticks."""
    return "`" + part.replace("`", "``") + "`"


def parts_of(name: str) -> Parts:
    """Split a dotted name as Spark prints it, with backticks only where they are needed."""
    return tuple(
        match["plain"] if match["plain"] is not None else match["quoted"].replace("``", "`")
        for match in _PART.finditer(name)
    )


def distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of columns, or numbered ones where two are equal in any case."""
    if len({name.lower() for name in names}) == len(names):
        return names
    return tuple(f"column_{number}" for number in range(len(names)))


def quote_text(text: str) -> str:
    r"""Return `text` as a Spark string literal.

    Spark's parser reads backslash escapes inside literals and takes two adjacent literals as one,
    so a quote is written `\'`, never doubled.
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's name as written: `table`, `schema.table` or `catalog.schema.table`."""

    name: str
    schema: str | None = None
    catalog: str | None = None

    @classmethod
    def of(cls, *parts: str) -> TableName:
        """Build a name from its parts in the order they are written.

        Raises:
            ValueError: There are no parts, or more than three.
        """
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"a table name has one to three parts, but was: {parts!r}")  # noqa: TRY003, EM102
        catalog, schema, name = (None, None, *parts)[-3:]
        return cls(name=str(name), schema=schema, catalog=catalog)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that were written, outermost first."""
        return tuple(p for p in (self.catalog, self.schema, self.name) if p is not None)

    def within(self, catalog: str, schema: str) -> TableName:
        """Fill the parts that were left out with the session's current catalog and schema."""
        return TableName(self.name, self.schema or schema, self.catalog or catalog)

    @property
    def sql(self) -> str:
        """The name for a statement, every part in backticks."""
        return ".".join(quote(part) for part in self.parts)

    def __str__(self) -> str:
        """The name for people, without quotes."""
        return ".".join(self.parts)


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


@dataclass(frozen=True, slots=True)
class FieldName:
    """The name of a column or of a nested field.

    Args:
        name: The name, without quotes.
        nested: The names inside its type where that has STRUCTs: the fields of a STRUCT;
            `element`, or `key` and `value`, for an ARRAY or MAP of them.
        type: The type of a column where it is known: it is not stored, and no part of the name.
    """

    name: str
    nested: tuple[FieldName, ...] = ()
    type: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a relation that a query names.

    Args:
        source: The full name of the relation.
        columns: In the order of the relation.
    """

    source: str
    columns: tuple[FieldName, ...]

    @property
    def table(self) -> TableName:
        """The full name of the relation, in its parts."""
        return TableName.of(*self.source.split(".", 2))


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Current catalog and schema in which a query was analysed; refreshes run it there again.

    Args:
        confs: The SQL confs that change what a query means, with their values.
    """

    catalog: str
    schema: str
    confs: Pairs = ()
