"""Table options (WITH), and run options that are valid until the next SUSPEND or RESUME."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.capabilities import STRICT_FENCE
from dbt.adapters.spark_mt.definition.errors import (
    InvalidValueError,
    MaterializedTableError,
    closest,
    did_you_mean,
)
from dbt.adapters.spark_mt.query.confs import is_semantic
from dbt.adapters.spark_mt.resolution import query_options
from dbt.adapters.spark_mt.resolution.date_patterns import check_pattern
from dbt.adapters.spark_mt.resolution.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from dbt.adapters.spark_mt.definition.columns import Column, Pairs
    from dbt.adapters.spark_mt.definition.watermark import Watermark


FORMATTER_PREFIX, FORMATTER_SUFFIX = "partition.fields.", ".date-formatter"
TYPE_WIDENING = "schema.type-widening"
TRIGGER_INTERVAL = "continuous.trigger-interval"
INCREMENTAL = "incremental"
VERIFY = "verify"
RESERVED_PREFIX = "materialized-table"
DEFAULT_REDACTION = r"(?i)secret|password|token|access[.]?key"
_TEXT_TYPES = frozenset({"STRING", "CHAR", "VARCHAR"})
_BOOLEANS = {"true": True, "false": False}
_SHARE = re.compile(r"\d*\.?\d+|\d+\.", re.ASCII)
_KNOWN = (
    TYPE_WIDENING,
    TRIGGER_INTERVAL,
    query_options.WATERMARK,
    query_options.PROCESS_FUNCTION,
    INCREMENTAL,
    VERIFY,
    STRICT_FENCE,
)


CONF_PREFIX = "spark.sql."
RATE_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger", "maxOffsetsPerTrigger")


class Incremental(Enum):
    """Values of the option `incremental`: whether a refresh computes only the rows that change."""

    AUTO = "auto"
    STRICT = "strict"
    OFF = "off"


INCREMENTAL_VALUES = tuple(value.value for value in Incremental)
_WORDS: dict[str, Collection[str]] = {
    TYPE_WIDENING: _BOOLEANS,
    INCREMENTAL: INCREMENTAL_VALUES,
    STRICT_FENCE: _BOOLEANS,
}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options as values.

    Args:
        date_formatters: Partition column, by the table's own spelling, and its pattern.
        trigger_interval: How often CONTINUOUS checks for changes; None for the setting's.
        watermarks: How late rows of the sources may come.
        incremental: Whether a refresh computes only the rows that change.
        verify: The share of refreshes by changes or streams whose rows are compared with those of
            the query.
    """

    date_formatters: Pairs = ()
    trigger_interval: timedelta | None = None
    watermarks: tuple[Watermark, ...] = ()
    incremental: Incremental = Incremental.AUTO
    verify: float = 0.0


def formatter_column(key: str) -> str | None:
    """Return the column that a date formatter's key names, or None for another key."""
    if key.startswith(FORMATTER_PREFIX) and key.endswith(FORMATTER_SUFFIX):
        return key[len(FORMATTER_PREFIX) : -len(FORMATTER_SUFFIX)]
    return None


def read_options(options: Pairs) -> TableOptions:
    """Return the values of WITH (…), in which `check_options` found nothing wrong."""
    by_key = dict(options)
    formatters = {c.lower(): v for k, v in by_key.items() if (c := formatter_column(k))}
    trigger, word = by_key.get(TRIGGER_INTERVAL), by_key.get(INCREMENTAL, "").lower()
    return TableOptions(
        date_formatters=tuple(sorted(formatters.items())),
        trigger_interval=parse_duration(trigger) if trigger is not None else None,
        watermarks=query_options.parse_watermarks(by_key[query_options.WATERMARK])
        if query_options.WATERMARK in by_key
        else (),
        incremental=Incremental(word) if word in INCREMENTAL_VALUES else Incremental.AUTO,
        verify=_share(by_key.get(VERIFY, "")) or 0.0,
    )


def _share(text: str) -> float | None:
    """Return a number from 0 to 1; None for another text."""
    return float(text) if _SHARE.fullmatch(text) and float(text) <= 1 else None


