"""A place in a statement that moves on as the parser reads."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError, UnknownValueError
from dbt.adapters.spark_mt.statements.excerpt import place
from dbt.adapters.spark_mt.statements.lexical import unescape
from dbt.adapters.spark_mt.statements.tokens import Token, TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _E = TypeVar("_E", bound=StatementSyntaxError)
    _T = TypeVar("_T")


class Cursor:
    """Reads a statement from left to right.

    Args:
        sql: The statement's text.

    Raises:
        UnreadableTextError: A quote or a comment is never closed.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.statement = "The statement"
        self._tokens = tokenize(sql)
        self._index = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return a token that is still to be read, END behind the last."""
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
        return self.error(StatementSyntaxError, expected=what)

    def error(self, kind: type[_E], token: Token | None = None, **facts: object) -> _E:
        """Return an error at `token`, or at what comes next."""
        token = token or self.peek()
        where = place(self.sql, token.start, token.end)
        facts |= {"found": token, "statement": self.statement, **asdict(where)}
        return kind(violations=(), **facts)

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
            text = unescape(token.text)
        except ValueError as error:
            raise self.expected(what=f"{what} whose \\u and \\U escapes are characters") from error
        self.next()
        return text

    def choice(self, clause: str, values: Sequence[str]) -> str:
        """Read one of a few keywords.

        Raises:
            UnknownValueError: Another one comes next.
        """
        keyword = self.peek().keyword
        if keyword not in values:
            raise self.error(
                UnknownValueError,
                clause=clause,
                values=", ".join(values),
                suggestion=did_you_mean(keyword, values),
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
