"""What has a name in the catalog."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import UnmanagedTable


@pytest.mark.parametrize(
    ("kind", "what"),
    [("view", "a view"), ("iceberg table", "an iceberg table"), ("ORC table", "an ORC table")],
)
def test_something_else_has_its_article(kind, what):
    assert UnmanagedTable(TableName.of("spark_catalog", "s", "t"), kind).what == what
