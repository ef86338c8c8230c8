"""Commits whose answer is lost, and catalogs that do not answer."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import contextmanager

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.iceberg.driver_transactions import DriverTransaction
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA
from tests.functional.engine.oracle import outcome, rows
from tests.iceberg.conftest import LOSING, in_each_catalog
from tests.iceberg.rest_catalog import Fault
from tests.iceberg.test_tables import CHANGES, ROWWISE, STRICT, SUMS, World
from tests.support.errors import raises

in_rest = pytest.mark.parametrize("iceberg_catalog", [LOSING], indirect=True)
LOST = [
    pytest.param(is_made, status, id=f"{'made' if is_made else 'lost'}-{status}")
    for is_made in (True, False)
    for status in (None, 500, 502, 503, 504, 409)
    if is_made or status != 409
]


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def equals_as_bag(world, query, name=None):
    found = Counter(rows(world.tables, f"SELECT * FROM {name or world.name}"))
    assert found == Counter(rows(world.tables, query.format(t=world.source)))


@in_rest
@pytest.mark.parametrize(("is_made", "status"), LOST)
def test_a_refresh_whose_answer_is_lost_adds_its_rows_once(world, proxy, is_made, status):
    world.create(ROWWISE)
    before = len(world.snapshots())
    world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=is_made, status=status)
    world.tables.refresh(world.name)
    assert proxy.fault.met == 1
    equals_as_bag(world, ROWWISE)
    assert len(world.snapshots()) == before + 1
    assert world.tables.refresh(world.name).strategy == "skip"


@in_rest
@pytest.mark.parametrize(("is_made", "status"), LOST)
def test_a_creation_whose_answer_is_lost_is_made_once(world, proxy, is_made, status):
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=is_made, status=status)
    assert world.create(SUMS).action.value == "CREATED"
    assert proxy.fault.met == 1
    equals_as_bag(world, SUMS)
    assert len(world.snapshots()) == 1


@in_rest
def test_after_an_outcome_that_is_unknown_the_next_refresh_adds_nothing(world, proxy):
    world.create(ROWWISE)
    world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=True, then_away=True)
    with raises(conditions.OUTCOME_UNKNOWN, match=f"The catalog {LOSING} no longer answers"):
        world.tables.refresh(world.name)
    proxy.is_away = False
    equals_as_bag(world, ROWWISE)
    assert world.tables.refresh(world.name).strategy == "skip"


@in_rest
@pytest.mark.parametrize("form", ["create", "refresh", "alter"])
def test_a_catalog_that_is_away_right_after_a_commit_hides_no_commit(world, proxy, form):
    """What is said never is that nothing was changed."""
    query = ROWWISE if form != "alter" else ROWWISE.replace("13", "14")
    if form != "create":
        world.create(ROWWISE)
        world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=True, is_answered=True, then_away=True)
    said = None
    try:
        if form == "refresh":
            world.tables.refresh(world.name)
        else:
            world.create(query, form="CREATE OR ALTER")
    except MaterializedTableError as error:
        said = error.kind
    assert said in {None, conditions.UNFINISHED_CHANGE, conditions.OUTCOME_UNKNOWN}
    assert proxy.is_away
    proxy.is_away = False
    world.create(query, form="CREATE OR ALTER")
    equals_as_bag(world, query)
    assert world.tables.refresh(world.name).strategy == "skip"


@in_rest
def test_commits_that_are_never_made_are_given_back(world, proxy):
    world.create(ROWWISE)
    before = world.snapshots()
    world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=False, status=500, times=99)
    with raises(conditions.COMMIT_NOT_MADE, match="Nothing was changed"):
        world.tables.refresh(world.name)
    assert proxy.fault.met == 5
    assert world.snapshots() == before
    proxy.fault = None
    world.refreshed(ROWWISE)


DECLARED = f"(id INT NOT NULL, k STRING, v INT) {STRICT}"
SMALL = (
    f"CREATE MATERIALIZED TABLE {{m}} {STRICT} AS {ROWWISE}",
    f"CREATE OR ALTER MATERIALIZED TABLE {{m}} {DECLARED} AS {ROWWISE}",
    "ALTER MATERIALIZED TABLE {m} SUSPEND",
    "ALTER MATERIALIZED TABLE {m} RESUME",
    "DROP MATERIALIZED TABLE {m}",
)


@in_rest
@pytest.mark.parametrize("part", ["/tables", f"/namespaces/{SCHEMA}/", ""])
def test_answers_to_small_commits_are_lost_and_nothing_is_left_undone(world, proxy, part):
    """Each second answer is lost, those of system tables, too."""
    for statement in SMALL:
        proxy.fault = EachSecond(part)
        outcome(world.tables, statement.format(m=world.name, t=world.source))
        proxy.fault = None
    assert world.tables.execute(f"SHOW MATERIALIZED TABLES IN {LOSING}.{world.schema}").rows == ()


class EachSecond(Fault):
    """The answer to each second request is lost."""

    def __init__(self, path):
        super().__init__(path, is_made=True)

    def meets(self, method, path):
        if method != "POST" or self.path not in path:
            return False
        self.met += 1
        return self.met % 2 == 1


@in_rest
def test_a_hosted_table_has_the_rows_of_each_batch_once(world, proxy):
    world.create(ROWWISE, "FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = CONTINUOUS")
    world.tables.start(world.name)
    try:
        for number, (is_made, status) in enumerate([(True, None), (True, 504), (False, 500)]):
            proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=is_made, status=status)
            world.change(f"INSERT INTO {{t}} VALUES ({200 + number}, 'a', 1)")
            world.tables.await_fresh(world.name, 120)
            assert proxy.fault.met == 1
            equals_as_bag(world, ROWWISE)
    finally:
        world.tables.stop_all()


STATEMENTS = (
    "CREATE MATERIALIZED TABLE {other} AS " + SUMS,
    "CREATE MATERIALIZED TABLE spark_catalog.{schema}.other AS " + SUMS,
    "CREATE OR ALTER MATERIALIZED TABLE {m} AS " + SUMS,
    "ALTER MATERIALIZED TABLE {m} REFRESH",
    "ALTER MATERIALIZED TABLE spark_catalog.{schema}.d REFRESH",
    "ALTER MATERIALIZED TABLE {m} SUSPEND",
    "DROP MATERIALIZED TABLE {m}",
    "DESCRIBE MATERIALIZED TABLE EXTENDED {m}",
    "SHOW MATERIALIZED TABLES IN {catalog}.{schema}",
    "EXPLAIN CREATE OR ALTER MATERIALIZED TABLE {m} AS " + SUMS,
)


@in_rest
def test_a_catalog_that_is_away_changes_nothing(world, proxy):
    world.create(ROWWISE)
    world.create(SUMS, name=f"spark_catalog.{world.schema}.d")
    world.change(CHANGES[0])
    before = world.snapshots()
    proxy.is_away = True
    for statement in STATEMENTS:
        text = statement.format(
            t=world.source,
            m=world.name,
            other=f"{LOSING}.{world.schema}.other",
            schema=world.schema,
            catalog=LOSING,
        )
        with raises(conditions.CATALOG_UNAVAILABLE, match="failed to respond"):
            world.tables.execute(text)
    proxy.is_away = False
    assert world.snapshots() == before
    world.refreshed(ROWWISE)
    world.refreshed(SUMS, name=f"spark_catalog.{world.schema}.d")
    assert not world.session.catalog.tableExists(f"spark_catalog.{world.schema}.other")


def unknown(spark):
    """What Iceberg throws where a metastore or a driver of SQL lost the answer."""
    from py4j.protocol import Py4JJavaError

    java = spark._jvm
    cause = java.java.net.SocketTimeoutException("Read timed out")
    error = java.org.apache.iceberg.exceptions.CommitStateUnknownException(cause)
    return Py4JJavaError("An error occurred while calling commit", error)


@in_each_catalog
@pytest.mark.parametrize("is_made", [True, False])
def test_a_commit_of_unknown_state_is_made_once(world, monkeypatch, is_made):
    commit, lost = DriverTransaction._commit, []

    def commit_unheard(self):
        if len(lost) % 2:
            lost.append(0)
            commit(self)
            return
        lost.append(1)
        if is_made:
            commit(self)
        raise unknown(world.session)

    world.create(ROWWISE)
    before = len(world.snapshots())
    world.change(CHANGES[0])
    monkeypatch.setattr(DriverTransaction, "_commit", commit_unheard)
    world.tables.refresh(world.name)
    equals_as_bag(world, ROWWISE)
    assert len(world.snapshots()) == before + 1
    not_null = "(id INT NOT NULL, k STRING, v INT)"
    world.create(ROWWISE, f"{not_null} {STRICT}", form="CREATE OR ALTER")
    assert not world.session.table(world.name).schema["id"].nullable
    assert world.tables.refresh(world.name).strategy == "skip"
    assert len(lost) > 2


@contextmanager
def locked(spark):
    """Keep all others from the database of the JDBC catalog."""
    file = spark.conf.get("spark.sql.catalog.ice.uri").removeprefix("jdbc:sqlite:")
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_a_database_that_is_locked_is_named_and_nothing_changes(world):
    world.create(ROWWISE)
    world.create(SUMS, name=f"spark_catalog.{world.schema}.d")
    world.change(CHANGES[0])
    before = world.snapshots()
    with locked(world.session):
        for name in (world.name, f"spark_catalog.{world.schema}.d"):
            with raises(conditions.CATALOG_UNAVAILABLE, match="database is locked") as failed:
                world.tables.refresh(name)
            assert failed.value.parameters["catalog"] == "The catalog ice"
    assert world.snapshots() == before
    world.refreshed(ROWWISE)
    world.refreshed(SUMS, name=f"spark_catalog.{world.schema}.d")


def test_a_database_that_is_locked_during_a_commit_is_tried_again(world, at_first_call):
    world.create(ROWWISE)
    world.change(CHANGES[0])
    calls = at_first_call(DriverTransaction, "_commit", lambda: locked(world.session))
    world.refreshed(ROWWISE)
    assert len(calls) == 2
    assert world.tables.refresh(world.name).strategy == "skip"
