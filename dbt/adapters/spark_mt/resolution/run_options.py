"""Run options: how the refreshes of a table run, until the next SUSPEND or RESUME (semantics 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.resolution.durations import parse_duration
from dbt.adapters.spark_mt.resolution.options import TRIGGER_INTERVAL
from dbt.adapters.spark_mt.resolution.semantic_confs import is_semantic
from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import Pairs

CONF_PREFIX = "spark.sql."
RATE_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger", "maxOffsetsPerTrigger")


class InvalidRunOptionsError(MaterializedTableError):
    """RESUME WITH or ALTER … WITH has options that are no run options."""

    condition = "MATERIALIZED_TABLE_INVALID_RUN_OPTIONS"
    text = "The options after WITH cannot be used for the refresh of {table}, nothing was changed:"
    remedy = (
        "Run options are " + TRIGGER_INTERVAL + ", " + ", ".join(RATE_LIMITS) + " and SQL confs of "
        "Spark (" + CONF_PREFIX + "*) that do not change what a query means. Options of the table "
        "itself are changed by ALTER MATERIALIZED TABLE {table} SET ('key' = 'value'), at the cost "
        "of one small commit."
    )


def check_run_options(table: str, options: Pairs) -> None:
    """Check the options of RESUME WITH and ALTER … WITH.

    Raises:
        InvalidRunOptionsError: Some are none; each is named.
    """
    if found := list(_violations(options)):
        raise InvalidRunOptionsError(violations=found, table=table)


def session_confs(options: Pairs) -> dict[str, str]:
    """Return the SQL confs among run options, for the session of a refresh."""
    return {key: value for key, value in options if key.startswith(CONF_PREFIX)}


def _violations(options: Pairs) -> Iterator[str]:
    seen: set[str] = set()
    for key, value in options:
        if key in seen:
            yield f"'{key}' is given twice."
        seen.add(key)
        if problem := _problem(key, value):
            yield f"'{key}' {problem}"


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
