from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.retries import retrying
from tests.support.errors import raises


@pytest.mark.parametrize("transient", [conditions.CONCURRENT_CHANGE, conditions.EXECUTOR_LOST])
def test_attempts_are_counted(transient):
    seen = []

    def lose():
        seen.append(1)
        raise transient(table="t")

    with raises(transient):
        retrying(lose)
    assert len(seen) == 5


def test_other_errors_are_not_tried_again():
    seen = []

    def fail():
        seen.append(1)
        raise conditions.ALREADY_EXISTS(table="t")

    with raises(conditions.ALREADY_EXISTS):
        retrying(fail)
    assert len(seen) == 1
