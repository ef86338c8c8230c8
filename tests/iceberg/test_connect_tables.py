"""Materialized tables of Iceberg over Spark Connect without a refresh manager.

`ICEBERG_RACES` is how many races of each kind there are.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import CommitConflictError, MaterializedTableError
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.branch_transactions import BranchTransaction
from tests.functional.engine.oracle import rows
from tests.iceberg.connect_server import killed_after, serving_iceberg
from tests.iceberg.test_tables import (
    CHANGES,
    ROWWISE,
    STRICT,
    SUMS,
    World,
    create_leave_alone_and_refresh,
    drop,
)
from tests.support.errors import raises

RACES = int(os.environ.get("ICEBERG_RACES", "3"))
OTHER = "SELECT 7 AS id, 'r' AS k, 1 AS v"
WIDER = "SELECT id, upper(k) AS k, v, v * 2 AS twice FROM {t} WHERE id <> 13"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving_iceberg(tmp_path_factory.mktemp("connect")) as running:
        yield running


@pytest.fixture
def world(server):
    session = server.session()
    name = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"CREATE NAMESPACE ice.{name}")
    session.sql(f"USE ice.{name}")
    return World(session, name)


def leftovers(world):
    """The branches of our writes and the marks of columns that a table has."""
    found = world.session.sql(f"SELECT name FROM {world.name}.refs").collect()
    properties = world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect()
    branches = [row[0] for row in found if row[0] != "main"]
    return branches, [row[0] for row in properties if row[0].startswith(iceberg_format.STAGED)]


def call(world, procedure, *arguments):
    listed = ", ".join((f"'{world.schema}.m'", *map(str, arguments)))
    return world.session.sql(f"CALL ice.system.{procedure}({listed})").collect()


@pytest.fixture
def before_publishing(at_first_call):
    """Lets a test do something once between the check of `main` and its move."""

    def arrange(action, method="_fast_forwarded"):
        return at_first_call(BranchTransaction, method, action)

    return arrange


def test_a_table_lives_from_its_creation_to_its_end(world):
    create_leave_alone_and_refresh(world)
    world.session.sql(f"UPDATE {world.name} SET total = 0")
    world.tables.refresh(world.name, force=True)
    world.equals(SUMS)
    assert leftovers(world) == ([], [])
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN ice.{world.schema}").rows
    assert [row for row in shown if "m" in row]
    drop(world)


def test_each_kind_of_change_is_applied(world):
    keyed, by_key = f"ice.{world.schema}.keyed", "SELECT id AS key, k, v FROM {t}"
    world.create(SUMS)
    world.create(by_key, f"(PRIMARY KEY (key) NOT ENFORCED) {STRICT}", name=keyed)
    for statement in CHANGES[:3]:
        world.change(statement)
        assert world.refreshed(SUMS, statement) == "differential", statement
        assert world.refreshed(by_key, statement, keyed) == "differential", statement
    assert world.tables.refresh(world.name).strategy == "skip"
    assert leftovers(world) == ([], [])


def test_partitions_are_replaced(world):
    query = "SELECT id, k, v FROM {t}"
    world.create(query, "PARTITIONED BY (k)")
    world.session.sql(f"UPDATE {world.name} SET v = 0 WHERE k = 'b'")
    world.tables.execute(f"ALTER MATERIALIZED TABLE {world.name} REFRESH PARTITION (k = 'b')")
    world.equals(query)


def test_columns_are_appended(world):
    world.create(ROWWISE, "")
    assert world.create(WIDER, "", form="CREATE OR ALTER").action.value == "ALTERED"
    world.equals(WIDER)
    world.change(CHANGES[1])
    world.refreshed(WIDER)
    assert leftovers(world) == ([], [])


def test_columns_of_a_write_that_fails_are_removed(world):
    world.create(ROWWISE, "")
    failing = WIDER.replace("v * 2", "IF(id = 7, raise_error('no'), v * 2)")
    with pytest.raises(MaterializedTableError):
        world.create(failing, "", form="CREATE OR ALTER")
    assert world.session.table(world.name).columns == ["id", "k", "v"]
    assert leftovers(world) == ([], [])
    world.change(CHANGES[1])
    world.refreshed(ROWWISE)


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("SELECT id, k, CAST(v AS STRING) AS v FROM {t}", ""),
        ("SELECT id, k FROM {t}", ""),
        ("SELECT id, k, v FROM {t}", "PARTITIONED BY (k)"),
        ("SELECT id, k, v FROM {t}", "(id INT NOT NULL, k STRING, v INT)"),
        ("SELECT id, k, v FROM {t}", "TBLPROPERTIES ('strict-fence' = 'true')"),
    ],
)
def test_what_statements_cannot_do_is_refused_before_anything_is_changed(world, query, clauses):
    kept = "SELECT id, k, v FROM {t}"
    world.create(kept, "")
    before, properties = world.snapshots(), world.session.sql(f"SHOW TBLPROPERTIES {world.name}")
    known = properties.collect()
    with raises(conditions.FORMAT_FEATURE) as raised:
        world.create(query, clauses, form="CREATE OR REPLACE")
    assert "refresh manager" in str(raised.value)
    assert world.snapshots() == before
    assert world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect() == known
    world.change(CHANGES[0])
    world.refreshed(kept)
    wider = "SELECT id, k, v, v + 1 AS w FROM {t}"
    assert world.create(wider, "", form="CREATE OR REPLACE").action.value == "REPLACED"
    world.equals(wider)


def test_a_table_of_another_session_with_a_strict_fence_is_not_written(world):
    world.create(SUMS, "")
    world.session.sql(f"ALTER TABLE {world.name} SET TBLPROPERTIES ('strict-fence' = 'true')")
    before = world.snapshots()
    world.change(CHANGES[0])
    with raises(conditions.FORMAT_FEATURE) as raised:
        world.tables.refresh(world.name)
    assert "rollback" in str(raised.value)
    assert world.snapshots() == before


def test_a_plain_table_is_adopted_also_without_a_snapshot(world):
    query = "SELECT id, k, v FROM {t}"
    for number, filled in enumerate((True, False)):
        name = f"ice.{world.schema}.plain{number}"
        world.session.sql(f"CREATE TABLE {name} (id INT, k STRING, v INT) USING iceberg")
        if filled:
            world.session.sql(f"INSERT INTO {name} SELECT * FROM {world.source}")
        rows_of_it = query if filled else f"{query} WHERE k = 'new'"
        adopted = rows_of_it.format(t=world.source)
        world.tables.execute(f"ADOPT MATERIALIZED TABLE {name} AS {adopted}")
        world.change(f"INSERT INTO {{t}} VALUES (300, '{'old' if filled else 'new'}', 7)")
        world.tables.refresh(name)
        world.equals(rows_of_it, name=name)


def test_a_rollback_in_the_middle_is_found_after_it_was_undone(world, before_publishing):
    world.create(ROWWISE, "")
    first = world.snapshots()[-1]
    world.change(CHANGES[0])
    world.refreshed(ROWWISE)
    second = world.snapshots()[-1]
    world.change(CHANGES[1])
    before_publishing(lambda: call(world, "rollback_to_snapshot", first))
    with raises(iceberg_format.ROLLBACK_UNDONE) as raised:
        world.tables.refresh(world.name, force=True)
    known = raised.value.parameters
    assert (known["expected"], known["previous"]) == (str(second), str(first))
    world.equals(ROWWISE)
    assert leftovers(world) == ([], [])
    assert world.tables.refresh(world.name).strategy == "skip"
    world.session.sql(known["statement"])
    world.refreshed(ROWWISE, "after the rollback was repeated")


@pytest.mark.parametrize("method", ["publish", "_fast_forwarded"])
@pytest.mark.parametrize("kind", ["rollback", "compaction", "append", "replace", "drop"])
def test_what_another_program_does_during_a_refresh_is_a_conflict(
    world, before_publishing, kind, method
):
    world.create(ROWWISE, "")
    first = world.snapshots()[-1]
    world.change(CHANGES[0])
    world.refreshed(ROWWISE)
    world.change(CHANGES[1])
    actions = {
        "rollback": lambda: call(world, "rollback_to_snapshot", first),
        "compaction": lambda: world.session.sql(
            f"CALL ice.system.rewrite_data_files(table => '{world.schema}.m', "
            "options => map('rewrite-all', 'true'))"
        ),
        "append": lambda: world.session.sql(f"INSERT INTO {world.name} VALUES (-1, 'user', 0)"),
        "replace": lambda: world.session.sql(
            f"CREATE OR REPLACE TABLE {world.name} USING iceberg AS {OTHER}"
        ),
        "drop": lambda: world.session.sql(f"DROP TABLE {world.name}"),
    }
    if kind == "rollback" and method == "_fast_forwarded":
        pytest.skip("the one case that is found only afterwards")
    done = before_publishing(actions[kind], method)
    if kind == "drop":
        with pytest.raises(MaterializedTableError):
            world.tables.refresh(world.name, force=True)
        return
    world.tables.refresh(world.name, force=True)
    assert done
    world.equals(ROWWISE)
    assert leftovers(world) == ([], [])


def test_a_replace_after_the_publication_is_computed_again(world):
    world.create(ROWWISE, "")
    world.session.sql(f"CREATE OR REPLACE TABLE {world.name} USING iceberg AS {OTHER}")
    world.change(CHANGES[0])
    world.tables.refresh(world.name, force=True)
    world.equals(ROWWISE)


def test_an_answer_that_is_lost_is_found_in_the_table(world, monkeypatch):
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    world.create(ROWWISE, "")
    world.change(CHANGES[0])
    inner = BranchTransaction._call

    def lost(self, *arguments):
        inner(self, *arguments).collect()
        message = "lost"
        raise SparkConnectGrpcException(message)

    monkeypatch.setattr(BranchTransaction, "_call", lost)
    world.refreshed(ROWWISE)
    assert leftovers(world) == ([], [])


def test_confs_of_the_user_that_redirect_writes_do_not_count(world):
    world.create(ROWWISE, "TBLPROPERTIES ('write.wap.enabled' = 'true')")
    world.session.conf.set("spark.wap.branch", "audit")
    world.change(CHANGES[0])
    world.tables.refresh(world.name)
    world.session.conf.unset("spark.wap.branch")
    world.equals(ROWWISE)


STEPS = ("CREATE BRANCH", "INSERT", "fast_forward", "materialized-table.fence", "DROP BRANCH")


@pytest.mark.parametrize("step", STEPS)
def test_a_refresh_that_is_killed_is_finished_by_the_next_one(world, server, step):
    world.create(ROWWISE, "")
    before = rows(world.tables, f"SELECT * FROM {world.name}")
    world.change(CHANGES[1])
    refresh = f"ALTER MATERIALIZED TABLE {world.name} REFRESH"
    assert killed_after(server, step, f"ice.{world.schema}", refresh)
    is_published = STEPS.index(step) >= STEPS.index("fast_forward")
    if is_published:
        world.equals(ROWWISE)
        assert world.tables.refresh(world.name).strategy == "skip"
    else:
        assert rows(world.tables, f"SELECT * FROM {world.name}") == before
        world.refreshed(ROWWISE)
    world.change(CHANGES[0])
    world.refreshed(ROWWISE)
    assert leftovers(world) == ([], [])


ADDING = (f"'{iceberg_format.STAGED}twice' =", "ADD COLUMNS", *STEPS[:4], "UNSET", "DROP BRANCH")


@pytest.mark.parametrize("step", ADDING)
def test_a_statement_with_a_new_column_that_is_killed_changes_all_or_nothing(world, server, step):
    world.create(ROWWISE, "")
    statement = f"CREATE OR ALTER MATERIALIZED TABLE {world.name} AS {WIDER}"
    statement = statement.format(t=world.source)
    assert killed_after(server, step, f"ice.{world.schema}", statement)
    if ADDING.index(step) < ADDING.index("fast_forward"):
        world.change(CHANGES[1])
        world.tables.refresh(world.name)
        found = rows(world.tables, f"SELECT id, k, v FROM {world.name}")
        assert found == rows(world.tables, ROWWISE.format(t=world.source))
        other = WIDER.replace("v * 2", "concat(v, 'x')")
        world.create(other, "", form="CREATE OR ALTER")
        world.equals(other)
    else:
        world.equals(WIDER)
        assert world.create(WIDER, "", form="CREATE OR ALTER")
        world.change(CHANGES[1])
        world.refreshed(WIDER)
    world.change(CHANGES[0])
    world.tables.refresh(world.name)
    branches, marks = leftovers(world)
    assert (branches, marks) == ([], [])


def test_a_branch_that_expires_during_a_refresh_is_a_conflict(world, before_publishing):
    world.create(ROWWISE, "")

    def drop_branches():
        for branch in leftovers(world)[0]:
            world.session.sql(f"ALTER TABLE {world.name} DROP BRANCH {branch}")

    world.change(CHANGES[0])
    assert before_publishing(drop_branches) == []
    world.refreshed(ROWWISE)
    assert leftovers(world) == ([], [])


def test_names_that_need_quotes_and_rows_that_are_marked_as_deleted(world):
    name, query = f"ice.{world.schema}.`m-1 'x'`", "SELECT id AS `a b`, k, v FROM {t}"
    modes = "'write.merge.mode' = 'merge-on-read', 'format-version' = '3'"
    keyed = f"(PRIMARY KEY (`a b`) NOT ENFORCED) TBLPROPERTIES ('incremental' = 'strict', {modes})"
    world.create(query, keyed, name=name)
    for statement in CHANGES[1:3]:
        world.change(statement)
        world.tables.execute(f"ALTER MATERIALIZED TABLE {name} REFRESH")
        world.equals(query, statement, name)


def test_maintenance_drops_branches_of_killed_writes(world):
    world.create(ROWWISE, "")
    stale, live = (f"{iceberg_format.BRANCH}{digit * 32}" for digit in "12")
    of_user = f"{iceberg_format.BRANCH}of_user"
    world.session.sql(f"ALTER TABLE {world.name} CREATE BRANCH {of_user}")
    world.session.sql(f"ALTER TABLE {world.name} CREATE BRANCH {stale}")
    world.session.sql(f"INSERT INTO {world.name}.branch_{stale} VALUES (1, 'x', 1)")
    world.session.sql(f"INSERT INTO {world.name} VALUES (1, 'x', 1)")
    world.session.sql(f"ALTER TABLE {world.name} CREATE BRANCH {live}")
    storage = world.tables._engine.value.storage
    storage.vacuum(TableName("m", world.schema, "ice"), "", 0)
    assert sorted(leftovers(world)[0]) == sorted((live, of_user))


class Writer:
    """One of two writers, with a session of its own."""

    def __init__(self, server, name):
        environment = SparkEnvironment(server.session())
        self._sessions, self._name = environment.sessions, name
        self._tables = environment.details.written(name)

    def commit(self, number, write, barrier):
        """Commit under a number after the other one has begun, too; whether it won."""
        with self._sessions.open() as opened:

            def waiting():
                barrier.wait()
                write(self._tables, opened.spark)

            try:
                done = self._tables.commit(opened.spark, self._name, "", number, waiting)
            except CommitConflictError:
                return False
            return done is not None


@contextmanager
def in_parallel(*actions):
    """Run actions in threads of their own; what they return, or raise."""
    found = [None] * len(actions)

    def run(place, action):
        try:
            found[place] = action()
        except Exception as error:  # noqa: BLE001 - the test reads it
            found[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(actions)]
    for thread in threads:
        thread.start()
    yield found
    for thread in threads:
        thread.join()


WRITES = {
    "append": lambda tables, spark, name, by: tables.append(
        spark, name, f"SELECT {by} AS id, 'x' AS k, 1 AS v"
    ),
    "overwrite": lambda tables, spark, name, by: tables.overwrite(
        spark, name, f"SELECT id, k, v FROM {name.sql} UNION ALL SELECT {by}, 'x', 1"
    ),
    "merge": lambda tables, spark, name, by: tables._merge(
        spark,
        name,
        lambda into: (
            f"MERGE INTO {into} AS t USING (SELECT {by} AS id) AS s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (s.id, 'x', 1)"
        ),
    ),
}


@pytest.mark.parametrize("kind", WRITES)
def test_of_two_writers_of_one_number_one_wins(world, server, kind):
    name = TableName("raced", world.schema, "ice")
    world.session.sql(f"CREATE TABLE {name.sql} (id INT, k STRING, v INT) USING iceberg")
    writers = [Writer(server, name) for _ in range(2)]
    write = WRITES[kind]
    for number in range(1, RACES + 1):
        barrier = threading.Barrier(2)

        def committing(writer, by, number=number, barrier=barrier):
            def made(tables, spark):
                write(tables, spark, name, by)

            return lambda: writer.commit(number, made, barrier)

        actions = [committing(w, 10 * number + n) for n, w in enumerate(writers)]
        with in_parallel(*actions) as won:
            pass
        assert sorted(won, key=repr) == [False, True], won
        winner = 10 * number + won.index(True)
        ids = [row[0] for row in world.session.sql(f"SELECT id FROM {name.sql}").collect()]
        assert len(ids) == number
        assert winner in ids


def test_refreshes_of_two_sessions_each_succeed_and_add_rows_once(world, server):
    world.create(ROWWISE, "")
    others = [MaterializedTables(server.session()) for _ in range(2)]
    for number in range(RACES):
        world.change(f"INSERT INTO {{t}} VALUES ({1000 + number}, 'race', 0)")
        with in_parallel(*(lambda t=t: t.refresh(world.name).strategy for t in others)) as found:
            pass
        assert not [each for each in found if isinstance(each, Exception)], found
        world.equals(ROWWISE)
    assert leftovers(world) == ([], [])
