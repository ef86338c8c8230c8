"""What a manager of many tables costs with nothing to do, and how scheduled times drift."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.request import urlopen

from benchmarks.report import Measurement, progress
from benchmarks.streams_memory import used
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.workflows import (
    CreatePeriodicRefreshWorkflow,
    DueRun,
    SchedulerContext,
)
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.manager.views import Role
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.planning.steps import plan_registration
from dbt.adapters.spark_mt.scheduler.embedded import EmbeddedScheduler
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.registry.registry import table_row
from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.manager.app import RunningManager

_NEVER_MS = 10**12
_MINUTE_S = 60
_ROWS_A_COMMIT = 250
_SCHEMA = "managed"


def idle(spark: SparkSession, tables: int, seconds: int) -> list[Measurement]:
    """Register many FULL tables that are refreshed once a day, and look on.

    They are copies of the files of one table, and so are their rows in the registry: a second is
    not spent on making each. The sweep, which would find that, is put off.

    Args:
        spark: The session.
        tables: How many.
        seconds: For how long to look on.
    """
    progress(f"a manager of {tables:,} tables with nothing to do …")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    before_mb = sum(used(spark))
    _register(spark, tables)
    policy = ManagerPolicy(sweep=_NEVER_MS, compact_after=0)
    running = assemble(spark, policy, Identity(version="benchmark"))
    app = create_app(running.manager, Access(AccessRules(open_reads=True)))
    server = HttpServer(app, "127.0.0.1", 0)
    began = time.monotonic()
    running.start()
    server.start()
    try:
        until(lambda: running.manager.about().role is Role.ACTIVE)
        converged = time.monotonic() - began
        time.sleep(20)  # what starts once, and the first heartbeats, are over
        after_mb = sum(used(spark))
        ticks, cores = _observed(running, seconds)
        lists = tuple(
            _timed(lambda: _read(f"{server.url}/v3/materialized-tables")) for _ in "12345"
        )
        later_mb = sum(used(spark))
    finally:
        server.stop()
        running.stop(10)
    many = f"{tables:,} tables"
    return [
        Measurement(f"first tick over {many}", (converged,)),
        Measurement(f"a tick over {many}, nothing to do", tuple(ticks), most_seconds=2.0),
        Measurement(f"cores, {many}, idle", (cores.jvm + cores.python,), unit="cores"),
        Measurement("… in the last minute", (cores.last_minute,), most_seconds=0.05, unit="cores"),
        Measurement(f"list of {many} over REST", lists),
        Measurement(f"memory for {many}", (after_mb - before_mb,), most_seconds=200.0, unit="MB"),
        Measurement(f"… and {seconds} s later", (later_mb - before_mb,), unit="MB"),
    ]


def drift(workflows: int, seconds: int) -> list[Measurement]:
    """Fire many workflows of 15 seconds, in parallel with processes that keep every core busy.

    Args:
        workflows: How many.
        seconds: For how long.
    """
    progress(f"{workflows:,} schedules under load …")
    drifts: list[float] = []

    def submit(due: DueRun) -> None:
        drifts.append((_now() - due.scheduled_at).total_seconds())

    scheduler = EmbeddedScheduler(SchedulerContext(submit, _now))
    schedule = Schedule(Freshness(15, TimeUnit.SECOND), "Europe/Berlin")
    for number in range(workflows):
        table = TableName(f"t{number}", _SCHEMA, "spark_catalog")
        scheduler.create_refresh_workflow(
            CreatePeriodicRefreshWorkflow(table, str(number), schedule, last_scheduled_at=_now())
        )
    burn = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 2)]  # noqa: S603 - our own
    try:
        until_s = time.monotonic() + seconds
        while (left := until_s - time.monotonic()) > 0:
            time.sleep(min(left, scheduler.run_due()))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    name = f"drift of {workflows:,} schedules, p99 of {len(drifts):,}"
    return [Measurement(name, tuple(drifts), most_seconds=1.0, quantile=0.99)]


def _register(spark: SparkSession, tables: int) -> None:
    spark.sql(f"CREATE TABLE {_SCHEMA}.source (id BIGINT) USING delta")
    MaterializedTables(spark).execute(
        f"CREATE MATERIALIZED TABLE {_SCHEMA}.full_0 FRESHNESS = INTERVAL '1' DAY "
        f"REFRESH_MODE = FULL AS SELECT count(*) AS n FROM {_SCHEMA}.source"
    )
    environment = SparkEnvironment(spark)
    found = environment.value.store.find(TableName("full_0", _SCHEMA, "spark_catalog"))
    assert isinstance(found, StoredTable)  # noqa: S101 - it was made above
    first = environment.details.of(found.name)
    assert isinstance(first, TableRef)  # noqa: S101 - it was made above
    files = Path(first.handle.removeprefix("file:"))
    for number in range(1, tables):
        copy = files.with_name(f"copy_{number}")
        shutil.copytree(files, copy)
        spark.sql(f"CREATE TABLE {_SCHEMA}.full_{number} USING delta LOCATION '{copy.as_uri()}'")
    rows = [_row(environment, found, number) for number in range(1, tables)]
    system = SystemTable(spark, environment.details.written, PrivateSessions(spark))
    for start in range(0, len(rows), _ROWS_A_COMMIT):
        now = environment.value.now_ms()
        system.append("spark_catalog", rows[start : start + _ROWS_A_COMMIT], now)
    # Delta keeps the log of each table that was made here for an hour; a manager loads none.
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr] # noqa: SLF001


def _row(
    environment: SparkEnvironment, table: StoredTable, number: int
) -> dict[str, str | int | bool | None]:
    name = replace(table.definition.name, name=f"full_{number}")
    definition = replace(table.definition, name=name, table_id=f"{number:032}")
    now = environment.value.now_ms()
    return table_row(plan_registration(replace(table, definition=definition)), now)


def _observed(running: RunningManager, seconds: int) -> tuple[list[float], Cores]:
    """Return how long ticks took, and the cores that were used."""
    ticks: list[float] = []
    is_over = Event()

    def watch() -> None:
        seen = 0
        while not is_over.wait(0.5):
            about = running.manager.about()
            if about.last_tick_at_ms != seen:
                seen = about.last_tick_at_ms
                ticks.append(about.tick_seconds)

    watching = Thread(target=watch, daemon=True)
    watching.start()
    cores = observed_cores(seconds)
    is_over.set()
    watching.join()
    return ticks, cores


def _processes() -> list[int]:
    """This process and the JVM that it started."""
    own = os.getpid()
    children = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="utf-8").split()
    return [own, *map(int, children)]


def cpu_seconds() -> tuple[float, float]:
    """Seconds of a core that this process and its JVM have used, each."""
    own, *jvms = (_seconds(Path(f"/proc/{pid}/stat")) for pid in _processes())
    return own, sum(jvms)


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores that a manager used.

    Args:
        jvm: Its JVM.
        compilers: What of these its compilers used: it ends when all hot code is compiled.
        python: Its Python process.
        last_minute: JVM and Python together, in the last whole minute.
    """

    jvm: float
    compilers: float
    python: float
    last_minute: float

    def measurements(self, what: str, most_of_jvm: float | None = None) -> list[Measurement]:
        """Return them for the report."""
        found = {
            "cores of the JVM": (self.jvm, most_of_jvm),
            "… of these its compilers": (self.compilers, None),
            "cores of Python": (self.python, None),
            "cores in the last minute": (self.last_minute, None),
        }
        return [
            Measurement(f"{what}: {name}", (cores,), most_seconds=most, unit="cores")
            for name, (cores, most) in found.items()
        ]


