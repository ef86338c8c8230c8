"""Clauses that stand in a given order, each at most once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.cursor import did_you_mean
from dbt.adapters.spark_mt.statements.errors import (
    ClauseOutOfOrderError,
    DistributedTableError,
    MissingAsError,
    PartitionedAndClusteredError,
    RepeatedClauseError,
    UnknownClauseError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.statements.cursor import Cursor

_BUCKETS = frozenset({"DISTRIBUTED", "CLUSTERED", "BUCKETED"})
_QUERY_WORDS = frozenset({"SELECT", "FROM", "VALUES", "WITH"})
_OTHER_NAMES = {"OPTIONS": "WITH", "PROPERTIES": "WITH", "PARTITION": "PARTITIONED BY"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a statement.

    Args:
        field: Which part of the definition it gives; two spellings of one clause share it.
        words: What it begins with.
        read: Reads what follows the words.
        title: What people call it, where that is not its words.
        keep: Whether `read` reads the words as well.
    """

    field: str
    words: tuple[str, ...]
    read: Callable[[Cursor], object]
    title: str = ""
    keep: bool = False

    def __str__(self) -> str:
        """Its words, or its title."""
        return self.title or " ".join(self.words)


@dataclass(frozen=True, slots=True)
class ClauseList:
    """The clauses of a statement.

    Args:
        clauses: In the usual order.
        orders: Every order of fields that is accepted, the usual one first.
    """

    clauses: tuple[Clause, ...]
    orders: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """The clauses in the usual order, for people."""
        first_spellings = {clause.field: clause for clause in reversed(self.clauses)}
        return ", ".join(str(c) for c in self.clauses if first_spellings[c.field] is c)

    def titles(self) -> tuple[str, ...]:
        """What the clauses are called."""
        return tuple(str(clause) for clause in self.clauses)


def read_clauses(cursor: Cursor, known: ClauseList) -> dict[str, object]:
    """Read clauses up to AS, which is read as well; return the values by field.

    Raises:
        StatementSyntaxError: A clause is unknown, misplaced, repeated, or AS is missing.
    """
    values: dict[str, object] = {}
    before: list[Clause] = []
    while not cursor.accept("AS"):
        clause = next((c for c in known.clauses if _begins(cursor, c)), None)
        if clause is None:
            raise _no_clause(cursor, known)
        _check_place(cursor, known, before, clause)
        if not clause.keep:
            cursor.expect(*clause.words)
        values[clause.field] = clause.read(cursor)
        before.append(clause)
    return values


def _begins(cursor: Cursor, clause: Clause) -> bool:
    # WITH without a parenthesis is a query whose AS was forgotten.
    return cursor.at(*clause.words) and (clause.words != ("WITH",) or cursor.peek(1).text == "(")


def _check_place(cursor: Cursor, known: ClauseList, before: list[Clause], clause: Clause) -> None:
    fields = [c.field for c in before]
    if clause.field in fields:
        raise cursor.error(RepeatedClauseError, clause=clause)
    layout = {"partitioned_by", "clustered_by"}
    other = next((c for c in before if {c.field, clause.field} == layout), None)
    if other is not None:
        raise cursor.error(PartitionedAndClusteredError, other=other)
    fitting = [order for order in known.orders if _ascends(order, fields)]
    if any(_ascends(order, [*fields, clause.field]) for order in fitting):
        return
    rank = fitting[0].index(clause.field)
    later = next(c for c in before if fitting[0].index(c.field) > rank)
    raise cursor.error(ClauseOutOfOrderError, clause=clause, before=later, clauses=known)


def _ascends(order: tuple[str, ...], fields: list[str]) -> bool:
    ranks = [order.index(field) for field in fields]
    return ranks == sorted(ranks)


def _no_clause(cursor: Cursor, known: ClauseList) -> Exception:
    token = cursor.peek()
    if token.keyword in _BUCKETS:
        return cursor.error(DistributedTableError)
    if token.keyword in _QUERY_WORDS:
        return cursor.error(MissingAsError)
    if cursor.at_end() or cursor.at(";"):
        return cursor.expected("AS and the query")
    if other := _OTHER_NAMES.get(token.keyword):
        suggestion = f"Did you mean {other}? "
    else:
        suggestion = did_you_mean(token.keyword, (*known.titles(), "AS"))
    return cursor.error(UnknownClauseError, clauses=f"{known}, AS", suggestion=suggestion)
