"""Names of Apache Iceberg: provider, properties, conditions and confs of catalogs.

A version is the sequence number of a snapshot on the branch `main`, and its identity the id of the
snapshot. Tables of format version 1 have no sequence numbers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import table_format
from dbt.adapters.spark_mt.definition.errors import (
    Condition,
    Group,
    MaterializedTableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_condition = partial(Condition, MaterializedTableError, Group.SPARK)
CACHED_CATALOG = _condition(
    "MATERIALIZED_TABLE_CACHED_CATALOG",
    "A catalog of Iceberg keeps tables in a cache, so that sources look older than they are.",
    text=(
        "The catalog {catalog} of Apache Iceberg keeps tables in a cache: a refresh would not see "
        "what other sessions commit to its sources there."
    ),
    remedy=(
        "Set {key} to false where this Spark is started: under `server_side_parameters` of the "
        "profile, in spark-defaults.conf or by `--conf`. Start it again. Each read of a table "
        "then asks the catalog, which takes milliseconds. Nothing was changed."
    ),
)
HADOOP_CATALOG = _condition(
    "MATERIALIZED_TABLE_HADOOP_CATALOG",
    "A catalog of Iceberg commits by renaming files, in a storage that does not rename at once.",
    text=(
        "The catalog {catalog} of Apache Iceberg is of the type hadoop and lives at {warehouse}. "
        "There, commits of two drivers could replace each other: it commits by renaming a file, "
        "and {scheme}:// has no rename that fails if the target is there."
    ),
    remedy=(
        "Use a catalog that serializes commits, such as one of the types rest, jdbc, hive or glue. "
        "If only one driver ever writes there, confirm it with the line "
        "`spark.materialized-table.single-driver: true` under `server_side_parameters` or in "
        "spark-defaults.conf. Nothing was changed."
    ),
)
SESSION = _condition(
    "MATERIALIZED_TABLE_ICEBERG_SESSION",
    "A session that has catalogs of Iceberg lacks confs, or has some that it must not have.",
    text="This session is not set up for its catalogs of Apache Iceberg ({catalogs}):",
    remedy=(
        "Correct these lines where this Spark is started: under `server_side_parameters` of the "
        "profile, in spark-defaults.conf or by `--conf`. Start it again. Nothing was changed."
    ),
)
UNSUPPORTED_ICEBERG = _condition(
    "MATERIALIZED_TABLE_UNSUPPORTED_ICEBERG",
    "An Apache Iceberg and a Spark that are not tested together.",
    text=(
        "{found} is used with Spark {spark}, and dbt-spark-mt is tested with Apache Iceberg "
        "{supported} there."
    ),
    remedy=(
        "Name {package} instead where the jars of this Spark are configured. To try this pair all "
        "the same, set the environment variable {variable}=true. Nothing was changed."
    ),
)

ROLLBACK_UNDONE = _condition(
    "MATERIALIZED_TABLE_ROLLBACK_UNDONE",
    "A table of Iceberg was rolled back during a refresh over Spark Connect, which undid that.",
    text=(
        "Materialized table {table} was rolled back from snapshot {expected} to {previous} by "
        "another program while a refresh wrote to it. The refresh began before that, and its "
        "commit has undone the rollback. The table has the rows of its query, in snapshot {ours}."
    ),
    remedy=(
        "If the rows of snapshot {previous} are wanted, run `{statement}`: it costs no rows, and "
        "the next refresh computes the rows of the query again. A refresh manager, or a session "
        "whose Spark driver is in its own process, finds a rollback before it commits. The option "
        "'strict-fence' = 'true' refuses all others."
    ),
)

COMMIT = "materialized-table.commit"
"""The key of our commit metadata in the summary of a snapshot; no other key there is ours."""
SUMMARY = f"spark.sql.iceberg.snapshot-property.{COMMIT}"
"""The conf with which Spark writes it."""
CONSTRAINTS = "materialized-table.iceberg-constraints."
"""How properties begin that name the constraint by which a column became NOT NULL, the value."""
STAGED = "materialized-table.iceberg-staged."
"""How properties begin that name a column which a write added and has not published. The value is
the branch of the write."""
BRANCH = "materialized_table_"
"""How the names of the branches begin to which refreshes over Spark Connect write. 32 hexadecimal
digits follow, which a branch of a user hardly has."""
NOT_NULL_EXISTS, NULLS = "NotNullExistsError", "NullsError"
"""Conditions that `iceberg.tables` raises as errors of these names."""
_BRANCH = re.compile(rf"{BRANCH}[0-9a-f]{{32}}")
CATALOG = "org.apache.iceberg.spark.SparkCatalog"
CACHE = "cache-enabled"
EXTENSIONS_KEY = "spark.sql.extensions"
EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_BRANCHES = ("spark.wap.branch", "spark.wap.id")
"""With one of these, a session writes tables with `write.wap.enabled` elsewhere than on `main`."""
_TYPE, _WAREHOUSE = "type", "warehouse"
_RENAMES_BY_COPY = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs"})
_REST, _SQL, _METASTORE = "ICEBERG_REST", "ICEBERG_SQL", "ICEBERG_HIVE_METASTORE"
"""Conditions of a catalog that did not answer, by its type."""
COPY_ON_WRITE = (
    "write.delete.mode, write.update.mode and write.merge.mode to copy-on-write, and then call "
    "rewrite_data_files, so that no delete files are left"
)

FORMAT = table_format.TableFormat(
    name="iceberg",
    title="Apache Iceberg",
    identity_property="materialized-table.iceberg-id",
    constraint_prefix=CONSTRAINTS,
    staged_prefix=STAGED,
    maintained=("current-snapshot-", "format-version", "write.parquet.compression-codec"),
    types={
        "TINYINT": "INT",
        "SMALLINT": "INT",
        "CHAR": "STRING",
        "VARCHAR": "STRING",
        "COLLATE": "STRING",
        "INTERVAL": "BIGINT",
        "TIME": "STRING",
        "VARIANT": "STRING",
    },
    capabilities=frozenset(table_format.Capability) - {table_format.Capability.CLUSTERING},
    log_retention="history.expire.max-snapshot-age-ms",
    log_retention_default="5 days",
    file_retention="history.expire.max-snapshot-age-ms",
    compaction="CALL rewrite_data_files('{table}')",
    system_properties={
        "history.expire.max-snapshot-age-ms": "3600000",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "20",
        "commit.retry.num-retries": "20",
    },
    catalogs=frozenset({CATALOG}),
    lower_case=frozenset({"hive"}),
    unversioned={"format-version": "1"},
    conditions=table_format.Conditions(
        conflict=frozenset({"ICEBERG_COMMIT_FAILED"}),
        constraint=frozenset({"NOT_NULL_ASSERT_VIOLATION"}),
        constraint_exists=frozenset({NOT_NULL_EXISTS}),
        rows_break_constraint=frozenset({NULLS}),
        no_table=frozenset({"ICEBERG_NO_TABLE"}),
        unreadable_version=frozenset({"ICEBERG_FILE_NOT_FOUND"}),
        outcome_unknown=frozenset({"ICEBERG_COMMIT_STATE_UNKNOWN"}),
        catalog_away=frozenset({_REST, _SQL, _METASTORE}),
        by_class={
            "AlreadyExistsException": "TABLE_OR_VIEW_ALREADY_EXISTS",
            "CommitFailedException": "ICEBERG_COMMIT_FAILED",
            "CommitStateUnknownException": "ICEBERG_COMMIT_STATE_UNKNOWN",
            "RESTException": _REST,
            "ServiceFailureException": _REST,
            "ServiceUnavailableException": _REST,
            "UncheckedSQLException": _SQL,
            "RuntimeMetaException": _METASTORE,
            "NoSuchNamespaceException": "SCHEMA_NOT_FOUND",
            "NoSuchTableException": "ICEBERG_NO_TABLE",
            "NotFoundException": "ICEBERG_FILE_NOT_FOUND",
        },
    ),
    confs=table_format.EngineConfs(
        # A session with one of these reads or writes a branch in the place of `main`.
        not_copied=("spark.wap.", "spark.sql.iceberg.snapshot-property."),
    ),
)


OVER_CONNECT = replace(
    FORMAT,
    title="Apache Iceberg over Spark Connect",
    capabilities=frozenset({table_format.Capability.MATERIALIZED_TABLE}),
)
"""The format where Spark's driver is another process: commits are made by statements only."""


