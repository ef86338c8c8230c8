"""Body of a statement: its clauses in their order, AS, and the query's text, byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.errors import (
    ClauseOutOfOrderError,
    DistributedTableError,
    MissingAsError,
    MissingCommaError,
    MultipleStatementsError,
    PartitionedAndClusteredError,
    RepeatedClauseError,
    TableHintError,
    UnknownClauseError,
)
from dbt.adapters.spark_mt.statements.lexer import Token, TokenKind, did_you_mean, hints

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.statements.clauses import Clause
    from dbt.adapters.spark_mt.statements.lexer import Cursor


_BUCKETS = frozenset({"DISTRIBUTED", "CLUSTERED", "BUCKETED"})
_QUERY_WORDS = frozenset({"SELECT", "FROM", "VALUES", "WITH"})
_OTHER_NAMES = {"OPTIONS": "WITH", "PROPERTIES": "WITH", "PARTITION": "PARTITIONED BY"}


@dataclass(frozen=True, slots=True)
class Part:
    """What may precede AS: a clause in one of its spellings, or the column list.

    Args:
        field: Which part of the definition it gives; two spellings of one clause share it.
        words: What it begins with.
        read: Reads what follows the words.
        title: Its name in messages, if that is not its words.
        keep: Whether `read` reads the words as well.
        excludes: The field of a clause that the same statement cannot have.
    """

    field: str
    words: tuple[str, ...]
    read: Callable[[Cursor], object]
    title: str = ""
    keep: bool = False
    excludes: str = ""

    def __str__(self) -> str:
        """Its words, or its title."""
        return self.title or " ".join(self.words)


def parts_of(clause: Clause, *before: str) -> tuple[Part, ...]:
    """Return a clause in all of its spellings, with the words `before` each."""
    return tuple(
        Part(
            clause.field,
            (*before, *spelling.split()),
            clause.read_value,
            excludes=clause.excludes,
        )
        for spelling in (clause.keyword, *clause.spellings)
    )


@dataclass(frozen=True, slots=True)
class PartList:
    """The parts of a statement before AS.

    Args:
        parts: In the usual order.
        orders: Every order of fields that is accepted, the usual one first.
    """

    parts: tuple[Part, ...]
    orders: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """The parts in the usual order, for messages."""
        first_spellings = {part.field: part for part in reversed(self.parts)}
        return ", ".join(str(part) for part in self.parts if first_spellings[part.field] is part)

    def titles(self) -> tuple[str, ...]:
        """The names of the parts in messages."""
        return tuple(str(part) for part in self.parts)


def read_clauses(cursor: Cursor, known: PartList) -> dict[str, object]:
    """Read clauses up to AS, which is read as well; return the values by field.

    Raises:
        StatementSyntaxError: A clause is unknown, misplaced, repeated, or AS is missing.
    """
    values: dict[str, object] = {}
    before: list[Part] = []
    while not cursor.accept("AS"):
        clause = next((c for c in known.parts if _begins(cursor, c)), None)
        if clause is None:
            raise _no_clause(cursor, known)
        _check_place(cursor, known, before, clause)
        if not clause.keep:
            cursor.expect(*clause.words)
        values[clause.field] = clause.read(cursor)
        before.append(clause)
    return values


def _begins(cursor: Cursor, clause: Part) -> bool:
    # WITH without a parenthesis is a query whose AS was forgotten.
    return cursor.at(*clause.words) and (clause.words != ("WITH",) or cursor.peek(1).text == "(")


def _check_place(cursor: Cursor, known: PartList, before: list[Part], clause: Part) -> None:
    fields = [c.field for c in before]
    if clause.field in fields:
        raise cursor.error(RepeatedClauseError, clause=clause)
    other = next((c for c in before if clause.field == c.excludes), None)
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


def _no_clause(cursor: Cursor, known: PartList) -> Exception:
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


_OPTIONS_HINT = re.compile(r"/\*\+\s*OPTIONS\s*\(", re.IGNORECASE)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_TWINS = {
    "scan.timestamp-millis": "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')",
    "latest": "START_MODE = FROM_NOW",
    "earliest": "START_MODE = FROM_BEGINNING",
}
_NO_TWIN = "START_MODE"


def read_query(cursor: Cursor) -> str:
    """Read the query that ends a statement.

    Returns:
        Its text without blanks around it and without the semicolon, comments kept.

    Raises:
        StatementSyntaxError: There is none, another statement follows, or it holds a slip that
            can be found without Spark.
    """
    begin = cursor.previous.end
    if cursor.at_end() or cursor.at(";"):
        raise cursor.expected(what="a query")
    tokens = []
    while not (cursor.at_end() or cursor.at(";")):
        tokens.append(cursor.next())
    end = cursor.peek().start if cursor.at(";") else len(cursor.sql)
    expect_end(cursor)
    _refuse_table_hints(cursor, tokens)
    _refuse_missing_commas(cursor, tokens)
    return cursor.sql[begin:end].strip()


def expect_end(cursor: Cursor) -> None:
    """Read semicolons up to the end of the statement.

    Raises:
        MultipleStatementsError: Another statement follows.
        StatementSyntaxError: The statement continues where it should end.
    """
    if cursor.at_end():
        return
    if not cursor.at(";"):
        raise cursor.expected(what="the end of the statement")
    while cursor.accept(";"):
        pass
    if not cursor.at_end():
        raise cursor.error(MultipleStatementsError)


def _refuse_table_hints(cursor: Cursor, tokens: list[Token]) -> None:
    # After SELECT a hint is a token, after a table's name sqlglot takes it for a comment.
    spans = [(token.start, token.text) for token in tokens if token.text.startswith("/*+")]
    starts = [token.start for token in tokens[1:]] + [len(cursor.sql)]
    for token, start in zip(tokens, starts, strict=True):
        found = hints(cursor.sql[token.end : start])
        spans += [(token.end + offset, text) for offset, text in found]
    for start, text in spans:
        if _OPTIONS_HINT.match(text):
            hint = Token(TokenKind.SIGN, text, start)
            raise cursor.error(TableHintError, hint, twin=_twin(text))


def _twin(hint: str) -> str:
    lowered = hint.lower()
    return next((twin for word, twin in _TWINS.items() if word in lowered), _NO_TWIN)


def _refuse_missing_commas(cursor: Cursor, tokens: list[Token]) -> None:
    """Refuse `a.b c.d`, which no place of a query allows."""
    for i in range(len(tokens) - 5):
        group = tokens[i : i + 6]
        if _is_path(group[:3]) and _is_path(group[3:]):
            left, right = "".join(t.text for t in group[:3]), "".join(t.text for t in group[3:])
            raise cursor.error(MissingCommaError, group[3], suggestion=f"{left}, {right}")


def _is_path(tokens: list[Token]) -> bool:
    first, dot, last = tokens
    return first.kind in _NAMES and dot.text == "." and last.kind in _NAMES
