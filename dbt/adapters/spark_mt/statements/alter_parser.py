"""Parser of ALTER MATERIALIZED TABLE, with the literals of REFRESH PARTITION."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.statements.advice import alter_advice
from dbt.adapters.spark_mt.statements.body import (
    Part,
    PartList,
    expect_end,
    parts_of,
    read_clauses,
    read_query,
)
from dbt.adapters.spark_mt.statements.clauses import CLAUSES, Alter
from dbt.adapters.spark_mt.statements.errors import MissingEqualsError, UnsupportedAlterError
from dbt.adapters.spark_mt.statements.lexer import (
    TokenKind,
    did_you_mean,
    read_table_name,
    refuse_temporary,
)
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    AlterQuery,
    PartitionValue,
    Refresh,
    ResetOptions,
    Resume,
    SetClause,
    SetOptions,
    Suspend,
)
from dbt.adapters.spark_mt.statements.values import read_keys, read_options, refuse_duplicates

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.statements.lexer import Cursor

    AlterStatement = (
        Suspend | Resume | Refresh | SetClause | SetOptions | ResetOptions | AlterQuery | AddQuery
    )


_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})
_WORDS = frozenset({"TRUE", "FALSE"})


def read_partition(cursor: Cursor) -> tuple[PartitionValue, ...]:
    """Read `(column = literal, …)`.

    Raises:
        StatementSyntaxError: A value is no literal, or a column is repeated.
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


_ALONE = {c.keyword: c for c in CLAUSES if c.alter in (Alter.ALONE, Alter.ALONE_OR_RESET)}
_RESET = {c.keyword: c for c in CLAUSES if c.alter is Alter.ALONE_OR_RESET}
_WITH_QUERY = tuple(c for c in CLAUSES if c.alter is Alter.WITH_QUERY)
_BEFORE_QUERY = PartList(
    parts=(
        Part("options", ("WITH",), read_options),
        Part("options", ("TBLPROPERTIES",), read_options),
        *(part for clause in _WITH_QUERY for part in parts_of(clause, "SET")),
    ),
    orders=(("options", *(clause.field for clause in _WITH_QUERY)),),
)
_QUERY_BEGINS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE", ";")
_FOR_ALL = "Everything else is changed by CREATE OR ALTER with the whole definition."


def read_alter(cursor: Cursor) -> AlterStatement:
    """Read the statement from ALTER on.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
    """
    cursor.statement = "ALTER MATERIALIZED TABLE"
    cursor.expect("ALTER")
    refuse_temporary(cursor)
    cursor.expect("MATERIALIZED", "TABLE")
    name = read_table_name(cursor)
    if _at_evolution(cursor):
        return _read_alter_query(cursor, name)
    word = cursor.peek()
    read = _FORMS.get(word.keyword)
    if read is None or (word.keyword == "ADD" and not _at_added_query(cursor)):
        raise _unsupported(cursor, name, "")
    cursor.next()
    statement = read(cursor, name)
    expect_end(cursor)
    return statement


def _at_evolution(cursor: Cursor) -> bool:
    return cursor.at("AS") or any(cursor.at(*part.words) for part in _BEFORE_QUERY.parts)


def _at_added_query(cursor: Cursor) -> bool:
    depth = 1
    while cursor.peek(depth).text == "(":
        depth += 1
    first = cursor.peek(depth)
    return first.kind is TokenKind.END or first.keyword in _QUERY_BEGINS


def _read_alter_query(cursor: Cursor, name: TableName) -> AlterQuery:
    values: dict[str, Any] = read_clauses(cursor, _BEFORE_QUERY)
    options = values.pop("options", ())
    return AlterQuery(name, DeclaredDefinition(read_query(cursor), **values), options)


def _read_resume(cursor: Cursor, name: TableName) -> Resume:
    with_options = cursor.accept("WITH") or cursor.accept("TBLPROPERTIES")
    return Resume(name, read_options(cursor) if with_options else ())


def _read_refresh(cursor: Cursor, name: TableName) -> Refresh:
    return Refresh(name, read_partition(cursor) if cursor.accept("PARTITION") else ())


def _read_add(cursor: Cursor, name: TableName) -> AddQuery:
    return AddQuery(name, read_query(cursor))


def _read_set(cursor: Cursor, name: TableName) -> AlterStatement:
    if cursor.at("("):
        return SetOptions(name, read_options(cursor))
    clause = _ALONE.get(cursor.peek().keyword)
    if clause is None:
        raise _unsupported(cursor, name, "SET ")
    cursor.next()
    return SetClause(name, clause.field, clause.read_value(cursor))


def _read_reset(cursor: Cursor, name: TableName) -> AlterStatement:
    if clause := _RESET.get(cursor.peek().keyword):
        cursor.next()
        return SetClause(name, clause.field, None)
    if cursor.at("("):
        return ResetOptions(name, read_keys(cursor))
    raise _unsupported(cursor, name, "RESET ")


def _unsupported(cursor: Cursor, name: TableName, read: str) -> UnsupportedAlterError:
    """Return the error about a form of which `read` has been read."""
    instead = alter_advice(cursor, name, read)
    words = [cursor.peek()]
    if instead and not read:
        words += [word for word in (cursor.peek(1),) if word.kind is TokenKind.WORD]
    return cursor.error(
        UnsupportedAlterError,
        form=read + " ".join(map(str, words)),
        forms=", ".join(ALTER_FORMS),
        suggestion="" if instead else did_you_mean(read + cursor.peek().keyword, ALTER_FORMS),
        instead=instead or _FOR_ALL,
    )


_FORMS: dict[str, Callable[[Cursor, TableName], AlterStatement]] = {
    "SUSPEND": lambda _, name: Suspend(name),
    "RESUME": _read_resume,
    "REFRESH": _read_refresh,
    "SET": _read_set,
    "RESET": _read_reset,
    "ADD": _read_add,
}
ALTER_FORMS = (
    "SUSPEND",
    "RESUME",
    "REFRESH",
    *(f"SET {keyword}" for keyword in _ALONE),
    *(f"RESET {keyword}" for keyword in _RESET),
    "SET (…)",
    "RESET (…)",
    " ".join(["[WITH (…)]", *(f"[SET {clause.keyword}]" for clause in _WITH_QUERY), "AS query"]),
    "ADD query",
)