def observed_cores(seconds: int) -> Cores:
    """Wait, report every minute what was used in it, and return what was used in all."""
    began, first, compiled = time.monotonic(), cpu_seconds(), compiler_seconds()
    last_at, last, minute = began, first, 0.0
    while (left := began + seconds - time.monotonic()) > 0:
        time.sleep(min(_MINUTE_S, left))
        now, used_now = time.monotonic(), cpu_seconds()
        python, jvm = ((n - b) / (now - last_at) for n, b in zip(used_now, last, strict=True))
        if left >= _MINUTE_S or not minute:
            minute = python + jvm
        progress(f"  cores: Python {python:.3f}, JVM {jvm:.3f}")
        last_at, last = now, used_now
    passed = last_at - began
    python, jvm = ((n - b) / passed for n, b in zip(last, first, strict=True))
    return Cores(jvm, (compiler_seconds() - compiled) / passed, python, minute)


def compiler_seconds() -> float:
    """Seconds of a core that the JVM has used to compile hot code."""
    _, *jvms = _processes()
    tasks = (task for pid in jvms for task in Path(f"/proc/{pid}/task").glob("*/stat"))
    return sum(_seconds(task) for task in tasks if "CompilerThre" in _text(task))


def _seconds(stat: Path) -> float:
    words = _text(stat).rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if words else 0.0


def _text(stat: Path) -> str:
    try:
        return stat.read_text(encoding="utf-8", errors="replace")
    except OSError:  # a thread that has ended
        return ""


def _read(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:  # noqa: S310 - our own address
        found: bytes = answer.read()
    return found


def _timed(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for something that other threads do."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


def _now() -> datetime:
    return datetime.now(tz=timezone.utc)
