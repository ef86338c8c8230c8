"""Apache Iceberg in a session: the releases that are tested with each Spark, and their checks.

A runtime of Iceberg is made for one minor version of Spark. With another one, the first statement
over its catalog fails (`IncompatibleClassChangeError`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions, releases
from dbt.adapters.spark_mt.definition.table_format import CATALOG_PREFIX
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.session.private_session import confs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


_PACKAGES = ("spark.jars.packages", "spark.jars")
_DOTS = CATALOG_PREFIX.count(".")
_NAMED = re.compile(
    r"iceberg-spark-runtime-(?P<spark>\d+\.\d+)_\d+\.\d+[:-](?P<iceberg>\d[^\s,/]*?)(?:\.jar)?(?:,|$)"
)
"""Maven coordinates, or the file of a jar."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A Spark and the releases of Iceberg that are tested with it.

    Args:
        spark: Minor version of Spark.
        package: Maven coordinates of the newest of these.
        icebergs: Minor versions of Iceberg.
    """

    spark: str
    package: str
    icebergs: tuple[str, ...]


PAIRS = (Pair("4.1", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", ("1.12",)),)
"""Each Spark with its Icebergs. `make iceberg` runs the tests with the first pair."""


def check_spark(spark: str) -> None:
    """Make sure that an Iceberg is tested with a Spark.

    Args:
        spark: The version of Spark.

    Raises:
        MaterializedTableError: None is; the pairs that are tested are named.
    """
    if releases.is_untested_allowed() or _pair_of(spark) is not None:
        return
    pairs = (
        f"Apache Iceberg {releases.listed(pair.icebergs)} on Spark {pair.spark} ({pair.package})"
        for pair in PAIRS
    )
    raise conditions.UNSUPPORTED_SPARK(
        spark=spark,
        supported=", ".join(pairs),
        newest=PAIRS[-1].spark,
        attempt=(
            "an Apache Iceberg for it (`spark.jars.packages: "
            "org.apache.iceberg:iceberg-spark-runtime-...`)"
        ),
        variable=releases.UNTESTED,
    )


def check_confs(spark: str, confs: Mapping[str, str]) -> None:
    """Make sure that a Spark with these confs can read the Iceberg catalogs in them.

    Args:
        spark: The version of Spark.
        confs: Its confs. Without a catalog and a runtime of Iceberg they are not refused.

    Raises:
        MaterializedTableError: No Iceberg is tested with this Spark.
        MaterializedTableError: The one that the confs name is not tested with it.
    """
    found = [match for key in _PACKAGES for match in _NAMED.finditer(confs.get(key, ""))]
    if found or any(value == iceberg_format.CATALOG for value in confs.values()):
        check_spark(spark)
    pair = _pair_of(spark)
    if pair is None or releases.is_untested_allowed():
        return
    for each in found:
        is_for_it = each["spark"] == pair.spark
        if not is_for_it or releases.minor_of(each["iceberg"]) not in pair.icebergs:
            of_spark = "" if is_for_it else f" for Spark {each['spark']}"
            raise iceberg_format.UNSUPPORTED_ICEBERG(
                found=f"Apache Iceberg {each['iceberg']}{of_spark}",
                spark=spark,
                supported=releases.listed(pair.icebergs),
                package=pair.package,
                variable=releases.UNTESTED,
            )


def check_loaded(spark: SparkSession) -> None:
    """Make sure that a running Spark can read the Iceberg catalogs that it has.

    Raises:
        MaterializedTableError: No Iceberg is tested with this Spark.
    """
    if _catalogs(spark):
        check_spark(spark.version)


def check_session(spark: SparkSession) -> None:
    """Make sure that tables in Iceberg catalogs can be read and written in a session.

    Raises:
        MaterializedTableError: No Iceberg is tested with this Spark.
        MaterializedTableError: The session is not set up for them.
    """
    check_loaded(spark)
    iceberg_format.check_session(_catalogs(spark), lambda key: spark.conf.get(key, None))


def with_uncached_catalogs(known: Mapping[str, str]) -> dict[str, str]:
    """Return the confs by which Iceberg catalogs of a new Spark keep no tables in a cache.

    Args:
        known: The confs of the user; a catalog whose cache they name is left as it is.
    """
    keys = (key for key, value in known.items() if value == iceberg_format.CATALOG)
    caches = (f"{key}.{iceberg_format.CACHE}" for key in keys)
    return {key: "false" for key in caches if key not in known}


def _pair_of(spark: str) -> Pair | None:
    return next((pair for pair in PAIRS if pair.spark == releases.minor_of(spark)), None)


def _catalogs(spark: SparkSession) -> list[str]:
    """Return the names of the Iceberg catalogs of a session."""
    prefix = CATALOG_PREFIX
    confs = confs_of(spark, lambda key: key.startswith(prefix) and key.count(".") == _DOTS)
    return [k.removeprefix(prefix) for k, v in confs.items() if v == iceberg_format.CATALOG]
