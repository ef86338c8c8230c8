"""The SQL confs that change what a query means.

Spark stores all confs that a session modified with a persistent view. We store a fixed list, and
only values that differ from Spark's default, so that a conf which says how to run a query (shuffle
partitions, adaptive execution) never counts as a change of the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def is_semantic(key: str) -> bool:
    """Whether the conf changes what a query means."""
    return key in ALWAYS_STORED or key in DEFAULTS or key.startswith(LEGACY_PREFIX)


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
