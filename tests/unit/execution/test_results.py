"""A statement's result is the same on the other side of a wire."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.execution.results import document_of, result_of
from tests.behaviour.hosting import LIVE, ROWS, prepare
from tests.behaviour.memory import MemoryTables

STATEMENTS = (
    f"CREATE MATERIALIZED TABLE t {LIVE} AS {ROWS}",
    "ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '7' SECOND",
    "ALTER MATERIALIZED TABLE t REFRESH",
    "ALTER MATERIALIZED TABLE t SUSPEND",
    "ALTER MATERIALIZED TABLE t RESUME",
)


def test_results_of_every_kind_survive_json():
    tables = MemoryTables()
    prepare(tables)
    for statement in STATEMENTS:
        result = tables.execute(statement)
        assert result_of(json.loads(json.dumps(document_of(result)))) == result, statement


def test_an_unknown_document_is_no_result():
    with pytest.raises((KeyError, TypeError, ValueError)):
        result_of({"columns": [], "rows": [], "outcome": {"action": "TRANSMUTED"}})
