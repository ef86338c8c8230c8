"""The SQL confs that change what a query means.

Spark stores all confs that a session modified with a persistent view. We store a fixed list, and
only values that differ from Spark's default, so that a conf which says how to run a query (shuffle
partitions, adaptive execution) never counts as a change of the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import QueryContext
from dbt.adapters.spark_mt.definition.identifier import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import Pairs

ALWAYS_STORED = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
"""Stored even where they have the default, as Spark does with a view."""

DEFAULTS: Mapping[str, str] = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""The other confs of the list with Spark 4's defaults; stored where they differ."""

LEGACY_PREFIX = "spark.sql.legacy."
"""Every conf below it changes results by its purpose; stored where it was set."""


def semantic_confs(confs: Mapping[str, str]) -> Pairs:
    """Keep of `confs` what changes the meaning of a query, sorted by key."""
    kept = {
        key: value
        for key, value in confs.items()
        if key in ALWAYS_STORED
        or key.startswith(LEGACY_PREFIX)
        or (key in DEFAULTS and value.lower() != DEFAULTS[key].lower())
    }
    return tuple(sorted(kept.items()))


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
