"""The contract of table formats on Spark and Apache Iceberg."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from tests.behaviour.spark_format import SparkWorld
from tests.behaviour.table_format import TWO, TableFormatContract
from tests.iceberg.conftest import REST
from tests.support.errors import raises

_EXPIRE = "older_than => TIMESTAMP '2100-01-01', retain_last => 1"


class IcebergWorld(SparkWorld):
    """A namespace of a catalog."""

    mode, version = "copy-on-write", 2

    def __init__(self, session, schema, catalog="ice"):
        super().__init__(session, catalog, schema)
        self._catalog = catalog

    def create(self, name, rows):
        modes = [f"'write.{each}.mode' = '{self.mode}'" for each in ("delete", "update", "merge")]
        listed = ", ".join((f"'format-version' = '{self.version}'", *modes))
        clauses = f"USING iceberg TBLPROPERTIES ({listed})"
        self._spark.sql(f"CREATE TABLE {name.sql} {clauses} AS {self.made(rows)}")

    def restore(self, name, version):
        id_ = self.tables.history.commit(self.ref(name), version).identity
        self.call(name, "rollback_to_snapshot", f"snapshot_id => {id_}")

    def forget_commits(self, name):
        self._spark.sql(f"INSERT INTO {name.sql} VALUES (9, 'z')")
        self.call(name, "expire_snapshots", _EXPIRE)

    def call(self, name, procedure, arguments):
        table = f"table => '{name.schema}.{name.name}'"
        self._spark.sql(f"CALL {self._catalog}.system.{procedure}({table}, {arguments})")

    def is_unreadable(self, error):
        gone = getattr(error, "kind", None) is conditions.SOURCE_NOT_FOUND
        return gone or super().is_unreadable(error)


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return IcebergWorld(session, schema, iceberg_catalog)


class TestIceberg(TableFormatContract):
    """Iceberg, with files that are written again."""


@pytest.mark.conformance
class TestIcebergWithDeleteFiles(TableFormatContract):
    """Iceberg of the third format version, with deletes in files of their own."""

    @pytest.fixture
    def world(self, session, schema):
        world = IcebergWorld(session, schema)
        world.mode, world.version = "merge-on-read", 3
        return world


@pytest.mark.conformance
@pytest.mark.parametrize("iceberg_catalog", [REST], indirect=True)
class TestIcebergInRest(TableFormatContract):
    """Iceberg in a REST catalog."""


def test_a_commit_of_another_program_before_the_publication_is_a_conflict(world):
    t = world.table()

    def append_late(session, name):
        world.tables.append(session, name, world.made([(3, "c")]))
        world.update(name, 1, "other")

    with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever PySpark raises
        world.commit(1, append_late, t)
    assert world.condition_of(failed.value) in world.tables.format.conditions.conflict
    assert world.rows(t) == [(1, "other"), (2, "b")]
    assert world.commit(1, world.tables.append, t, world.made([(3, "c")])) == world.newest(t)
    assert world.rows(t) == [(1, "other"), (2, "b"), (3, "c")]


def test_a_rollback_and_a_compaction_before_the_publication_are_conflicts(world):
    t = world.table()
    first = world.newest(t)
    world.delete(t, 1)
    others = (
        lambda: world.restore(t, first),
        lambda: world.call(t, "rewrite_data_files", "options => map('rewrite-all', 'true')"),
        lambda: world._spark.sql(
            f"CREATE OR REPLACE TABLE {t.sql} USING iceberg AS SELECT 7 AS k, 'r' AS v"
        ),
    )
    for number, other in enumerate(others, start=1):
        world._spark.sql(f"INSERT INTO {t.sql} VALUES (5, 'f')")

        def append_late(session, name, other=other):
            world.tables.append(session, name, world.made([(3, "late")]))
            other()

        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever PySpark raises
            world.commit(number, append_late, t)
        assert world.condition_of(failed.value) in world.tables.format.conditions.conflict
        assert (3, "late") not in world.rows(t)


def test_a_process_that_ends_before_the_publication_leaves_no_trace(world):
    t = world.table()

    def stop(session, name):
        world.tables.append(session, name, world.made([(3, "c")]))
        raise KeyboardInterrupt

    before = world.newest(t)
    with pytest.raises(KeyboardInterrupt):
        world.commit(1, stop, t)
    assert (world.newest(t), world.rows(t)) == (before, TWO)
    assert world.commit(1, world.tables.append, t, world.made([(3, "c")])) is not None


def test_the_summary_has_one_key_of_ours_and_the_number_is_a_property(world):
    t = world.table()
    world.commit(4, world.tables.append, t, world.made([(3, "c")]))
    summary = world._spark.sql(f"SELECT summary FROM {t.sql}.snapshots ORDER BY committed_at DESC")
    keys = summary.collect()[0][0].keys()
    assert [key for key in keys if "materialized" in key] == ["materialized-table.commit"]
    assert world.properties(t)["materialized-table.fence"] == "4"
    world.forget_commits(t)
    assert world.commit(4, world.tables.append, t, world.made([(4, "d")])) is None
    assert world.commit(5, world.tables.append, t, world.made([(4, "d")])) is not None


def test_clustering_is_refused(world):
    with raises(conditions.FORMAT_FEATURE):
        world.run(world.tables.cluster, world.table(), ("k",))
