"""Sizes of what a statement reads, and the confs under which a small one costs least.

Spark generates code for each projection of each task, again in every task. On small inputs that is
half of the processor time of a refresh, and most of it is for the projections of the log of the
table. Interpreted projections of a million rows take 1.6 to 3 times the time of compiled ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


_SIZE = re.compile(r"sizeInBytes=([\d.E+]+) (B|[KMGTPE]iB)")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MODE = "spark.sql.codegen.factoryMode"
_COMPILED = "FALLBACK"
"""Spark's default: projections are compiled, and interpreted where they cannot be compiled."""
_INTERPRETED = "NO_CODEGEN"
"""Projections are interpreted; the stages of a plan are still compiled."""
_ADAPTIVE = "spark.sql.adaptive.enabled"
_PARTITIONS = "spark.sql.shuffle.partitions"
FEW_ROWS = {_MODE: _INTERPRETED, _ADAPTIVE: "false", _PARTITIONS: "1"}
"""Confs under which a statement over a few rows costs least: a job for the whole statement instead
of one for each exchange."""
SMALL_BYTES = 2 * 1024**2
"""Up to how many bytes of files are small: some 100,000 rows of a few columns."""


def sizes_of(spark: SparkSession, relations: Iterable[str]) -> tuple[float | None, ...]:
    """Return about how many bytes the files of relations have; None where Spark does not say it.

    Args:
        spark: A session.
        relations: As FROM names them.
    """
    statements = (f"EXPLAIN COST SELECT * FROM {relation}" for relation in relations)
    return tuple(size_of(spark.sql(statement).collect()[0][0]) for statement in statements)


def size_of(plan: str) -> float | None:
    """Return about how many bytes a plan with its costs reads; None where it does not say it."""
    found = _SIZE.search(plan)
    return None if found is None else float(found[1]) * 1024 ** _UNITS.index(found[2])


def total_of(sizes: Iterable[float | None]) -> float | None:
    """Return the sum of sizes; None where one of them is unknown."""
    found = tuple(sizes)
    known = [size for size in found if size is not None]
    return sum(known) if len(known) == len(found) else None


def may_interpret(spark: SparkSession) -> bool:
    """Whether it is up to us how a private session runs projections.

    It is not where the user has chosen, nor over Connect: the driver of the server is not ours.
    """
    return not is_connect(spark) and spark.conf.get(_MODE) == _COMPILED


def interpret_if_small(spark: SparkSession, sizes: Iterable[float | None]) -> bool:
    """Let a private session interpret projections where what it reads is small, or else compile.

    Args:
        spark: A session that may interpret them.
        sizes: About how many bytes it is going to read, of each relation.

    Returns:
        Whether all of them together are small; not where one is unknown.
    """
    size = total_of(sizes)
    is_small = size is not None and size <= SMALL_BYTES
    spark.conf.set(_MODE, _INTERPRETED if is_small else _COMPILED)
    return is_small


def plan_at_once(spark: SparkSession) -> None:
    """Let a private session run a statement over small inputs as one job.

    Adaptive execution plans again after each exchange, which is a job of its own. From small inputs
    it makes one partition or two. Without it a partition for each core stays, also where a join
    makes many rows of few.
    """
    partitions = int(spark.conf.get(_PARTITIONS) or 1)
    cores = spark.sparkContext.defaultParallelism
    spark.conf.set(_ADAPTIVE, "false")
    spark.conf.set(_PARTITIONS, str(min(partitions, max(cores, 1))))
