"""Names of Delta Lake: properties, conditions, confs, operations, and the package for a Spark.

Delta compiles against one minor version of Spark. A wrong pair starts well and fails later
(`NoSuchMethodError` in an UPDATE), so only pairs that were tested are listed.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.table_format import (
    CommitEffect,
    Conditions,
    EngineConfs,
    TableFormat,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


FENCE_ID = "spark.databricks.delta.write.txnAppId"
FENCE_NUMBER = "spark.databricks.delta.write.txnVersion"
COMMIT_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
ADD_COLUMNS = "spark.databricks.delta.schema.autoMerge.enabled"
DELETION_VECTORS = "delta.enableDeletionVectors"
TIME_TRAVEL_LIMIT = (
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
)
MERGE_SOURCE = "spark.databricks.delta.merge.materializeSource"

_NO_TABLE = frozenset(
    {"DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST"}
)
_CONFLICTS = {
    "ConcurrentTransactionException": "DELTA_CONCURRENT_TRANSACTION",
    "ConcurrentAppendException": "DELTA_CONCURRENT_APPEND",
    "ConcurrentDeleteReadException": "DELTA_CONCURRENT_DELETE_READ",
    "ConcurrentDeleteDeleteException": "DELTA_CONCURRENT_DELETE_DELETE",
    "ConcurrentWriteException": "DELTA_CONCURRENT_WRITE",
    "MetadataChangedException": "DELTA_METADATA_CHANGED",
    "ProtocolChangedException": "DELTA_PROTOCOL_CHANGED",
}
_CONDITIONS = Conditions(
    conflict=frozenset(_CONFLICTS.values()),
    schema=frozenset(
        {
            "DELTA_METADATA_MISMATCH",
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
            "DELTA_FAILED_TO_MERGE_FIELDS",
            "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
            "DELTA_SCHEMA_CHANGED",
            "DELTA_SCHEMA_CHANGED_WITH_VERSION",
            "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
        }
    ),
    constraint=frozenset(
        {
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
            "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
            "DELTA_NEW_NOT_NULL_VIOLATION",
        }
    ),
    constraint_exists=frozenset({"DELTA_CONSTRAINT_ALREADY_EXISTS"}),
    rows_break_constraint=frozenset({"DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"}),
    no_table=_NO_TABLE,
    unreadable_version=frozenset(
        {
            "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
            "DELTA_VERSION_NOT_FOUND",
            "DELTA_VERSIONS_NOT_CONTIGUOUS",
            "DELTA_LOG_FILE_NOT_FOUND",
            "DELTA_STATE_RECOVER_ERROR",
            "DELTA_FILE_NOT_FOUND",
            "DELTA_FILE_NOT_FOUND_DETAILED",
        }
    ),
    directory_taken=frozenset({"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"}),
    by_class=_CONFLICTS,
)
_CONFS = EngineConfs(
    local={"spark.databricks.delta.snapshotPartitions": "2"},
    # Delta keeps the logs of up to 10,000 tables and their files in memory. Reading one again costs
    # less than the memory of a server that runs for days.
    server={"spark.databricks.delta.delta.log.cacheSize": "256"},
    private={TIME_TRAVEL_LIMIT: "false", ADD_COLUMNS: "false"},
    not_copied=(
        FENCE_ID,
        FENCE_NUMBER,
        COMMIT_METADATA,
        LAST_COMMIT,
        "spark.databricks.delta.write.",
    ),
    small_commits={
        "spark.databricks.delta.history.metricsEnabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.stats.collect": "false",
    },
)

_EFFECTS = {
    "RESTORE": CommitEffect.RESTORE,
    "CLONE": CommitEffect.CLONE,
    **dict.fromkeys(
        (
            "OPTIMIZE",
            "VACUUM START",
            "VACUUM END",
            "SET TBLPROPERTIES",
            "UNSET TBLPROPERTIES",
            "CHANGE COLUMN",
            "CHANGE COLUMNS",
            "ADD CONSTRAINT",
            "DROP CONSTRAINT",
            "CLUSTER BY",
            "UPGRADE PROTOCOL",
            "REORG",
            "COMPUTE STATS",
        ),
        CommitEffect.NO_ROWS,
    ),
}

FORMAT = TableFormat(
    name="delta",
    title="Delta",
    identity_property="materialized-table.delta-id",
    constraint_prefix="delta.constraints.",
    maintained=(
        "delta.checkpointPolicy",
        "delta.columnMapping.",
        "delta.constraints.",
        DELETION_VECTORS,
        "delta.enableRowTracking",
        "delta.feature.",
        "delta.inCommitTimestamp",
        "delta.lastCommitTimestamp",
        "delta.lastUpdateVersion",
        "delta.minReaderVersion",
        "delta.minWriterVersion",
        "delta.rowTracking",
    ),
    name_mapping={"delta.columnMapping.mode": "name"},
    # Delta removes commits that are older than the retention by whole days, with each checkpoint:
    # between 1 and 25 hours of them stay.
    system_properties={
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": "interval 1 hour",
        "delta.deletedFileRetentionDuration": "interval 1 hour",
    },
    effects=_EFFECTS,
    as_of="{relation} VERSION AS OF {version}",
    log_retention="delta.logRetentionDuration",
    file_retention="delta.deletedFileRetentionDuration",
    properties_doc=(
        "delta.<property>",
        "as Delta defines it",
        "A property of the Delta table.",
    ),
    conditions=_CONDITIONS,
    confs=_CONFS,
)

_PACKAGES = {
    "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
}
_EXTENSIONS_KEY = "spark.sql.extensions"
_CATALOG_KEY = "spark.sql.catalog.spark_catalog"
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
PACKAGES_KEY = "spark.jars.packages"
REQUIRED = {_EXTENSIONS_KEY: _EXTENSION, _CATALOG_KEY: _CATALOG}
"""What makes Delta Lake work in a session."""


class UnsupportedSparkError(MaterializedTableError):
    """There is no Delta that is known to work with the installed PySpark."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_SPARK"
    text = "PySpark {pyspark} is installed, and no Delta Lake is known to work with it."
    remedy = (
        "Install one of the supported versions (pip install 'pyspark~={newest}.0'; supported: "
        "{supported}), or name your own Delta under `server_side_parameters` in the profile: "
        "`spark.jars.packages: io.delta:delta-spark_...`."
    )


