"""Equality of two query texts by their tokens, and commas that are missing in a SELECT.

Comments, whitespace and the case of keywords do not count. Hints count. String literals and names
count exactly as written. The case of a name is that of a result column, and of a key in `to_json`.
A text that cannot be read is equal only to the same text. A missed difference would leave the old
query's rows in the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import ErrorLevel, exp, parse_one, tokenize
from sqlglot.errors import SqlglotError

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
