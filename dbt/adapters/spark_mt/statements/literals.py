"""The literals of REFRESH PARTITION; they are kept as text, Spark casts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.errors import MissingEqualsError
from dbt.adapters.spark_mt.statements.nodes import PartitionValue
from dbt.adapters.spark_mt.statements.tokens import TokenKind
from dbt.adapters.spark_mt.statements.values import refuse_duplicates

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor

_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})
_WORDS = frozenset({"TRUE", "FALSE"})


def read_partition(cursor: Cursor) -> tuple[PartitionValue, ...]:
    """Read `(column = literal, …)`.

    Raises:
        StatementSyntaxError: A value is no literal, or a column stands twice.
    """
    found = cursor.items(lambda c: (c.peek(), _read_value(c)))
    refuse_duplicates(cursor, [(value.column, token) for token, value in found], "column")
    return tuple(value for _, value in found)


def _read_value(cursor: Cursor) -> PartitionValue:
    token = cursor.peek()
    column = cursor.name("a partition column's name")
    if not cursor.accept("="):
        suggestion = f"{token} = 'value'"
        raise cursor.error(MissingEqualsError, clause=token, suggestion=suggestion)
    if cursor.accept("NULL"):
        return PartitionValue(column, None)
    return PartitionValue(column, _read_literal(cursor))


def _read_literal(cursor: Cursor) -> str:
    first = cursor.peek()
    if first.keyword in _WORDS:
        return cursor.next().text
    if first.keyword in _TYPED:
        cursor.next()
    if first.keyword in _TYPED or first.kind is TokenKind.STRING:
        cursor.string("a value")
    else:
        _read_number(cursor)
    return cursor.text_between(first, cursor.previous)


def _read_number(cursor: Cursor) -> None:
    if cursor.at("-") or cursor.at("+"):
        cursor.next()
    dot = cursor.peek()
    if dot.text == "." and cursor.peek(1).start == dot.end:
        cursor.next()
    if cursor.peek().kind is not TokenKind.NUMBER:
        raise cursor.expected(what="a literal: a text in quotes, a number, DATE '…', NULL, TRUE …")
    cursor.next()
