"""Where and under which SQL confs a session analyses a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import QueryContext
from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.resolution.semantic_confs import (
    ALWAYS_STORED,
    DEFAULTS,
    LEGACY_PREFIX,
    semantic_confs,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def context_of(spark: SparkSession) -> QueryContext:
    """Return where and under which confs `spark` would analyse a query now."""
    confs = dict(spark.conf.getAll)
    for key in ALWAYS_STORED:
        confs[key] = str(spark.conf.get(key))
    catalog = spark.catalog.currentCatalog()
    return QueryContext(catalog, spark.catalog.currentDatabase(), semantic_confs(confs))


def enter_context(spark: SparkSession, context: QueryContext) -> None:
    """Give a private session the catalog, schema and semantic confs of `context`, no others.

    What is right already is left alone: over Connect each change is a call.

    Raises:
        pyspark.errors.PySparkException: The catalog or the schema is gone.
    """
    wanted = dict(context.confs)
    now = dict(spark.conf.getAll)
    for key in now:
        if key.startswith(LEGACY_PREFIX) and key not in wanted:
            spark.conf.unset(key)
    for key, value in {**DEFAULTS, **wanted}.items():
        if now.get(key, DEFAULTS.get(key)) != value:
            spark.conf.set(key, value)
    current = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase())
    if current != (context.catalog, context.schema):
        spark.sql(f"USE {quote(context.catalog)}.{quote(context.schema)}")