def share_problem(text: str) -> str:
    """Return why a text is no share of refreshes; empty if it is one."""
    return "" if _share(text) is not None else f"'{text}' is no number from 0 to 1."


@dataclass(frozen=True, slots=True)
class OptionScope:
    """The table that options are checked against: its name, columns and partitioning."""

    table: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    fold: Callable[[str], str]


def check_options(options: Pairs, scope: OptionScope) -> Iterator[MaterializedTableError]:
    """Yield everything that is wrong with `options`."""
    seen = set()
    for key, value in options:
        if key in seen:
            yield conditions.INVALID_OPTION(
                option=key, table=scope.table, problem="it is given twice."
            )
        seen.add(key)
        yield from _check_option(key, value, scope)


def _check_option(key: str, value: str, scope: OptionScope) -> Iterator[MaterializedTableError]:
    if key.lower().startswith(RESERVED_PREFIX):
        yield conditions.RESERVED_OPTION(option=key, table=scope.table)
    elif (column := formatter_column(key)) is not None:
        yield from _check_formatter(key, column, value, scope)
    elif key in _KNOWN:
        if problem := _value_problem(key, value):
            yield conditions.INVALID_OPTION(option=key, table=scope.table, problem=problem)
    else:
        formatters = [f"{FORMATTER_PREFIX}{c}{FORMATTER_SUFFIX}" for c in scope.partitioned_by]
        if suggestion := closest(key, [*_KNOWN, *formatters]):
            yield conditions.MISSPELT_OPTION(option=key, table=scope.table, suggestion=suggestion)


def _value_problem(key: str, value: str) -> str:
    if words := _WORDS.get(key):
        known = value.lower() in words
        return "" if known else f"'{value}' is neither {' nor '.join(words)}."
    if key == VERIFY:
        return share_problem(value)
    return _parse_problem(key, value)


def _parse_problem(key: str, value: str) -> str:
    try:
        if key == query_options.WATERMARK:
            query_options.parse_watermarks(value)
        if key in (query_options.WATERMARK, query_options.PROCESS_FUNCTION):
            return ""
        duration = parse_duration(value)
    except InvalidValueError as error:
        return str(error).replace("\n", " ")
    return "" if duration > timedelta() else "it must be longer than nothing."


def _check_formatter(
    key: str, column: str, pattern: str, scope: OptionScope
) -> Iterator[MaterializedTableError]:
    partitions = [scope.fold(c) for c in scope.partitioned_by]
    if scope.fold(column) not in partitions:
        available = "', '".join(scope.partitioned_by)
        yield conditions.OPTION_NOT_A_PARTITION_COLUMN(
            table=scope.table, column=column, option=key, available=available
        )
    else:
        found = next((c for c in scope.columns if scope.fold(c.name) == scope.fold(column)), None)
        if found is not None and re.split(r"[ (<]", found.type)[0] not in _TEXT_TYPES:
            yield conditions.OPTION_NOT_A_TEXT_COLUMN(
                table=scope.table, option=key, column=found.name, type=found.type
            )
    try:
        check_pattern(pattern)
    except InvalidValueError as error:
        problem = str(error).replace("\n", " ")
        yield conditions.INVALID_OPTION(option=key, table=scope.table, problem=problem)


def redacted(key: str, value: str, pattern: str = DEFAULT_REDACTION) -> str:
    """Return an option's value for people, or asterisks if Spark would redact it as well.

    `pattern` is `spark.redaction.regex`.
    """
    return "******" if re.search(pattern, key) else value


@dataclass(frozen=True, slots=True)
class OptionDoc:
    """An option, for the documentation."""

    key: str
    values: str
    meaning: str


