"""SQL of the whole tree of every query of the corpora has Spark's plan, or the same rows.

`INCREMENTAL_TREES` is the number of random queries, `INCREMENTAL_SEED` seeds them.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.functional.engine.test_operator_trees import (
    NATURAL,
    compared,
    is_accepted,
    sources,
)
from tests.support.query_corpus import NEXMARK, TPCH
from tests.support.random_queries import RandomQueries
from tests.support.subquery_forms import QUERIES as FORMS

__all__ = ["sources"]

SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))
RANDOM = int(os.environ.get("INCREMENTAL_TREES", "300"))
AT_ONCE = 50


@pytest.mark.parametrize("queries", [TPCH, NEXMARK], ids=["tpch", "nexmark"])
def test_queries_of_benchmarks(spark, sources, queries):
    assert compared(spark, sources, queries.values()).by_plan


def test_queries_by_name(spark, sources):
    compared(spark, sources, NATURAL)


@pytest.mark.parametrize("first", range(0, len(FORMS), AT_ONCE))
def test_forms_of_subqueries(spark, sources, first):
    queries = list(FORMS.values())[first : first + AT_ONCE]
    compared(spark, sources, [query for query in queries if is_accepted(spark, query)])


@pytest.mark.parametrize("first", range(SEED, SEED + RANDOM, AT_ONCE))
def test_random_queries(spark, sources, first):
    queries = RandomQueries(random.Random(first))  # noqa: S311 - the same queries each time
    compared(spark, sources, [queries.query() for _ in range(AT_ONCE)])
