"""Tables that queries read: their rows, and random statements that change them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Row = tuple[str | None, ...]
"""The values of a row as texts, as a CAST to the types of the columns reads them."""

ROUNDS = ("insert", "update", "delete", "merge")
_ATOMIC = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE")
_SIZED = ("DECIMAL", "STRING", "CHAR", "VARCHAR", "TIMESTAMP", "BINARY", "TIME(")
_NULLS = 0.3


class Choice(Random):
    """Choices that a text decides, which is the seed and what they are for."""


@dataclass(frozen=True)
class Column:
    """A column of a source.

    Args:
        name: Its name.
        type: Its type, in Spark's DDL.
        is_nullable: Whether it may be NULL.
    """

    name: str
    type: str
    is_nullable: bool = True

    @property
    def is_atomic(self) -> bool:
        """Whether a text can be cast to a value of it, and two values can be compared."""
        type_ = self.type.upper()
        return type_ in _ATOMIC or type_.startswith(_SIZED)

    @property
    def quoted(self) -> str:
        """The name as SQL."""
        return "`" + self.name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Source:
    """A table that queries read.

    Args:
        name: Its name.
        columns: Its columns.
        rows: The values as texts; what is not atomic is None.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def atomic(self) -> tuple[int, ...]:
        """The places of the columns whose values can be written as literals."""
        return tuple(place for place, c in enumerate(self.columns) if c.is_atomic)

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of columns by which a MERGE finds rows; Delta fails by a CHAR there."""
        return tuple(p for p in self.atomic if not self.columns[p].type.upper().startswith("CHAR"))

    def literal(self, place: int, value: str | None) -> str:
        """Return a value of a column that is atomic, as SQL."""
        column = self.columns[place]
        if value is None:
            return f"CAST(NULL AS {column.type})"
        if column.type.upper() == "BINARY":
            return f"X'{value}'"
        text = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"CAST('{text}' AS {column.type})"

    def selected(self, rows: Sequence[Row], more: Sequence[str] = ()) -> str:
        """Return a query that returns rows, with one more literal each if there are some."""
        atomic = self.atomic
        lines = [
            f"({', '.join((*(self.literal(p, row[p]) for p in atomic), *extra))})"
            for row, *extra in zip(rows, *([[f"'{m}'" for m in more]] if more else []), strict=True)
        ]
        names = [self.columns[p].quoted for p in atomic] + ["change_of_row"] * bool(more)
        listed = f"VALUES {', '.join(lines)} AS `values of rows`({', '.join(names)})"
        if len(atomic) == len(self.columns):
            return f"SELECT * FROM {listed}"
        columns = [c.quoted if c.is_atomic else self._any(c) for c in self.columns]
        return f"SELECT {', '.join((*columns, *names[len(atomic) :]))} FROM {listed}"

    def _any(self, column: Column) -> str:
        """Return a value that the table has in a column."""
        return f"(SELECT any_value({column.quoted}) FROM {self.name}) AS {column.quoted}"


def changes(
    source: Source, round_: str, choice: Choice, preferred: Sequence[int] = ()
) -> str | None:
    """Return a statement that changes a table; None where it has no rows or no column to name.

    Args:
        source: The table.
        round_: What the statement does.
        choice: What chooses rows and values.
        preferred: The places of the columns that an UPDATE changes; of all where it is empty.
    """
    if not source.rows or not source.atomic:
        return None
    if round_ == "update":
        return _update(source, choice, preferred or source.atomic)
    return {"insert": _insert, "delete": _delete, "merge": _merge}[round_](source, choice)


def _mixed(source: Source, choice: Choice, *, nulls: float = 0.0) -> Row:
    """A row with the values of several rows."""
    return tuple(
        None
        if column.is_nullable and choice.random() < nulls
        else choice.choice(source.rows)[place]
        for place, column in enumerate(source.columns)
    )


def _insert(source: Source, choice: Choice) -> str:
    rows = [
        choice.choice(source.rows),
        *(_mixed(source, choice) for _ in range(2)),
        _mixed(source, choice, nulls=_NULLS),
    ]
    return f"INSERT INTO {source.name} {source.selected(rows)}"


def _condition(source: Source, row: Row, places: Sequence[int], alias: str = "") -> str:
    return " AND ".join(
        f"{alias}{source.columns[p].quoted} <=> {source.literal(p, row[p])}" for p in places
    )


def _some(source: Source, choice: Choice) -> Iterator[str]:
    """Yield a condition for the rows like one row, and one for those that share two values."""
    known = source.keys or source.atomic
    yield _condition(source, choice.choice(source.rows), known)
    places = choice.sample(known, min(3, len(known)))
    yield _condition(source, choice.choice(source.rows), sorted(places))


def _update(source: Source, choice: Choice, preferred: Sequence[int]) -> str:
    places = choice.sample(preferred, min(2, len(preferred)))
    new = _mixed(source, choice, nulls=_NULLS / 2)
    assigned = ", ".join(
        f"{source.columns[p].quoted} = {source.literal(p, new[p])}" for p in places
    )
    where = " OR ".join(f"({condition})" for condition in _some(source, choice))
    return f"UPDATE {source.name} SET {assigned} WHERE {where}"


def _delete(source: Source, choice: Choice) -> str:
    where = " OR ".join(f"({condition})" for condition in _some(source, choice))
    return f"DELETE FROM {source.name} WHERE {where}"


def _merge(source: Source, choice: Choice) -> str | None:
    """Update, delete and insert rows: those of the MERGE's source have keys of their own."""
    places = source.keys[:3]
    if not places:
        return None
    keys: dict[tuple[str | None, ...], Row] = {}
    for _ in range(4):
        row = choice.choice(source.rows) if choice.random() < 2 / 3 else _mixed(source, choice)
        keys.setdefault(tuple(row[p] for p in places), row)
    rows = [
        tuple(
            row[p] if p in places else value
            for p, value in enumerate(_mixed(source, choice, nulls=_NULLS / 2))
        )
        for row in keys.values()
    ]
    operations = [choice.choice(("update", "update", "delete")) for _ in rows]
    names = [column.quoted for column in source.columns]
    on = " AND ".join(f"t.{names[p]} <=> s.{names[p]}" for p in places)
    return (
        f"MERGE INTO {source.name} t USING ({source.selected(rows, operations)}) s ON {on} "
        f"WHEN MATCHED AND s.change_of_row = 'delete' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{n} = s.{n}' for n in names)} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) "
        f"VALUES ({', '.join(f's.{n}' for n in names)})"
    )