class DeltaMissingError(MaterializedTableError):
    """The session's Spark runs without Delta Lake."""

    condition = "MATERIALIZED_TABLE_DELTA_MISSING"
    text = "This Spark {version} runs without Delta Lake; its configuration lacks:"
    remedy = (
        "Add these lines where that Spark is started (its spark-defaults.conf or `--conf`, and the "
        "package {package} under spark.jars.packages) and start it again."
    )


def pyspark_version() -> str:
    """Return the installed PySpark's version, without importing it."""
    return metadata.version("pyspark")


def delta_package(pyspark: str) -> str:
    """Return the Maven coordinates of the Delta that belongs to a PySpark.

    Args:
        pyspark: A full version such as `4.2.0`.

    Raises:
        UnsupportedSparkError: No pair of this version was tested.
    """
    package = _PACKAGES.get(_minor_of(pyspark))
    if package is None:
        raise UnsupportedSparkError(
            pyspark=pyspark, newest=max(_PACKAGES), supported=", ".join(_PACKAGES)
        )
    return package


def with_delta(known: Mapping[str, str]) -> dict[str, str]:
    """Return the confs that a new session needs in addition, joined with the user's values.

    Args:
        known: The user's confs.

    Raises:
        UnsupportedSparkError: Delta is needed and none is known for the installed PySpark.
    """
    added = {} if _CATALOG_KEY in known else {_CATALOG_KEY: _CATALOG}
    if _EXTENSION not in known.get(_EXTENSIONS_KEY, ""):
        added[_EXTENSIONS_KEY] = _joined(known.get(_EXTENSIONS_KEY), _EXTENSION)
    jars = (known.get(key, "") for key in (PACKAGES_KEY, "spark.jars"))
    if not any("delta-spark" in jar for jar in jars):
        package = delta_package(pyspark_version())
        added[PACKAGES_KEY] = _joined(known.get(PACKAGES_KEY), package)
    return added


def check_session(spark: SparkSession) -> None:
    """Make sure that a session has Delta Lake.

    Raises:
        DeltaMissingError: It has not; every line that it lacks is named.
    """
    lacking = [
        f"{key} {value}"
        for key, value in REQUIRED.items()
        if value not in (spark.conf.get(key, None) or "")
    ]
    if lacking:
        package = _PACKAGES.get(_minor_of(spark.version), "io.delta:delta-spark")
        raise DeltaMissingError(version=spark.version, package=package, violations=lacking)


def _minor_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _joined(before: str | None, value: str) -> str:
    return f"{before},{value}" if before else value
