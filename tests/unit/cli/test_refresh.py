"""`spark-mt refresh` through a session: order, isolation, exit codes."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli.shop import ORDERS


def outcomes(done):
    """The last part of each table's name with its status, in the order in which they came."""
    return [(row["table"].rsplit(".")[-1], row["status"]) for row in json.loads(done.stdout)]


def test_all_tables_upstream_first(run, shop):
    shop.all()
    shop.sell()
    done = run("refresh", "--once", "--all", "--json")
    assert done.exit_code == 0, done.output
    assert outcomes(done) == [(n, "REFRESHED") for n in ("daily", "best", "other")]
    assert len(shop.tables.rows("best")) == 3
    again = run("refresh", "--once", "--all", "--json")
    assert {status for _, status in outcomes(again)} == {"UP_TO_DATE"}


def test_a_failing_table_prevents_no_other_refresh(run, shop):
    shop.all()
    shop.sell()
    shop.broken["daily"] = RuntimeError("no disk")
    done = run("refresh", "--once", "--all")
    assert done.exit_code == 1
    assert "other: REFRESHED 1 rows" in done.stdout
    assert "best: UP_TO_DATE" in done.stdout
    assert "3 tables, 1 failed" in done.stdout
    assert "daily failed:" in done.stderr
    assert "no disk" in done.stderr


def test_suspended_and_lost_tables_are_no_failures(run, shop):
    shop.all()
    shop.tables.execute("ALTER MATERIALIZED TABLE other SUSPEND")
    shop.tables.drop("best")
    done = run("refresh", "--once", "--all", "--json")
    assert done.exit_code == 0, done.output
    assert outcomes(done) == [("daily", "UP_TO_DATE"), ("best", "GONE")]


@pytest.mark.usefixtures("shop")
def test_an_empty_catalog_is_up_to_date(run):
    done = run("refresh", "--once", "--all")
    assert (done.exit_code, done.stdout) == (0, "0 tables, 0 failed\n")


def test_named_tables_in_the_given_order(run, shop):
    shop.all()
    shop.sell()
    done = run("refresh", "--once", "best", "daily", "nope", "--json")
    assert done.exit_code == 1
    assert outcomes(done) == [("best", "UP_TO_DATE"), ("daily", "REFRESHED"), ("nope", "FAILED")]
    assert "[MATERIALIZED_TABLE_NOT_FOUND]" in done.stderr


def test_force_computes_all_rows_again(run, shop):
    shop.create("daily", ORDERS)
    assert outcomes(run("refresh", "daily", "--force", "--json")) == [("daily", "REFRESHED")]


@pytest.mark.parametrize("at", ["2026-03-02", "2026-03-01T23:00:00-01:00", "2026-03-02T00:00:00Z"])
def test_a_scheduled_run_is_one(run, shop, at):
    shop.create("daily", ORDERS, "FRESHNESS = INTERVAL '1' DAY")
    shop.sell()
    done = run("refresh", "daily", "--scheduled", at, "--json")
    assert done.exit_code == 0, done.output
    assert outcomes(done) == [("daily", "REFRESHED")]
    assert shop.tables.memory.log.appended[-1].kind.value == "SCHEDULED"


def test_a_scheduled_run_of_a_suspended_table_fails(run, shop):
    shop.create("daily", ORDERS)
    shop.tables.execute("ALTER MATERIALIZED TABLE daily SUSPEND")
    done = run("refresh", "daily", "--scheduled", "2026-03-02", "--json")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_SUSPENDED]" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["t", "--all"],
        ["--all", "--scheduled", "2026-03-02"],
        ["t", "--force", "--scheduled", "2026-03-02"],
        ["t", "--scheduled", "yesterday"],
        ["t", "--once", "--no-wait"],
        ["t", "--force", "--url", "http://localhost:1"],
        ["t", "--no-wait"],
    ],
    ids=" ".join,
)
def test_what_does_not_go_together(run, shop, arguments):
    done = run("refresh", *arguments)
    assert done.exit_code == 2, done.output
    assert shop.opened == []
