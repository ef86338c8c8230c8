"""Names of Delta Lake: properties, conditions, confs and operations.

A commit is the file of its number, which no writer may replace. On S3, Delta 4.4 checks whether the
file is there and then writes it, under a lock of the JVM. Of two drivers that do so at the same
time, both succeed, and the file has the commit of the one that wrote last.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import table_format
from dbt.adapters.spark_mt.definition.errors import Condition, Group, MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName


_condition = partial(Condition, MaterializedTableError, Group.SPARK)
SINGLE_DRIVER_STORAGE = _condition(
    "MATERIALIZED_TABLE_SINGLE_DRIVER_STORAGE",
    "Commits of two drivers could replace each other where tables are, or will be.",
    text=(
        "Tables at {location} can be written by one Spark driver only: the log store of Delta "
        "for {scheme}:// is {logStore}. Where two drivers write a table, commits are lost."
    ),
    remedy=(
        "If only one driver ever writes there, as where dbt and the command line work in the "
        "Spark of the only refresh manager, confirm it with the line "
        "`spark.materialized-table.single-driver: true` under `server_side_parameters` or in "
        "spark-defaults.conf. Otherwise name a log store for several drivers, in every driver "
        "the same: `spark.delta.logStore.{scheme}.impl: io.delta.storage.S3DynamoDBLogStore`, "
        "with its package. Nothing was changed."
    ),
)
UNSUPPORTED_DELTA = _condition(
    "MATERIALIZED_TABLE_UNSUPPORTED_DELTA",
    "A Delta Lake and a Spark that are not tested together.",
    text=(
        "{found} is used with Spark {spark}, and dbt-spark-mt is tested with Delta Lake "
        "{supported} there."
    ),
    remedy=(
        "Name {package} instead where the jars of this Spark are configured. A Spark that dbt "
        "starts takes it without any configuration: remove the other one from "
        "spark.jars.packages and spark.jars. To try this pair all the same, set the environment "
        "variable {variable}=true. Nothing was changed."
    ),
)
DELTA_MISSING = _condition(
    "MATERIALIZED_TABLE_DELTA_MISSING",
    "The session's Spark runs without Delta Lake.",
    text="This Spark {version} runs without Delta Lake; its configuration lacks:",
    remedy=(
        "Add these lines where that Spark is started (its spark-defaults.conf or `--conf`, and "
        "the package {package} under spark.jars.packages) and start it again."
    ),
)

FENCE_ID = "spark.databricks.delta.write.txnAppId"
FENCE_NUMBER = "spark.databricks.delta.write.txnVersion"
COMMIT_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
ADD_COLUMNS = "spark.databricks.delta.schema.autoMerge.enabled"
DELETION_VECTORS = "delta.enableDeletionVectors"
COLUMN_MAPPING = "delta.columnMapping.mode"
TIME_TRAVEL_LIMIT = (
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
)
MERGE_SOURCE = "spark.databricks.delta.merge.materializeSource"
VERIFIES_CHECKSUM = "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled"
"""Whether each commit compares the files in its checksum with the table where the time zone of
session or JVM is not UTC, which is one more job. Delta 4.4 reads no table by these files. This
project takes the files of small tables from there."""
LISTED_FILES = "spark.databricks.delta.allFilesInCrc.thresholdNumFiles"
"""Up to how many files the checksum of a commit lists: each takes some 500 bytes there."""
MOST_LISTED = 200
AS_STORED = {
    "spark.sql.readSideCharPadding": "false",
    "spark.sql.legacy.noCharPaddingInPredicate": "true",
}
"""Confs with which the values of CHAR columns are read and compared as they are stored. Delta
stores what a query returned; Spark pads it in each read, and no MERGE of Delta runs then."""
CHECKS_REPLACED = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
"""Whether a write that replaces the rows of a condition may add no other rows."""

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
_CONDITIONS = table_format.Conditions(
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
_CONFS = table_format.EngineConfs(
    local={"spark.databricks.delta.snapshotPartitions": "2"},
    # Delta keeps the logs of up to 10,000 tables and their files in memory. Reading one again costs
    # less than the memory of a server that runs for days.
    server={"spark.databricks.delta.delta.log.cacheSize": "256"},
    private={
        TIME_TRAVEL_LIMIT: "false",
        ADD_COLUMNS: "false",
        VERIFIES_CHECKSUM: "false",
        LISTED_FILES: str(MOST_LISTED),
    },
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
    "RESTORE": table_format.CommitEffect.RESTORE,
    "CLONE": table_format.CommitEffect.CLONE,
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
        table_format.CommitEffect.NO_ROWS,
    ),
}

CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

FORMAT = table_format.TableFormat(
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
    name_mapping={COLUMN_MAPPING: "name"},
    # Delta removes commits that are older than the retention by whole days, with each checkpoint:
    # between 1 and 25 hours of them stay.
    system_properties={
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": "interval 1 hour",
        "delta.deletedFileRetentionDuration": "interval 1 hour",
    },
    effects=_EFFECTS,
    capabilities=frozenset(table_format.Capability),
    compaction="OPTIMIZE {table}",
    catalog_class=CATALOG,
    log_retention="delta.logRetentionDuration",
    log_retention_default="30 days",
    file_retention="delta.deletedFileRetentionDuration",
    properties_doc=(
        "delta.<property>",
        "as Delta defines it",
        "A property of the Delta table.",
    ),
    conditions=_CONDITIONS,
    confs=_CONFS,
)

CATALOG_KEY = "spark.sql.catalog.spark_catalog"
PACKAGES_KEY = "spark.jars.packages"
WRITE_LOGGER = "org.apache.spark.sql.delta.files"
"""What logs that a write failed."""
WAREHOUSE = "spark.sql.warehouse.dir"
_DEFAULT_STORAGE = "spark.hadoop.fs.defaultFS"
_LOG_STORE = "spark.delta.logStore.class"
_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_SINGLE_DRIVER_STORE = "S3SingleDriverLogStore"


def as_of(name: TableName, version: int) -> str:
    """Return what a query reads for a table as of a version, as text after FROM."""
    return f"{name.sql} VERSION AS OF {version}"


def is_mapped(properties: Mapping[str, str | None]) -> bool:
    """Whether columns have other names in the files of a table with these properties."""
    return (properties.get(COLUMN_MAPPING) or "none") != "none"


def check_log_store(location: str, conf: Callable[[str], str | None]) -> None:
    """Refuse a location where commits of two drivers are not serialized, unless there is one.

    Args:
        location: A path; one without a scheme is on Hadoop's default file system.
        conf: Returns the value of a conf, or None without one.

    Raises:
        MaterializedTableError: Only one driver may write there, and that is not confirmed.
    """
    place = location if "://" in location else conf(_DEFAULT_STORAGE) or ""
    scheme = place.partition(":")[0].lower()
    store = conf(_LOG_STORE) or conf(f"spark.delta.logStore.{scheme}.impl")
    if store is None and scheme in _S3_SCHEMES:
        store = _SINGLE_DRIVER_STORE
    if store is None or store.rpartition(".")[2] != _SINGLE_DRIVER_STORE:
        return
    if (conf(table_format.SINGLE_DRIVER) or "").strip().lower() != "true":
        raise SINGLE_DRIVER_STORAGE(location=location, scheme=scheme, logStore=store)


def check_storage(spark: SparkSession, location: str | None = None) -> None:
    """Apply `check_log_store` to a location, or to the warehouse of a running Spark.

    Raises:
        MaterializedTableError: As there.
    """

    def conf(key: str) -> str | None:
        return spark.conf.get(key, None)

    check_log_store(location or conf(WAREHOUSE) or "", conf)
