"""Airflow DAGs that refresh tables in mode FULL: one DAG a table, through the manager.

A file in Airflow's folder of DAGs needs three lines:

    from dbt.adapters.spark_mt.integrations.airflow import materialized_table_dags

    globals().update(materialized_table_dags("http://127.0.0.1:8085", start_date=…))

Install this package into Airflow's environment with `pip install --no-deps dbt-spark-mt`: this
module needs neither Spark nor dbt.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.timezone import coerce_datetime
from airflow.timetables.base import DagRunInfo, DataInterval, Timetable

from dbt.adapters.spark_mt.client.rest import ManagerClient
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import ManagerUnreachableError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.resolution.time_zones import parse_zone
from dbt.adapters.spark_mt.scheduler.airflow import dag_id_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.timetables.base import TimeRestriction


UTC = timezone.utc
PATTERN = "yyyy-MM-dd HH:mm:ss"
_STRFTIME = "%Y-%m-%d %H:%M:%S"
_INSTANT = timedelta(microseconds=1)
_SUCCESSFUL = frozenset({"FINISHED", "SKIPPED"})
POLL_SECONDS = 5.0
SILENT_SECONDS = 600.0
"""For how long a manager that does not answer is asked again, before the task fails."""


class RefreshFailedError(RuntimeError):
    """The manager did the refresh, and it did not succeed."""


class FreshnessTimetable(Timetable):  # type: ignore[misc]
    """The scheduled times of a table, the same as those of the manager's own scheduler.

    Args:
        seconds: The freshness.
        zone: The table's stored time zone.
    """

    def __init__(self, seconds: int, zone: str) -> None:
        self._schedule = Schedule(Freshness(seconds, TimeUnit.SECOND), zone)
        self.description = f"{self._schedule.text}, {zone}"

    @property
    def summary(self) -> str:
        """For Airflow's pages."""
        return self._schedule.text

    def serialize(self) -> dict[str, Any]:
        """Return what `deserialize` needs, as JSON."""
        return {"seconds": self._schedule.freshness.seconds, "zone": self._schedule.zone}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> FreshnessTimetable:
        """Make it of what `serialize` returned."""
        return cls(data["seconds"], data["zone"])

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """A manual run is for the newest scheduled time."""
        return DataInterval.exact(coerce_datetime(self._schedule.newest(_plain(run_after))))

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """Return the run after the last; without catch-up, those that were missed are one."""
        if last_automated_data_interval is not None:
            after = _plain(last_automated_data_interval.end)
        else:
            after = _plain(restriction.earliest or datetime.now(UTC)) - _INSTANT
        found = self._schedule.next_after(after)
        if not restriction.catchup:
            found = max(found, self._schedule.newest(datetime.now(UTC)))
        if restriction.latest is not None and found > restriction.latest:
            return None
        return DagRunInfo.exact(coerce_datetime(found))


class MaterializedTablesPlugin(AirflowPlugin):  # type: ignore[misc]
    """Makes the timetable known to Airflow."""

    name = "dbt_spark_mt"
    timetables = (FreshnessTimetable,)


