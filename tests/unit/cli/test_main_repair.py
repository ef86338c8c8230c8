"""`spark-mt repair` through a session."""

from __future__ import annotations

import json
from dataclasses import replace


def test_a_registry_that_is_right_is_left_alone(run, shop):
    shop.all()
    done = run("repair")
    assert (done.exit_code, done.stdout) == (0, "0 rows corrected, 0 failed\n")


def test_what_was_corrected_is_named(run, shop):
    shop.all()
    log, name = shop.tables.memory.log, shop.tables.name
    log.remove(name("daily"))
    log._known[name("other")] = replace(log._known[name("other")], generation=9)
    shop.tables.drop("best")
    done = run("repair")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "UNREGISTERED  spark_catalog.default.best",
        "REGISTERED    spark_catalog.default.daily",
        "CORRECTED     spark_catalog.default.other",
        "3 rows corrected, 0 failed",
    ]
    assert json.loads(run("repair", "--json").stdout) == []


def test_a_table_that_cannot_be_read_is_named_and_ends_in_1(run, shop):
    shop.all()
    spoiled = dict.fromkeys(
        key
        for key, _ in shop.tables.catalog.table(shop.tables.name("daily")).newest.properties
        if key.startswith("materialized-table.")
    )
    for key in spoiled:
        shop.tables.set_property("daily", key, "{")
    done = run("repair", "--json")
    assert done.exit_code == 1
    assert [(row["table"], row["action"]) for row in json.loads(done.stdout)] == [
        ("spark_catalog.default.daily", "FAILED")
    ]
    assert "spark_catalog.default.daily failed:" in done.stderr
