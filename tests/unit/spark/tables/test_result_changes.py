"""When partial sums pay."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.spark.tables.result_changes import sums_pay


@pytest.mark.parametrize(
    ("own", "sources", "pays"),
    [
        (10.0, (150.0, 50.0), True),
        (10.0, (199.0,), False),
        (0.0, (), True),
        (None, (200.0,), False),
        (10.0, (900.0, None), False),
    ],
)
def test_sums_pay_where_the_sources_are_much_larger(own, sources, pays):
    assert sums_pay(own, *sources) is pays
