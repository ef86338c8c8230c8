"""Delta Lake in a session: the releases that are tested with each Spark, and what it needs.

Delta compiles against one minor version of Spark. A wrong pair starts well and fails later
(`NoSuchMethodError` in an UPDATE). `make matrix` runs the tests with each pair of the table, and
docs/compatibility.md has the results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions, releases
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.session.errors import is_spark_error
from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


_EXTENSIONS_KEY = "spark.sql.extensions"
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
REQUIRED = {_EXTENSIONS_KEY: _EXTENSION, delta_format.CATALOG_KEY: delta_format.CATALOG}
"""What makes Delta Lake work in a session."""
_NAMED = re.compile(
    r"delta-spark(?:_(?P<spark>\d+\.\d+))?_(?P<scala>\d+\.\d+)[:-](?P<delta>\d[^\s,/]*?)(?:\.jar)?(?:,|$)"
)
"""Maven coordinates, or the file of a jar."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A Spark and the releases of Delta Lake that are tested with it.

    Args:
        spark: Minor version of Spark.
        package: Maven coordinates of the Delta Lake that a new session gets.
        deltas: Minor versions of Delta Lake.
    """

    spark: str
    package: str
    deltas: tuple[str, ...]


PAIRS = (
    Pair("4.1", "io.delta:delta-spark_4.1_2.13:4.4.0", ("4.2", "4.3", "4.4")),
    Pair("4.2", "io.delta:delta-spark_4.2_2.13:4.4.0", ("4.4",)),
)
"""Each Spark with its Delta Lakes; `pyspark` in pyproject.toml has the same range."""


def pyspark_version() -> str:
    """Return the installed PySpark's version, without importing it."""
    return metadata.version("pyspark")


def delta_package(spark: str) -> str:
    """Return the Maven coordinates of the Delta that belongs to a Spark such as `4.2.0`.

    Raises:
        MaterializedTableError: No pair of this version is tested.
    """
    pair = _pair_of(spark)
    if pair is None:
        raise _unsupported(spark)
    return pair.package


def with_delta(known: Mapping[str, str]) -> dict[str, str]:
    """Return the confs that a new session needs besides the user's, joined with their values.

    Raises:
        MaterializedTableError: No Delta is tested with the installed PySpark.
        MaterializedTableError: The Delta that the user names is not tested with it.
    """
    added = (
        {}
        if delta_format.CATALOG_KEY in known
        else {delta_format.CATALOG_KEY: delta_format.CATALOG}
    )
    if _EXTENSION not in known.get(_EXTENSIONS_KEY, ""):
        added[_EXTENSIONS_KEY] = _joined(known.get(_EXTENSIONS_KEY), _EXTENSION)
    jars = [known.get(key, "") for key in (delta_format.PACKAGES_KEY, "spark.jars")]
    if any("delta-spark" in jar for jar in jars):
        check_named(pyspark_version(), jars)
    else:
        package = delta_package(pyspark_version())
        added[delta_format.PACKAGES_KEY] = _joined(known.get(delta_format.PACKAGES_KEY), package)
    return added


def check_session(spark: SparkSession) -> None:
    """Make sure that a session has Delta Lake, and a warehouse that it may write.

    Raises:
        MaterializedTableError: It has not; every line that it lacks is named.
        MaterializedTableError: No Delta is tested with this Spark.
        MaterializedTableError: The Delta that it has is not tested with this Spark.
        MaterializedTableError: Only one driver may write there, and that is not confirmed.
    """
    lacking = [
        f"{key} {value}"
        for key, value in REQUIRED.items()
        if value not in (spark.conf.get(key, None) or "")
    ]
    if lacking:
        package = delta_package(spark.version)
        raise delta_format.DELTA_MISSING(version=spark.version, package=package, violations=lacking)
    check_loaded(spark)
    delta_format.check_storage(spark)


def check_named(spark: str, jars: Iterable[str]) -> None:
    """Make sure that the Delta which a user names for a Spark is tested with it.

    Args:
        spark: The version of Spark.
        jars: Values of `spark.jars.packages` and `spark.jars`.

    Raises:
        MaterializedTableError: No pair of this Spark is tested.
        MaterializedTableError: It is not.
    """
    for found in (match for jar in jars for match in _NAMED.finditer(jar)):
        delta = found["delta"]
        made_for = found["spark"] or _newest_spark(delta) or releases.minor_of(spark)
        is_for_it = made_for == releases.minor_of(spark)
        what = f"Delta Lake {delta}" + ("" if is_for_it else f" for Spark {made_for}")
        _check(spark, delta, what, is_made_for_it=is_for_it)


def check_loaded(spark: SparkSession) -> None:
    """Make sure that the Delta that a running Spark has loaded is tested with it.

    A Spark without one, and one that does not say which, are not refused.

    Raises:
        MaterializedTableError: No pair of this Spark is tested.
        MaterializedTableError: It is not.
    """
    if (delta := _loaded(spark)) is not None:
        _check(spark.version, delta, f"Delta Lake {delta}")


def _check(spark: str, delta: str, what: str, *, is_made_for_it: bool = True) -> None:
    if releases.is_untested_allowed():
        return
    pair = _pair_of(spark)
    if pair is None:
        raise _unsupported(spark)
    if not is_made_for_it or releases.minor_of(delta) not in pair.deltas:
        raise delta_format.UNSUPPORTED_DELTA(
            found=what,
            spark=spark,
            supported=releases.listed(pair.deltas),
            package=pair.package,
            variable=releases.UNTESTED,
        )


def _loaded(spark: SparkSession) -> str | None:
    if is_connect(spark):
        try:
            row = spark.sql("SELECT java_method('io.delta.package', 'VERSION')").first()
        except Exception as error:
            # Delta is not there, which is another error, or the server runs no methods of Java.
            if not is_spark_error(error):
                raise
            return None
        return None if row is None else str(row[0])
    from py4j.java_gateway import JavaClass

    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to the JVM
    found = getattr(jvm.io.delta, "package")  # noqa: B009 - a name like any other in Scala
    return str(found.VERSION()) if isinstance(found, JavaClass) else None


def _pair_of(spark: str) -> Pair | None:
    return next((pair for pair in PAIRS if pair.spark == releases.minor_of(spark)), None)


def _newest_spark(delta: str) -> str | None:
    """Return the Spark that a Delta is made for whose package names none."""
    sparks = [pair.spark for pair in PAIRS if releases.minor_of(delta) in pair.deltas]
    return sparks[-1] if sparks else None


def _unsupported(spark: str) -> MaterializedTableError:
    versions = [pair.spark for pair in PAIRS]
    return conditions.UNSUPPORTED_SPARK(
        spark=spark,
        supported=releases.listed(versions),
        newest=versions[-1],
        attempt="a Delta Lake for it (`spark.jars.packages: io.delta:delta-spark_...`)",
        variable=releases.UNTESTED,
    )


def _joined(before: str | None, value: str) -> str:
    return f"{before},{value}" if before else value
