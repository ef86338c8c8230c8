"""A query in words that sqlglot reads, every character at its old offset.

sqlglot does not know Spark's syntax for streams, nor `window(…)` as a function. What it does not
know is overwritten by text of the same length that leaves the relations and their places alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot.tokenizer_core import Token

_NAME_END = frozenset({TokenType.IDENTIFIER, TokenType.VAR})
_RELATION_STARTS = frozenset({TokenType.FROM, TokenType.JOIN})
_STREAM_PLACES = _RELATION_STARTS | {TokenType.COMMA, TokenType.L_PAREN}
_VALUES = frozenset({TokenType.NUMBER, TokenType.STRING})
_UNITS = frozenset(
    unit + plural
    for unit in (
        *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH"),
        "YEAR",
    )
    for plural in ("", "S")
) | {"TO"}
_FURTHEST = 60
"""How many tokens the column of a watermark may have."""


def streams_of(tokens: Sequence[Token]) -> list[Token]:
    """Return the STREAM keywords: in a relation's place, before its name or a parenthesis."""
    return [
        token
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.text.upper() == "STREAM"
        and token.token_type == TokenType.VAR
        and before.token_type in _STREAM_PLACES
        and (
            after.token_type in _NAME_END
            or (after.token_type == TokenType.L_PAREN and before.token_type in _RELATION_STARTS)
        )
    ]


def unknown_words(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Yield what sqlglot does not read: from which offset to which, and a word in its place."""
    done = -1
    for i, token in enumerate(tokens):
        if i <= done:
            continue
        last = _last_of(tokens, i)
        if last is not None:
            done = last
            yield token.start, tokens[last].end + 1, ""
        elif _is_word(token, "WINDOW") and _is(tokens, i + 1, TokenType.L_PAREN):
            yield token.start, token.end + 1, "windoo"


def _last_of(tokens: Sequence[Token], i: int) -> int | None:
    """The index of the last token of a clause that begins at `i`; None where none does."""
    token = tokens[i]
    if _is_word(token, "WITH") and _is(tokens, i + 1, TokenType.L_PAREN):
        return _closing(tokens, i + 1)
    follows = i > 0 and tokens[i - 1].token_type in _NAME_END | {TokenType.R_PAREN}
    if _is_word(token, "WATERMARK") and follows:
        return _watermark_end(tokens, i)
    return None


def _watermark_end(tokens: Sequence[Token], i: int) -> int | None:
    """`WATERMARK column DELAY OF INTERVAL 1 MINUTE 30 SECONDS`."""
    for j in range(i + 2, min(len(tokens) - 2, i + _FURTHEST)):
        words = [token.text.upper() for token in tokens[j : j + 3]]
        if words == ["DELAY", "OF", "INTERVAL"]:
            return _interval_end(tokens, j + 2)
    return None


def _interval_end(tokens: Sequence[Token], i: int) -> int | None:
    """The index of the last token of an interval that begins at `i`."""
    last = None
    while _is(tokens, i + 1, *_VALUES):
        last = i = i + 1
        while i + 1 < len(tokens) and tokens[i + 1].text.upper() in _UNITS:
            last = i = i + 1
    return last


def _closing(tokens: Sequence[Token], i: int) -> int | None:
    """The index of the parenthesis that closes the one at `i`."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += (tokens[j].token_type == TokenType.L_PAREN) - (
            tokens[j].token_type == TokenType.R_PAREN
        )
        if depth == 0:
            return j
    return None


def _is(tokens: Sequence[Token], i: int, *kinds: TokenType) -> bool:
    return i < len(tokens) and tokens[i].token_type in kinds


def _is_word(token: Token, word: str) -> bool:
    quoted = token.token_type in {TokenType.STRING, TokenType.IDENTIFIER}
    return token.text.upper() == word and not quoted
