from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.retries import retrying
from tests.support.errors import raises


@pytest.mark.parametrize(
    "transient",
    [conditions.CONCURRENT_CHANGE, conditions.EXECUTOR_LOST, conditions.COMMIT_NOT_MADE],
)
def test_attempts_are_counted(transient):
    seen = []

    def lose():
        seen.append(1)
        raise transient(table="t", catalog="c", problem="p")

    with raises(transient):
        retrying(lose)
    assert len(seen) == 5


@pytest.mark.parametrize(
    "other",
    [conditions.ALREADY_EXISTS, conditions.OUTCOME_UNKNOWN, conditions.CATALOG_UNAVAILABLE],
)
def test_other_errors_are_not_tried_again(other):
    seen = []

    def fail():
        seen.append(1)
        raise other(table="t", gone="The catalog c", catalog="c", asked="", problem="p")

    with raises(other):
        retrying(fail)
    assert len(seen) == 1