def is_our_branch(name: str) -> bool:
    """Whether a branch is one to which a refresh has written, by its name."""
    return _BRANCH.fullmatch(name) is not None


def fence_property(fence: str) -> str:
    """Return the property of a table that has the highest number which a fence accepted."""
    return f"{fence}.fence"


def check_session(catalogs: Sequence[str], conf: Callable[[str], str | None]) -> None:
    """Refuse a session that is not set up for catalogs of Iceberg.

    Args:
        catalogs: The catalogs; none needs nothing.
        conf: Returns the value of a conf, or None without one.

    Raises:
        MaterializedTableError: It is not; every line that is to change is named.
    """
    if catalogs and (problems := [*_session_problems(catalogs, conf)]):
        raise SESSION(catalogs=", ".join(catalogs), violations=problems)


def _session_problems(catalogs: Sequence[str], conf: Callable[[str], str | None]) -> Iterator[str]:
    extensions = conf(EXTENSIONS_KEY) or ""
    if EXTENSION not in extensions:
        joined = f"{extensions},{EXTENSION}" if extensions else EXTENSION
        yield f"{EXTENSIONS_KEY}: {joined} (views of these catalogs cannot be renamed without it)"
    for catalog in catalogs:
        key = _cache_key(catalog)
        if not _is_uncached(key, conf):
            yield f"{key}: false (it keeps tables in a cache: commits of others are not seen)"
    for key in _BRANCHES:
        if value := conf(key):
            yield (
                f"{key} must not be set, but is {value} (dbt would write tables with "
                "write.wap.enabled there, and materialized tables read main)"
            )


