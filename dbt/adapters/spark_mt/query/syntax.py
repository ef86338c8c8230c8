"""Syntax of Spark SQL text: trees that can be written as text again, and equality of two texts.

A text whose tree would be written with other tokens is not rendered.

Two texts are equal by their tokens. Comments, whitespace and the case of keywords do not count.
Hints count. String literals and names count exactly as written. The case of a name is that of a
result column, and of a key in `to_json`. A text that cannot be read is equal only to the same text.
A missed difference would leave the old query's rows in the table.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from itertools import count, pairwise
from typing import TYPE_CHECKING

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.query.dialect import DIALECT, LiteralText, sql
from dbt.adapters.spark_mt.sql_tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_STAND_INS = {"windoo": "window", "arra1": "array"}
"""Functions under other names of the same length, because sqlglot takes them for keywords."""
_ARRAY = re.compile(r"\barray\b(?=\s*\()", re.IGNORECASE)
_PREFIXES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIME", "INTERVAL"})
_FIRST_MARK = 0x4E00
_OPTIONAL = frozenset(
    {"AS", "INNER", "OUTER", "ASC", "CROSS", "JOIN", "ALL", ",", "(", ")", ";", "DISTINCT FROM"}
    | {"SELECT", "FROM", "FOR", "NULLS", "FIRST", "LAST", "ROWS", "WITH"}
)
"""Tokens that are written or left out without a change of meaning."""
_SAME = {"==": "=", "<>": "!=", "::": "CAST", "REGEXP": "RLIKE", "MINUS": "EXCEPT"}
_SAME["<=>"] = "IS NOT DISTINCT FROM"


_UNREADABLE = (SqlglotError, sql_tokens.UnreadableTokensError)


_PATH = "it takes a part of a VARIANT by its path (v:a.b); write variant_get"
_WORDS = (
    "ALL ANTI AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXCEPT EXISTS FROM FULL "
    "GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NULL "
    "OFFSET ON OR ORDER OUTER OVER PARTITION QUALIFY RIGHT SELECT SEMI THEN UNION USING VIEW WHEN "
    "WHERE WINDOW WITH"
)
_SYNTAX = frozenset(_WORDS.split())


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
        tokens = list(sql_tokens.sqlglot_tokens(marked))
        tree = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, marked)[0]
        written = sql_tokens.tokens_of(sql(tree)) if tree is not None else ()
    except (*_UNREADABLE, RecursionError, IndexError, AttributeError) as error:
        if _has_path(text):
            raise UnreadableError("VARIANT_PATH", _PATH) from error  # noqa: EM101 - a code
        problem = "its text cannot be parsed"
        raise UnreadableError("UNREADABLE", problem) from error  # noqa: EM101
    if not isinstance(tree, exp.Query):
        key = tree.key if tree is not None else "nothing"
        raise UnreadableError("OPERATOR", f"it uses {key.upper()}")  # noqa: EM101
    if tree.find(exp.Placeholder) is not None:
        raise UnreadableError("VARIANT_PATH", _PATH)  # noqa: EM101 - a code
    given, again = _words(sql_tokens.tokens_of(marked)), _words(written)
    fidelity = Fidelity.FAITHFUL
    if given != again:
        lost = given - again
        fidelity = Fidelity.LOST if lost.keys() - {"|>"} else Fidelity.REARRANGED
    for literal in list(tree.find_all(exp.Literal, exp.Column)):
        if literal.name in literals:
            kept = literals[literal.name]
            literal.replace((LiteralText if kept[0] in "'\"rR" else exp.Var)(this=kept))
    for call in tree.find_all(exp.Anonymous):
        name = str(call.this).lower()
        call.set("this", _STAND_INS.get(name, name))
    return tree, fidelity


def _has_path(text: str) -> bool:
    """Return whether a colon is between two names, in a text without types of structs."""
    try:
        tokens = sql_tokens.tokens_of(text)
    except sql_tokens.UnreadableTokensError:
        return False
    return not any(token.keyword == "STRUCT" for token in tokens) and any(
        token.text == ":" and before.end == token.start for before, token in pairwise(tokens)
    )


def _marked(text: str) -> tuple[str, Mapping[str, str]]:
    """Put a literal of one character in the place of each literal, every offset kept."""
    literals: dict[str, str] = {}
    pieces: list[str] = []
    done = 0
    marks = (mark for code in count(_FIRST_MARK) if (mark := chr(code)) not in text)
    for start, end in _literals(sql_tokens.tokens_of(text)):
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
        prefixed = token.keyword in _PREFIXES
        if _is_text(tokens, i) or (prefixed and _is_text(tokens, i + 1)):
            last = i + prefixed
            while _is_text(tokens, last + 1):
                last += 1
        if token.keyword == "INTERVAL":
            last = max(last, sql_tokens.interval_end(tokens, i))
        is_long = _is_text(tokens, i) and len(token.text) > 2
        is_suffixed = token.kind is TokenKind.NUMBER and token.text[-1].isalpha()
        if last > i or is_long or is_suffixed:
            yield token.start, tokens[last].end
        i = last + 1


def _is_text(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and tokens[i].kind in sql_tokens.LITERALS


def _words(tokens: Sequence[Token]) -> Counter[str]:
    """Count the tokens that have a meaning; the order of a tree's text is that of the tree."""
    found: Counter[str] = Counter()
    for i, token in enumerate(tokens):
        if token.kind is TokenKind.STRING:
            found[token.text[1:-1]] += 1
        elif token.kind is TokenKind.NUMBER:
            found[token.text.lstrip("0.")] += 1  # sqlglot writes 0.5 for .5
        elif not (sql_tokens.is_sign(tokens, i, ".") and _is_number(tokens, i + 1)):
            for part in _SAME.get(token.name.upper(), token.name.upper()).split():
                found[part] += token.kind is TokenKind.QUOTED or part not in _OPTIONAL
    return found


def _is_number(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and tokens[i].kind is TokenKind.NUMBER


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


def _are_keywords(query: str, tokens: list[Token]) -> bool:
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


def _tokens(query: str) -> list[Token] | None:
    """Return the tokens and hints of `query`, or None if it cannot be split safely."""
    try:
        found = sql_tokens.tokens_of(query)
    except sql_tokens.UnreadableTokensError:
        return None
    result: list[Token] = []
    end = 0
    for start, token in (*((each.start, each) for each in found), (len(query), None)):
        gap = query[end:start]
        if not sql_tokens.is_blank(gap):
            return None
        hints = sql_tokens.hints(gap)
        result += [Token(TokenKind.SIGN, text, end + offset) for offset, text in hints]
        if token is not None:
            result.append(token)
            end = token.end
    return result


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
