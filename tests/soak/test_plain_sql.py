"""Thousands of statements of plain SQL leave no thread, no file and no memory in a manager.

`SOAK_STATEMENTS` (10,000) says how many. It needs `jcmd` of a JDK.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

from tests.soak import usage
from tests.soak.managed import Managed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_MOST = 1.05
_FEW = 5
_LOOKS = 10
_TEXTS = (
    *("DROP MATERIALIZED TABLE a b",) * 17,
    "DESC JOB 'none'",
    "DESC MATERIALIZED TABLE sums",
    "SHOW MATERIALIZED TABLES LIKE 'none'",
)
_EXPECTED = ("MATERIALIZED_TABLE_JOB_NOT_FOUND", "MATERIALIZED_TABLE_SYNTAX_ERROR")
_WARM = 2
"""The look that the last one is compared with: caches are filled then."""
_CREATE = "CREATE OR ALTER MATERIALIZED TABLE sums AS SELECT k, sum(v) AS v FROM orders GROUP BY k"


def test_statements_of_plain_sql(tmp_path: Path) -> None:
    assert shutil.which("jcmd"), "install a JDK: what is alive in a JVM is read by its jcmd"
    statements = int(os.environ.get("SOAK_STATEMENTS", "10000"))
    managed = Managed.start(tmp_path)
    curve = []
    try:
        with managed.connected() as spark:
            spark.sql("CREATE TABLE orders (k INT, v INT) USING delta")
            spark.sql("INSERT INTO orders VALUES (1, 10)")
            spark.sql(_CREATE)
            began = time.monotonic()
            for number in range(statements + 1):
                _run(spark, number)
                if number % (statements // _LOOKS) == 0:
                    curve.append(usage.usage(managed, (time.monotonic() - began) / 60))
                    print(number, curve[-1], flush=True)  # noqa: T201 - the result
    finally:
        managed.stop()
    early, late = curve[_WARM], curve[-1]
    for what in ("threads", "files", "python_threads", "python_files", "sessions"):
        assert getattr(late, what) <= getattr(early, what) + _FEW, what
    assert late.heap_mb <= _MOST * early.heap_mb
    assert late.python_rss_mb <= _MOST * early.python_rss_mb


def _run(spark: SparkSession, number: int) -> None:
    """Run statements of several kinds, most of which are refused at once."""
    from pyspark.errors import PySparkException

    try:
        if number % 200 == 0:
            spark.sql(_CREATE).collect()
        spark.sql(_TEXTS[number % len(_TEXTS)]).collect()
    except PySparkException as error:
        if error.getCondition() not in _EXPECTED:
            raise
