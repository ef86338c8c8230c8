"""Queries of Spark run in DuckDB over the rows of sources, to see which rows they return."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import duckdb
import sqlglot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.corpus.sources import Column, Row

_TEXTS = ("CHAR", "VARCHAR", "STRING")


class Database:
    """A database in memory with some tables.

    Args:
        tables: Their columns, by name.
    """

    def __init__(self, tables: Mapping[str, Sequence[Column]]) -> None:
        """Create the tables, without rows."""
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")
        for name, columns in tables.items():
            types = ", ".join(f'"{c.name}" {_type(c)}' for c in columns)
            self._connection.execute(f"CREATE TABLE {name} ({types})")

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows."""
        lines = [f"({', '.join(map(_literal, row))})" for row in rows]
        if lines:
            self._connection.execute(f"INSERT INTO {table} VALUES {', '.join(lines)}")

    def rows(self, query: str) -> list[tuple[object, ...]] | None:
        """Return the rows of a query, in an order of their own; None where it fails."""
        try:
            found = self._connection.execute(_transpiled(query)).fetchall()
        except duckdb.Error:
            return None
        return sorted(found, key=repr)

    def execute(self, statement: str) -> None:
        """Run a statement of Spark that changes a table."""
        self._connection.execute(_transpiled(statement))

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """What is done in the context is undone at its end, unless it is kept."""
        trial = Trial()
        self._connection.execute("BEGIN")
        try:
            yield trial
        finally:
            self._connection.execute("COMMIT" if trial.is_kept else "ROLLBACK")

    def close(self) -> None:
        """Free the memory."""
        self._connection.close()


class Trial:
    """Whether changes of a database are kept."""

    is_kept = False

    def keep(self) -> None:
        """Keep the changes."""
        self.is_kept = True


def _type(column: Column) -> str:
    return "VARCHAR" if column.type.upper().startswith(_TEXTS) else column.type


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


@cache
def _transpiled(text: str) -> str:
    return sqlglot.parse_one(text, dialect="spark").sql("duckdb")
