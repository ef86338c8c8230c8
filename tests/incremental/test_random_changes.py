"""Changes of random queries over random tables, compared with a recompute in DuckDB.

`INCREMENTAL_CASES` is their number, `INCREMENTAL_SEED` the first of them. For half of them the
first rows of an order are compared, too.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from dbt.adapters.spark_mt.query.differential import ChangeNotSupported, obstacles
from tests.support.differential_cases import (
    Comparison,
    ComparisonOfCommits,
    ComparisonOfRead,
    RandomCases,
)

CASES = int(os.environ.get("INCREMENTAL_CASES", "2000"))
SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))
AT_ONCE = 50


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_the_change_gives_the_recomputed_result(first):
    assert_right(range(first, min(first + AT_ONCE, SEED + CASES)), lambda _, case: case)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_the_first_rows_are_those_of_the_recomputed_result(first):
    assert_right(range(first, min(first + AT_ONCE, SEED + CASES), 2), RandomCases.top)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_the_first_rows_by_columns_that_are_not_shown(first):
    assert_right(range(first, min(first + AT_ONCE, SEED + CASES), 2), RandomCases.hidden_top)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_columns_that_a_query_does_not_read_have_no_effect(first):
    comparison = ComparisonOfRead()
    for seed in range(first, min(first + AT_ONCE, SEED + CASES), 4):
        case = RandomCases(seed).case()
        whole, read = comparison.rows_by_columns_read(case)
        assert Counter(whole) == Counter(read), (seed, case.query)
    seeds = range(first, min(first + AT_ONCE, SEED + CASES), 4)
    assert_right(seeds, lambda _, case: case, ComparisonOfRead)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
def test_rows_that_come_and_go_change_nothing(first):
    seeds = range(first, min(first + AT_ONCE, SEED + CASES), 4)
    assert_right(seeds, lambda _, case: case, ComparisonOfCommits)


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
@pytest.mark.parametrize("comparing", [Comparison, ComparisonOfCommits])
def test_sums_of_values_of_which_many_are_null(first, comparing):
    seeds = range(first, min(first + AT_ONCE, SEED + CASES), 4)
    assert_right(seeds, lambda _, case: case, comparing, nulls=0.5, sums=1)


def assert_right(seeds, form, comparing=Comparison, **kinds):
    comparison = comparing()
    compared = 0
    for seed in seeds:
        cases = RandomCases(seed, **kinds)
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
