from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.positions import ChangeKind
from dbt.adapters.spark_mt.spark.query.version_rows import VersionRows
from tests.unit.spark.iceberg import tables_of_snapshots as made

types = pytest.importorskip("pyspark.sql.types")
INT, TEXT = types.IntegerType(), types.StringType()
BEFORE = types.StructType().add("id", INT)
NOW = types.StructType().add("id", INT).add("k", TEXT)
MAPPED = types.StructType().add("id", INT).add("m", types.MapType(TEXT, TEXT))


class Session:
    """Has the columns of each version, counts how often they are read, and one row."""

    def __init__(self, row=None):
        self.schemas, self.reads, self.row = {1: BEFORE, 2: NOW}, 0, row

    def sql(self, text):
        if "@" in text:
            self.reads += 1
            self.schema = self.schemas[int(text.rpartition("@")[2])]
        return self

    def collect(self):
        return [self.row]


def versions(session, *, keeps_columns=False):
    return VersionRows(session, lambda _, version: f"t@{version}", lambda *_: keeps_columns)


def test_a_column_that_is_not_there_or_not_read_is_null():
    found = versions(Session())
    assert found.at(made.between(1, 2), 1) == "SELECT `id`, CAST(NULL AS STRING) AS `k` FROM t@1"
    only = made.between(1, 2, {"k"})
    assert found.at(only, 2, "x") == "SELECT CAST(NULL AS INT) AS `id`, `k` FROM t@2 WHERE x"


def test_columns_are_read_once_where_no_commit_changes_them():
    session = Session()
    found = versions(session, keeps_columns=True)
    assert "`k`" in found.at(made.between(1, 2), 1)
    found.at(made.between(1, 2), 2)
    assert session.reads == 1


def test_rows_are_compared_by_the_columns_that_are_read():
    session = Session()
    session.schemas[2] = MAPPED
    found = versions(session)
    assert not found.is_comparable(made.between(1, 2))
    assert found.is_comparable(made.between(1, 2, {"id"}))
    text = found.difference(made.between(1, 2, {"id"}), "a", "b")
    assert text.startswith("SELECT `id`, CAST(NULL AS MAP<STRING, STRING>) AS `m` FROM (")


@pytest.mark.parametrize(
    ("least", "most", "kind"),
    [(None, None, ChangeKind.NONE), (1, 3, ChangeKind.ADDED), (-1, 3, ChangeKind.REMOVED)],
)
def test_weights_say_what_happened(least, most, kind):
    assert versions(Session({"least": least, "most": most})).kind("rows") is kind
