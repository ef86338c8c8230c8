"""Which part of `sql_header` runs before a model."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.adapter.sql_header import SessionState, statements_of_header


@pytest.mark.parametrize(
    ("header", "statements"),
    [
        (None, ()),
        ("", ()),
        ("with a as (select 1)", ()),
        ("set a = 1;", ("set a = 1",)),
        ("\nset a = ';';\n use b ;\n", ("set a = ';'", "use b")),
    ],
)
def test_statements(header, statements):
    assert statements_of_header(header) == statements


class _Session:
    """The confs and the current schema of a session."""

    def __init__(self):
        self.confs = {"kept": "1", "changed": "1"}
        self.place = ("spark_catalog", "default")
        self.conf = self.catalog = self

    getAll = property(lambda self: self.confs)  # noqa: N815 - as in PySpark

    def set(self, key, value):
        self.confs[key] = value

    def unset(self, key):
        del self.confs[key]

    def currentCatalog(self):  # noqa: N802 - as in PySpark
        return self.place[0]

    def currentDatabase(self):  # noqa: N802 - as in PySpark
        return self.place[1]

    def sql(self, statement):
        assert statement == "USE `spark_catalog`.`default`"
        self.place = ("spark_catalog", "default")


def test_a_session_is_brought_back(monkeypatch):
    monkeypatch.setattr(
        "dbt.adapters.spark_mt.spark.session.private_session.confs_of",
        lambda spark, _: dict(spark.getAll),
    )
    session = _Session()
    state = SessionState.of(session)
    session.confs.update(changed="2", new="3")
    session.place = ("other", "s")
    state.restore(session)
    assert session.confs == {"kept": "1", "changed": "1"}
    assert session.place == ("spark_catalog", "default")
