"""Syntax of Spark SQL text: trees that can be written as text again, and equality of two texts.

sqlglot replaces functions, types and literals by what it considers their equivalent. The dialect
here keeps every function by its name, and every literal as it is written. The rest is compared: a
text whose tree would be written with other tokens is not rendered.

Two texts are equal by their tokens. Comments, whitespace and the case of keywords do not count.
Hints count. String literals and names count exactly as written. The case of a name is that of a
result column, and of a key in `to_json`. A text that cannot be read is equal only to the same text.
A missed difference would leave the old query's rows in the table.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import ErrorLevel, exp, parse_one, tokenize
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class _Text(exp.Var):
    """A literal of text, as it is written: 'a' and 'A' differ, while a Var is equal in any case."""

    _hash_raw_args: ClassVar[bool] = True


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
        } | {
            exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
            _Text: lambda _, node: node.name,
        }


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


class Fidelity(Enum):
    """Whether a text can be written from its tree."""

    FAITHFUL = "with the same tokens"
    REARRANGED = "with more tokens, and pipes (|>) as clauses"
    LOST = "with fewer tokens"


def read_query(text: str) -> tuple[exp.Query, Fidelity]:
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
        if _has_path(text):
            raise UnreadableError("VARIANT_PATH", _PATH) from error  # noqa: EM101 - a code
        problem = "its text cannot be parsed"
        raise UnreadableError("UNREADABLE", problem) from error  # noqa: EM101
    if not isinstance(tree, exp.Query):
        key = tree.key if tree is not None else "nothing"
        raise UnreadableError("OPERATOR", f"it uses {key.upper()}")  # noqa: EM101
    if tree.find(exp.Placeholder) is not None:
        raise UnreadableError("VARIANT_PATH", _PATH)  # noqa: EM101 - a code
    given, again = _words(_DIALECT.tokenize(marked)), _words(written)
    fidelity = Fidelity.FAITHFUL
    if given != again:
        lost = given - again
        fidelity = Fidelity.LOST if lost.keys() - {"|>"} else Fidelity.REARRANGED
    for literal in list(tree.find_all(exp.Literal, exp.Column)):
        if literal.name in literals:
            kept = literals[literal.name]
            literal.replace((_Text if kept[0] in "'\"rR" else exp.Var)(this=kept))
    for call in tree.find_all(exp.Anonymous):
        name = str(call.this).lower()
        call.set("this", _STAND_INS.get(name, name))
    return tree, fidelity


_PATH = "it takes a part of a VARIANT by its path (v:a.b); write variant_get"


def _has_path(text: str) -> bool:
    """Return whether a colon is between two names, in a text without types of structs."""
    try:
        tokens = _DIALECT.tokenize(text)
    except SqlglotError:
        return False
    return not any(token.token_type == TokenType.STRUCT for token in tokens) and any(
        token.token_type == TokenType.COLON and before.end + 1 == token.start
        for before, token in pairwise(tokens)
    )


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


# A line comment ending in a backslash continues in the next line for Spark, but not for sqlglot.
_GAP = re.compile(r"\s+|--[^\r\n]*(?:\r?\n|\r|$)|(?P<hint>/\*\+.*?\*/)|(?P<other>.)", re.DOTALL)
_WORDS = (
    "ALL ANTI AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXCEPT EXISTS FROM FULL "
    "GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NULL "
    "OFFSET ON OR ORDER OUTER OVER PARTITION QUALIFY RIGHT SELECT SEMI THEN UNION USING VIEW WHEN "
    "WHERE WINDOW WITH"
)
_SYNTAX = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class _Token:
    """A token as written; `start` is its offset in the query."""

    text: str
    start: int


def token_key(query: str) -> str:
    """Return a text that is equal for two queries only if they are the same token by token.

    Here the case of a keyword counts. In `same_tokens` it does not.
    """
    tokens = _tokens(query)
    if tokens is None:
        return query
    return "\n".join(f"{len(t.text)} {t.text}" for t in tokens)


def same_tokens(a: str, b: str) -> bool:
    """Return whether two texts are the same query."""
    if a == b:
        return True
    ours, theirs = _tokens(a), _tokens(b)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return False
    differing = [
        (one, other) for one, other in zip(ours, theirs, strict=True) if one.text != other.text
    ]
    if any(not _same_keyword(one.text, other.text) for one, other in differing):
        return False
    return not differing or (
        _are_keywords(a, [one for one, _ in differing])
        and _are_keywords(b, [other for _, other in differing])
    )


def _same_keyword(one: str, other: str) -> bool:
    """Return whether two tokens are the same keyword in another case or spacing."""
    words = one.upper().split()
    return words == other.upper().split() and all(word in _SYNTAX for word in words)


def _are_keywords(query: str, tokens: list[_Token]) -> bool:
    """Return whether none of `tokens` is a name in `query`: most keywords can be names in Spark."""
    tree = parse(query)
    if tree is None:
        return False
    names = {node.meta.get("start") for node in tree.find_all(exp.Identifier)}
    return not any(token.start in names for token in tokens)


def parse(query: str) -> exp.Expr | None:
    """Return sqlglot's tree of `query`, or None where it does not understand Spark."""
    try:
        tree = parse_one(query, read="spark", error_level=ErrorLevel.IMMEDIATE)
    except (SqlglotError, RecursionError):
        return None
    return None if isinstance(tree, exp.Command) else tree


