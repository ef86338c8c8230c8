"""Table options `watermark` and `process-function`.

Spark's SQL has no syntax for `transformWithState`. So the query is the processor's input, and an
option names the processor. It can name only functions that a setting registers. So no table makes a
process load code that is not in its configuration.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions, watermark
from dbt.adapters.spark_mt.definition.columns import Column, TableName, quote
from dbt.adapters.spark_mt.definition.errors import (
    MaterializedTableError,
    ProcessFunctionError,
    QueryError,
    did_you_mean,
)
from dbt.adapters.spark_mt.resolution.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, QueryAnalyzer


_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_MARK = re.compile(
    rf"(?:(?P<source>{_PART}(?:\s*\.\s*{_PART}){{0,2}})\s*:\s*)?"
    rf"(?:WATERMARK\s+)?(?P<column>{_PART})\s+DELAY\s+OF\s+(?P<delay>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(_PART)
_SEPARATOR = re.compile(r";(?=(?:[^`]*`[^`]*`)*[^`]*$)")


WATERMARK = "watermark"
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")


PROCESS_FUNCTION = "process-function"


def parse_watermarks(text: str) -> tuple[watermark.Watermark, ...]:
    """Read the value of the option: `s.orders: ts DELAY OF INTERVAL '10' SECOND; …`.

    Raises:
        InvalidValueError: It has another form, or a delay that is not positive.
        InvalidValueError: A delay is no duration.
    """
    matches = []
    for part in _SEPARATOR.split(text.strip().removesuffix(";")):
        match = _MARK.fullmatch(part.strip())
        if match is None:
            raise conditions.INVALID_WATERMARK(value=part.strip())
        matches.append(match)
    return tuple(map(_watermark, matches))


def _watermark(match: re.Match[str]) -> watermark.Watermark:
    source = TableName.of(*_names(match["source"])) if match["source"] else None
    column, written = _names(match["column"])[0], match["delay"].strip()
    delay = parse_duration(written)
    if delay < timedelta(milliseconds=1):
        raise conditions.WATERMARK_DELAY(column=column, delay=written)
    return watermark.Watermark(source, column, delay)


def _names(text: str) -> list[str]:
    return [
        name[1:-1].replace("``", "`") if name.startswith("`") else name
        for name in _NAME.findall(text)
    ]


def check_watermarks(
    table: str,
    watermarks: Sequence[watermark.Watermark],
    followed: Sequence[TableName],
    analyzer: QueryAnalyzer,
) -> Iterator[MaterializedTableError]:
    """Yield everything that is wrong with watermarks of a query without STREAM.

    Args:
        table: The table's name, for errors.
        watermarks: Those of the option.
        followed: Full names of the sources that the query follows.
        analyzer: Called only if there are watermarks.
    """
    seen: set[TableName] = set()
    for mark in watermarks:
        sources = [source for source in followed if mark.is_of(source)]
        if not sources:
            available = ", ".join(map(str, followed)) or "none"
            yield conditions.WATERMARK_SOURCE(table=table, source=mark.source, available=available)
            continue
        types = {source: _type_of(source, mark.column, analyzer) for source in sources}
        timed = [source for source, type_ in types.items() if type_ in _TIMES]
        if not timed:
            yield conditions.WATERMARK_COLUMN(table=table, problem=_problem(mark, types))
        for source in timed:
            if source in seen:
                yield conditions.REPEATED_WATERMARK(table=table, source=source)
            seen.add(source)


def _type_of(source: TableName, column: str, analyzer: QueryAnalyzer) -> str:
    """Return the type of a source's column; empty if it has no such column."""
    try:
        analyzed = analyzer.analyze(f"SELECT {quote(column)} FROM {source.sql}")
    except QueryError:
        return ""
    return analyzed.columns[0].type


def _problem(mark: watermark.Watermark, types: dict[TableName, str]) -> str:
    listed = ", ".join(map(str, types))
    with_column = {source: type_ for source, type_ in types.items() if type_}
    if not with_column:
        return f"{listed} has no column {mark.column}"
    described = " and ".join(f"{type_} in {source}" for source, type_ in with_column.items())
    return f"column {mark.column} is {described}"


def process_call(
    options: Pairs, registered: Pairs, table: str
) -> tuple[watermark.ProcessCall, watermark.ProcessFunction] | None:
    """Load the process function that a table's options name; None where they name none.

    Args:
        options: WITH (…).
        registered: The setting: names with `module:function`.
        table: The table's name, for errors.

    Raises:
        ProcessFunctionError: It is not registered, or cannot be loaded.
    """
    name = dict(options).get(PROCESS_FUNCTION)
    if name is None:
        return None
    place = dict(registered).get(name)
    if place is None:
        problem = f"no function of this name is registered{did_you_mean(name, dict(registered))}"
        raise conditions.PROCESS_FUNCTION(function=name, table=table, problem=problem.rstrip("?"))
    module, _, attribute = place.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # a user's module may raise anything
        problem = f"{place} failed with {type(error).__name__}: {error}".rstrip(": ")
        raise conditions.PROCESS_FUNCTION(function=name, table=table, problem=problem) from error
    if not isinstance(made, watermark.ProcessFunction) or not made.keys or not made.output:
        problem = f"{place} returned no ProcessFunction with keys and output"
        raise conditions.PROCESS_FUNCTION(function=name, table=table, problem=problem)
    return watermark.ProcessCall(name, place, made.keys, tuple(made.output.items())), made


def other_function(options: Pairs, before: Pairs, table: str) -> Iterator[ProcessFunctionError]:
    """Yield an error if the process function would be another one while the columns stay."""
    function, was = (dict(each).get(PROCESS_FUNCTION) for each in (options, before))
    if function != was:
        problem = (
            "ALTER … SET and RESET do not change the columns, which it determines; "
            "CREATE OR ALTER changes it and builds rows and state again"
        )
        yield conditions.PROCESS_FUNCTION(function=function or was, table=table, problem=problem)


def processed(
    analyzed: AnalyzedQuery, options: Pairs, registered: Pairs, table: str
) -> AnalyzedQuery:
    """Return a query with the columns that its process function gives the table.

    Raises:
        ProcessFunctionError: It cannot be loaded, or a key is no column of the query.
    """
    found = process_call(options, registered, table)
    if found is None:
        return analyzed
    call, _ = found
    columns = {column.name.lower() for column in analyzed.columns}
    if missing := [key for key in call.keys if key.lower() not in columns]:
        problem = f"the query has no column {', '.join(missing)}, by which it keeps state"
        raise conditions.PROCESS_FUNCTION(function=call.name, table=table, problem=problem)
    output = tuple(Column(name, type_) for name, type_ in call.output)
    return replace(analyzed, columns=output, process=call)
