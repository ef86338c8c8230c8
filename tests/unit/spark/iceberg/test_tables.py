from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.releases import UNTESTED
from dbt.adapters.spark_mt.spark.environment import installed_tables
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.tables import ConnectTables, IcebergTables
from tests.support.errors import raises
from tests.unit.spark.iceberg import tables_of_snapshots as made

T = made.TABLE


class Session:
    """A session of a release of Spark, with confs."""

    def __init__(self, version="4.1.4", cache="false"):
        self.version, self.conf = version, self
        self._confs = {"spark.sql.catalog.ice.cache-enabled": cache}

    def get(self, key, default):
        return self._confs.get(key, default)


def tables(*snapshots, session=None, **more):
    return IcebergTables(session or Session(), made.history(*snapshots, **more))


def test_a_version_is_read_by_the_id_of_its_snapshot():
    found = tables(made.snapshot(1), made.snapshot(2), head=1)
    assert found.as_of(T, 1) == "`ice`.`s`.`t` VERSION AS OF 10"
    assert found.as_of(T, 2) == "`ice`.`s`.`t` VERSION AS OF 20"


def test_before_the_first_snapshot_there_are_no_rows():
    assert tables(made.snapshot(1)).as_of(T, 0) == "`ice`.`s`.`t` TABLESAMPLE (0 ROWS)"


def test_an_expired_version_is_refused():
    with raises(conditions.SOURCE_NOT_FOUND) as raised:
        tables(made.snapshot(3)).as_of(T, 2)
    assert raised.value.parameters["problem"] == "it has no snapshot of version 2"


def test_a_table_is_found_by_its_name_and_identified_by_its_uuid():
    found = tables(made.snapshot(1))
    ref = found.ref(T.name, "/t")
    assert ref == T
    assert found.directory(ref) == "/t"
    assert found.identity(None, ref) == made.UUID
    assert found.partition_columns(None, T.name) == ()


@pytest.mark.parametrize(
    ("session", "condition"),
    [
        (Session("4.2.0"), conditions.UNSUPPORTED_SPARK),
        (Session(cache="true"), iceberg_format.CACHED_CATALOG),
    ],
)
def test_a_session_that_cannot_read_sources_as_they_are_is_refused(session, condition, monkeypatch):
    monkeypatch.delenv(UNTESTED, raising=False)
    with raises(condition):
        tables(session=session).ref(T.name, "/t")


def test_over_connect_tables_are_written_by_statements():
    found = installed_tables(Session()).written(T)
    assert isinstance(found, ConnectTables)
    assert found.format is iceberg_format.OVER_CONNECT


class Statements(Session):
    """A session that keeps the statements of writes."""

    def __init__(self):
        super().__init__()
        self.statements = []

    def fitted(self, rows):
        return rows

    def execute(self, statement):
        self.statements.append(" ".join(statement("staged").split()))


@pytest.mark.parametrize(
    ("condition", "specs", "whole"),
    [
        ("`K` = 1 OR `k` IS NULL", 1, False),
        ("`k` = 1 AND `id` = 2", 1, True),
        ("`k` = 1", 2, True),
    ],
)
def test_rows_of_a_condition_are_replaced_by_files_where_these_are_partitions(
    condition, specs, whole
):
    spec = {"spec-id": 0, "fields": [{"transform": "identity", "source-id": 2, "name": "K"}]}
    more = {"default-spec-id": 0, "partition-specs": [spec] * specs}
    session = Statements()
    found = IcebergTables(session, made.history(made.snapshot(1), **more))
    found._open[session] = session
    found.overwrite_where(session, T.name, condition, "SELECT 1")
    (statement,) = session.statements
    by_files = f"INSERT INTO staged REPLACE WHERE {condition} SELECT 1"
    rest = f"SELECT * FROM `ice`.`s`.`t` WHERE NOT coalesce({condition}, false)"
    by_rows = f"INSERT OVERWRITE TABLE staged {rest} UNION ALL SELECT * FROM ( SELECT 1 )"
    assert statement == (by_rows if whole else by_files)
