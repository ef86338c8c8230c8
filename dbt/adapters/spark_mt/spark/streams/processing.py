"""A stateful processor over the rows of a query (`transformWithState`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.process_function import ProcessFunction

_VIEW = "__materialized_table_processed"
_NO_TIME = "none"
"""No timers and no time to live: rows and state follow from the input alone."""


def processed_query(spark: SparkSession, query: str, function: ProcessFunction) -> str:
    """Return a query for the rows that a processor makes of a streaming query's.

    The processor's module is sent to the workers as it is here: they need not have it.

    Args:
        spark: A session of the caller's own, in which the query has its meaning.
        query: The input.
        function: The processor, its keys and its columns.
    """
    from pyspark import cloudpickle

    processor = function.processor()
    module = sys.modules[type(processor).__module__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    columns = ", ".join(f"{quote(name)} {type_}" for name, type_ in function.output.items())
    rows = spark.sql(query).groupBy(*map(quote, function.keys))
    made = rows.transformWithState(processor, columns, OutputMode.APPEND.value, _NO_TIME)
    made.createOrReplaceTempView(_VIEW)
    return f"SELECT * FROM {_VIEW}"
