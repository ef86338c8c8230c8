"""System tables in SQLite: the queries of the registry, and which data files are read."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import weakref
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.table_format import DataFiles
from dbt.adapters.spark_mt.spark.registry.leases import LAYOUT, SparkLeaseLog, lease_of
from dbt.adapters.spark_mt.spark.registry.registry import SparkSystemLog, job_row
from dbt.adapters.spark_mt.spark.registry.system_table import (
    REGISTRY_LAYOUT,
    SmallReader,
    SystemTable,
)
from tests.support.refs import delta_at

CATALOG = "c"
JOB = Job(
    "j",
    TableName("t", "s", CATALOG),
    JobKind.SCHEDULED,
    JobStatus.FINISHED,
    1,
    2,
    Owner("host", 1),
    "REFRESH",
)


class Files:
    """Data files of one table; Spark would have to read a table without any."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self.rows = dict(rows)
        self.read_paths: list[str] = []

    def read(self, table, columns, known):
        assert table == delta_at("/registry")
        if not self.rows:
            return None
        new = [path for path in self.rows if path not in known]
        self.read_paths += new
        values = {path: [tuple(map(row.get, columns)) for row in self.rows[path]] for path in new}
        return DataFiles(frozenset(self.rows), values)


class Versions:
    """Where the table is, and its newest version."""

    newest = 0

    def __call__(self, name):
        assert name.schema == "materialized_table_system"
        return self.newest

    def table(self, _name):
        return delta_at("/registry")


class Spark:
    """A session that answers every query with one row."""

    def __init__(self):
        self.asked = []

    def sql(self, statement):
        self.asked.append(statement)
        return self

    def collect(self):
        return [job_row(replace(JOB, job_id="by Spark")) | dict.fromkeys(_OF_JOBS)]


_OF_JOBS = ("refresh_mode", "freshness", "creates", "error", "facts", "ended_at_ms", "rows")


def log_over(files: Files, spark: Spark | None = None) -> SparkSystemLog:
    versions: Any = Versions()
    reader = SmallReader(files, versions, REGISTRY_LAYOUT)  # type: ignore[arg-type]
    anything: Any = spark
    table = SystemTable(anything, lambda _: anything, anything, REGISTRY_LAYOUT, reader)
    return SparkSystemLog(anything, table, lambda: 0, versions)


def table_row(name, at_ms, schema="s", **more):
    row = {"kind": "TABLE", "schema_name": schema, "table_name": name, "recorded_at_ms": at_ms}
    return {**row, "generation": 1, "seq": 0, "dropped": False, "facts": "{}", **more}


def handler_row(name, at_ms, facts):
    return {**table_row(name, at_ms), "kind": "HANDLER", "dropped": None, "facts": facts}


def test_of_a_table_the_newest_row_counts_which_may_say_that_it_is_gone():
    log = log_over(
        Files(
            a=[table_row("t", 1), table_row("gone", 1), table_row("u", 5, schema="r")],
            b=[table_row("t", 2), table_row("gone", 2, dropped=True)],
        )
    )
    assert [str(name) for name in log.known(CATALOG)] == ["c.r.u", "c.s.t"]
    assert log.knows(TableName("t", "s", CATALOG))
    assert not log.knows(TableName("gone", "s", CATALOG))
    assert not log.knows(TableName("t'; --{schema}", "s", CATALOG))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ({"recorded_at_ms": 2, "seq": 0}, {"recorded_at_ms": 1, "seq": 9}),
        ({"generation": 2, "seq": 0}, {"generation": 1, "seq": 9}),
        ({"seq": 10}, {"seq": 9}),
        ({"seq": 0}, {"seq": None}),
    ],
)
def test_rows_of_one_instant_are_ordered_by_generation_and_number(newer, older):
    rows = [table_row("t", 1, **({"dropped": True} | newer)), table_row("t", 1, **older)]
    for order in (rows, rows[::-1]):
        assert log_over(Files(a=order)).known(CATALOG) == ()


def test_names_are_values_whatever_is_in_them():
    name = "o'{table}\\:schema"
    log = log_over(Files(a=[table_row(name, 1), handler_row(name, 1, "state")]))
    assert log.knows(TableName(name, "s", CATALOG))
    assert log.handler(TableName(name, "s", CATALOG)) == b"state"


def test_of_a_handler_the_newest_row_counts():
    log = log_over(Files(a=[handler_row("t", 2, "new")], b=[handler_row("t", 1, "old")]))
    assert log.handler(TableName("t", "s", CATALOG)) == b"new"
    assert log.handler(TableName("u", "s", CATALOG)) == b""
    assert log.handlers(CATALOG) == {TableName("t", "s", CATALOG): b"new"}


def test_of_a_job_its_end_counts_even_if_it_began_in_the_same_millisecond():
    ended = replace(JOB, creates=True, ended_at_ms=2)
    running = replace(JOB, status=JobStatus.RUNNING)
    other = replace(running, job_id="k", started_at_ms=3, table=TableName("u", "r", CATALOG))
    for rows in ([ended, running], [running, ended]):
        log = log_over(Files(a=list(map(job_row, [*rows, other]))))
        assert log.jobs(CATALOG, 0) == (other, ended)
        assert log.job(CATALOG, "j") == ended
        assert log.job(CATALOG, "none") is None
        assert log.running(CATALOG, "s", 0) == ()
        assert log.running(CATALOG, "r", 0) == (other,)
        assert log.running(CATALOG, "r", 3) == ()


