from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.alterations import altered
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import (
    LogicalRefreshMode,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from dbt.adapters.spark_mt.statements.parser import parse_statement

HOUR = Freshness.parse("1 hour")
BEFORE = DeclaredDefinition(
    "SELECT 1",
    comment="old",
    options=(("a", "1"), ("b", "2")),
    freshness=HOUR,
    start_mode=parse_start_mode("FROM_NOW"),
)


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("SET FRESHNESS = INTERVAL '1' DAY", {"freshness": Freshness.parse("1 day")}),
        ("RESET FRESHNESS", {"freshness": None}),
        ("SET REFRESH_MODE = FULL", {"refresh_mode": LogicalRefreshMode.FULL}),
        ("SET COMMENT 'it''s new'", {"comment": "it's new"}),
        ("SET ('b' = '3', 'c' = '4')", {"options": (("a", "1"), ("b", "3"), ("c", "4"))}),
        ("RESET ('a', 'x')", {"options": (("b", "2"),)}),
        ("AS SELECT 2", {"query": "SELECT 2"}),
        (
            "SET START_MODE = FROM_BEGINNING SET STATE_RETENTION = ALL AS SELECT 2",
            {
                "query": "SELECT 2",
                "start_mode": parse_start_mode("FROM_BEGINNING"),
                "state_retention": StateRetention(StateRetentionType.ALL),
            },
        ),
    ],
)
def test_one_clause_changes_and_the_others_stay(form, values):
    statement = parse_statement(f"ALTER MATERIALIZED TABLE t {form}")
    assert altered(statement, BEFORE) == replace(BEFORE, **values)


def test_run_options_are_no_part_of_the_definition():
    statement = parse_statement("ALTER MATERIALIZED TABLE t WITH ('maxFilesPerTrigger' = '1') AS x")
    assert altered(statement, BEFORE) == replace(BEFORE, query="x")
