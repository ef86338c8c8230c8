"""Changes of random queries over random tables, compared with a recompute in DuckDB.

`INCREMENTAL_CASES` is their number, `INCREMENTAL_SEED` the first of them. For half of them the
first rows of an order are compared, too.
"""

from __future__ import annotations

import os

import pytest

from dbt.adapters.spark_mt.query.differential import ChangeNotSupported, obstacles
from tests.support.differential_cases import Comparison, RandomCases

CASES = int(os.environ.get("INCREMENTAL_CASES", "2000"))
SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))
AT_ONCE = 50


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_the_change_gives_the_recomputed_result(first):
    assert_right(range(first, min(first + AT_ONCE, SEED + CASES)), lambda _, case: case)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_the_first_rows_are_those_of_the_recomputed_result(first):
    assert_right(range(first, min(first + AT_ONCE, SEED + CASES), 2), RandomCases.top)


def assert_right(seeds, form):
    comparison = Comparison()
    compared = 0
    for seed in seeds:
        cases = RandomCases(seed)
        case = form(cases, cases.case())
        assert obstacles(case.tree) == (), case.query
        try:
            change = comparison.change(case)
        except ChangeNotSupported:
            continue
        if problem := comparison.problem_of(case, change):
            pytest.fail(f"seed {seed}: {problem}\n{comparison.shrunk(case).script}")
        compared += not comparison.is_unknown(change)
    assert compared