def test_each_table_has_its_own_newest_jobs():
    jobs = [
        replace(JOB, job_id=f"{name}{at}", table=TableName(name, "s", CATALOG), started_at_ms=at)
        for name in "tu"
        for at in range(1, 5)
    ]
    log = log_over(Files(a=list(map(job_row, jobs))))
    found = log.newest(CATALOG, 2, 0)
    assert sorted(job.job_id for job in found) == ["t3", "t4", "u3", "u4"]
    assert [j.job_id for j in log.of_table(TableName("t", "s", CATALOG), 3)] == ["t4", "t3", "t2"]


def test_schedules_have_come_as_far_as_their_last_run_that_ended_well():
    jobs = [
        replace(JOB, job_id=status.value, status=status, scheduled_at_ms=at)
        for status, at in (
            (JobStatus.FINISHED, 10),
            (JobStatus.SKIPPED, 20),
            (JobStatus.FAILED, 30),
        )
    ]
    log = log_over(Files(a=list(map(job_row, jobs))))
    assert log.last_scheduled(CATALOG) == {JOB.table: 20}


def test_a_data_file_is_read_once_and_forgotten_when_it_is_gone():
    files = Files(a=[table_row("t", 1)], b=[table_row("u", 1)])
    log = log_over(files)
    assert len(log.known(CATALOG)) == 2
    del files.rows["a"]
    files.rows["c"] = [table_row("v", 1)]
    assert [name.name for name in log.known(CATALOG)] == ["u", "v"]
    assert files.read_paths == ["a", "b", "c"]


def test_a_file_whose_rows_were_not_all_taken_in_is_read_again():
    files = Files(a=[table_row("t", 1), table_row("u", 1, facts=["no value of SQLite"])])
    log = log_over(files)
    for _ in range(2):
        with pytest.raises(sqlite3.Error):
            log.known(CATALOG)
    files.rows["a"][1]["facts"] = "{}"
    assert [name.name for name in log.known(CATALOG)] == ["t", "u"]


def test_spark_reads_what_is_not_small_with_the_same_query():
    spark = Spark()
    log = log_over(Files(), spark)
    assert [job.job_id for job in log.of_table(TableName("o'clock", "s", CATALOG), 1)] == [
        "by Spark"
    ]
    assert "schema_name = 's' AND table_name = 'o\\'clock'" in spark.asked[0]
    assert "`c`.materialized_table_system.registry" in spark.asked[0]


def test_spark_searches_a_table_that_was_not_found():
    spark = Spark()
    files = Files(a=[table_row("t", 1)])
    versions: Any = Versions()
    versions.newest = -1
    anything: Any = spark
    reader = SmallReader(files, versions, REGISTRY_LAYOUT)  # type: ignore[arg-type]
    table = SystemTable(anything, lambda _: anything, anything, REGISTRY_LAYOUT, reader)
    assert table.rows(CATALOG, "SELECT * FROM {table}")
    assert len(spark.asked) == 1
    assert not files.read_paths


def test_of_leases_the_highest_term_counts_and_its_release_comes_last():
    def row(term, status, at_ms=5):
        owner = {"owner_host": "host", "owner_pid": 1, "owner_process": "", "owner_user": ""}
        facts = {"kind": "MANAGER", "seq": term, "status": status, "recorded_at_ms": at_ms}
        return {**facts, **owner, "facts": "{}"}

    versions: Any = Versions()
    held, released = row(2, "HELD"), row(2, "RELEASED")
    for rows in ([held, released, row(1, "HELD", 9)], [released, held]):
        reader = SmallReader(Files(a=rows), versions, LAYOUT)  # type: ignore[arg-type]
        nothing: Any = None
        leases = SystemTable(nothing, nothing, nothing, LAYOUT, reader)
        log = SparkLeaseLog(leases, versions, lambda _: [], None)
        assert log.newest(CATALOG) == lease_of(released, CATALOG)


def test_a_reader_is_released_without_a_garbage_collector():
    versions: Any = Versions()
    reader = SmallReader(Files(a=[table_row("t", 1)]), versions, REGISTRY_LAYOUT)  # type: ignore[arg-type]
    assert reader.rows(CATALOG, "SELECT * FROM {table}", {})
    released = weakref.ref(reader)
    gc.disable()
    try:
        del reader
        assert released() is None
    finally:
        gc.enable()


_AFTER_MAIN = """
import threading, time
from types import SimpleNamespace
from dbt.adapters.spark_mt.spark.delta.small_tables import SmallDeltaTables
class Tables(SmallDeltaTables):
    def _sizes(self, path, columns): return {"a": 1, "b": 1}
    def _rows_of(self, path, columns): return [(path,)]
def read():
    threading.main_thread().join()
    table = SimpleNamespace(handle="", format="delta")
    print(sorted(Tables(None, None).read(table, (), ()).rows.items()))
threading.Thread(target=read).start()
"""


def test_a_thread_reads_after_the_main_thread_has_returned():
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _AFTER_MAIN], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == ("[('a', [('a',)]), ('b', [('b',)])]\n", "")
