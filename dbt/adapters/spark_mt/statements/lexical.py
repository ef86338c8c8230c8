r"""What Spark's lexer says about blanks, comments and escapes, on plain text.

sqlglot's tokenizer finds where literals begin and end; what is inside them is read here, because
sqlglot splits `'it''s'` in two and does not keep `\%`.
"""

from __future__ import annotations

import re
import sys

_BLANK = re.compile(r"(?:\s+|--[^\r\n]*)+")
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
    """Return where the next thing stands that is neither whitespace nor comment."""
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
    quote = literal[0]
    pieces: list[str] = []
    last = 0
    body = literal[1:-1]
    for match in _ESCAPE.finditer(body):
        pieces += [body[last : match.start()].replace(quote * 2, quote), _escaped(match)]
        last = match.end()
    pieces.append(body[last:].replace(quote * 2, quote))
    # Two \u escapes may be the halves of one character.
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def unreadable(sql: str) -> tuple[int, str]:
    """Return where a text stops being readable, and what stands there."""
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
