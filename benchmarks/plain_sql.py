"""Spark's statements with and without the hook in its parser, and ours by plain SQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import connect
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.session import driver_java
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    Java = Any

PART = "plain-sql"
_MEASURED = (
    ("parse of 1,000 queries, with the hook", 1.02),
    ("SELECT 1, with the hook", 1.02),
    ("collect of 100 MB, with the hook", 1.02),
    ("unchanged CREATE OR ALTER by SQL", 1.2),
)
"""What a round measures, and the largest ratio that meets the target."""
_SOURCE = Path(__file__).with_name("StatementTimes.java")
_MOST_START_S = 1.0
_SELECTS = 200
_PARSES = 1_000
_COLLECTS = 3
_UNCHANGED = 5
_WARM_UP = 3
"""Rounds that are not counted: the JVM compiles what runs in them."""
_PARSER_WARM_UP = 20
"""Parses of all texts before them: until then the JVM interprets the hook, for 1 to 4 µs each."""
_PATIENCE_S = 300
_ROWS_OF_100_MB = "SELECT id, repeat('x', 1000) AS text FROM range(100000)"
_TEXTS = tuple(
    f"SELECT k, count(*) AS n, sum(v + {number}) AS total FROM t WHERE d > DATE '2026-01-{day:02}' "
    "GROUP BY k HAVING count(*) > 1 ORDER BY n"
    for number, day in zip(range(_PARSES), cycle(range(1, 29)), strict=False)
)
_STATEMENT = (
    "CREATE OR ALTER MATERIALIZED TABLE plain_sums AS SELECT k, sum(v) AS v FROM plain GROUP BY k"
)


def measure(spark: SparkSession, samples: int) -> list[Measurement]:
    """Run statements in a session whose parser has the hook and in one without it, in turn.

    Args:
        spark: A session without the hook.
        samples: How often each thing is measured, after rounds that are not counted.
    """
    bare = spark.newSession()
    bare.sql("SELECT 1").collect()  # its parser is made, and stays as it is
    tables = MaterializedTables(spark)
    tables.enable_sql()
    hooked = spark.newSession()
    hooked.sql("CREATE TABLE plain AS SELECT id % 10 AS k, id AS v FROM range(1000)")
    tables.execute(_STATEMENT)
    java = driver_java.compiled(spark, _SOURCE)
    sessions = (hooked._jsparkSession, bare._jsparkSession)  # noqa: SLF001 - no public way
    times = driver_java.new_object(spark, java, *sessions)
    for _ in range(_PARSER_WARM_UP):
        times.parse("\n".join(_TEXTS))
    rounds = [_round(hooked, bare, tables, times, number) for number in range(samples + _WARM_UP)]
    measured = []
    for place, (name, most) in enumerate(_MEASURED):
        ours, bare_ones = zip(*(each[place] for each in rounds[_WARM_UP:]), strict=True)
        measured.append(Measurement(name, ours, bare_ones, most_ratio=most))
    return measured


def _round(
    hooked: SparkSession, bare: SparkSession, tables: MaterializedTables, times: Java, number: int
) -> tuple[tuple[float, float], ...]:
    """Return the seconds of each thing, ours and the other; each time in the other order.

    The hook could cost time of a processor only, which other processes disturb less than the clock.
    """
    is_swapped = bool(number % 2)
    jvm: Any = bare.sparkContext._jvm  # noqa: SLF001 - no public way
    driver = int(jvm.java.lang.ProcessHandle.current().pid())

    def collect(session: SparkSession) -> Callable[[], object]:
        return lambda: session.sql(_ROWS_OF_100_MB).toArrow()

    measured = (
        _of_thread(times.parse("\n".join(_TEXTS))),
        _of_thread(times.run("SELECT 1", _SELECTS)),
        _in_turn(collect(hooked), collect(bare), _COLLECTS, _cpu_of(driver), is_swapped=is_swapped),
        _in_turn(
            lambda: hooked.sql(_STATEMENT).collect(),
            lambda: tables.execute(_STATEMENT),
            _UNCHANGED,
            time.perf_counter,
            is_swapped=is_swapped,
        ),
    )
    progress(f"round {number}: " + " ".join(f"{a:.4f}/{b:.4f}" for a, b in measured))
    return measured


def _of_thread(nanoseconds: str) -> tuple[float, float]:
    ours, bare = (int(each) / 1e9 for each in nanoseconds.split())
    return ours, bare


def _cpu_of(driver: int) -> Callable[[], float]:
    """Return a clock of the processor time that the driver and this process have used."""
    hertz = os.sysconf("SC_CLK_TCK")

    def clock() -> float:
        words = Path(f"/proc/{driver}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / hertz + time.process_time()

    return clock


def _in_turn(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    times: int,
    clock: Callable[[], float],
    *,
    is_swapped: bool,
) -> tuple[float, float]:
    """Return the median seconds of both, each run so many times in turn."""
    first, second = (theirs, ours) if is_swapped else (ours, theirs)
    pairs = [(_seconds(first, clock), _seconds(second, clock)) for _ in range(times)]
    one, other = (median(each) for each in zip(*pairs, strict=True))
    return (other, one) if is_swapped else (one, other)


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def start(folder: Path, samples: int) -> list[Measurement]:
    """Start `spark-mt serve` with and without the hook, in turn, in an empty folder."""
    home = folder / "plain-sql"
    home.mkdir()
    _serve(home)  # makes the metastore
    rounds = [(_serve(home), _serve(home, "--no-plain-sql")) for _ in range(samples)]
    ours, bare = zip(*rounds, strict=True)
    more = tuple(mine - theirs for mine, theirs in rounds)
    return [
        Measurement("spark-mt serve with plain SQL: ready", ours, bare),
        Measurement("… beyond --no-plain-sql", more, most_seconds=_MOST_START_S),
    ]


def _serve(home: Path, *options: str) -> float:
    program = Path(sys.executable).with_name("spark-mt")
    log = home / "serve.log"
    log.unlink(missing_ok=True)
    started = time.perf_counter()
    with (
        log.open("wb") as file,
        subprocess.Popen(  # noqa: S603 - our own command
            [program, "serve", "--port", str(free_port()), *options],
            cwd=home,
            stdout=file,
            stderr=file,
            env=dict(os.environ),
        ) as manager,
    ):
        try:
            while "the manager serves" not in log.read_text(encoding="utf-8"):
                if time.perf_counter() - started > _PATIENCE_S or manager.poll() is not None:
                    raise connect.ServerFailedError(log)
                time.sleep(0.02)
            seconds = time.perf_counter() - started
        finally:
            manager.send_signal(signal.SIGTERM)
    progress(f"serve {' '.join(options)}: {seconds:.2f} s")
    return seconds
