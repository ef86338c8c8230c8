"""Seeds whose dbt is killed, and seeds that a manager follows: all old rows or all new ones."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic, sleep

import pytest

from dbt.adapters.spark_mt.client.target import automatic_target
from dbt.adapters.spark_mt.spark.launch.session import connect_spark
from tests.functional.processes.test_serving import Project

pytestmark = pytest.mark.conformance

_ROWS = 20_000
_KILLS = 6
_PATIENCE_S = 180
_FOLLOWING = """
{{ config(materialized='materialized_table', freshness='1 second', refresh_mode='continuous') }}
select id, version from {{ ref('seeded') }}
"""


def seed(version: int) -> str:
    """The rows of a version, none of which another version has."""
    return "id,version\n" + "".join(f"{number},{version}\n" for number in range(_ROWS))


@pytest.fixture
def project(manager):
    found = Project(manager.home)
    found.profile(schema="seeds")
    return found


@pytest.fixture
def spark(manager):
    session = connect_spark(automatic_target({}, manager.home).url, {}, is_near=True)
    yield session
    session.stop()


@pytest.fixture
def versions(spark):
    """What a table holds: the rows of each version."""

    def read(table: str) -> dict[int, int]:
        counted = f"SELECT version, count(DISTINCT id) AS n FROM seeds.{table} GROUP BY version"
        return {row.version: row.n for row in spark.sql(counted).collect()}

    return read


def test_a_killed_seed_has_its_old_or_its_new_rows(project, versions):
    project.write("seeds/killed.csv", seed(0))
    began = monotonic()
    done, output = project.dbt("seed", "--select", "killed")
    assert done, output
    lasts, held = monotonic() - began, 0
    for turn in range(1, _KILLS + 1):
        project.write("seeds/killed.csv", seed(turn))
        run = project.start("seed", "--select", "killed")
        sleep(lasts * turn / _KILLS)
        run.kill()
        run.communicate()
        found = versions("killed")
        assert set(found.values()) == {_ROWS}, found
        (now,) = found  # Spark may end a statement whose client is gone
        assert held <= now <= turn
        held = now
    done, output = project.dbt("seed", "--select", "killed")
    assert done, output
    assert versions("killed") == {_KILLS: _ROWS}


def test_a_manager_that_follows_a_seed_never_has_a_part_of_it(project, versions):
    project.write("seeds/seeded.csv", seed(0))
    project.write("models/following.sql", _FOLLOWING)
    done, output = project.dbt("build", "--select", "seeded+")
    assert done, output
    seen: list[dict[int, int]] = []
    over = Event()

    def look() -> None:
        while not over.is_set():
            if (now := versions("following")) not in seen:
                seen.append(now)

    looking = Thread(target=look)
    looking.start()
    try:
        for turn in (1, 2):
            project.write("seeds/seeded.csv", seed(turn))
            done, output = project.dbt("seed", "--select", "seeded")
            assert done, output
            end = monotonic() + _PATIENCE_S
            while {turn: _ROWS} not in seen:
                assert monotonic() < end, seen
                sleep(0.1)
    finally:
        over.set()
        looking.join()
    assert seen == [{turn: _ROWS} for turn in range(3)]
