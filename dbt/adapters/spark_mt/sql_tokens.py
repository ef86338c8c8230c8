r"""Tokens of SQL text, with their places in it.

sqlglot's tokenizer for Spark finds where literals begin and end; `sqlglot[c]` cannot be subclassed.
Blanks, comments and escapes are read here by the rules of Spark's lexer: sqlglot splits `'it''s'`
in two and does not keep `\%`. The tokens of a text are cached, because a statement asks for those
of its query several times.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlglot.tokenizer_core import Token as SqlglotToken


_BLANK = re.compile(r"(?:\s+|--[^\r\n]*)+")
# A line comment ending in a backslash continues in the next line for Spark, but not for sqlglot.
_CONTINUED = re.compile(r"--[^\r\n]*\\(?:[\r\n]|$)")
_NEXT = re.compile(r"['\"`;]|--|/\*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", re.DOTALL)
_RAW = re.compile(r"'[^']*'|\"[^\"]*\"")
_RAW_BEFORE = re.compile(r"(?<![\w])[rR]$")
_SCRIPT = re.compile(r"BEGIN\b", re.IGNORECASE)
_BRACKET = re.compile(r"/\*|\*/")
_HINT = re.compile(r"--[^\r\n]*|/\*\+?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_KEPT = {"%": "\\%", "_": "\\_"}
_PIECE = re.compile(
    r"""
      '(?:[^'\\]|\\.|'')*'(?!')
    | "(?:[^"\\]|\\.|"")*"(?!")
    | `[^`]*`
    | --[^\r\n]*
    | (?P<comment>/\*)
    | (?P<open>['"`]|\{\#(?!.*?\#\}))
    """,
    re.DOTALL | re.VERBOSE,
)
_HEX = re.compile(r"\b[xX]'(?![0-9A-Fa-f]*')")
_OPENERS = {
    "'": "a string literal that is never closed",
    '"': "a string literal that is never closed",
    "`": "a quoted name that is never closed",
    "/*": "a comment that is never closed",
    "{#": "a Jinja comment that is never closed",
}
_NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?(?:bd|[lsydf])?", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"[rR]?['\"]")
_BINARY = re.compile(r"[xX]['\"]")
_UNIT = re.compile(r"(?:(?:MICRO|MILLI)?SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR)S?", re.IGNORECASE)
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
# sqlglot swallows what follows SHOW or EXPLAIN at the beginning of a text, not after a comma.
_GUARD = ","


class TokenKind(Enum):
    """What a piece of a text is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    BINARY = "binary literal"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


LITERALS = frozenset({TokenKind.STRING, TokenKind.BINARY})
"""Kinds of literals in quotes."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text as written, quotes included.

    Args:
        kind: What it is.
        text: As written.
        start: The offset of its beginning.
        is_name: Whether it is a quoted name, or a word without a meaning for sqlglot.
    """

    kind: TokenKind
    text: str
    start: int
    is_name: bool = False

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The text in upper case, or nothing for a word in quotes."""
        quoted = self.kind in (TokenKind.QUOTED, TokenKind.STRING)
        return "" if quoted else self.text.upper()

    @property
    def name(self) -> str:
        """The text, without the backticks of a quoted name."""
        quoted = self.kind is TokenKind.QUOTED
        return self.text[1:-1].replace("``", "`") if quoted else self.text

    def __str__(self) -> str:
        """For people, cut where it is long."""
        if self.kind is TokenKind.END:
            return "the end of the statement"
        return self.text if len(self.text) <= 60 else f"{self.text[:59]}…"


class UnreadableTokensError(ValueError):
    """A text that cannot be split into tokens.

    Args:
        start: Where it stops being readable.
        problem: What is there.
    """

    def __init__(self, start: int, problem: str) -> None:
        super().__init__(problem)
        self.start = start
        self.problem = problem


@lru_cache(maxsize=32)
def sqlglot_tokens(sql: str) -> tuple[SqlglotToken, ...]:
    """Return the tokens of a text as sqlglot's parser takes them.

    Raises:
        TokenError: A quote or a comment is never closed.
    """
    return tuple(sqlglot.tokenize(sql, read="spark"))


@lru_cache(maxsize=32)
def tokens_of(sql: str) -> tuple[Token, ...]:
    """Split a text into its tokens.

    Raises:
        UnreadableTokensError: A quote or a comment is never closed.
    """
    try:
        found, shift = sqlglot_tokens(sql), 0
        if found and found[0].token_type in Tokenizer.COMMANDS:
            found, shift = sqlglot_tokens(_GUARD + sql)[1:], len(_GUARD)
    except TokenError as error:
        raise UnreadableTokensError(*_unreadable(sql)) from error
    tokens: list[Token] = []
    end = 0
    for each in found:
        start, stop = each.start - shift, each.end + 1 - shift
        # A number with a suffix such as 2L comes as three tokens of the same place, and what
        # follows SHOW after a semicolon as one that may be empty.
        if end <= start < stop:
            tokens += _pieces(sql, start, stop, is_name=each.token_type in _NAMES)
            end = stop
    return tuple(_joined(tokens))


def _pieces(sql: str, start: int, stop: int, *, is_name: bool) -> Iterator[Token]:
    text = sql[start:stop]
    if text[0] == "`":
        yield Token(TokenKind.QUOTED, text, start, is_name)
    elif _STRING.match(text):
        yield Token(TokenKind.STRING, text, start)
    elif _BINARY.match(text):
        yield Token(TokenKind.BINARY, text, start)
    elif _NUMBER.fullmatch(text):
        yield Token(TokenKind.NUMBER, text, start)
    elif _WORD.match(text) and any(char.isspace() for char in text):
        # sqlglot takes PARTITION BY and its like as one.
        for word in _WORD.finditer(text):
            yield Token(TokenKind.WORD, word[0], start + word.start())
    else:
        kind = TokenKind.WORD if _WORD.fullmatch(text) else TokenKind.SIGN
        yield Token(kind, text, start, is_name)


def _joined(tokens: Iterable[Token]) -> list[Token]:
    """Put the halves of `'it''s'` together, which sqlglot takes for two literals."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else token
        touch = last.kind is token.kind is TokenKind.STRING and last.end == token.start
        if touch and last.text[0] == token.text[0] in "'\"":
            joined[-1] = Token(TokenKind.STRING, last.text + token.text, last.start)
        else:
            joined.append(token)
    return joined


def is_sign(tokens: Sequence[Token], i: int, *signs: str) -> bool:
    """Return whether the token at an index is one of some signs or keywords."""
    return 0 <= i < len(tokens) and tokens[i].keyword in signs


def closing(tokens: Sequence[Token], i: int) -> int | None:
    """Return the index of the parenthesis that closes the one at `i`; None if nothing does."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += is_sign(tokens, j, "(") - is_sign(tokens, j, ")")
        if depth == 0:
            return j
    return None


def interval_end(tokens: Sequence[Token], i: int) -> int:
    """Return the index of the last token of the interval whose keyword is at `i`.

    Such as `INTERVAL 1 DAY -2 HOURS` and `INTERVAL '1' DAY TO SECOND`; `i` itself if no value
    follows.
    """
    last = i
    while True:
        at = last + 1
        at += is_sign(tokens, at, "-", "+")
        kind = tokens[at].kind if at < len(tokens) else TokenKind.END
        if kind is not TokenKind.NUMBER and kind not in LITERALS:
            return last
        if not _is_unit(tokens, at + 1):
            return at if last == i and kind in LITERALS else last
        last = at + 1
        if is_sign(tokens, last + 1, "TO") and _is_unit(tokens, last + 2):
            last += 2


def _is_unit(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and _UNIT.fullmatch(tokens[i].text) is not None


def skip_blank(sql: str, offset: int) -> int:
    """Return where the next thing is that is neither whitespace nor comment."""
    end = _blank_end(sql, offset)
    return len(sql) if sql.startswith("/*", end) else end  # a comment that is never closed


def _blank_end(sql: str, offset: int) -> int:
    """Return where whitespace and closed comments end."""
    while offset < len(sql):
        if match := _BLANK.match(sql, offset):
            offset = match.end()
        elif sql.startswith("/*", offset) and (end := _comment_end(sql, offset)):
            offset = end
        else:
            break
    return offset


def is_blank(gap: str) -> bool:
    """Return whether Spark too finds nothing but whitespace and comments in a stretch."""
    return _blank_end(gap, 0) == len(gap) and _CONTINUED.search(gap) is None


def hints(gap: str) -> list[tuple[int, str]]:
    """Return the `/*+ … */` in a stretch of blanks and comments, each with its offset there."""
    found: list[tuple[int, str]] = []
    offset = 0
    while match := _HINT.search(gap, offset):
        offset = match.end()
        if match[0].startswith("/*"):
            offset = _comment_end(gap, match.start()) or len(gap)
        if match[0] == "/*+":
            found.append((match.start(), gap[match.start() : offset]))
    return found


def unescape(literal: str) -> str:
    r"""Return the text that a string literal with its quotes stands for, as Spark reads it.

    Doubled quotes are one quote, `\%` and `\_` keep the backslash, `r'…'` is taken as it is.

    Raises:
        ValueError: An escape names a character that does not exist.
    """
    if literal[0] in "rR":
        return literal[2:-1]
    quote, body = literal[0], literal[1:-1]
    pieces: list[str] = []
    last = 0
    for match in _ESCAPE.finditer(body):
        pieces += [body[last : match.start()].replace(quote * 2, quote), _escaped(match)]
        last = match.end()
    pieces.append(body[last:].replace(quote * 2, quote))
    # Two \u escapes may be the halves of one character.
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _unreadable(sql: str) -> tuple[int, str]:
    """Return where a text stops being readable, and what is there."""
    offset = 0
    while match := _PIECE.search(sql, offset):
        offset = match.end()
        if match["open"]:
            return match.start(), _OPENERS[match["open"][:2]]
        if match["comment"]:
            end = _comment_end(sql, match.start())
            if end is None:
                return match.start(), _OPENERS["/*"]
            offset = end
    if malformed := _HEX.search(sql):
        return malformed.start(), "a hexadecimal literal with other digits"
    return skip_blank(sql, 0), "text that is no SQL"


def _comment_end(sql: str, start: int) -> int | None:
    depth = 0
    for match in _BRACKET.finditer(sql, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return None


def _escaped(match: re.Match[str]) -> str:
    utf16, utf32, octal, char = match.groups()
    if char is not None:
        return _NAMED.get(char) or _KEPT.get(char) or str(char)
    code = int(octal, 8) if octal else int(utf16 or utf32, 16)
    if code > sys.maxunicode:
        raise ValueError(f"no character has the number {code}")  # noqa: TRY003, EM102 - not shown
    return chr(code)


def statements_of(text: str) -> tuple[str, ...]:
    """Return the statements of a text, separated by semicolons; those without words are left out.

    Semicolons in literals, names and comments separate nothing. A script, which starts with BEGIN,
    is one statement to the end of the text.
    """

    def end_of(offset: int) -> int:
        """The statement's semicolon, or the end of the text."""
        while match := _NEXT.search(text, offset):
            at = match.start()
            if match[0] == ";":
                return at
            if match[0] in {"--", "/*"}:
                offset = skip_blank(text, at)
                continue
            is_raw = _RAW_BEFORE.search(text, max(0, at - 2), at) is not None
            quoted = (_RAW if is_raw else _QUOTED).match(text, at)
            offset = quoted.end() if quoted else len(text)
        return len(text)

    found = []
    start = 0
    while start < len(text):
        first = skip_blank(text, start)
        end = len(text) if _SCRIPT.match(text, first) else end_of(first)
        if first < end:
            found.append(text[start:end].strip())
        start = end + 1
    return tuple(found)
