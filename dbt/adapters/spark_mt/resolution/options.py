"""Table options, the clause WITH (semantics 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.resolution.date_formatter import check_pattern
from dbt.adapters.spark_mt.resolution.durations import parse_duration
from dbt.adapters.spark_mt.resolution.process_functions import PROCESS_FUNCTION
from dbt.adapters.spark_mt.resolution.suggestions import closest
from dbt.adapters.spark_mt.resolution.violations import InvalidDefinitionError
from dbt.adapters.spark_mt.resolution.watermarks import WATERMARK, parse_watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.watermark import Watermark

FORMATTER_PREFIX, FORMATTER_SUFFIX = "partition.fields.", ".date-formatter"
TYPE_WIDENING = "schema.type-widening"
TRIGGER_INTERVAL = "continuous.trigger-interval"
STORAGE_PREFIX = "delta."
RESERVED_PREFIX = "materialized-table"
DEFAULT_REDACTION = r"(?i)secret|password|token|access[.]?key"
_TEXT_TYPES = frozenset({"STRING", "CHAR", "VARCHAR"})
_BOOLEANS = {"true": True, "false": False}


class InvalidOptionError(InvalidDefinitionError):
    """An option's value cannot be used."""

    condition = "MATERIALIZED_TABLE_INVALID_OPTION"
    text = "Option '{option}' of materialized table {table} is not valid: {problem}"
    remedy = "docs/configuration.md lists the options with their values."


class MisspeltOptionError(InvalidOptionError):
    """An option looks like a known one, and would be stored without any effect."""

    condition = "MATERIALIZED_TABLE_MISSPELT_OPTION"
    text = "'{option}' is no option of materialized table {table}. Did you mean '{suggestion}'?"
    remedy = (
        "Write it so, or give it a name that is less like it: options with other names are stored "
        "as they are, without any effect."
    )


class ReservedOptionError(InvalidOptionError):
    """An option has a name under which the adapter stores its own properties."""

    condition = "MATERIALIZED_TABLE_RESERVED_OPTION"
    text = "Option '{option}' of materialized table {table} has a reserved name."
    remedy = "Names that begin with '" + RESERVED_PREFIX + "' belong to dbt-spark-mt: rename it."


class NotAPartitionColumnError(InvalidOptionError):
    """A date formatter names a column that does not partition the table (message of Flink)."""

    condition = "MATERIALIZED_TABLE_OPTION_NOT_A_PARTITION_COLUMN"
    text = (
        "Materialized table {table}: Column '{column}' referenced by materialized table option "
        "'{option}' isn't a partition column. Available partition columns: ['{available}']."
    )
    remedy = "Name a column of PARTITIONED BY, or remove the option."


class NotATextColumnError(InvalidOptionError):
    """A date formatter names a column that holds no text (message of Flink)."""

    condition = "MATERIALIZED_TABLE_OPTION_NOT_A_TEXT_COLUMN"
    text = (
        "Materialized table {table}: Materialized table option '{option}' only supports referring "
        "to char, varchar and string type partition column. Column `{column}` type is {type}."
    )
    remedy = "Format the column in the query (date_format(…) AS {column}), or remove the option."


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options as values.

    Args:
        date_formatters: Partition column, by the table's own spelling, and its pattern.
        type_widening: Whether columns may be widened in place.
        trigger_interval: How often CONTINUOUS looks for changes; None for the setting's.
        watermarks: How late rows of the sources may come.
        storage: `delta.*` properties of the table.
        other: Everything else, stored and shown, without effect.
    """

    date_formatters: Pairs = ()
    type_widening: bool = False
    trigger_interval: timedelta | None = None
    watermarks: tuple[Watermark, ...] = ()
    storage: Pairs = ()
    other: Pairs = ()


def formatter_column(key: str) -> str | None:
    """Return the column that a date formatter's key names, or None for another key."""
    if key.startswith(FORMATTER_PREFIX) and key.endswith(FORMATTER_SUFFIX):
        return key[len(FORMATTER_PREFIX) : -len(FORMATTER_SUFFIX)]
    return None


def read_options(options: Pairs, names: Callable[[str], str] = str.lower) -> TableOptions:
    """Return the values of options that `check_options` found nothing wrong with.

    Args:
        options: WITH (…).
        names: Brings column names that are the same to the same spelling.
    """
    by_key = dict(options)
    storage = {k: v for k, v in by_key.items() if k.startswith(STORAGE_PREFIX)}
    formatters = {names(c): v for k, v in by_key.items() if (c := formatter_column(k))}
    trigger = by_key.get(TRIGGER_INTERVAL)
    known = {TYPE_WIDENING, TRIGGER_INTERVAL, WATERMARK, PROCESS_FUNCTION, *storage}
    other = {k: v for k, v in by_key.items() if k not in known and formatter_column(k) is None}
    return TableOptions(
        date_formatters=tuple(sorted(formatters.items())),
        type_widening=_BOOLEANS[by_key.get(TYPE_WIDENING, "false").lower()],
        trigger_interval=parse_duration(trigger) if trigger is not None else None,
        watermarks=parse_watermarks(by_key[WATERMARK]) if WATERMARK in by_key else (),
        storage=tuple(sorted(storage.items())),
        other=tuple(sorted(other.items())),
    )


