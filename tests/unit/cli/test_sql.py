"""`spark-mt sql` and `spark-mt plan` through a session."""

from __future__ import annotations

import json

import pytest

from tests.support.parses import counted_parses
from tests.unit.cli.shop import ORDERS


def test_statements_of_ours_and_of_spark(run, shop):
    created = f"CREATE MATERIALIZED TABLE daily AS {ORDERS}"
    done = run("sql", f"SELECT 1; {created}; SHOW MATERIALIZED TABLES", "--json")
    assert done.exit_code == 0, done.output
    spark, ours, listed = map(json.loads, done.stdout.splitlines())
    assert spark == [{"n": n, "text": f"row {n}"} for n in range(3)]
    assert [(row["table"], row["action"]) for row in ours] == [
        ("spark_catalog.default.daily", "CREATED")
    ]
    assert [row["table_name"] for row in listed] == ["daily"]
    assert shop.requested == ["SELECT 1"]


@pytest.mark.usefixtures("shop")
def test_rows_are_printed_as_a_table(run):
    done = run("sql", "SELECT 1", "--limit", "2")
    assert [line for line in done.stdout.splitlines() if "row" in line] != []
    assert "row 1" in done.stdout
    assert "row 2" not in done.stdout
    assert "--limit" in done.stderr


def test_statements_from_a_file_and_from_standard_input(run, shop, nowhere):
    (nowhere / "s.sql").write_text("SELECT 1;\nSELECT 2;\n")
    assert run("sql", "-f", "s.sql").exit_code == 0
    assert run("sql", input="SELECT 3").exit_code == 0
    assert shop.requested == ["SELECT 1", "SELECT 2", "SELECT 3"]


def test_a_usage_error_opens_no_session(run, shop, nowhere):
    (nowhere / "s.sql").write_text("-- nothing")
    for arguments in (["-f", "s.sql"], ["SELECT 1", "-f", "s.sql"], ["  "]):
        assert run("sql", *arguments).exit_code == 2
    assert run("sql", "SELECT 1", "--conf", "nonsense").exit_code == 2
    assert shop.opened == []


def test_an_error_is_printed_without_a_stack_and_ends_it(run, shop):
    done = run("sql", "DROP MATERIALIZED TABLE nope; SELECT 1")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("[MATERIALIZED_TABLE_NOT_FOUND] The materialized table")
    assert "CREATE MATERIALIZED TABLE makes one." in done.stderr
    assert "Traceback" not in done.stderr
    assert shop.requested == []


@pytest.mark.usefixtures("shop")
def test_debug_shows_the_stack(run):
    done = run("--debug", "sql", "DROP MATERIALIZED TABLE nope")
    assert done.exit_code == 1
    assert type(done.exception).__name__ == "TableNotFoundError"


def test_an_interrupt_has_its_own_code(run, shop, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(shop, "_run", interrupted)
    done = run("sql", "SELECT 1")
    assert (done.exit_code, done.stderr) == (130, "Interrupted.\n")


def test_confs_reach_the_session(run, shop):
    assert run("sql", "SELECT 1", "-c", "spark.master=local[1]").exit_code == 0
    assert shop.opened[0].confs == {"spark.master": "local[1]"}


def test_a_plan_changes_nothing(run, shop):
    shop.create("daily", ORDERS)
    before = shop.tables.stored("daily")
    statement = f"CREATE OR ALTER MATERIALIZED TABLE daily COMMENT 'sold' AS {ORDERS}"
    done = run("plan", statement, "--json")
    assert done.exit_code == 0, done.output
    (rows,) = map(json.loads, done.stdout.splitlines())
    assert rows[-1]["step"] == "in total"
    assert rows[-1]["effect"] == "metadata only"
    assert shop.tables.stored("daily") == before


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("command", ["sql", "plan"])
def test_each_statement_is_parsed_once(run, monkeypatch, command):
    statements = [f"CREATE MATERIALIZED TABLE t{n} AS {ORDERS}" for n in range(2)]
    parses = counted_parses(monkeypatch)
    assert run(command, "; ".join(statements)).exit_code == 0
    assert parses == statements


@pytest.mark.usefixtures("shop")
def test_a_plan_that_would_be_refused_fails(run):
    done = run("plan", "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '0' DAY AS SELECT 1")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_INVALID_FRESHNESS]" in done.stderr


def test_a_plan_of_something_else_opens_nothing(run, shop):
    done = run("plan", "SELECT 1")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_NOT_PLANNABLE]" in done.stderr
    assert shop.opened == []


def test_unexpected_errors_show_no_stack(run, shop, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("of \x1b[2J nothing")  # noqa: EM101, TRY003 - a test

    monkeypatch.setattr(shop, "_run", broken)
    done = run("sql", "SELECT 1")
    assert done.exit_code == 1
    assert done.stderr.startswith("ZeroDivisionError: of \N{REPLACEMENT CHARACTER}[2J nothing\n")
    assert "--debug" in done.stderr
    assert "Traceback" not in done.stderr
