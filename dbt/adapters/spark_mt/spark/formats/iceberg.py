"""Names of Apache Iceberg: provider, properties, conditions and confs of catalogs.

A version is the sequence number of a snapshot on the branch `main`, and its identity the id of the
snapshot. Tables of format version 1 have no sequence numbers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import table_format
from dbt.adapters.spark_mt.definition.errors import Condition, Group, MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Callable

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

CATALOG = "org.apache.iceberg.spark.SparkCatalog"
CATALOG_PREFIX = "spark.sql.catalog."
CACHE = "cache-enabled"
COPY_ON_WRITE = (
    "write.delete.mode, write.update.mode and write.merge.mode to copy-on-write, and then call "
    "rewrite_data_files, so that no delete files are left"
)

FORMAT = table_format.TableFormat(
    name="iceberg",
    title="Apache Iceberg",
    identity_property="materialized-table.iceberg-id",
    constraint_prefix="materialized-table.iceberg-constraints.",
    log_retention="history.expire.max-snapshot-age-ms",
    file_retention="history.expire.max-snapshot-age-ms",
    compaction="CALL rewrite_data_files('{table}')",
    catalogs=frozenset({CATALOG}),
    unversioned={"format-version": "1"},
    has_streams=False,
    conditions=table_format.Conditions(
        no_table=frozenset({"ICEBERG_NO_TABLE"}),
        unreadable_version=frozenset({"ICEBERG_FILE_NOT_FOUND"}),
        by_class={
            "NoSuchTableException": "ICEBERG_NO_TABLE",
            "NotFoundException": "ICEBERG_FILE_NOT_FOUND",
        },
    ),
    confs=table_format.EngineConfs(
        # A session with one of these reads or writes a branch in the place of `main`.
        not_copied=("spark.wap.", "spark.sql.iceberg.snapshot-property."),
    ),
)


def check_cache(catalog: str, conf: Callable[[str], str | None]) -> None:
    """Refuse a catalog that keeps tables in a cache.

    Args:
        catalog: The catalog.
        conf: Returns the value of a conf, or None without one.

    Raises:
        MaterializedTableError: It does.
    """
    key = f"{CATALOG_PREFIX}{catalog}.{CACHE}"
    if (conf(key) or "true").strip().lower() != "false":
        raise CACHED_CATALOG(catalog=catalog, key=key)
