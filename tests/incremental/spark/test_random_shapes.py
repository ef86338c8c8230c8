"""Random changes of a source's shape, for forms of queries and strategies, against the query."""

from __future__ import annotations

import os

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.incremental.spark.shapes import ShapeCase

CASES = int(os.environ.get("INCREMENTAL_SHAPES", "6"))
SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))


@pytest.mark.parametrize("seed", range(SEED, SEED + CASES))
def test_tables_equal_their_queries_whatever_shape_the_source_gets(session, schema, seed):
    assert schema, "the current schema"
    case = ShapeCase(MaterializedTables(session), seed, queries=5)
    for _ in range(6):
        case.step()
