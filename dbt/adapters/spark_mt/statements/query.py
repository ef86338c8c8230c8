"""The query of a statement: its text, taken byte for byte, and the end of every statement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.errors import (
    MissingCommaError,
    MultipleStatementsError,
    TableHintError,
)
from dbt.adapters.spark_mt.statements.lexical import hints
from dbt.adapters.spark_mt.statements.tokens import Token, TokenKind

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor

_OPTIONS_HINT = re.compile(r"/\*\+\s*OPTIONS\s*\(", re.IGNORECASE)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_TWINS = {
    "scan.timestamp-millis": "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')",
    "latest": "START_MODE = FROM_NOW",
    "earliest": "START_MODE = FROM_BEGINNING",
}
_NO_TWIN = "START_MODE"


def read_query(cursor: Cursor) -> tuple[str, int]:
    """Read the query that ends a statement.

    Returns:
        Its text without blanks around it and without the semicolon, comments kept, and the offset
        of its first character in the statement.

    Raises:
        StatementSyntaxError: There is none, another statement follows, or it holds a slip that
            can be told without Spark.
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
    text = cursor.sql[begin:end]
    return text.strip(), begin + len(text) - len(text.lstrip())


def expect_end(cursor: Cursor) -> None:
    """Read semicolons up to the end of the statement.

    Raises:
        MultipleStatementsError: Another statement follows.
        StatementSyntaxError: The statement goes on where it should end.
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
    # Behind SELECT a hint is a token, behind a table's name sqlglot takes it for a comment.
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
