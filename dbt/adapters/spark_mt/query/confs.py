"""SQL confs that change the meaning of a query, and those by which its text is another tree.

Spark stores all confs that a session modified with a persistent view. A definition stores a fixed
list, and only values that differ from Spark's default. So a conf of execution (shuffle partitions,
adaptive execution) never counts as a change of the definition.

The list is turned round: what Spark's parser and analyzer read (`spark_confs.py`) belongs to it,
unless it is known here to be about something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query.spark_confs import CONFS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Pairs

ALWAYS_STORED = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
"""Stored even where they have the default, as Spark does with a view."""

_LISTED = {
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
"""Confs by which an expression or a name means something else, with Spark 4's defaults."""

_SAME_TREE = frozenset(
    {
        *("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive"),
        *("spark.sql.ansi.enforceReservedKeywords", "spark.sql.crossJoin.enabled"),
        *("spark.sql.charAsVarchar", "spark.sql.function.concatBinaryAsString"),
        *("spark.sql.decimalOperations.allowPrecisionLoss", "spark.sql.mapKeyDedupPolicy"),
        *("spark.sql.function.eltOutputAsString", "spark.sql.jsonGenerator.ignoreNullFields"),
        *("spark.sql.preserveCharVarcharTypeInfo", "spark.sql.readSideCharPadding"),
        *("spark.sql.storeAssignmentPolicy", "spark.sql.timestampType"),
    }
)
"""Confs that the tree respects: it has the same operators, and each expression as it is written."""

_OTHER_PREFIXES = tuple(
    f"spark.sql.{area}."
    for area in (
        *("adaptive", "catalog", "debug", "hive", "scripting", "sources", "streaming", "view"),
        *("defaultColumn", "insertIntoReplaceOn", "insertIntoReplaceOnByName"),
        *("insertIntoReplaceUsing", "insertIntoReplaceUsingByName", "insertNestedTypeCoercion"),
        *("mergeNestedTypeCoercion", "planChangeLog", "expressionTreeChangeLog"),
        *("nameResolutionLog", "optimizer.runtime", "tvf"),
    )
)
_OTHER = frozenset(
    {
        *("spark.sql.analyzer.maxIterations", "spark.sql.optimizer.disableHints"),
        *("spark.sql.analyzer.strictDataFrameColumnResolution", "spark.sql.transposeMaxValues"),
        *("spark.sql.assumeAnsiFalseIfNotPersisted.enabled", "spark.sql.timeTravelTimestampKey"),
        *("spark.sql.parser.eagerEvalOfUnresolvedInlineTable", "spark.sql.timeTravelVersionKey"),
        *("spark.sql.parser.manageParserCaches", "spark.sql.parser.parserDfaCacheFlushRatio"),
        *("spark.sql.parser.parserDfaCacheFlushThreshold", "spark.sql.operatorPipeSyntaxEnabled"),
        *("spark.sql.allowNamedFunctionArguments", "spark.sql.collation.allowInMapKeys"),
        "spark.sql.parser.singleCharacterPipeOperator.enabled",
    }
)
"""Confs of commands, writes, streams, logs, limits and caches, and those that only refuse texts."""

_OTHER_LEGACY = frozenset(
    f"spark.sql.legacy.{name}"
    for name in (
        *("allowSessionVariableInPersistedView", "blockCreateTempTableUsingProvider"),
        *("createHiveTableByDefault", "doLooseUpcast", "inlineCTEInCommands"),
        *("keepCommandOutputSchema", "keepPartitionSpecAsStringLiteral", "notReserveProperties"),
        *("parameterSubstitution.constantsOnly", "parseNullPartitionSpecAsStringLiteral"),
        *("parseQueryWithoutEof", "pathOptionBehavior.enabled", "useV1Command"),
        *("skipTypeValidationOnAlterPartition", "viewSchemaBindingMode", "viewSchemaCompensation"),
    )
)
"""The same among the confs of former behaviour."""


LEGACY_PREFIX = "spark.sql.legacy."
"""Every conf below it changes results by its purpose; stored where it was set."""


def _is_of_a_text(key: str) -> bool:
    return key not in _OTHER and not key.startswith(_OTHER_PREFIXES)


_READ = {key: value for key, value in CONFS.items() if _is_of_a_text(key)}
_ELSEWHERE = (*ALWAYS_STORED, *(key for key in _READ if key.startswith(LEGACY_PREFIX)))
DEFAULTS: Mapping[str, str] = {
    key: value for key, value in {**_READ, **_LISTED}.items() if key not in _ELSEWHERE
}
"""The other confs with their defaults; stored where they differ."""


def is_semantic(key: str) -> bool:
    """Return whether the conf changes the meaning of a query."""
    return key in ALWAYS_STORED or key in DEFAULTS or key.startswith(LEGACY_PREFIX)


def semantic_confs(confs: Mapping[str, str]) -> Pairs:
    """Return those of `confs` that change the meaning of a query, sorted by key."""
    kept = {
        key: value
        for key, value in confs.items()
        if key in ALWAYS_STORED
        or key.startswith(LEGACY_PREFIX)
        or (key in DEFAULTS and value.lower() != DEFAULTS[key].lower())
    }
    return tuple(sorted(kept.items()))


def unread_confs(confs: Mapping[str, str]) -> Iterator[str]:
    """Yield the confs without their default by which Spark may read a text otherwise.

    A conf of former behaviour that the parser and the analyzer do not read changes what an
    expression gives, and not what a text means.

    Args:
        confs: The confs of a query.
    """
    for key, value in confs.items():
        default = _READ.get(key)
        respected = key in _SAME_TREE or key in _OTHER_LEGACY
        if default is not None and not respected and value.lower() != default.lower():
            yield key