class RefreshMaterializedTable(BaseOperator):  # type: ignore[misc]
    """Asks the manager for the refresh of a scheduled time, and waits for its end.

    Args:
        table: The table's name, in backticks where it needs them.
        zone: The table's stored time zone.
        manager: Whom to ask.
        config: Run options.
    """

    template_fields = ("table",)
    ui_color = "#d7ecff"

    def __init__(
        self,
        *,
        table: str,
        zone: str,
        manager: ManagerClient,
        config: Mapping[str, str] | None = None,
        **kwargs: Any,  # noqa: ANN401 - those of every operator
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self._zone = zone
        self._manager = manager
        self._config = dict(config or {})

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Refresh; returns the job's id, status and rows.

        Raises:
            RefreshFailedError: The refresh failed, or was canceled.
            ManagerUnreachableError: Nobody answers.
            ManagerRefusedError: The manager does not do it.
        """
        scheduled = _plain(context["data_interval_end"]).astimezone(parse_zone(self._zone))
        job_id = self._manager.refresh(
            self.table,
            schedule_time=scheduled.strftime(_STRFTIME),
            pattern=PATTERN,
            config=self._config,
        )
        self.log.info("%s: refresh %s for %s", self.table, job_id, scheduled)
        job = self._end_of(job_id)
        if job["status"] not in _SUCCESSFUL:
            raise RefreshFailedError(f"{self.table}: {job['status']}: {job['error']}")  # noqa: TRY003, EM102
        return {name: job[name] for name in ("job_id", "status", "rows")}

    def _end_of(self, job_id: str) -> dict[str, Any]:
        silent_since: float | None = None
        while True:
            try:
                job = self._manager.job(job_id)
            except ManagerUnreachableError:
                silent_since = silent_since or time.monotonic()
                if time.monotonic() - silent_since > SILENT_SECONDS:
                    raise
                self.log.warning("%s: the manager does not answer; asking again", self.table)
            else:
                silent_since = None
                if job["status"] != "RUNNING":
                    return job
            time.sleep(POLL_SECONDS)


def _plain(instant: datetime) -> datetime:
    """Return a datetime of the standard library: Airflow's have an arithmetic of their own."""
    return datetime.fromisoformat(instant.astimezone(UTC).isoformat())


def materialized_table_dags(
    url: str,
    *,
    start_date: datetime,
    token: str = "",
    config: Mapping[str, str] | None = None,
    default_args: Mapping[str, Any] | None = None,
) -> dict[str, DAG]:
    """Make a DAG for each table in mode FULL that the manager knows.

    The manager must have `spark.materialized-table.scheduler = airflow`, or it refreshes the tables
    as well. A table whose runs write partitions of their own gets a run for every scheduled time
    (`catchup`); another one, after a pause, one for the newest. A suspended table keeps its DAG and
    the history in it, without a schedule.

    Args:
        url: Where the manager answers, `http://host:port`.
        start_date: From when on tables are scheduled, aware. A fixed instant, not the present one.
        token: What the manager asks for.
        config: Run options of every refresh.
        default_args: For every task, over three retries, one a minute: `retries`, `owner` …

    Returns:
        The DAGs by their ids.

    Raises:
        ManagerUnreachableError: No manager answers; Airflow keeps the DAGs that it has, shows the
            error, and begins no run before a manager answers.
        ManagerRefusedError: The manager refuses the request.
    """
    manager = ManagerClient(url, token)
    arguments = {
        "retries": 3,
        "retry_delay": timedelta(minutes=1),
        **(default_args or {}),
    }
    tables = [row for row in manager.tables() if row["refresh_mode"] == "FULL" and row["schedule"]]
    dags = (_dag(row, manager, start_date, config, arguments) for row in tables)
    return {dag.dag_id: dag for dag in dags}


def _dag(
    row: Mapping[str, Any],
    manager: ManagerClient,
    start_date: datetime,
    config: Mapping[str, str] | None,
    arguments: Mapping[str, Any],
) -> DAG:
    zone = row["schedule"]["zone"]
    is_active = row["status"] == "ACTIVATED"
    with DAG(
        dag_id_of(row["name"]),
        description=f"Refreshes the materialized table {row['name']}",
        schedule=FreshnessTimetable(row["freshness_seconds"], zone) if is_active else None,
        start_date=start_date,
        catchup=row["schedule"]["by_partition"],
        max_active_runs=1,
        default_args=dict(arguments),
        tags=["materialized table"],
    ) as dag:
        RefreshMaterializedTable(
            task_id="refresh",
            table=".".join(map(quote, row["name"].split("."))),
            zone=zone,
            manager=manager,
            config=config,
        )
    return dag
