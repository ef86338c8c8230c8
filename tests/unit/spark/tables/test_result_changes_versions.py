"""Which versions of tables a session opens, and when."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.spark.tables.result_changes import VersionViews

ORDERS = TableRef(TableName("orders", "shop", "spark_catalog"), "delta", "/orders")
ITEMS = TableRef(TableName("items", "shop", "spark_catalog"), "delta", "/items")


class Session:
    """A session, its tables and its views at once."""

    def __init__(self):
        self.opened = []
        self.views = {}
        self._names = iter(["view_1", "view_12", "view_2"])

    def of(self, table):
        assert table in {ORDERS, ITEMS}
        return Opening(table, self.opened)

    def new_view(self):
        return next(self._names)

    def define(self, query, view):
        self.views[view] = query


class Opening:
    def __init__(self, table, opened):
        self.table = table
        self.into = opened

    def opened(self, session, table, version):  # noqa: ARG002 - of the port
        assert table is self.table
        self.into.append((table, version))
        return f"opened_{len(self.into)}"


def made():
    session = Session()
    return session, VersionViews(session, session, session)


def test_a_version_has_one_view():
    session, versions = made()
    assert versions.of(ORDERS, 3) == versions.of(ORDERS, 3) == "view_1"
    assert versions.of(ORDERS, 4) == "view_12"
    assert versions.of(ITEMS, 3) == "view_2"
    assert session.opened == []


def test_a_version_is_opened_once_and_only_for_a_text_that_reads_it():
    session, versions = made()
    for table, version in ((ORDERS, 3), (ORDERS, 4), (ITEMS, 3)):
        versions.of(table, version)
    versions.make("", "SELECT * FROM view_12 AS o JOIN view_12 AS p")
    assert session.opened == [(ORDERS, 4)]
    assert session.views == {"view_12": "SELECT * FROM opened_1"}
    versions.make("SELECT * FROM view_12, (SELECT * FROM view_2)")
    assert session.opened == [(ORDERS, 4), (ITEMS, 3)]
    assert set(session.views) == {"view_12", "view_2"}
