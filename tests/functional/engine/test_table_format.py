"""The contract of table formats on Spark and Delta Lake."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from dbt.adapters.spark_mt.execution.table_format import TableColumns
from dbt.adapters.spark_mt.spark.delta.row_conditions import MOST_VALUES
from dbt.adapters.spark_mt.spark.environment import installed_tables
from tests.behaviour.spark_format import SparkWorld
from tests.behaviour.table_format import TableFormatContract, changed, nowhere

_NO_SAFETY = "spark.databricks.delta.retentionDurationCheck.enabled"


class DeltaWorld(SparkWorld):
    """The current schema of a session."""

    has_vectors = False
    partitions = ""

    def __init__(self, session):
        session.conf.set(_NO_SAFETY, "false")
        super().__init__(session, "spark_catalog", session.catalog.currentDatabase())

    def create(self, name, rows):
        properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{self.has_vectors}')"
        clauses = f"USING delta {self.partitions} {properties}"
        self._spark.sql(f"CREATE TABLE {name.sql} {clauses} AS {self.made(rows)}")

    def restore(self, name, version):
        self._spark.sql(f"RESTORE TABLE {name.sql} TO VERSION AS OF {version}")

    def forget_commits(self, name):
        """A checkpoint lets Delta do without the commits before it."""
        self._spark.sql(
            f"ALTER TABLE {name.sql} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
        )
        before = self.newest(name)
        self._spark.sql(f"INSERT INTO {name.sql} VALUES (9, 'z')")
        log = Path(urlparse(self.ref(name).handle).path) / "_delta_log"
        for path in log.iterdir():
            version = path.name.lstrip(".").partition(".")[0]
            if version.isdigit() and int(version) <= before:
                path.unlink()


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    return DeltaWorld(session)


class TestDelta(TableFormatContract):
    """Delta Lake, whose log is read in the driver's process."""


@pytest.mark.conformance
class TestDeltaByJobs(TableFormatContract):
    """Delta Lake, whose log is read by jobs, as over Spark Connect."""

    @pytest.fixture
    def world(self, session, schema):
        assert session.catalog.currentDatabase() == schema
        world = DeltaWorld(session)
        world.tables = installed_tables(session).default
        return world


class TestDeltaWithDeletionVectors:
    """Changes of rows in a table like those of this project."""

    @pytest.fixture
    def world(self, session, schema):
        assert session.catalog.currentDatabase() == schema
        world = DeltaWorld(session)
        world.has_vectors = True
        return world

    test_keys = TableFormatContract.test_rows_of_keys_are_replaced
    test_rows = TableFormatContract.test_rows_are_removed_and_added_while_all_others_stay
    test_copies = TableFormatContract.test_of_equal_rows_as_many_are_removed_as_are_to_be
    test_not_there = TableFormatContract.test_a_change_of_rows_that_are_not_there_changes_nothing
    test_fence = TableFormatContract.test_changes_of_rows_are_fenced

    def test_rows_are_found_by_one_scan(self, world):
        t = world.table([(k, f"v{k % 3}") for k in range(100)])
        added, removed = world.made([(7, "new")]), world.made([(7, "v1"), (9, "v0")])
        version = world.commit(1, world.tables.apply_changes, changed(t), added, removed)
        commit = world.tables.history.commit(world.ref(t), version)
        assert (commit.operation, commit.changed, commit.rows) == ("WRITE", 3, 1)
        assert commit.metadata.seq == 1
        assert (7, "new") in world.rows(t)
        assert len(world.rows(t)) == 99

    def test_rows_of_some_partitions_are_found_by_one_scan(self, world):
        world.partitions = "PARTITIONED BY (k)"
        t = world.table([(k % 5, f"v{k}") for k in range(20)])
        added, removed = world.made([(3, "new")]), world.made([(2, "v2"), (3, "v18")])
        version = world.commit(1, world.tables.apply_changes, changed(t), added, removed)
        assert world.tables.history.commit(world.ref(t), version).changed == 3
        assert (3, "new") in world.rows(t)
        assert len(world.rows(t)) == 19

    def test_null_is_a_value_of_a_key(self, world):
        t = world.table([(1, "a"), (None, "b"), (3, None)])
        keys, rows = world.made([(None,), (3,)], "k INT"), world.made([(None, "new")])
        version = world.commit(1, world.tables.replace_keys, changed(t), ("k",), rows, keys)
        assert world.rows(t) == [(1, "a"), (None, "new")]
        assert world.tables.history.commit(world.ref(t), version).operation == "WRITE"


