"""ALTER MATERIALIZED TABLE, in all of its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.statements.clause_list import Clause, ClauseList, read_clauses
from dbt.adapters.spark_mt.statements.cursor import did_you_mean
from dbt.adapters.spark_mt.statements.errors import UnsupportedAlterError
from dbt.adapters.spark_mt.statements.literals import read_partition
from dbt.adapters.spark_mt.statements.names import read_table_name
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    AlterQuery,
    Refresh,
    ResetOptions,
    Resume,
    SetComment,
    SetFreshness,
    SetOptions,
    SetRefreshMode,
    Suspend,
)
from dbt.adapters.spark_mt.statements.query import expect_end, read_query
from dbt.adapters.spark_mt.statements.tokens import TokenKind
from dbt.adapters.spark_mt.statements.values import (
    read_freshness,
    read_keys,
    read_options,
    read_refresh_mode,
    read_start_mode,
    read_state_retention,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.statements.cursor import Cursor

    Alter = (
        Suspend
        | Resume
        | Refresh
        | SetFreshness
        | SetRefreshMode
        | SetOptions
        | ResetOptions
        | SetComment
        | AlterQuery
        | AddQuery
    )

_FIELDS = ("options", "start_mode", "state_retention")
_EVOLUTION = ClauseList(
    clauses=(
        Clause("options", ("WITH",), read_options),
        Clause("options", ("TBLPROPERTIES",), read_options),
        Clause("start_mode", ("SET", "START_MODE"), read_start_mode),
        Clause("state_retention", ("SET", "STATE_RETENTION"), read_state_retention),
    ),
    orders=(_FIELDS,),
)
_QUERY_BEGINS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE", ";")
_INSTEAD = {
    "RENAME": "A new name is a new table: create it, then drop the old one.",
    "SWAP": "Create the replacement under the same name with CREATE OR REPLACE.",
    "ADD": "Columns come from the query: append them there with CREATE OR ALTER or ALTER … AS.",
    "DROP": "Columns come from the query: leave them out with CREATE OR REPLACE, which rebuilds.",
    "MODIFY": "Columns come from the query: cast them there with CREATE OR REPLACE.",
    "ALTER": "Columns come from the query: cast them there with CREATE OR REPLACE.",
    "REPLACE": "Columns come from the query: change them there with CREATE OR REPLACE.",
    "CHANGE": "Columns come from the query: cast them there with CREATE OR REPLACE.",
    "UNSET": "An option goes back to its default with RESET ('key').",
    "CLUSTER": "Clustering is changed in place by CREATE OR ALTER.",
}
_FOR_ALL = "Everything else is changed by CREATE OR ALTER with the whole definition."


def read_alter(cursor: Cursor) -> Alter:
    """Read the statement from ALTER on.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
    """
    cursor.statement = "ALTER MATERIALIZED TABLE"
    cursor.expect("ALTER", "MATERIALIZED", "TABLE")
    name = read_table_name(cursor)
    if _at_evolution(cursor):
        return _read_alter_query(cursor, name)
    word = cursor.peek()
    read = _FORMS.get(word.keyword)
    if read is None or (word.keyword == "ADD" and not _at_added_query(cursor)):
        raise _unsupported(cursor, "")
    cursor.next()
    statement = read(cursor, name)
    expect_end(cursor)
    return statement


def _at_evolution(cursor: Cursor) -> bool:
    return cursor.at("AS") or any(cursor.at(*clause.words) for clause in _EVOLUTION.clauses)


def _at_added_query(cursor: Cursor) -> bool:
    depth = 1
    while cursor.peek(depth).text == "(":
        depth += 1
    first = cursor.peek(depth)
    return first.kind is TokenKind.END or first.keyword in _QUERY_BEGINS


def _read_alter_query(cursor: Cursor, name: TableName) -> AlterQuery:
    values: dict[str, Any] = read_clauses(cursor, _EVOLUTION)
    query, offset = read_query(cursor)
    return AlterQuery(name, query, query_offset=offset, **values)


def _read_resume(cursor: Cursor, name: TableName) -> Resume:
    with_options = cursor.accept("WITH") or cursor.accept("TBLPROPERTIES")
    return Resume(name, read_options(cursor) if with_options else ())


def _read_refresh(cursor: Cursor, name: TableName) -> Refresh:
    return Refresh(name, read_partition(cursor) if cursor.accept("PARTITION") else ())


def _read_add(cursor: Cursor, name: TableName) -> AddQuery:
    query, offset = read_query(cursor)
    return AddQuery(name, query, offset)


def _read_set(cursor: Cursor, name: TableName) -> Alter:
    if cursor.at("("):
        return SetOptions(name, read_options(cursor))
    word = cursor.peek()
    read = _SETTINGS.get(word.keyword)
    if read is None:
        raise _unsupported(cursor, "SET ")
    cursor.next()
    return read(cursor, name)


def _read_reset(cursor: Cursor, name: TableName) -> Alter:
    if cursor.accept("FRESHNESS"):
        return SetFreshness(name, None)
    if cursor.at("("):
        return ResetOptions(name, read_keys(cursor))
    raise _unsupported(cursor, "RESET ")


def _unsupported(cursor: Cursor, read: str) -> UnsupportedAlterError:
    """Return the error about a form of which `read` has been read."""
    word = cursor.peek().keyword
    instead = None if read else _INSTEAD.get(word)
    behind = cursor.peek(1)
    more = f" {behind}" if instead and behind.kind is TokenKind.WORD else ""
    return cursor.error(
        UnsupportedAlterError,
        form=f"{read}{cursor.peek()}{more}",
        forms=", ".join(ALTER_FORMS),
        suggestion="" if instead else did_you_mean(read + word, ALTER_FORMS),
        instead=instead or _FOR_ALL,
    )


_SETTINGS: dict[str, Callable[[Cursor, TableName], Alter]] = {
    "FRESHNESS": lambda cursor, name: SetFreshness(name, read_freshness(cursor)),
    "REFRESH_MODE": lambda cursor, name: SetRefreshMode(name, read_refresh_mode(cursor)),
    "COMMENT": lambda cursor, name: SetComment(name, cursor.string("a comment")),
}
_FORMS: dict[str, Callable[[Cursor, TableName], Alter]] = {
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
    "SET FRESHNESS",
    "RESET FRESHNESS",
    "SET REFRESH_MODE",
    "SET (…)",
    "RESET (…)",
    "SET COMMENT",
    "[WITH (…)] [SET START_MODE] [SET STATE_RETENTION] AS query",
    "ADD query",
)
