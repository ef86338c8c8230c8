"""Cursor that reads the tokens of a statement, and names their places to people."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.sql_tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.errors import Condition, StatementSyntaxError

    _E = TypeVar("_E", bound=StatementSyntaxError)
    _T = TypeVar("_T")


_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a statement: line and column count from 1, columns in characters.

    Args:
        excerpt: The line with the stretch underlined, cut where it is very long.
    """

    line: int
    column: int
    excerpt: str


def place(sql: str, start: int, end: int) -> Place:
    """Locate the characters from `start` to before `end`."""
    line, line_start, next_start = 1, 0, len(sql)
    for match in _LINE_END.finditer(sql):
        if match.end() > start:
            next_start = match.start()
            break
        line, line_start = line + 1, match.end()
    column = start - line_start
    text = sql[line_start : max(next_start, line_start)]
    first = max(0, min(column - _WIDTH // 2, len(text) - _WIDTH))
    last = first + _WIDTH
    shown = ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
    shown = "".join(char if char.isprintable() else " " for char in shown)
    indent = " " * (column - first + (1 if first else 0))
    marks = "^" * max(1, min(end - start, next_start - start, last - column))
    excerpt = f"  {line} | {shown}\n  {' ' * len(str(line))} | {indent}{marks}"
    return Place(line, column + 1, excerpt)


def tokenize(sql: str) -> tuple[Token, ...]:
    """Split a statement into its tokens; the last one is of kind END.

    Raises:
        StatementSyntaxError: A quote or a comment is never closed.
    """
    try:
        tokens = sql_tokens.tokens_of(sql)
    except sql_tokens.UnreadableTokensError as error:
        raise conditions.UNREADABLE_TEXT(
            statement="The statement",
            problem=error.problem,
            found=sql[error.start : error.start + 1],
            **asdict(place(sql, error.start, error.start + 1)),
        ) from error
    return (*tokens, Token(TokenKind.END, "", tokens[-1].end if tokens else 0))


class Cursor:
    """Reads a statement from left to right.

    Args:
        sql: The statement's text.

    Raises:
        StatementSyntaxError: A quote or a comment is never closed.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.statement = "The statement"
        self._tokens = tokenize(sql)
        self._index = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return a token that is still to be read, END after the last."""
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    @property
    def previous(self) -> Token:
        """The token that was read last."""
        return self._tokens[max(self._index - 1, 0)]

    def next(self) -> Token:
        """Read a token."""
        token = self.peek()
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def at(self, *keywords: str) -> bool:
        """Whether these keywords and signs come next."""
        return all(self.peek(i).keyword == word for i, word in enumerate(keywords))

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.peek().kind is TokenKind.END

    def accept(self, *keywords: str) -> bool:
        """Read these keywords and signs if they come next."""
        if not self.at(*keywords):
            return False
        self._index += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Read these keywords and signs.

        Raises:
            StatementSyntaxError: Something else comes next.
        """
        for word in keywords:
            if not self.accept(word):
                raise self.expected(word)

    def expected(self, what: str) -> StatementSyntaxError:
        """Return the error that something else comes next."""
        return self.error(conditions.SYNTAX_ERROR, expected=what)

    def error(
        self, kind: Condition[StatementSyntaxError], token: Token | None = None, **facts: object
    ) -> StatementSyntaxError:
        """Return an error at `token`, or at what comes next."""
        token = token or self.peek()
        where = place(self.sql, token.start, token.end)
        facts |= {"found": token, "statement": self.statement, **asdict(where)}
        return kind(violations=(), **facts)

    def missing_equals(self, key: object, value: object) -> StatementSyntaxError:
        """Return the error that no equals sign follows `key`, with a value to write after it."""
        return self.error(conditions.MISSING_EQUALS, clause=key, suggestion=f"{key} = {value}")

    def name(self, what: str = "a name") -> str:
        """Read an identifier: a word, or anything in backticks.

        Raises:
            StatementSyntaxError: Something else comes next.
        """
        token = self.peek()
        if token.kind is TokenKind.WORD:
            return self.next().text
        if token.kind is TokenKind.QUOTED and len(token.text) > 2:
            return self.next().text[1:-1].replace("``", "`")
        raise self.expected(
            what=f"{what} (in backticks if it is not made of letters, digits and _)"
        )

    def string(self, what: str = "a text") -> str:
        """Read a string literal.

        Raises:
            StatementSyntaxError: Something else comes next, or an escape names no character.
        """
        token = self.peek()
        if token.kind is not TokenKind.STRING:
            raise self.expected(what=f"{what} in single quotes")
        try:
            text = sql_tokens.unescape(token.text)
        except ValueError as error:
            raise self.expected(what=f"{what} whose \\u and \\U escapes are characters") from error
        self.next()
        return text

    def choice(self, clause: str, values: Sequence[str]) -> str:
        """Read one of a few keywords.

        Raises:
            StatementSyntaxError: Another one comes next.
        """
        keyword = self.peek().keyword
        if keyword not in values:
            suggestion, known = did_you_mean(keyword, values), ", ".join(values)
            raise self.error(
                conditions.UNKNOWN_VALUE, clause=clause, values=known, suggestion=suggestion
            )
        self.next()
        return keyword

    def items(self, read: Callable[[Cursor], _T]) -> list[_T]:
        """Read `(item, …)`, at least one item.

        Raises:
            StatementSyntaxError: A parenthesis or a comma is missing.
        """
        self.expect("(")
        found = [read(self)]
        while self.accept(","):
            found.append(read(self))
        if not self.accept(")"):
            raise self.expected(what="a comma or a closing parenthesis")
        return found

    def text_between(self, first: Token, last: Token) -> str:
        """Return the statement's text from one token to another, byte for byte."""
        return self.sql[first.start : last.end]


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return `Did you mean X? `, or nothing where nothing known looks like `word`."""
    close = get_close_matches(word.upper(), known, n=1)
    return f"Did you mean {close[0]}? " if close else ""


def read_table_name(cursor: Cursor) -> TableName:
    """Read a name of one to three parts; all later errors of the statement have it."""
    name = TableName.of(*read_parts(cursor, 3, "a table's name"))
    cursor.statement = f"{cursor.statement} {name}"
    return name


def refuse_temporary(cursor: Cursor, otherwise: str = "") -> None:
    """Refuse `[GLOBAL] TEMPORARY` before MATERIALIZED TABLE.

    Raises:
        StatementSyntaxError: The word is there; `otherwise` is what else the statement could do.
    """
    token = cursor.peek()
    if token.keyword in ("GLOBAL", "TEMPORARY", "TEMP"):
        last = cursor.peek(1) if cursor.peek(1).keyword in ("TEMPORARY", "TEMP") else token
        words = cursor.text_between(token, last)
        raise cursor.error(conditions.TEMPORARY, temporary=words, otherwise=otherwise)


def read_parts(cursor: Cursor, most: int, what: str) -> tuple[str, ...]:
    """Read a dotted name of at most `most` parts.

    Raises:
        StatementSyntaxError: It has more parts, or one is no name.
    """
    parts = [cursor.name(what)]
    while cursor.at("."):
        if len(parts) == most:
            raise cursor.expected(what=f"the end of the name, which has at most {most} parts")
        cursor.next()
        parts.append(cursor.name(what))
    return tuple(parts)


def expect_end(cursor: Cursor) -> None:
    """Read semicolons up to the end of the statement.

    Raises:
        StatementSyntaxError: Another statement follows.
        StatementSyntaxError: The statement continues where it should end.
    """
    if cursor.at_end():
        return
    if not cursor.at(";"):
        raise cursor.expected(what="the end of the statement")
    while cursor.accept(";"):
        pass
    if not cursor.at_end():
        raise cursor.error(conditions.MULTIPLE_STATEMENTS)