OPTIONS: tuple[OptionDoc, ...] = (
    OptionDoc(
        "partition.fields.<column>.date-formatter",
        "datetime pattern of the letters y M d H m s, such as yyyy-MM-dd",
        "The partition column holds a time in this form. A scheduled refresh then writes just the "
        "partitions of the time since the last one. The column must be of a text type.",
    ),
    OptionDoc(
        TYPE_WIDENING,
        "true, false (default)",
        "Lets a changed query widen columns in place: INT to BIGINT, FLOAT to DOUBLE, a larger "
        "precision of DECIMAL.",
    ),
    OptionDoc(
        TRIGGER_INTERVAL,
        "duration, such as 30 s",
        "How often a continuous refresh looks for changes; by default as seldom as the freshness "
        "and the duration of the last refreshes permit. docs/hosting.md describes it.",
    ),
    OptionDoc(
        query_options.WATERMARK,
        "`ts DELAY OF INTERVAL 10 SECONDS`, or `s.orders: ts DELAY OF INTERVAL 10 SECONDS`; "
        "several are separated by a semicolon",
        "How late rows of a source may come, by a column of type TIMESTAMP or TIMESTAMP_NTZ of the "
        "source itself. A continuous table whose query groups, deduplicates or joins its sources "
        "is then kept by a stream with bounded state; rows that come later are left out. The query "
        "stays plain SQL. docs/refresh.md describes which queries can.",
    ),
    OptionDoc(
        query_options.PROCESS_FUNCTION,
        "the name of a function that `spark.materialized-table.process-functions` registers",
        "A stateful processor (`transformWithState`) makes the table's rows out of those of its "
        "query. docs/refresh.md describes how.",
    ),
    OptionDoc(
        INCREMENTAL,
        "auto (default), strict, off",
        "`auto` lets a refresh compute only the rows of the result that the changes of the sources "
        "reach, whatever the query does. It computes all rows where the query forbids that, or "
        "where that costs less. `strict` refuses a query or a refresh that needs all rows. `off` "
        "computes all rows unless sources only gained rows. docs/refresh.md describes which "
        "queries can.",
    ),
    OptionDoc(
        VERIFY,
        "0 (default) to 1",
        "The share of refreshes by changes or by a stream whose rows are compared with those of "
        "the query over the same versions of the sources, after their commit. `0.01` verifies one "
        "of a hundred, `1` each. If rows differ, all rows are computed again, and the finding is "
        "shown until a later verification finds equal rows. Each verification computes the query "
        "once. docs/refresh.md describes it.",
    ),
    OptionDoc(
        STRICT_FENCE,
        "true, false (default)",
        "Refuses to write the table where its format cannot exclude every change of other programs "
        "during a refresh. docs/connecting.md says where that is so. Elsewhere it changes nothing.",
    ),
    OptionDoc(
        "any other name",
        "text",
        "Stored and shown as it is, without effect.",
    ),
)


def check_run_options(table: str, options: Pairs) -> None:
    """Check the options of RESUME WITH and ALTER … WITH.

    Raises:
        MaterializedTableError: Some are none; each is named.
    """
    for error in run_option_problems(table, options):
        raise error


def run_option_problems(table: str, options: Pairs) -> tuple[MaterializedTableError, ...]:
    """Return the error that names every option which is no run option, if there is one."""
    seen: set[str] = set()
    found = []
    for key, value in options:
        if key in seen:
            found.append(f"'{key}' is given twice.")
        seen.add(key)
        if problem := _problem(key, value):
            found.append(f"'{key}' {problem}")
    return (conditions.INVALID_RUN_OPTIONS(violations=found, table=table),) if found else ()


def session_confs(options: Pairs) -> dict[str, str]:
    """Return the SQL confs among run options, for the session of a refresh."""
    return {key: value for key, value in options if key.startswith(CONF_PREFIX)}


def _problem(key: str, value: str) -> str:
    if key.startswith(CONF_PREFIX):
        meaning = "changes what the query means: set it and run CREATE OR ALTER."
        return meaning if is_semantic(key) else ""
    if key == TRIGGER_INTERVAL:
        return _duration_problem(value)
    if key in RATE_LIMITS:
        return "" if value.isdecimal() and int(value) > 0 else f"= '{value}' is no positive number."
    return f"is no run option.{did_you_mean(key, (TRIGGER_INTERVAL, *RATE_LIMITS))}"


def _duration_problem(value: str) -> str:
    try:
        positive = parse_duration(value).total_seconds() > 0
    except InvalidValueError as error:
        return f"= '{value}' is no duration: {error}".replace("\n", " ")
    return "" if positive else "must be longer than nothing."