_TYPES = {
    "n": "BIGINT",
    "at": "TIMESTAMP",
    "s": "STRING",
    "d": "DECIMAL(10,2)",
    "day": "DATE",
    "x": "DOUBLE",
}
_AWKWARD = (
    "-9223372036854775808L, timestamp_seconds(1729989000), '\\'s', -0.05, DATE'0001-01-01', 'NaN'",
    "9223372036854775807L, timestamp_seconds(1729992600), '', 99999999.99, DATE'9999-12-31', -0.0D",
    "0L, TIMESTAMP'9999-12-31 23:59:59.999999', repeat('ä', 300), 0, DATE'1970-01-01', 0.1D",
    "5L, TIMESTAMP'0001-01-02 00:00:00', '\\n ', NULL, NULL, NULL",
    "NULL, NULL, NULL, NULL, NULL, NULL",
)
"""The first two instants are 02:30 on 27 October 2024 in Berlin, both."""


_MORE = pytest.mark.conformance


@pytest.mark.parametrize(
    "key", ["at", *(pytest.param(key, marks=_MORE) for key in (None, "n", "s", "d", "day"))]
)
def test_rows_of_every_type_are_found_where_delta_skips_files(session, schema, key):
    world = DeltaWorld(session)
    name = world.name("every_type")
    assert name.schema == schema
    listed = ", ".join(f"{column} {type_}" for column, type_ in _TYPES.items())
    session.sql(f"CREATE TABLE {name.sql} ({listed}) USING delta")
    casts = ", ".join(f"CAST({column} AS {type_}) AS {column}" for column, type_ in _TYPES.items())
    names = ", ".join(_TYPES)
    rows = [f"SELECT {casts} FROM VALUES ({row}) AS _({names})" for row in _AWKWARD]
    table = TableColumns(name, tuple(_TYPES), types=tuple(_TYPES.values()))
    with world.session() as private:
        private.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        for row in rows:
            private.sql(f"INSERT INTO {name.sql} {row}")  # each in a file of its own
        for left, row in enumerate(rows[:4], start=1):
            if key is None:
                world.tables.apply_changes(private, table, f"{row} WHERE false", row)
            else:
                keys = f"SELECT {key} FROM ({row})"
                world.tables.replace_keys(private, table, (key,), f"{row} WHERE false", keys)
            same_key = key in ("d", "day") and left == 4  # NULL is the key of two rows
            assert private.table(name.sql).count() == len(rows) - left - same_key
            assert (
                private.sql(f"SELECT * FROM ({row}) EXCEPT SELECT * FROM {name.sql}").count() == 1
            )


def test_other_rows_with_the_values_of_changed_ones_are_not_written(world):
    rows = [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (2, "b"), (3, None)]
    t = world.table(rows)
    added, removed = world.made([(3, "x")]), world.made([(1, "a"), (2, "b")])
    version = world.commit(1, world.tables.apply_changes, changed(t), added, removed)
    assert world.rows(t) == [(1, "b"), (2, "a"), (2, "b"), (3, "x"), (3, None)]
    commit = world.tables.history.commit(world.ref(t), version)
    assert commit.changed == 5, "of two equal rows both are removed, and one is added again"
    assert commit.rows == 2


def test_rows_of_keys_that_stay_the_same_are_not_written(world):
    t = world.table([(1, "a"), (2, "b"), (3, "c")])
    keys = world.made([(1,), (2,), (3,)], "k INT")
    rows = world.made([(1, "a"), (2, "new"), (3, "c")])
    version = world.commit(1, world.tables.replace_keys, changed(t), ("k",), rows, keys)
    assert world.rows(t) == [(1, "a"), (2, "new"), (3, "c")]
    assert world.tables.history.commit(world.ref(t), version).changed == 2
    version = world.commit(2, world.tables.replace_keys, changed(t), ("k",), rows, keys)
    assert world.tables.history.commit(world.ref(t), version).rows == 0


def test_rows_are_counted_where_the_log_has_their_number(world):
    t, history = world.table(), world.tables.history
    world.commit(1, world.tables.append, t, world.made([(3, "c"), (4, "d")]))
    world.update(t, 1, "x")
    world.delete(t, 2)
    versions = history.versions(world.ref(t))
    counts = [len(world.rows(t, version)) for version in versions]
    assert [history.rows(world.ref(t), version) for version in versions] == counts
    assert counts[-2:] == [4, 3]
    assert history.rows(nowhere(world.ref(t)), 0) is None


@pytest.mark.parametrize("number", [pytest.param(MOST_VALUES, marks=_MORE), MOST_VALUES + 1])
def test_more_rows_than_a_condition_lists_are_changed_at_once(world, number):
    t = world.table([(0, "a")])
    made = f"SELECT CAST(id AS INT) AS k, 'x' AS v FROM range(1, {number + 1})"
    world.commit(1, world.tables.append, t, made)
    version = world.commit(
        2, world.tables.apply_changes, changed(t), world.made([(-1, "new")]), made
    )
    assert world.rows(t) == [(-1, "new"), (0, "a")]
    assert world.tables.history.commit(world.ref(t), version).changed == number + 1
