from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.transactions import fitted, staged
from tests.unit.spark.iceberg import tables_of_snapshots as made


class Session:
    """A session whose queries all have the same columns."""

    def __init__(self, *columns):
        self.columns = columns

    def sql(self, _):
        return self


@pytest.mark.parametrize(
    ("marked", "columns", "rows"),
    [
        ((), ("id",), "SELECT 1"),
        (("k",), ("id",), "SELECT *, NULL AS `K` FROM (\nSELECT 1\n)"),
        (("k",), ("id", "K"), "SELECT 1"),
    ],
)
def test_rows_get_null_in_a_column_that_is_not_published(marked, columns, rows):
    properties = {iceberg_format.STAGED + column: "branch" for column in marked}
    found = made.metadata(made.snapshot(1), properties=properties)
    assert staged(found) == ("K",) * len(marked)
    assert fitted(Session(*columns), found, "SELECT 1") == rows
