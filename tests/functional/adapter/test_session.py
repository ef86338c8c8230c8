"""Guarantees of the adapter's own sessions, cursors and seeds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from threading import Event, Thread
from time import monotonic

import pytest
from dbt.tests.util import get_connection, run_dbt
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt prints

from dbt.adapters.spark_mt.spark.delta import releases

_CSV = """id,name,big,huge,day,price,money,moment,flag,remark
1,O'Brien,9007199254740993,123456789012345678901234567890,2024-02-29,0.1,1234567890123456.78,\
2024-01-01 10:00:00.123456,true,"line 1
line 2"
2,,-9223372036854775808,,,,,,,"😀 ""quoted"" back\\slash %s {{ '{{' }}"
"""


_TYPES = {"huge": "decimal(38,0)", "money": "decimal(20,2)", "moment": "timestamp"}


class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"exact.csv": _CSV}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"seeds": {"test": {"exact": {"+column_types": _TYPES}}}}

    def test_every_cell_is_exact(self, project):
        run_dbt(["seed"])
        first, second = project.run_sql(
            f"select * from {project.test_schema}.exact order by id", fetch="all"
        )
        assert first == (
            1,
            "O'Brien",
            9007199254740993,
            Decimal("123456789012345678901234567890"),
            dt.date(2024, 2, 29),
            0.1,
            Decimal("1234567890123456.78"),
            dt.datetime(2024, 1, 1, 10, 0, 0, 123456),  # noqa: DTZ001 - a cell without zone
            True,
            "line 1\nline 2",
        )
        assert second == (
            2,
            None,
            -(2**63),
            *[None] * 6,
            "😀 \"quoted\" back\\slash %s {{ '{{' }}",
        )


class TestCursor:
    @pytest.fixture
    def handle(self, project):
        """The handle of an open connection."""
        with get_connection(project.adapter) as connection:
            yield connection.handle

    def test_rows_one_by_one_then_the_rest(self, handle):
        cursor = handle.cursor()
        cursor.execute("select id from range(5) order by id")
        assert cursor.fetchone() == (0,)
        assert cursor.fetchmany(2) == [(1,), (2,)]
        assert cursor.fetchall() == [(3,), (4,)]
        assert cursor.fetchone() is None

    def test_all_rows_once(self, handle):
        cursor = handle.cursor()
        cursor.execute("select 1 as a, 'x' as b")
        assert [(name, type_) for name, type_, *_ in cursor.description] == [
            ("a", "int"),
            ("b", "string"),
        ]
        assert cursor.fetchall() == [(1, "x")]
        assert cursor.fetchall() == []

    def test_bindings_are_refused(self, project):
        with get_connection(project.adapter), pytest.raises(DbtRuntimeError, match="bindings"):
            project.adapter.add_query("select %s", bindings=["O'Brien"])

    def test_each_connection_has_its_own_session(self, project, handle):
        handle.cursor().execute("create temporary view mine as select 1")
        handle.cursor().execute("set spark.sql.sources.partitionOverwriteMode = DYNAMIC")
        seen = []

        def look():
            with project.adapter.connection_named("another"):
                other = project.adapter.connections.get_thread_connection().handle
                mode = other.spark.conf.get("spark.sql.sources.partitionOverwriteMode")
                seen.append((other.spark.catalog.tableExists("mine"), mode.upper()))

        thread = Thread(target=look)
        thread.start()
        thread.join(60)
        assert seen == [(False, "STATIC")]

    def test_ansi_is_what_spark_says(self, handle):
        assert handle.spark.conf.get("spark.sql.ansi.enabled") == "true"

    def test_an_error_is_one_line(self, project):
        with get_connection(project.adapter), pytest.raises(DbtRuntimeError) as raised:
            project.adapter.execute("select assert_true(id > 5) from range(9)", fetch=True)
        assert "[USER_RAISED_EXCEPTION]" in raised.value.msg
        assert "\n" not in raised.value.msg.strip()

    def test_cancel_stops_what_runs(self, project):
        """The query would run for hours; only its cancellation ends it within the test's time."""
        started, failed = Event(), []

        def run():
            with project.adapter.connection_named("to_cancel"):
                connection = project.adapter.connections.get_thread_connection()
                handles.append(connection.handle)
                started.set()
                try:
                    project.adapter.execute(
                        "select count(*) from range(1000000000000) where rand() < 0", fetch=True
                    )
                except DbtRuntimeError as error:
                    failed.append(error)

        handles = []
        thread = Thread(target=run)
        thread.start()
        assert started.wait(60)
        before = monotonic()
        while not handles[0].is_busy and monotonic() - before < 60:
            started.wait(0)
        project.adapter.connections.cancel_open()
        thread.join(60)
        assert not thread.is_alive()
        assert len(failed) == 1


class TestDebug:
    @pytest.mark.usefixtures("project")
    def test_a_sound_session(self):
        assert run_dbt(["debug"])

    def test_without_delta_the_lines_to_add_are_named(self, project, monkeypatch):
        monkeypatch.setattr(releases, "REQUIRED", {"spark.sql.extensions": "org.example.Delta"})
        with get_connection(project.adapter), pytest.raises(DbtRuntimeError) as raised:
            project.adapter.debug_query()
        assert "[MATERIALIZED_TABLE_DELTA_MISSING]" in raised.value.msg
        assert "spark.sql.extensions org.example.Delta" in raised.value.msg
