"""A process that dies, JVM and all, while a refresh replaces rows by one scan.

`python -m tests.faults.one_scan <directory> <stage> <seed>` first asserts what must hold after the
kill before. Then it changes the source, refreshes, and kills itself at a stage of the transaction,
which the files of the table show. With an empty stage it ends after the refresh.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.delta import row_changes
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from dbt.adapters.spark_mt.strategies.strategy import DIFFERENTIAL
from tests.faults.jvm import die
from tests.faults.server import CONFS
from tests.faults.victims import dice

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pyspark.sql import SparkSession

ROWS = 20_000
QUERY = "SELECT id, v * 2 AS w, name FROM facts WHERE v >= 0"
TABLE, SOURCE = "spark-warehouse/t", "facts"
STAGES = {
    "before": lambda _: True,
    "marked": lambda new: any(name.endswith(".bin") for name in new),
    "written": lambda new: any(name.endswith(".parquet") for name in new),
    "committed": lambda new: any(name.startswith("_delta_log/0") for name in new),
}
"""What the directory of the table gains: deletion vectors, then files of rows, then the commit."""
_POLL_S = 0.001
_LATER_S = 0.05


def prepare(spark: SparkSession, tables: MaterializedTables) -> None:
    """Create the source and the table."""
    columns = "id, CAST(id % 97 AS INT) AS v, concat('n', id % 1000) AS name"
    spark.sql(f"CREATE TABLE {SOURCE} USING delta AS SELECT {columns} FROM range({ROWS})")
    tables.execute(
        "CREATE MATERIALIZED TABLE t WITH ('incremental' = 'strict') "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {QUERY}"
    )


def assert_right(tables: MaterializedTables) -> None:
    """Assert that the table equals its query over the positions that it names."""
    found = tables.difference("t", limit=5)
    assert found.is_equal, (found.problem, found.total, found.rows)


def settle(spark: SparkSession, tables: MaterializedTables) -> None:
    """Assert what must hold after a kill, and that the next refresh brings the rest."""
    assert_right(tables)
    tables.refresh("t")
    assert_right(tables)
    missing = f"({QUERY}) EXCEPT ALL SELECT * FROM t"
    differing = f"(SELECT * FROM t EXCEPT ALL ({QUERY})) UNION ALL ({missing})"
    assert not spark.sql(differing).take(5)


def change(spark: SparkSession, chance: Random) -> None:
    """Change about a third of the source's rows, in all of its files."""
    place = chance.randrange(3)
    spark.sql(f"UPDATE {SOURCE} SET v = (v + 1) % 97 WHERE id % 3 = {place}")
    spark.sql(f"DELETE FROM {SOURCE} WHERE id % 1009 = {chance.randrange(1009)}")
    first = ROWS + chance.randrange(10**9)
    new = f"SELECT id, 5, 'new' FROM range({first}, {first + 20})"
    spark.sql(f"INSERT INTO {SOURCE} {new}")


def files_of(directory: Path) -> set[str]:
    """The files of the table, relative to its directory."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def kill_at(stage: str, directory: Path, chance: Random) -> Callable[[], None]:
    """Return what lets this process die at a stage, or shortly after it."""
    later_s = chance.choice([0.0, chance.uniform(0, _LATER_S)])
    before = files_of(directory)

    def watch() -> None:
        pause = Event()
        while not STAGES[stage](files_of(directory) - before):
            pause.wait(_POLL_S)
        pause.wait(later_s)
        die()

    return Thread(target=watch, daemon=True).start


def refresh(tables: MaterializedTables, begin: Callable[[], None]) -> None:
    """Refresh by changes, whose rows one scan finds; what kills begins with the transaction."""
    replaced, replace_rows = [], row_changes.replace_rows

    def watched(*arguments: object) -> bool:
        begin()
        replaced.append(replace_rows(*arguments))  # type: ignore[arg-type]
        return replaced[-1]

    row_changes.replace_rows = watched
    try:
        assert tables.refresh("t").strategy == DIFFERENTIAL
    finally:
        row_changes.replace_rows = replace_rows
    assert replaced == [True]


def main(directory: Path, stage: str, seed: str) -> None:
    """Do what the module says."""
    chance = dice(seed)
    spark = classic_spark({**CONFS, "spark.master": "local[2]"}, directory, directory / "spark.log")
    tables = MaterializedTables(spark)
    if (directory / TABLE).exists():
        settle(spark, tables)
    else:
        prepare(spark, tables)
    change(spark, chance)
    if stage:
        refresh(tables, kill_at(stage, directory / TABLE, chance))
        die()  # the refresh was faster
    refresh(tables, lambda: None)
    assert_right(tables)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