def _tokens(query: str) -> list[_Token] | None:
    """Return the tokens and hints of `query`, or None if it cannot be split safely."""
    try:
        found = tokenize(query, read="spark")
    except SqlglotError:
        return None
    result: list[_Token] = []
    end = 0
    for token in found:
        if result and token.start == result[-1].start:
            continue  # sqlglot makes three tokens of `10L`, all with the same place
        gap = _gap(query[end : token.start], end)
        if gap is None:
            return None
        text = query[token.start : token.end + 1]
        if token.start == end and result and _is_doubled_quote(result[-1].text, text):
            result[-1] = _Token(result[-1].text + text, result[-1].start)
        else:
            result += [*gap, _Token(text, token.start)]
        end = token.end + 1
    gap = _gap(query[end:], end)
    return None if gap is None else result + gap


def _is_doubled_quote(before: str, text: str) -> bool:
    """Return whether two literals without a blank between them are one with a quote inside."""
    return text[0] in "'\"`" and before.endswith(text[0])


def _gap(text: str, offset: int) -> list[_Token] | None:
    """Return the hints between two tokens, or None if there is more than blanks and comments."""
    hints: list[_Token] = []
    at = 0
    while at < len(text):
        comment_end = _block_comment_end(text, at)
        if comment_end is not None:
            at = comment_end
            continue
        match = _GAP.match(text, at)
        if match is None or match["other"] or match[0].rstrip("\r\n").endswith("\\"):
            return None
        if match["hint"]:
            hints.append(_Token(match["hint"], offset + at))
        at = match.end()
    return hints


def _block_comment_end(text: str, at: int) -> int | None:
    """Return where the comment that begins at `at` ends; comments nest, hints are none."""
    if not text.startswith("/*", at) or text.startswith("/*+", at):
        return None
    depth = 0
    for match in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return at + match.end()
    return None


def missing_comma(query: str, column: str) -> str:
    """Return ` A comma may be missing …`, or an empty text.

    `SELECT ds id` is valid, and names the column `ds` `id`. If the column `ds` is missing, the
    comma between the two was probably forgotten.

    Args:
        query: The query's text.
        column: A column that was expected in its result, and is missing.
    """
    tree = parse(query)
    for item in tree.selects if isinstance(tree, exp.Query) else ():
        if not isinstance(item, exp.Alias) or item.this.name.lower() != column.lower():
            continue
        named = item.this.this if isinstance(item.this, exp.Column) else None
        start = named.meta.get("end") if isinstance(named, exp.Identifier) else None
        end = item.args["alias"].meta.get("start")
        if start is not None and end is not None and not query[start + 1 : end].strip():
            written = query[named.meta["start"] : start + 1] if named else column
            return f" A comma may be missing in the query: {written}, {item.alias}."
    return ""
