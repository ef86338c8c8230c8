"""The words, names, literals and signs of a statement, with their place in its text.

A thin layer over sqlglot's tokenizer for Spark, which is stock: `sqlglot[c]` cannot be subclassed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import sqlglot
from sqlglot.errors import TokenError

from dbt.adapters.spark_mt.statements.errors import UnreadableTextError
from dbt.adapters.spark_mt.statements.excerpt import place
from dbt.adapters.spark_mt.statements.lexical import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

# sqlglot swallows what follows SHOW or EXPLAIN at the beginning of a text, not after a comma.
_GUARD = ","
_NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?(?:bd|[lsydf])?", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"[rR]?['\"]")


class TokenKind(Enum):
    """What a piece of a statement is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement.

    Args:
        text: As it stands there, quotes included.
        start: The offset of its first character.
    """

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The text in upper case, or nothing where it stands in quotes."""
        quoted = self.kind in (TokenKind.QUOTED, TokenKind.STRING)
        return "" if quoted else self.text.upper()

    def __str__(self) -> str:
        """For people, cut where it is long."""
        if self.kind is TokenKind.END:
            return "the end of the statement"
        return self.text if len(self.text) <= 60 else f"{self.text[:59]}…"


def tokenize(sql: str) -> tuple[Token, ...]:
    """Split a statement into its tokens; the last one is of kind END.

    Raises:
        UnreadableTextError: A quote or a comment is never closed.
    """
    try:
        found = sqlglot.tokenize(_GUARD + sql, read="spark")
    except TokenError as error:
        raise _unreadable(sql) from error
    tokens: list[Token] = []
    end = 0
    for start, stop in [(t.start - 1, t.end) for t in found[1:]]:
        # A number with a suffix such as 2L comes as three tokens of the same place, and what
        # follows SHOW behind a semicolon as one that may be empty.
        if end <= start < stop:
            tokens += _pieces(sql, start, stop)
            end = stop
    return (*_joined(tokens), Token(TokenKind.END, "", end))


def _pieces(sql: str, start: int, stop: int) -> Iterator[Token]:
    text = sql[start:stop]
    if text[0] == "`":
        yield Token(TokenKind.QUOTED, text, start)
    elif _STRING.match(text):
        yield Token(TokenKind.STRING, text, start)
    elif _NUMBER.fullmatch(text):
        yield Token(TokenKind.NUMBER, text, start)
    elif _WORD.match(text) and any(char.isspace() for char in text):
        # sqlglot takes PARTITION BY and its like as one.
        for word in _WORD.finditer(text):
            yield Token(TokenKind.WORD, word[0], start + word.start())
    else:
        yield Token(TokenKind.WORD if _WORD.fullmatch(text) else TokenKind.SIGN, text, start)


def _joined(tokens: list[Token]) -> list[Token]:
    """Put the halves of `'it''s'` together, which sqlglot takes for two literals."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and _continues(last, token):
            joined[-1] = Token(TokenKind.STRING, last.text + token.text, last.start)
        else:
            joined.append(token)
    return joined


def _continues(last: Token, token: Token) -> bool:
    both = last.kind is token.kind is TokenKind.STRING
    return both and last.end == token.start and last.text[0] == token.text[0] in "'\""


def _unreadable(sql: str) -> UnreadableTextError:
    start, problem = unreadable(sql)
    where = place(sql, start, start + 1)
    return UnreadableTextError(
        statement="The statement",
        problem=problem,
        found=sql[start : start + 1],
        line=where.line,
        column=where.column,
        excerpt=where.excerpt,
    )
