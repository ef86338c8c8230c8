"""The values of clauses: intervals, modes, lists of options and of names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.start_mode import (
    IntervalUnit,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.definition.state_retention import StateRetention, StateRetentionType
from dbt.adapters.spark_mt.statements.cursor import did_you_mean
from dbt.adapters.spark_mt.statements.errors import (
    DuplicateNameError,
    FreshnessSyntaxError,
    FreshnessUnitSyntaxError,
    IntervalFormError,
    MissingEqualsError,
    StartModeSyntaxError,
    StateRetentionSyntaxError,
)
from dbt.adapters.spark_mt.statements.tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.statements.cursor import Cursor

_UNITS = tuple(unit.name for unit in IntervalUnit)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+)\s+([A-Za-z]+)\s*")
_NO_INTERVAL = "literal must be an interval for FROM_NOW and RESUME_OR_FROM_NOW modes"


def read_equals(cursor: Cursor, clause: str) -> None:
    """Read the equals sign of a clause."""
    if not cursor.accept("="):
        words = 3 if cursor.at("INTERVAL") else 1
        value = cursor.text_between(cursor.peek(), cursor.peek(words - 1))
        suggestion = f"{clause} = {value}"
        raise cursor.error(MissingEqualsError, clause=clause, suggestion=suggestion)


def read_options(cursor: Cursor) -> Pairs:
    """Read `('key' = 'value', …)`, in the order written."""
    pairs: list[tuple[str, str]] = []
    keys: list[tuple[str, Token]] = []

    def read(cursor: Cursor) -> None:
        token = cursor.peek()
        key = cursor.string("an option's key")
        if not cursor.accept("="):
            raise cursor.error(
                MissingEqualsError, clause=token, suggestion=f"{token} = {cursor.peek()}"
            )
        pairs.append((key, cursor.string("an option's value")))
        keys.append((key, token))

    cursor.items(read)
    refuse_duplicates(cursor, keys, "option")
    return tuple(pairs)


def read_keys(cursor: Cursor) -> tuple[str, ...]:
    """Read `('key', …)`."""
    keys = cursor.items(lambda c: (c.string("an option's key"), c.previous))
    refuse_duplicates(cursor, keys, "option")
    return tuple(key for key, _ in keys)


def read_column_names(cursor: Cursor) -> tuple[str, ...]:
    """Read `(column, …)`."""
    names = cursor.items(lambda c: (c.name("a column's name"), c.previous))
    refuse_duplicates(cursor, names, "column")
    return tuple(name for name, _ in names)


def refuse_duplicates(cursor: Cursor, names: Sequence[tuple[str, Token]], what: str) -> None:
    """Refuse a list in which names stand twice, spelt the same.

    Names that differ in case only are the resolver's business: Spark's settings decide.

    Raises:
        DuplicateNameError: With all of them.
    """
    seen: set[str] = set()
    doubled: dict[str, Token] = {}
    for name, token in names:
        if name in seen:
            doubled.setdefault(name, token)
        seen.add(name)
    if doubled:
        first = next(iter(doubled.values()))
        listed = ", ".join(doubled)
        raise cursor.error(DuplicateNameError, first, what=what, names=listed)


def read_freshness(cursor: Cursor) -> Freshness:
    """Read `= INTERVAL 'n' unit` with one of the units that schedules know."""
    read_equals(cursor, "FRESHNESS")
    if not cursor.at("INTERVAL"):
        raise cursor.expected(what="INTERVAL 'n' unit")
    token, count, unit = _read_interval(cursor)
    singular = unit.keyword.removesuffix("S")
    if singular not in TimeUnit.__members__:
        suggestion = did_you_mean(unit.keyword, tuple(TimeUnit.__members__))
        known = "" if singular in _UNITS else suggestion
        raise cursor.error(FreshnessUnitSyntaxError, unit, unit=unit, suggestion=known)
    if not _is_positive(count):
        raise cursor.error(FreshnessSyntaxError, token, value=count)
    return Freshness(int(count), TimeUnit[singular])


def read_refresh_mode(cursor: Cursor) -> LogicalRefreshMode:
    """Read `= CONTINUOUS | FULL | AUTOMATIC`."""
    read_equals(cursor, "REFRESH_MODE")
    return LogicalRefreshMode[cursor.choice("REFRESH_MODE", tuple(LogicalRefreshMode.__members__))]


def read_start_mode(cursor: Cursor) -> StartMode:
    """Read one of the six forms of START_MODE."""
    read_equals(cursor, "START_MODE")
    keyword = cursor.peek()
    kind = StartModeType[cursor.choice("START_MODE", tuple(StartModeType.__members__))]
    if kind.fallback is StartModeType.FROM_TIMESTAMP:
        return StartMode(kind, timestamp=_read_timestamp(cursor, keyword))
    if kind.fallback is StartModeType.FROM_NOW and cursor.accept("("):
        interval = _read_start_interval(cursor, keyword)
        cursor.expect(")")
        return StartMode(kind, interval=interval)
    if cursor.at("("):
        problem = "takes no argument; only the FROM_NOW and FROM_TIMESTAMP forms do"
        raise _start_mode_error(cursor, keyword, problem)
    return StartMode(kind)


def read_state_retention(cursor: Cursor) -> StateRetention:
    """Read `= ALL | NONE | PTF_ONLY[('operator', …)]`."""
    read_equals(cursor, "STATE_RETENTION")
    values = tuple(StateRetentionType.__members__)
    kind = StateRetentionType[cursor.choice("STATE_RETENTION", values)]
    if not cursor.at("("):
        return StateRetention(kind)
    if kind is not StateRetentionType.PTF_ONLY:
        raise cursor.error(StateRetentionSyntaxError, stateRetention=kind.value)
    return StateRetention(kind, tuple(cursor.items(lambda c: c.string("an operator's name"))))


def _read_timestamp(cursor: Cursor, keyword: Token) -> str:
    if not cursor.accept("("):
        raise _start_mode_error(cursor, keyword, "needs a timestamp literal")
    if not (cursor.at("TIMESTAMP") and cursor.peek(1).kind is TokenKind.STRING):
        raise _start_mode_error(cursor, keyword, "needs a timestamp literal")
    cursor.next()
    text = cursor.string("a timestamp")
    cursor.expect(")")
    return text


def _read_start_interval(cursor: Cursor, keyword: Token) -> StartInterval:
    if not cursor.at("INTERVAL"):
        raise _start_mode_error(cursor, keyword, _NO_INTERVAL)
    token, count, unit = _read_interval(cursor)
    singular = unit.keyword.removesuffix("S")
    if singular not in _UNITS:
        problem = f"has the unit {unit}; the units are {', '.join(_UNITS)}"
        raise _start_mode_error(cursor, keyword, problem, unit)
    if not _is_positive(count):
        problem = f"needs an interval of a positive whole number, but was: {count}"
        raise _start_mode_error(cursor, keyword, problem, token)
    return StartInterval(int(count), IntervalUnit[singular])


def _start_mode_error(
    cursor: Cursor, keyword: Token, problem: str, token: Token | None = None
) -> StartModeSyntaxError:
    mode = keyword.keyword
    return cursor.error(StartModeSyntaxError, token, startMode=mode, problem=problem)


def _read_interval(cursor: Cursor) -> tuple[Token, str, Token]:
    """Read `INTERVAL 'n' unit`; return the number's token, the number, and the unit's token."""
    cursor.expect("INTERVAL")
    token = cursor.peek()
    if token.kind is TokenKind.NUMBER and cursor.peek(1).kind is TokenKind.WORD:
        suggestion = f"INTERVAL '{token}' {cursor.peek(1)}"
        raise cursor.error(IntervalFormError, suggestion=suggestion)
    count = cursor.string("a whole number")
    unit = cursor.peek()
    with_unit = _NUMBER_AND_UNIT.fullmatch(count)
    if with_unit and unit.keyword.removesuffix("S") not in _UNITS:
        suggestion = f"INTERVAL '{with_unit[1]}' {with_unit[2].upper()}"
        raise cursor.error(IntervalFormError, token, suggestion=suggestion)
    if unit.kind is not TokenKind.WORD or unit.keyword == "AS":
        raise cursor.expected(what=f"a unit: {', '.join(_UNITS)}")
    return token, count.strip(), cursor.next()


def _is_positive(count: str) -> bool:
    return _WHOLE_NUMBER.fullmatch(count) is not None and int(count) > 0
