"""Trees of Spark SQL text that can be written as text again without a change of meaning.

sqlglot replaces functions, types and literals by what it considers their equivalent. This dialect
keeps every function by its name, and every literal as it is written. The rest is compared: a text
whose tree would be written with other tokens is not rendered.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")


class _Dialect(Spark):
    """Spark without functions that sqlglot knows; syntax of its own stays (`EXTRACT(x FROM y)`)."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name in _PARSERS
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in {"CASE", "TRANSFORM"}
        }

    class Generator(SparkGenerator):
        TRANSFORMS: ClassVar = {
            node: text
            for node, text in SparkGenerator.TRANSFORMS.items()
            if node not in {exp.Select, exp.Qualify}
        } | {exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>")}


_DIALECT = _Dialect()
_STAND_INS = {"windoo": "window", "arra1": "array"}
"""Functions under other names of the same length, because sqlglot takes them for keywords."""
_ARRAY = re.compile(r"\barray\b(?=\s*\()", re.IGNORECASE)
_PREFIXES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIME", "INTERVAL"})
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING})
_FIRST_MARK = 0x4E00
_OPTIONAL = frozenset(
    {"AS", "INNER", "OUTER", "ASC", "CROSS", "JOIN", "ALL", ",", "(", ")", ";", "DISTINCT FROM"}
    | {"SELECT", "FROM", "FOR", "NULLS", "FIRST", "LAST", "ROWS", "WITH"}
)
"""Tokens that are written or left out without a change of meaning."""
_SAME = {"==": "=", "<>": "!=", "::": "CAST", "REGEXP": "RLIKE", "MINUS": "EXCEPT"}
_SAME["<=>"] = "IS NOT DISTINCT FROM"


class UnreadableError(Exception):
    """A text cannot be read as a query.

    Args:
        reason: A code.
        problem: The same as part of a sentence about the query.
    """

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem


def read_query(text: str) -> tuple[exp.Query, bool]:
    """Return the tree of a query, and whether its text could be written from the tree.

    Identifiers keep their offsets in the text (`meta`). Literals are `exp.Var` with their text.

    Args:
        text: The query in words that sqlglot reads (`readable_text`).

    Raises:
        UnreadableError: sqlglot cannot read it, or it is no query.
    """
    try:
        marked, literals = _marked(text)
        tree = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(
            _DIALECT.tokenize(marked), marked
        )[0]
        written = _DIALECT.tokenize(sql(tree)) if tree is not None else []
    except (SqlglotError, RecursionError, IndexError, AttributeError) as error:
        problem = "its text cannot be parsed"
        raise UnreadableError("UNREADABLE", problem) from error  # noqa: EM101
    if not isinstance(tree, exp.Query):
        key = tree.key if tree is not None else "nothing"
        raise UnreadableError("OPERATOR", f"it uses {key.upper()}")  # noqa: EM101
    faithful = _words(_DIALECT.tokenize(marked)) == _words(written)
    for literal in list(tree.find_all(exp.Literal, exp.Column)):
        if literal.name in literals:
            literal.replace(exp.Var(this=literals[literal.name]))
    for call in tree.find_all(exp.Anonymous):
        name = str(call.this).lower()
        call.set("this", _STAND_INS.get(name, name))
    return tree, faithful


def sql(tree: exp.Expr) -> str:
    """Write a part of a tree."""
    return tree.sql(dialect=_DIALECT, normalize_functions=False, comments=False)


def _marked(text: str) -> tuple[str, Mapping[str, str]]:
    """Put a literal of one character in the place of each literal, every offset kept."""
    literals: dict[str, str] = {}
    pieces: list[str] = []
    done = 0
    marks = (mark for code in count(_FIRST_MARK) if (mark := chr(code)) not in text)
    for start, end in _literals(_DIALECT.tokenize(text)):
        written = text[start:end]
        mark = next(marks)
        literals[mark] = written
        short = end - start == 2  # a number such as 3L: a column in its place fits
        kept = (mark if short else f"'{mark}'").ljust(end - start)
        pieces += (_ARRAY.sub("arra1", text[done:start]), kept)
        done = end
    return "".join((*pieces, _ARRAY.sub("arra1", text[done:]))), literals


def _literals(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield where the literals are that sqlglot does not keep as they are."""
    i = 0
    while i < len(tokens):
        token, last = tokens[i], i
        prefixed = token.text.upper() in _PREFIXES and token.token_type not in _TEXTS
        if token.token_type in _TEXTS or (prefixed and _is_text(tokens, i + 1)):
            last = i + prefixed
            while _is_text(tokens, last + 1):
                last += 1
        if prefixed and token.text.upper() == "INTERVAL":
            last = max(last, _interval_end(tokens, i))
        if token.token_type == TokenType.NUMBER:
            while last + 1 < len(tokens) and tokens[last + 1].start == token.start:
                last += 1
        start, end = token.start, max(each.end for each in tokens[i : last + 1]) + 1
        if last > i or (token.token_type in _TEXTS and end - start > 2):
            yield start, end
        i = last + 1


def _is_text(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and tokens[i].token_type in _TEXTS


_UNIT = re.compile(r"(?:(?:MICRO|MILLI)?SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR)S?", re.IGNORECASE)


def _interval_end(tokens: Sequence[Token], i: int) -> int:
    """Return the last token's index: `INTERVAL 1 DAY -2 HOURS`, `INTERVAL '1' DAY TO SECOND`."""
    last = i
    while True:
        at = last + 1
        if at < len(tokens) and tokens[at].token_type in {TokenType.DASH, TokenType.PLUS}:
            at += 1
        if at >= len(tokens) or tokens[at].token_type not in _TEXTS | {TokenType.NUMBER}:
            return last
        if at + 1 >= len(tokens) or not _UNIT.fullmatch(tokens[at + 1].text):
            return at if last == i and tokens[at].token_type in _TEXTS else last
        last = at + 1
        if (
            last + 2 < len(tokens)
            and tokens[last + 1].text.upper() == "TO"
            and _UNIT.fullmatch(tokens[last + 2].text)
        ):
            last += 2


def _words(tokens: Sequence[Token]) -> Counter[str]:
    """Count the tokens that have a meaning; the order of a tree's text is that of the tree."""
    found: Counter[str] = Counter()
    for token, after in zip(tokens, (*tokens[1:], None), strict=True):
        if token.token_type in _TEXTS or token.token_type == TokenType.IDENTIFIER:
            found[token.text if token.token_type in _TEXTS else token.text.upper()] += 1
        elif token.token_type == TokenType.NUMBER:
            found[token.text.lstrip("0.")] += 1  # sqlglot writes 0.5 for .5
        elif token.text != "." or after is None or after.token_type != TokenType.NUMBER:
            for word in token.text.upper().split():
                for part in _SAME.get(word, word).split():
                    found[part] += part not in _OPTIONAL
    return found
