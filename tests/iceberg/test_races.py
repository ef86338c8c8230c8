"""Two processes that write one materialized table of Iceberg, and processes that are killed.

`ICEBERG_RACES` is how many races of each kind there are.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.functional.engine.oracle import rows
from tests.iceberg.conftest import in_each_catalog
from tests.iceberg.other_process import PUBLISHED, STEPS, OtherProcess
from tests.iceberg.test_tables import ROWWISE, World

RACES = int(os.environ.get("ICEBERG_RACES", "3"))
_CONFS = ("spark.jars.packages", "spark.sql.extensions", "spark.sql.catalog.")
pytestmark = in_each_catalog
COUNTER = (
    "MERGE INTO {m} AS t USING (SELECT -1 AS id) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = t.v + 1 "
    "WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (-1, 'user', 1)"
)


@pytest.fixture
def world(session, schema, iceberg_catalog):
    made = World(session, schema, catalog=iceberg_catalog)
    # The other process has a spark_catalog of its own.
    session.sql(f"USE {iceberg_catalog}.{schema}")
    made.create(ROWWISE, "")
    return made


@pytest.fixture
def confs(spark):
    found = dict(spark.sparkContext.getConf().getAll())
    return {key: value for key, value in found.items() if key.startswith(_CONFS)}


@pytest.fixture
def other(confs, tmp_path):
    process = OtherProcess(confs, tmp_path / "other")
    yield process
    process.end()


def race(world, other, number, **request):
    """Refresh a table of which a new source row is missing, while the other process writes it."""
    world.change(f"INSERT INTO {{t}} VALUES ({1000 + number}, 'race', 0)")
    other.begin(**request)
    strategy = world.tables.refresh(world.name).strategy
    return strategy, other.answer()


def content(world):
    """The rows of the table: those of its query, and those of users."""
    found = rows(world.tables, f"SELECT id, k, v FROM {world.name}")
    users = [row for row in found if row[1] == "user"]
    return Counter(row for row in found if row[1] != "user"), users


def of_query(world):
    return Counter(rows(world.tables, ROWWISE.format(t=world.source)))


def test_appends_and_merges_of_users_and_refreshes_are_each_there_once(world, other):
    appended = counted = 0
    for number in range(2 * RACES):
        statement = (
            COUNTER if number % 2 else f"INSERT INTO {{m}} VALUES ({-2 - number}, 'user', 0)"
        )
        _, answer = race(world, other, number, sql=statement.format(m=world.name))
        won = "error" not in answer  # Iceberg gives up a MERGE whose table changed
        appended += won and not number % 2
        counted += won and number % 2
        ours, users = content(world)
        assert ours == of_query(world), (number, answer)
        assert len([row for row in users if row[0] < -1]) == appended, (number, answer)
        assert sum(row[2] for row in users if row[0] == -1) == counted, (number, answer)
    assert appended == RACES, "an append of a user never fails"
    other.begin(sql=COUNTER.format(m=world.name))
    assert other.answer() == {}
    counters = [row for row in content(world)[1] if row[0] == -1]
    assert counters == [(-1, "user", counted + 1)]


def test_an_overwrite_of_a_user_comes_before_or_after_a_refresh(world, other):
    for number in range(RACES):
        statement = f"INSERT OVERWRITE {world.name} VALUES (-1, 'user', {number})"
        strategy, answer = race(world, other, number, sql=statement)
        assert answer == {}
        user, expected = [(-1, "user", number)], of_query(world)
        new = Counter({row: n for row, n in expected.items() if row[0] == 1000 + number})
        allowed = (new, user), (Counter(), user), (expected, [])
        assert content(world) in allowed, (number, strategy)
        world.tables.refresh(world.name, force=True)
        assert content(world) == (expected, [])


def test_refreshes_of_two_processes_add_rows_once(world, other):
    for number in range(RACES):
        _, answer = race(world, other, number, refresh=world.name)
        assert "error" not in answer, answer["error"]
        assert content(world) == (of_query(world), []), (number, answer)


@pytest.mark.parametrize("step", [*STEPS, PUBLISHED])
def test_a_process_that_is_killed_has_committed_all_or_nothing(world, confs, tmp_path, step):
    before = of_query(world)
    world.change("INSERT INTO {t} VALUES (1000, 'killed', 0)")
    victim = OtherProcess(confs, tmp_path / "victim")
    victim.begin(refresh=world.name, end=step)
    answer = victim.answer()
    assert answer is None, answer
    victim.end()
    expected = of_query(world)
    assert content(world) == (expected if step == PUBLISHED else before, [])
    strategy = world.tables.refresh(world.name).strategy
    assert (strategy == "skip") is (step == PUBLISHED)
    assert content(world) == (expected, [])
