"""The column list of CREATE: names, or names with types, and constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Check, ColumnSpec, Constraint, PrimaryKey
from dbt.adapters.spark_mt.statements.errors import (
    EnforcedKeyError,
    MixedColumnListError,
    RepeatedClauseError,
    UnsupportedColumnOptionError,
    UnsupportedConstraintError,
)
from dbt.adapters.spark_mt.statements.tokens import Token, TokenKind
from dbt.adapters.spark_mt.statements.values import read_column_names, refuse_duplicates

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor

_CONSTRAINT_WORDS = frozenset({"PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK", "CONSTRAINT"})
_BEHIND_TYPE = frozenset(
    {"NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "METADATA", "MASK", *_CONSTRAINT_WORDS}
)
_OPENING = "(<["
_CLOSING = ")>]"


@dataclass(frozen=True, slots=True)
class ColumnList:
    """What stands between the parentheses behind the table's name."""

    columns: tuple[ColumnSpec, ...]
    constraints: tuple[Constraint, ...]


def read_column_list(cursor: Cursor) -> ColumnList:
    """Read `( item, … )`; semantics 2.

    Raises:
        StatementSyntaxError: An item is wrong, a name stands twice, or forms are mixed.
    """
    columns: list[tuple[ColumnSpec, Token]] = []
    constraints: list[Constraint] = []

    def read(cursor: Cursor) -> None:
        token = cursor.peek()
        if not _at_constraint(cursor):
            columns.append((_read_column(cursor), token))
            return
        constraint = _read_constraint(cursor)
        if isinstance(constraint, PrimaryKey) and _has_key(constraints):
            raise cursor.error(RepeatedClauseError, token, clause="PRIMARY KEY")
        constraints.append(constraint)

    cursor.items(read)
    refuse_duplicates(cursor, [(column.name, token) for column, token in columns], "column")
    _refuse_mixture(cursor, columns)
    return ColumnList(tuple(column for column, _ in columns), tuple(constraints))


def _has_key(constraints: list[Constraint]) -> bool:
    return any(isinstance(constraint, PrimaryKey) for constraint in constraints)


def _refuse_mixture(cursor: Cursor, columns: list[tuple[ColumnSpec, Token]]) -> None:
    bare = [(column.name, token) for column, token in columns if column.type is None]
    typed = [(column.name, token) for column, token in columns if column.type is not None]
    if bare and typed:
        names = {
            "bare": ", ".join(name for name, _ in bare),
            "typed": ", ".join(name for name, _ in typed),
        }
        raise cursor.error(MixedColumnListError, bare[0][1], **names)


def _at_constraint(cursor: Cursor) -> bool:
    """Whether a constraint comes next and not a column with a constraint's keyword as its name."""
    named = cursor.at("CONSTRAINT") and cursor.peek(2).keyword in _CONSTRAINT_WORDS
    key = cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY")
    return named or key or any(cursor.at(w, "(") for w in ("CHECK", "UNIQUE"))


def _read_constraint(cursor: Cursor) -> Constraint:
    name = cursor.name("a constraint's name") if cursor.accept("CONSTRAINT") else None
    if cursor.accept("PRIMARY", "KEY"):
        columns = read_column_names(cursor)
        if not cursor.accept("NOT", "ENFORCED"):
            raise cursor.error(EnforcedKeyError)
        return PrimaryKey(columns, name)
    if cursor.accept("CHECK"):
        return Check(_read_condition(cursor), name)
    raise cursor.error(UnsupportedConstraintError)


def _read_condition(cursor: Cursor) -> str:
    """Read `( expression )`, byte for byte without what surrounds it."""
    cursor.expect("(")
    first = cursor.peek()
    depth = 1
    while not (cursor.at_end() or cursor.at(";")):
        depth += {"(": 1, ")": -1}.get(cursor.peek().text, 0)
        if depth == 0:
            break
        cursor.next()
    if not cursor.at(")") or cursor.peek() is first:
        raise cursor.expected(
            what="a condition" if cursor.peek() is first else "a closing parenthesis"
        )
    last = cursor.previous
    cursor.next()
    return cursor.text_between(first, last)


def _read_column(cursor: Cursor) -> ColumnSpec:
    name = cursor.name("a column's name")
    if cursor.at(",") or cursor.at(")"):
        return ColumnSpec(name)
    return _read_column_options(cursor, name, _read_type(cursor))


def _read_column_options(cursor: Cursor, name: str, type_: str) -> ColumnSpec:
    not_null, comment = False, None
    while not (cursor.at(",") or cursor.at(")") or cursor.at_end()):
        token = cursor.peek()
        if cursor.accept("NOT"):
            cursor.expect("NULL")
            repeated, not_null = not_null, True
        elif cursor.accept("COMMENT"):
            repeated, comment = comment is not None, cursor.string("a comment")
        elif token.keyword in _CONSTRAINT_WORDS:
            raise cursor.error(UnsupportedConstraintError)
        else:
            raise cursor.error(UnsupportedColumnOptionError)
        if repeated:
            raise cursor.error(RepeatedClauseError, token, clause=token)
    return ColumnSpec(name, type_, not_null, comment)


def _read_type(cursor: Cursor) -> str:
    """Read a type such as `STRUCT<a: INT, b: ARRAY<STRING>>`, byte for byte; Spark judges it."""
    first = cursor.peek()
    if first.kind is not TokenKind.WORD or first.keyword in _BEHIND_TYPE:
        raise cursor.expected(what="a column's type, a comma or a closing parenthesis")
    depth = 0
    while not (cursor.at_end() or cursor.at(";")):
        token = cursor.peek()
        if depth == 0 and (token.text in (",", ")") or token.keyword in _BEHIND_TYPE):
            break
        if token.kind is TokenKind.SIGN:
            depth += sum((c in _OPENING) - (c in _CLOSING) for c in token.text)
        if depth < 0:
            break
        cursor.next()
    if depth != 0:
        raise cursor.expected(what="a type whose brackets are closed")
    return cursor.text_between(first, cursor.previous)
