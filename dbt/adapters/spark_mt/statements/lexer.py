r"""Tokens of a statement with their place in its text, and the cursor that reads them.

sqlglot's tokenizer for Spark finds where literals begin and end; `sqlglot[c]` cannot be subclassed.
Blanks, comments and escapes are read here by the rules of Spark's lexer: sqlglot splits `'it''s'`
in two and does not keep `\%`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import sqlglot
from sqlglot.errors import TokenError

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.statements import errors as syntax_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    _E = TypeVar("_E", bound=syntax_errors.StatementSyntaxError)
    _T = TypeVar("_T")


_BLANK = re.compile(r"(?:\s+|--[^\r\n]*)+")
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


def skip_blank(sql: str, offset: int) -> int:
    """Return where the next thing is that is neither whitespace nor comment."""
    while offset < len(sql):
        if match := _BLANK.match(sql, offset):
            offset = match.end()
        elif sql.startswith("/*", offset):
            offset = _comment_end(sql, offset) or len(sql)
        else:
            break
    return offset


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


def unreadable(sql: str) -> tuple[int, str]:
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
    """A piece of a statement as written, quotes included, and the offset of its beginning."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The text in upper case, or nothing for a word in quotes."""
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
        start, problem = unreadable(sql)
        raise syntax_errors.UnreadableTextError(
            statement="The statement",
            problem=problem,
            found=sql[start : start + 1],
            **asdict(place(sql, start, start + 1)),
        ) from error
    tokens: list[Token] = []
    end = 0
    for start, stop in [(t.start - 1, t.end) for t in found[1:]]:
        # A number with a suffix such as 2L comes as three tokens of the same place, and what
        # follows SHOW after a semicolon as one that may be empty.
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
        last = joined[-1] if joined else token
        touch = last.kind is token.kind is TokenKind.STRING and last.end == token.start
        if touch and last.text[0] == token.text[0] in "'\"":
            joined[-1] = Token(TokenKind.STRING, last.text + token.text, last.start)
        else:
            joined.append(token)
    return joined


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

    def expected(self, what: str) -> syntax_errors.StatementSyntaxError:
        """Return the error that something else comes next."""
        return self.error(syntax_errors.StatementSyntaxError, expected=what)

    def error(self, kind: type[_E], token: Token | None = None, **facts: object) -> _E:
        """Return an error at `token`, or at what comes next."""
        token = token or self.peek()
        where = place(self.sql, token.start, token.end)
        facts |= {"found": token, "statement": self.statement, **asdict(where)}
        return kind(violations=(), **facts)

    def missing_equals(self, key: object, value: object) -> syntax_errors.MissingEqualsError:
        """Return the error that no equals sign follows `key`, with a value to write after it."""
        return self.error(
            syntax_errors.MissingEqualsError, clause=key, suggestion=f"{key} = {value}"
        )

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
            suggestion, known = did_you_mean(keyword, values), ", ".join(values)
            raise self.error(
                syntax_errors.UnknownValueError, clause=clause, values=known, suggestion=suggestion
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
        TemporaryTableError: The word is there; `otherwise` is what else the statement could do.
    """
    token = cursor.peek()
    if token.keyword in ("GLOBAL", "TEMPORARY", "TEMP"):
        last = cursor.peek(1) if cursor.peek(1).keyword in ("TEMPORARY", "TEMP") else token
        words = cursor.text_between(token, last)
        raise cursor.error(syntax_errors.TemporaryTableError, temporary=words, otherwise=otherwise)


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
        raise cursor.error(syntax_errors.MultipleStatementsError)


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
