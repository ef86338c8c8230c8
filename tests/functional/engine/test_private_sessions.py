"""Private sessions have the user's settings of now, and in a query's context only the query's."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from time import monotonic, sleep

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.session.private_session import (
    PrivateSessions,
    confs_of,
    context_of,
    enter_context,
)

_CASE = "spark.sql.caseSensitive"
_SETTING, _SEMANTIC = "spark.sql.shuffle.partitions", "spark.sql.session.timeZone"


@pytest.fixture
def user(session):
    return session.newSession()


def test_a_setting_of_the_user_is_that_of_now(user):
    sessions = PrivateSessions(user)
    for number in ("7", "9"):
        user.conf.set(_SETTING, number)
        with sessions.open() as private:
            assert private.spark.conf.get(_SETTING) == number


def test_a_query_has_the_confs_that_it_was_created_with(user):
    user.conf.set(_SEMANTIC, "Asia/Tokyo")
    created = context_of(user)
    user.conf.set(_SEMANTIC, "UTC")
    user.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    with PrivateSessions(user).open(created) as private:
        assert private.spark.conf.get(_SEMANTIC) == "Asia/Tokyo"
        assert private.spark.conf.get("spark.sql.legacy.timeParserPolicy") != "LEGACY"
        assert context_of(private.spark) == created


def test_a_session_enters_one_context_after_the_other(user):
    first = context_of(user)
    others = tuple(pair for pair in first.confs if pair[0] != _CASE)
    case = dict(first.confs).get(_CASE, user.conf.get(_CASE))
    second = replace(first, confs=(*others, (_CASE, "false" if case == "true" else "true")))
    with PrivateSessions(user).open(first) as private:
        for context in (second, first, second):
            enter_context(private.spark, context)
            wanted = dict(context.confs).get(_CASE, case)
            assert private.spark.conf.get(_CASE) == wanted


def test_a_session_that_is_reused_is_lent_to_one_at_a_time(user):
    sessions, confs = PrivateSessions(user), {_SETTING: "1"}
    with sessions.reused(confs) as first, sessions.reused(confs) as second:
        assert first is not second
        assert first.conf.get(_SETTING) == "1"
    with sessions.reused(confs) as third, sessions.reused({_SETTING: "3"}) as other:
        assert third in (first, second)
        assert other.conf.get(_SETTING) == "3"
    with sessions.reused(confs) as fourth, sessions.reused(confs) as fifth:
        assert fourth is not fifth


def test_confs_are_those_that_spark_has(user):
    odd = {
        "spark.sql.materialized-test.text": "a,b=c (d) -> é\n'e'",
        "spark.sql.materialized-test.empty": "",
        "spark.materialized-test.password": "kept",
    }
    for key, value in odd.items():
        user.conf.set(key, value)
    assert confs_of(user, lambda key: key in odd) == odd
    assert confs_of(user, lambda _: True) == dict(user.conf.getAll)


def test_commits_are_compared_with_their_table_in_no_time_zone(user, schema):
    """Delta does that outside of UTC, by a job for each commit."""
    user.sql(f"USE {schema}")
    scheduler, jobs = user.sparkContext._jsc.sc().dagScheduler(), {}
    for number, zone in enumerate(("UTC", "America/New_York")):
        user.conf.set(_SEMANTIC, zone)
        with PrivateSessions(user).open() as private:
            private.spark.sql(f"CREATE TABLE t{number} (k INT) USING delta")
            private.spark.sql(f"INSERT INTO t{number} VALUES (1)")
            before = scheduler.numTotalJobs()
            private.spark.sql(f"INSERT INTO t{number} VALUES (2)")
            jobs[zone] = scheduler.numTotalJobs() - before
    assert jobs["America/New_York"] == jobs["UTC"] > 0


@pytest.mark.usefixtures("schema")
def test_an_interrupt_ends_a_refresh_whose_write_ran_another_execution(session):
    """Spark's own interrupt misses its job: the execution within took the session's tag off."""
    tables = MaterializedTables(session)
    session.sql("CREATE TABLE ids (id BIGINT) USING delta")
    session.sql("INSERT INTO ids VALUES (0)")
    # Of one id it takes no time. Of many it takes hours, and a task looks each second if it is
    # to end.
    tables.execute(
        "CREATE MATERIALIZED TABLE triples REFRESH_MODE = FULL AS SELECT count(*) AS n "
        "FROM ids a, ids b, ids c WHERE hash(a.id, b.id, c.id) = 7"
    )
    session.sql("INSERT INTO ids SELECT id FROM range(1, 3000)")
    refused = []

    def refresh():
        try:
            tables.execute("ALTER MATERIALIZED TABLE triples REFRESH")
        except Exception as error:  # noqa: BLE001 - looked at below
            refused.append(error)

    thread = Thread(target=refresh)
    thread.start()
    tracker, end, looks = session.sparkContext.statusTracker(), monotonic() + 90, 0
    while looks < 10 and monotonic() < end:  # until its last job runs
        looks = looks + 1 if tracker.getActiveJobsIds() else 0
        sleep(0.1)
    tables.cancel()
    thread.join(30)
    has_ended = not thread.is_alive()
    session.sparkContext.cancelAllJobs()
    thread.join()
    assert has_ended
    assert "SPARK_JOB_CANCELLED" in str(refused[0])
    assert session.sql("SELECT * FROM triples").collect() == [(0,)]
