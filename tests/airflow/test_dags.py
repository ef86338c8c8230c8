"""DAGs of the tables that a manager knows, run by Airflow itself."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import time_machine
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DagRunState
from airflow.sdk.timezone import coerce_datetime
from airflow.serialization.encoders import coerce_to_core_timetable
from airflow.serialization.serialized_objects import DagSerialization
from airflow.settings import DAGS_FOLDER
from airflow.timetables.base import DataInterval, TimeRestriction

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ManagerRefusedError, ManagerUnreachableError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.integrations import airflow as integration
from dbt.adapters.spark_mt.manager.views import ScheduleView
from dbt.adapters.spark_mt.planning.schedule import Schedule
from tests.airflow.manager import TOKEN, job, running, table
from tests.support.schedules import due

UTC = timezone.utc
START = datetime(2025, 3, 1, tzinfo=UTC)
DAILY = ScheduleView("every day", "Europe/Berlin", cron="0 0 * * *", by_partition=True)
PAGE = Path(__file__).parents[2] / "docs" / "scheduling.md"


@pytest.fixture
def manager(monkeypatch):
    """A manager, and in the folder of DAGs the file of the documentation, which asks it."""
    monkeypatch.setattr(integration, "POLL_SECONDS", 0.01)
    monkeypatch.setenv("SPARK_MT_TOKEN", TOKEN)
    (example,) = re.findall(r"```python\n(from datetime .*?)```", PAGE.read_text(), re.DOTALL)
    with running() as found:
        path = Path(DAGS_FOLDER) / "materialized_tables.py"
        path.write_text(example.replace("http://127.0.0.1:8085", found.url), encoding="utf-8")
        found.tables = [
            table("c.s.hourly"),
            table("c.s.daily", freshness_seconds=86400, schedule=DAILY),
            table("c.s.resting", status="SUSPENDED"),
            table("c.s.followed", "CONTINUOUS"),
        ]
        found.jobs = [job("FINISHED")]
        yield found


def dags_of(manager, **more):
    return integration.materialized_table_dags(
        manager.url, start_date=START, token=TOKEN, default_args={"retries": 0}, **more
    )


def ran(dag, at):
    """Run a DAG for a logical date, and return the run."""
    return dag.test(logical_date=datetime.fromisoformat(at).replace(tzinfo=UTC))


def test_a_dag_for_each_table_in_mode_full(manager):
    dags = dags_of(manager)
    assert sorted(dags) == ["c.s.daily", "c.s.hourly", "c.s.resting"]
    assert {dag_id: dag.catchup for dag_id, dag in dags.items()} == {
        "c.s.daily": True,
        "c.s.hourly": False,
        "c.s.resting": False,
    }
    assert {dag.max_active_runs for dag in dags.values()} == {1}
    assert dags["c.s.daily"].timetable.summary == "every day"
    assert not dags["c.s.resting"].timetable.can_be_scheduled


def test_airflow_keeps_the_schedule_and_not_the_token(manager):
    for dag in dags_of(manager, config={"spark.sql.shuffle.partitions": "3"}).values():
        stored = DagSerialization.to_dict(dag)
        assert TOKEN not in json.dumps(stored)
        again = DagSerialization.from_dict(stored)
        assert again.timetable.summary == coerce_to_core_timetable(dag.timetable).summary


def test_a_run_asks_for_its_scheduled_time_in_the_tables_zone(manager):
    manager.jobs = [job("RUNNING"), None, job("RUNNING"), job("FINISHED")]
    dag = dags_of(manager, config={"k": "v"})["c.s.daily"]
    run = ran(dag, "2025-03-01 23:00")
    assert run.state == DagRunState.SUCCESS
    (requested,) = manager.requested
    assert requested.model_dump() == {
        "materializedTable": "`c`.`s`.`daily`",
        "isPeriodic": True,
        "scheduleTime": "2025-03-02 00:00:00",
        "scheduleTimeFormat": "yyyy-MM-dd HH:mm:ss",
        "config": {"k": "v"},
    }
    result = run.get_task_instance("refresh").xcom_pull(task_ids="refresh")
    assert result == {"job_id": "job-1", "status": "FINISHED", "rows": 7}


def test_a_run_between_stands_for_the_newest_scheduled_time(manager):
    ran(dags_of(manager)["c.s.hourly"], "2025-03-01 10:37")
    assert [requested.scheduleTime for requested in manager.requested] == ["2025-03-01 10:00:00"]


@pytest.mark.parametrize("status", ["FAILED", "CANCELED"])
def test_a_refresh_that_does_not_succeed_fails_the_run(manager, status):
    manager.jobs = [job("RUNNING"), job(status, "a row is wrong")]
    assert ran(dags_of(manager)["c.s.hourly"], "2025-03-01 10:00").state == DagRunState.FAILED


def test_a_refresh_with_nothing_to_do_succeeds(manager):
    manager.jobs = [job("SKIPPED")]
    assert ran(dags_of(manager)["c.s.hourly"], "2025-03-01 10:00").state == DagRunState.SUCCESS


def test_a_failure_has_its_reason(manager):
    manager.jobs = [job("FAILED", "a row is wrong")]
    (task,) = dags_of(manager)["c.s.hourly"].tasks
    with pytest.raises(integration.RefreshFailedError, match=r"FAILED: a row is wrong"):
        task.execute({"data_interval_end": START})


def test_a_manager_that_stays_away_fails_the_run(manager, monkeypatch):
    monkeypatch.setattr(integration, "SILENT_SECONDS", 0.05)
    manager.jobs = [None]
    (task,) = dags_of(manager)["c.s.hourly"].tasks
    with pytest.raises(ManagerUnreachableError):
        task.execute({"data_interval_end": START})


def test_without_the_token_there_are_no_dags(manager):
    with pytest.raises(ManagerRefusedError):
        integration.materialized_table_dags(manager.url, start_date=START, token=TOKEN.upper())


@pytest.mark.usefixtures("manager")
def test_airflow_reads_the_file():
    bag = DagBag()
    assert bag.import_errors == {}
    assert sorted(bag.dags) == ["c.s.daily", "c.s.hourly", "c.s.resting"]


def test_while_the_manager_does_not_answer_airflow_shows_why(manager):
    manager.tables = []
    path = Path(DAGS_FOLDER) / "materialized_tables.py"
    path.write_text(path.read_text().replace(manager.url, "http://127.0.0.1:1"))
    (error,) = DagBag().import_errors.values()
    assert conditions.MANAGER_UNREACHABLE.name in error


def following(timetable, now, last=None, *, catchup, latest=None):
    """The scheduled time that Airflow begins next, at an instant."""
    interval = None if last is None else DataInterval.exact(coerce_datetime(last))
    restriction = TimeRestriction(coerce_datetime(START), latest, catchup)
    with time_machine.travel(now, tick=False):
        found = timetable.next_dagrun_info(
            last_automated_data_interval=interval, restriction=restriction
        )
    return None if found is None else (found.run_after, found.data_interval.end)


@pytest.mark.parametrize("freshness", [Freshness(1, TimeUnit.DAY), Freshness(40, TimeUnit.MINUTE)])
def test_every_missed_time_comes_where_none_may_be_left_out(freshness):
    timetable = integration.FreshnessTimetable(freshness.seconds, "Europe/Berlin")
    now = START + timedelta(days=60)
    expected = list(due(Schedule(freshness, "Europe/Berlin"), START - timedelta(seconds=1), now))
    found, last = [], None
    for _ in expected:
        last, end = following(timetable, now, last, catchup=True)
        assert last == end
        found.append(last)
    assert found == expected


def test_the_newest_missed_time_comes_where_one_run_is_enough():
    timetable = integration.FreshnessTimetable(3600, "UTC")
    now, last = START + timedelta(days=3, minutes=5), START
    newest = START + timedelta(days=3)
    assert following(timetable, now, last, catchup=False) == (newest, newest)
    later = newest + timedelta(hours=1)
    assert following(timetable, now, newest, catchup=False) == (later, later)
    assert following(timetable, START - timedelta(days=1), catchup=False) == (START, START)
    assert following(timetable, now, newest, catchup=False, latest=newest) is None
