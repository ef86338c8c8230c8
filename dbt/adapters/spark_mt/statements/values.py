"""Values of clauses, and the query's text byte for byte, read from a statement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.definition import conditions, freshness, modes
from dbt.adapters.spark_mt.definition.errors import (
    FreshnessTooLongError,
    InvalidFreshnessError,
    StatementSyntaxError,
)
from dbt.adapters.spark_mt.sql_tokens import Token, TokenKind
from dbt.adapters.spark_mt.statements import lexer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.columns import Pairs


_UNITS = tuple(unit.name for unit in modes.IntervalUnit)
_POSITIVE = re.compile(r"(?=0*[1-9])[0-9]{1,18}")
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+)\s+([A-Za-z]+)\s*")
_NO_INTERVAL = "literal must be an interval for FROM_NOW and RESUME_OR_FROM_NOW modes"


_OPTIONS_HINT = re.compile(r"/\*\+\s*OPTIONS\s*\(", re.IGNORECASE)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_TWINS = {
    "scan.timestamp-millis": "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')",
    "latest": "START_MODE = FROM_NOW",
    "earliest": "START_MODE = FROM_BEGINNING",
}


def read_options(cursor: lexer.Cursor) -> Pairs:
    """Read `('key' = 'value', …)`, in the order written."""
    pairs: list[tuple[str, str]] = []
    keys: list[tuple[str, Token]] = []

    def read(cursor: lexer.Cursor) -> None:
        token = cursor.peek()
        key = cursor.string("an option's key")
        if not cursor.accept("="):
            value = cursor.peek() if cursor.peek().kind is TokenKind.STRING else "'value'"
            raise cursor.missing_equals(token, value)
        pairs.append((key, cursor.string("an option's value")))
        keys.append((key, token))

    cursor.items(read)
    refuse_duplicates(cursor, keys, "option")
    return tuple(pairs)


def read_keys(cursor: lexer.Cursor) -> tuple[str, ...]:
    """Read `('key', …)`."""
    keys = cursor.items(lambda c: (c.string("an option's key"), c.previous))
    refuse_duplicates(cursor, keys, "option")
    return tuple(key for key, _ in keys)


def read_column_names(cursor: lexer.Cursor) -> tuple[str, ...]:
    """Read `(column, …)`."""
    names = cursor.items(lambda c: (c.name("a column's name"), c.previous))
    refuse_duplicates(cursor, names, "column")
    return tuple(name for name, _ in names)


def refuse_duplicates(cursor: lexer.Cursor, names: Sequence[tuple[str, Token]], what: str) -> None:
    """Refuse a list in which names are repeated, spelt the same.

    The resolver compares names that differ in case only, by the settings of Spark.

    Raises:
        StatementSyntaxError: With all of them.
    """
    seen: set[str] = set()
    doubled: dict[str, Token] = {}
    for name, token in names:
        if name in seen:
            doubled.setdefault(name, token)
        seen.add(name)
    if doubled:
        first = next(iter(doubled.values()))
        raise cursor.error(conditions.DUPLICATE_NAME, first, what=what, names=", ".join(doubled))


def read_freshness(cursor: lexer.Cursor) -> freshness.Freshness:
    """Read `INTERVAL 'n' unit` with one of the units of a schedule."""
    if not cursor.at("INTERVAL"):
        raise cursor.expected(what="INTERVAL 'n' unit")
    token, count, unit = _read_interval(cursor)
    singular = unit.keyword.removesuffix("S")
    if singular not in freshness.TimeUnit.__members__:
        suggestion = lexer.did_you_mean(unit.keyword, tuple(freshness.TimeUnit.__members__))
        known = "" if singular in _UNITS else suggestion
        if not unit.text.isalpha():
            known = "A freshness has one unit, without a precision. "
        raise cursor.error(
            conditions.INVALID_FRESHNESS_UNIT_IN_STATEMENT, unit, unit=unit, suggestion=known
        )
    try:
        return freshness.Freshness.of(count, singular)
    except FreshnessTooLongError as error:
        whole = _span(cursor, token, unit)
        raise cursor.error(
            conditions.FRESHNESS_TOO_LONG_IN_STATEMENT, whole, **error.parameters
        ) from error
    except InvalidFreshnessError as error:
        raise cursor.error(conditions.INVALID_FRESHNESS_IN_STATEMENT, token, value=count) from error


def read_refresh_mode(cursor: lexer.Cursor) -> modes.LogicalRefreshMode:
    """Read `CONTINUOUS | FULL | AUTOMATIC`."""
    return modes.LogicalRefreshMode[
        cursor.choice("REFRESH_MODE", tuple(modes.LogicalRefreshMode.__members__))
    ]


def read_start_mode(cursor: lexer.Cursor) -> modes.StartMode:
    """Read one of the six forms of START_MODE."""
    keyword = cursor.peek()
    kind = modes.StartModeType[cursor.choice("START_MODE", tuple(modes.StartModeType.__members__))]
    if kind.fallback is modes.StartModeType.FROM_TIMESTAMP:
        return modes.StartMode(kind, timestamp=_read_timestamp(cursor, keyword))
    if kind.fallback is modes.StartModeType.FROM_NOW and cursor.accept("("):
        interval = _read_start_interval(cursor, keyword)
        cursor.expect(")")
        return modes.StartMode(kind, interval=interval)
    if cursor.at("("):
        problem = "takes no argument; only the FROM_NOW and FROM_TIMESTAMP forms do"
        raise _start_mode_error(cursor, keyword, problem)
    return modes.StartMode(kind)


def read_state_retention(cursor: lexer.Cursor) -> modes.StateRetention:
    """Read `ALL | NONE | PTF_ONLY[('operator', …)]`."""
    values = tuple(modes.StateRetentionType.__members__)
    kind = modes.StateRetentionType[cursor.choice("STATE_RETENTION", values)]
    if not cursor.at("("):
        return modes.StateRetention(kind)
    if kind is not modes.StateRetentionType.PTF_ONLY:
        raise cursor.error(
            conditions.INVALID_STATE_RETENTION_IN_STATEMENT, stateRetention=kind.value
        )
    return modes.StateRetention(kind, tuple(cursor.items(lambda c: c.string("an operator's name"))))


def _read_timestamp(cursor: lexer.Cursor, keyword: Token) -> str:
    has_literal = cursor.accept("(") and cursor.at("TIMESTAMP")
    if not has_literal or cursor.peek(1).kind is not TokenKind.STRING:
        raise _start_mode_error(cursor, keyword, "needs a timestamp literal")
    cursor.next()
    text = cursor.string("a timestamp")
    cursor.expect(")")
    return text


def _read_start_interval(cursor: lexer.Cursor, keyword: Token) -> modes.StartInterval:
    if not cursor.at("INTERVAL"):
        raise _start_mode_error(cursor, keyword, _NO_INTERVAL)
    token, count, unit = _read_interval(cursor)
    singular = unit.keyword.removesuffix("S")
    if singular not in _UNITS:
        problem = f"has the unit {unit}; the units are {', '.join(_UNITS)}"
        raise _start_mode_error(cursor, keyword, problem, unit)
    if not _POSITIVE.fullmatch(count):
        problem = f"needs an interval of a positive whole number, but was: {count}"
        raise _start_mode_error(cursor, keyword, problem, token)
    return modes.StartInterval(int(count), modes.IntervalUnit[singular])


def _start_mode_error(
    cursor: lexer.Cursor, keyword: Token, problem: str, token: Token | None = None
) -> StatementSyntaxError:
    mode = keyword.keyword
    return cursor.error(
        conditions.INVALID_START_MODE_IN_STATEMENT, token, startMode=mode, problem=problem
    )


def _read_interval(cursor: lexer.Cursor) -> tuple[Token, str, Token]:
    """Read `INTERVAL 'n' unit`; return the number's token, the number, and the unit's token.

    A sign before the number belongs to it, and `DAY TO HOUR` or `DAY(2)` is one unit: the clauses
    refuse both by their own rules.
    """
    cursor.expect("INTERVAL")
    token, count = _read_count(cursor)
    unit = cursor.peek()
    with_unit = _NUMBER_AND_UNIT.fullmatch(count)
    if with_unit and unit.keyword.removesuffix("S") not in _UNITS:
        suggestion = f"INTERVAL '{with_unit[1]}' {with_unit[2].upper()}"
        raise cursor.error(conditions.INTERVAL_FORM, token, suggestion=suggestion)
    if unit.kind is not TokenKind.WORD or unit.keyword == "AS":
        raise cursor.expected(what=f"a unit: {', '.join(_UNITS)}")
    return token, count.strip(), _read_unit(cursor)


def _read_count(cursor: lexer.Cursor) -> tuple[Token, str]:
    """Read the number of an interval, with the sign that Spark and Flink allow before it."""
    first = cursor.peek()
    sign = cursor.next().text if first.text in ("-", "+") else ""
    token = cursor.peek()
    is_bare = token.kind is TokenKind.NUMBER and cursor.peek(1).kind is TokenKind.WORD
    text = cursor.next().text if is_bare else cursor.string("a whole number")
    whole = _span(cursor, first, token)
    if sign == "-":
        return whole, f"-{text}"
    if sign or is_bare:
        suggestion = f"INTERVAL '{text}' {cursor.peek()}"
        raise cursor.error(conditions.INTERVAL_FORM, whole, suggestion=suggestion)
    return whole, text


def _read_unit(cursor: lexer.Cursor) -> Token:
    """Read a unit, or what Spark and Flink take in its place: `DAY TO HOUR`, `DAY(2)`."""
    first = cursor.next()
    while True:
        if cursor.at("TO") and cursor.peek(1).kind is TokenKind.WORD:
            words = 2
        elif cursor.at("(") and cursor.peek(2).text == ")":
            words = 3
        else:
            return _span(cursor, first, cursor.previous)
        for _ in range(words):
            cursor.next()


def _span(cursor: lexer.Cursor, first: Token, last: Token) -> Token:
    """Return several tokens as one, for an error that underlines all of them."""
    return Token(first.kind, cursor.text_between(first, last), first.start)


def read_query(cursor: lexer.Cursor) -> str:
    """Read the query that ends a statement.

    Returns:
        Its text without blanks around it and without the semicolon, comments kept.

    Raises:
        StatementSyntaxError: There is none, another statement follows, or it holds a slip that
            can be found without Spark.
    """
    begin = cursor.previous.end
    if cursor.at_end() or cursor.at(";"):
        raise cursor.expected(what="a query")
    tokens, end = _rest(cursor)
    _refuse_table_hints(cursor, tokens)
    _refuse_missing_commas(cursor, tokens)
    return cursor.sql[begin:end].strip()


def query_text(text: str) -> str:
    """Return a query as a statement keeps it: without blanks around it and semicolons after it.

    Raises:
        StatementSyntaxError: Another statement follows.
        StatementSyntaxError: A quote or a comment is never closed.
    """
    _, end = _rest(lexer.Cursor(text))
    return text[:end].strip()


def _rest(cursor: lexer.Cursor) -> tuple[list[Token], int]:
    """Read what is left of a statement, and return it and where its semicolon, or its end, is."""
    tokens = []
    while not (cursor.at_end() or cursor.at(";")):
        tokens.append(cursor.next())
    end = cursor.peek().start if cursor.at(";") else len(cursor.sql)
    lexer.expect_end(cursor)
    return tokens, end


def _refuse_table_hints(cursor: lexer.Cursor, tokens: list[Token]) -> None:
    # After SELECT a hint is a token, after a table's name sqlglot takes it for a comment.
    spans = [(token.start, token.text) for token in tokens if token.text.startswith("/*+")]
    starts = [token.start for token in tokens[1:]] + [len(cursor.sql)]
    for token, start in zip(tokens, starts, strict=True):
        found = sql_tokens.hints(cursor.sql[token.end : start])
        spans += [(token.end + offset, text) for offset, text in found]
    for start, text in spans:
        if _OPTIONS_HINT.match(text):
            hint, lowered = Token(TokenKind.SIGN, text, start), text.lower()
            twin = next((twin for word, twin in _TWINS.items() if word in lowered), "START_MODE")
            raise cursor.error(conditions.TABLE_HINT, hint, twin=twin)


def _refuse_missing_commas(cursor: lexer.Cursor, tokens: list[Token]) -> None:
    """Refuse `a.b c.d`, which no place of a query allows."""

    def is_path(tokens: list[Token]) -> bool:
        first, dot, last = tokens
        return first.kind in _NAMES and dot.text == "." and last.kind in _NAMES

    for i in range(len(tokens) - 5):
        left, right = tokens[i : i + 3], tokens[i + 3 : i + 6]
        if is_path(left) and is_path(right):
            suggestion = ", ".join("".join(t.text for t in path) for path in (left, right))
            raise cursor.error(conditions.MISSING_COMMA, right[0], suggestion=suggestion)
