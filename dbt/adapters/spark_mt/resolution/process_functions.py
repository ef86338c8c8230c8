"""The table option `process-function`: rows that a stateful processor makes of the query's rows.

Spark's SQL has no words for `transformWithState`, so the query is the processor's input, and the
processor is named beside it. Only functions that a setting registers can be named: a table never
makes a process load code that its configuration does not know.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.process_function import ProcessCall, ProcessFunction
from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean
from dbt.adapters.spark_mt.resolution.violations import InvalidDefinitionError

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery

PROCESS_FUNCTION = "process-function"


class ProcessFunctionError(InvalidDefinitionError):
    """A process function that a table names cannot be used for it."""

    condition = "MATERIALIZED_TABLE_PROCESS_FUNCTION"
    text = "The process function '{function}' cannot make the rows of {table}: {problem}."
    remedy = (
        "Register it as spark.materialized-table.process-functions = '<name>=<module>:<function>' "
        "wherever the table is defined or refreshed; docs/refresh.md tells what it must return and "
        "which queries can feed it."
    )


def process_call(
    options: Pairs, registered: Pairs, table: str
) -> tuple[ProcessCall, ProcessFunction] | None:
    """Load the process function that a table's options name.

    Args:
        options: WITH (…).
        registered: The setting: names with `module:function`.
        table: The table's name, for errors.

    Returns:
        None where the options name none.

    Raises:
        ProcessFunctionError: It is not registered, or cannot be loaded.
    """
    name = dict(options).get(PROCESS_FUNCTION)
    if name is None:
        return None
    place = dict(registered).get(name)
    if place is None:
        problem = f"no function of this name is registered{did_you_mean(name, dict(registered))}"
        raise ProcessFunctionError(function=name, table=table, problem=problem.rstrip("?"))
    module, _, attribute = place.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # a user's module may raise anything
        problem = f"{place} failed with {type(error).__name__}: {error}".rstrip(": ")
        raise ProcessFunctionError(function=name, table=table, problem=problem) from error
    if not isinstance(made, ProcessFunction) or not made.keys or not made.output:
        problem = f"{place} returned no ProcessFunction with keys and output"
        raise ProcessFunctionError(function=name, table=table, problem=problem)
    return ProcessCall(name, place, made.keys, tuple(made.output.items())), made


def raise_if_other(options: Pairs, before: Pairs, table: str) -> None:
    """Refuse another process function beside a query whose columns stay as they are.

    Raises:
        ProcessFunctionError: It would be another one, or none.
    """
    function, was = (dict(each).get(PROCESS_FUNCTION) for each in (options, before))
    if function != was:
        problem = (
            "ALTER … SET and RESET leave the columns alone, which it gives; "
            "CREATE OR ALTER changes it and builds rows and state anew"
        )
        raise ProcessFunctionError(function=function or was, table=table, problem=problem)


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
        raise ProcessFunctionError(function=call.name, table=table, problem=problem)
    output = tuple(Column(name, type_) for name, type_ in call.output)
    return replace(analyzed, columns=output, process=call)
