"""SHOW and DESC on tables in memory."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.execution.show import matches
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import DAILY, DAY_3, KEYS, SUMS, create, prepare


class Clock:
    now = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)

    def __call__(self):
        return self.now

    def advance(self, **length):
        self.now += timedelta(**length)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tables(clock):
    made = MemoryTables(clock)
    prepare(made)
    return made


def information(tables):
    """The rows of DESC EXTENDED below the columns."""
    rows = tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
    start = rows.index(("# Materialized Table Information", "", None))
    return {label: text for label, text, _ in rows[start + 1 :]}


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("orders", "orders", True),
        ("orders", "ORD%", True),
        ("orders", "ord*", True),
        ("orders", "o_ders", True),
        ("orders", "order", False),
        ("orders", "%", True),
        ("a.b", "a_b", True),
        ("axb", "a.b", False),
        ("a|b", "a|b", True),
        ("a\nb", "a%b", True),
    ],
)
def test_patterns(name, pattern, expected):
    assert matches(name, pattern) is expected


def test_describe_lists_the_columns(tables):
    create(tables, clauses="(k INT COMMENT 'key', total BIGINT)")
    assert tables.execute("DESCRIBE MATERIALIZED TABLE t").rows == (
        ("k", "int", "key"),
        ("total", "bigint", None),
    )


def test_describe_shows_declared_and_resolved_values(tables):
    create(tables, clauses="FRESHNESS = INTERVAL '1' DAY")
    found = information(tables)
    (version,) = tables.versions("orders")
    assert found["Original query"] == SUMS
    assert "`spark_catalog`.`default`.`orders`" in found["Expanded query"]
    assert found["Freshness"] == "INTERVAL '1' DAY"
    assert found["Refresh mode"] == "FULL (by default)"
    assert found["Status"] == "ACTIVATED"
    assert found["Position of spark_catalog.default.orders"] == f"version {version}"
    assert found["Lag"] == "0 seconds"


def test_describe_shows_who_declares_the_table(tables):
    create(tables)
    assert "Declared by" not in information(tables)
    tables.environment = replace(tables.environment, owner=lambda: (("dbt", "model.shop.t"),))
    create(tables, clauses="COMMENT 'c'", form="CREATE OR ALTER")
    assert information(tables)["Declared by"] == "dbt model.shop.t"


def test_describe_shows_the_engine_with_every_reason(tables):
    create(tables)
    found = information(tables)
    assert found["Engine"] == "incremental, strategy differential"
    assert [label for label in found if label.startswith("Reason ")] == [
        "Reason RULES",
        "Reason VERSIONED_SOURCE of spark_catalog.default.orders",
    ]
    tables.execute("DROP MATERIALIZED TABLE t")
    create(tables, KEYS)
    found = information(tables)
    assert found["Engine"] == "stream, strategy append"
    assert [label for label in found if label.startswith("Reason ")] == [
        "Reason ROW_WISE",
        "Reason VERSIONED_SOURCE of spark_catalog.default.orders",
    ]
    tables.execute("DROP MATERIALIZED TABLE t")
    create(tables, clauses="REFRESH_MODE = FULL")
    found = information(tables)
    assert found["Engine"] == "batch, strategy recompute"
    assert found["Reason FULL_MODE"]


def test_describe_shows_keys_partitions_options_and_scheduled_runs(tables):
    create(
        tables,
        DAILY,
        "(PRIMARY KEY (day) NOT ENFORCED) PARTITIONED BY (day) WITH ("
        "'partition.fields.day.date-formatter' = 'yyyy-MM-dd', 'api.token' = 'x1') "
        "REFRESH_MODE = FULL",
    )
    found = information(tables)
    assert found["Primary key"] == "(day) NOT ENFORCED"
    assert found["Partitioned by"] == "day"
    assert "x1" not in found["Option api.token"]
    assert "day as yyyy-MM-dd" in found["Refresh"]
    assert found["Refresh mode"] == "FULL"


def test_lag_grows_from_the_first_change_that_was_not_read(tables, clock):
    create(tables)
    clock.advance(seconds=30)
    tables.append("orders", [(1, DAY_3, 1)])
    clock.advance(seconds=45)
    tables.append("orders", [(1, DAY_3, 1)])
    assert information(tables)["Lag"] == "45 seconds"


def test_lag_of_a_recreated_source_counts_from_its_first_commit(tables, clock):
    tables.append("orders", [(1, DAY_3, 1)])
    create(tables)
    clock.advance(seconds=30)
    tables.source("orders", "k INT; day STRING; amount INT", [])
    clock.advance(seconds=20)
    assert information(tables)["Lag"] == "20 seconds"


def test_commits_of_other_writers_are_shown(tables):
    create(tables)
    tables.delete("t", "k", 1)
    version = tables.stored("t").version
    assert information(tables)["Foreign commit"] == f"DELETE in version {version}"


def test_the_last_refresh_is_in_the_readers_zone(tables):
    create(tables)
    tables.memory.confs["spark.sql.session.timeZone"] = "Europe/Berlin"
    assert information(tables)["Last refresh"].startswith("2025-03-01 13:00:00, CREATE")


def test_show_create_is_the_statement_as_asked(tables):
    clauses = "COMMENT 'it\\'s' PARTITIONED BY (day) WITH ('b' = '2', 'a' = '1')"
    create(tables, DAILY, clauses)
    stored = tables.stored("t").definition
    ((text,),) = tables.execute("SHOW CREATE MATERIALIZED TABLE t").rows
    assert parse_statement(text) == CreateTable(CreateForm.CREATE, stored.name, stored.declared)
    ((text,),) = tables.execute("SHOW CREATE OR ALTER MATERIALIZED TABLE t").rows
    assert parse_statement(text).form is CreateForm.CREATE_OR_ALTER
    for clause in ("FRESHNESS", "REFRESH_MODE", "START_MODE", "STATE_RETENTION"):
        assert f"/* {clause} = " in text


def test_show_create_hides_secrets(tables):
    create(tables, clauses="WITH ('api.token' = 'x1', 'plain' = 'x2')")
    ((text,),) = tables.execute("SHOW CREATE MATERIALIZED TABLE t").rows
    assert "x1" not in text
    assert "x2" in text


def test_show_tables_has_the_registrys_figures(tables, clock):
    create(tables)
    clock.advance(hours=1)
    ((namespace, name, *_, lag, at),) = tables.execute("SHOW MATERIALIZED TABLES").rows
    assert (namespace, name, lag) == ("default", "t", 0)
    assert at == datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
    assert tables.execute("SHOW MATERIALIZED TABLES IN other").rows == ()
    assert len(tables.execute("SHOW MATERIALIZED TABLES IN spark_catalog.default").rows) == 1


def test_show_tables_measures_lags(tables, clock):
    create(tables)
    tables.append("orders", [(1, DAY_3, 1)])
    clock.advance(seconds=41)
    ((*_, lag, _),) = tables.execute("SHOW MATERIALIZED TABLES").rows
    assert lag == 41
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
    ((*_, lag, _),) = tables.execute("SHOW MATERIALIZED TABLES").rows
    assert lag == 0


def test_show_tables_measures_for_half_a_second(tables, clock):
    """A list of a thousand tables may take a second; what was not measured is no figure."""
    create(tables)
    for name in "uv":
        tables.execute(f"CREATE MATERIALIZED TABLE {name} AS {SUMS}")
    states, newest = tables.environment.states, tables.environment.states.newest
    states.newest = lambda name: clock.advance(seconds=0.3) or newest(name)
    rows = tables.execute("SHOW MATERIALIZED TABLES").rows
    assert [(name, lag) for _, name, *_, lag, _ in rows] == [("t", 0), ("u", 0), ("v", None)]


def test_show_tables_lists_a_table_that_cannot_be_measured(tables):
    create(tables)

    def broken(_):
        raise OSError(5, "no route")

    tables.environment.states.newest = broken
    ((_, name, *_, lag, _),) = tables.execute("SHOW MATERIALIZED TABLES").rows
    assert (name, lag) == ("t", None)


def test_a_full_table_says_what_is_allowed(tables):
    create(tables, clauses="FRESHNESS = INTERVAL '1' HOUR REFRESH_MODE = FULL")
    found = information(tables)
    assert (found["Freshness status"], found["Lag to direct sources"]) == ("MET", "0 seconds")
    assert found["Lag allowed"].startswith("3600 seconds")


def test_a_table_whose_source_is_gone_is_described_all_the_same(tables, clock):
    """Why it is suspended is what its user looks for then."""
    create(tables, clauses="FRESHNESS = INTERVAL '1' DAY")
    tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    tables.drop("orders")
    clock.advance(seconds=30)
    found = information(tables)
    assert "orders" in found["Sources"]
    assert (found["Original query"], found["Status"]) == (SUMS, "SUSPENDED")
    assert found["Lag"] == "30 seconds", "since its last refresh"