def _cache_key(catalog: str) -> str:
    return f"{table_format.CATALOG_PREFIX}{catalog}.{CACHE}"


def _is_uncached(key: str, conf: Callable[[str], str | None]) -> bool:
    return (conf(key) or "true").strip().lower() == "false"


def check_cache(catalog: str, conf: Callable[[str], str | None]) -> None:
    """Refuse a catalog that keeps tables in a cache.

    Args:
        catalog: The catalog.
        conf: Returns the value of a conf, or None without one.

    Raises:
        MaterializedTableError: It does.
    """
    if not _is_uncached(key := _cache_key(catalog), conf):
        raise CACHED_CATALOG(catalog=catalog, key=key)


def check_commits(catalog: str, conf: Callable[[str], str | None]) -> None:
    """Refuse a catalog that does not serialize the commits of drivers, unless there is one driver.

    Args:
        catalog: The catalog.
        conf: Returns the value of a conf, or None without one.

    Raises:
        MaterializedTableError: It does not, and that there is one driver is not confirmed.
    """
    type_, warehouse = (
        (conf(f"{table_format.CATALOG_PREFIX}{catalog}.{option}") or "").strip()
        for option in (_TYPE, _WAREHOUSE)
    )
    scheme = warehouse.partition("://")[0].lower() if "://" in warehouse else ""
    if type_.lower() != "hadoop" or scheme not in _RENAMES_BY_COPY:
        return
    if (conf(table_format.SINGLE_DRIVER) or "").strip().lower() != "true":
        raise HADOOP_CATALOG(catalog=catalog, warehouse=warehouse, scheme=scheme)