@dataclass(frozen=True, slots=True)
class OptionScope:
    """What options are checked against: the table's name, columns and partitioning."""

    table: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    fold: Callable[[str], str]


def check_options(options: Pairs, scope: OptionScope) -> Iterator[MaterializedTableError]:
    """Yield everything that is wrong with `options`."""
    seen = set()
    for key, value in options:
        if key in seen:
            yield InvalidOptionError(option=key, table=scope.table, problem="it is given twice.")
        seen.add(key)
        yield from _check_option(key, value, scope)


def _check_option(key: str, value: str, scope: OptionScope) -> Iterator[MaterializedTableError]:
    if key.lower().startswith(RESERVED_PREFIX):
        yield ReservedOptionError(option=key, table=scope.table)
    elif (column := formatter_column(key)) is not None:
        yield from _check_formatter(key, column, value, scope)
    elif key in (TYPE_WIDENING, TRIGGER_INTERVAL, WATERMARK, PROCESS_FUNCTION):
        if problem := _value_problem(key, value):
            yield InvalidOptionError(option=key, table=scope.table, problem=problem)
    elif not key.startswith(STORAGE_PREFIX) and (suggestion := _suggestion(key, scope)):
        yield MisspeltOptionError(option=key, table=scope.table, suggestion=suggestion)


def _value_problem(key: str, value: str) -> str:
    if key == TYPE_WIDENING:
        return "" if value.lower() in _BOOLEANS else f"'{value}' is neither true nor false."
    try:
        if key == WATERMARK:
            parse_watermarks(value)
        if key in (WATERMARK, PROCESS_FUNCTION):
            return ""
        duration = parse_duration(value)
    except InvalidValueError as error:
        return str(error).replace("\n", " ")
    return "" if duration > timedelta() else "it must be longer than nothing."


def _suggestion(key: str, scope: OptionScope) -> str | None:
    formatters = [f"{FORMATTER_PREFIX}{c}{FORMATTER_SUFFIX}" for c in scope.partitioned_by]
    return closest(key, [TYPE_WIDENING, TRIGGER_INTERVAL, WATERMARK, PROCESS_FUNCTION, *formatters])


def _check_formatter(
    key: str, column: str, pattern: str, scope: OptionScope
) -> Iterator[MaterializedTableError]:
    partitions = [scope.fold(c) for c in scope.partitioned_by]
    if scope.fold(column) not in partitions:
        yield NotAPartitionColumnError(
            table=scope.table,
            column=column,
            option=key,
            available="', '".join(scope.partitioned_by),
        )
    else:
        found = next((c for c in scope.columns if scope.fold(c.name) == scope.fold(column)), None)
        if found is not None and re.split(r"[ (<]", found.type)[0] not in _TEXT_TYPES:
            yield NotATextColumnError(
                table=scope.table, option=key, column=found.name, type=found.type
            )
    try:
        check_pattern(pattern)
    except InvalidValueError as error:
        problem = str(error).replace("\n", " ")
        yield InvalidOptionError(option=key, table=scope.table, problem=problem)


def redacted(key: str, value: str, pattern: str = DEFAULT_REDACTION) -> str:
    """Return `value` for people, or asterisks where Spark would hide it as well.

    Args:
        key: The option's name.
        value: The option's value.
        pattern: `spark.redaction.regex`.
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
        "How often a continuous refresh looks for changes; half of the freshness by default.",
    ),
    OptionDoc(
        WATERMARK,
        "`ts DELAY OF INTERVAL 10 SECONDS`, or `s.orders: ts DELAY OF INTERVAL 10 SECONDS`; "
        "several are separated by a semicolon",
        "How late rows of a source may come, by a column of type TIMESTAMP or TIMESTAMP_NTZ of the "
        "source itself. A continuous table whose query groups, deduplicates or joins its sources "
        "is then kept by a stream with bounded state; rows that come later are left out. The query "
        "stays plain SQL. docs/refresh.md tells which queries can.",
    ),
    OptionDoc(
        PROCESS_FUNCTION,
        "the name of a function that `spark.materialized-table.process-functions` registers",
        "A stateful processor (`transformWithState`) makes the table's rows out of those of its "
        "query. docs/refresh.md tells how.",
    ),
    OptionDoc(
        "delta.<property>",
        "as Delta defines it",
        "A property of the Delta table.",
    ),
    OptionDoc(
        "any other name",
        "text",
        "Stored and shown as it is, without effect.",
    ),
)
