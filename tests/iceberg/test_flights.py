"""The flights example on real data, with its tables in a catalog of Iceberg."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, write_file

from dbt.adapters.spark_mt.api import MaterializedTables

EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"
TABLES = ("flights_wide", "hourly_departures", "daily_report", "busiest_hours")
CLUSTERED = "    cluster_by=['origin'],\n"
"""What Iceberg does not have: a user takes the line out."""
DELAY = "    round(avg(dep_delay), 1) as mean_delay"
CANCELLED = f"{DELAY},\n    count_if(dep_time is null) as cancelled"
COUNTS = {
    "flights_wide": "count(*)",
    "hourly_departures": "sum(departures)",
    "daily_report": "sum(scheduled)",
}
JANUARY, FEBRUARY = 27_004, 24_951


def files_of(folder: str, *suffixes: str) -> dict[str, str]:
    """Return the texts of the example's files, but for those of the stream of JSON files."""
    found = (path for suffix in suffixes for path in (EXAMPLE / folder).glob(f"*{suffix}"))
    return {p.name: p.read_text(encoding="utf-8") for p in found if "live" not in p.name}


class TestFlights:
    """The steps of the demo; the tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def models(self):
        texts = files_of("models", ".sql", ".yml")
        return {name: text.replace(CLUSTERED, "") for name, text in texts.items()}

    @pytest.fixture(scope="class")
    def tests(self):
        return files_of("tests", ".sql")

    @pytest.fixture(scope="class")
    def project_config_update(self):
        config = {"+materialized": "materialized_table", "+database": "ice"}
        return {"models": {"test": {**config, "+file_format": "iceberg"}}}

    @pytest.fixture(scope="class")
    def landed(self, spark):
        """Let a month arrive in the landing tables, which are of Delta."""
        with pytest.MonkeyPatch.context() as patched:
            patched.syspath_prepend(EXAMPLE)
            land = importlib.import_module("land")
        spark.sql("USE spark_catalog.default")
        yield lambda month: land.land(spark, month)["flights"]
        spark.sql(f"DROP SCHEMA {land.SCHEMA} CASCADE")

    @pytest.fixture
    def run(self, spark, project):
        """Runs dbt; returns the message of each model, when all tables equal their queries."""

        def run(*arguments, flights):
            results = run_dbt([*arguments])
            for table, count in COUNTS.items():
                name = f"ice.{project.test_schema}.{table}"
                assert spark.sql(f"SELECT {count} FROM {name}").collect() == [(flights,)]
                described = spark.sql(f"DESCRIBE EXTENDED {name}").collect()
                facts = {row[0]: row[1] for row in described}
                assert facts["Provider"] == "iceberg"
            for table in TABLES:
                found = MaterializedTables(spark).difference(f"ice.{project.test_schema}.{table}")
                assert found.is_equal, (table, found.problem, found.rows)
            return {r.node.name: r.message for r in results if r.node.resource_type == "model"}

        return run

    def test_january_creates_every_table(self, landed, run):
        assert landed(1) == JANUARY
        messages = run("build", flights=JANUARY)
        assert {name: message.split()[0] for name, message in messages.items()} == dict.fromkeys(
            TABLES, "CREATED"
        )

    def test_a_second_run_does_nothing(self, run):
        messages = run("build", flights=JANUARY)
        assert {m.split(" in ")[0] for m in messages.values()} <= {"UNCHANGED", "UP TO DATE"}

    def test_february_refreshes_every_table(self, landed, run):
        assert landed(2) == FEBRUARY
        messages = run("build", flights=JANUARY + FEBRUARY)
        assert {name: message.split()[0] for name, message in messages.items()} == dict.fromkeys(
            TABLES, "REFRESHED"
        )

    def test_a_column_is_appended_in_place(self, project, run, spark):
        text = (EXAMPLE / "models" / "hourly_departures.sql").read_text(encoding="utf-8")
        edited = text.replace(DELAY, CANCELLED)
        write_file(edited, project.project_root, "models", "hourly_departures.sql")
        name = f"ice.{project.test_schema}.hourly_departures"
        before = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").count()
        messages = run("run", flights=JANUARY + FEBRUARY)
        assert messages["hourly_departures"].startswith("ALTERED")
        assert spark.table(name).columns[-1] == "cancelled"
        assert spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").count() == before + 1

    def test_a_dropped_column_needs_a_full_refresh(self, project, run):
        text = (EXAMPLE / "models" / "hourly_departures.sql").read_text(encoding="utf-8")
        write_file(text, project.project_root, "models", "hourly_departures.sql")
        failed = run_dbt(["run", "--select", "hourly_departures"], expect_pass=False)
        assert "drop column is unsupported" in failed.results[0].message
        messages = run("run", "--full-refresh", flights=JANUARY + FEBRUARY)
        assert len(messages) == len(TABLES)

    def test_a_clustered_table_is_refused(self, project):
        text = (EXAMPLE / "models" / "flights_wide.sql").read_text(encoding="utf-8")
        assert CLUSTERED in text
        write_file(text, project.project_root, "models", "flights_wide.sql")
        failed = run_dbt(["run", "--select", "flights_wide"], expect_pass=False)
        assert "MATERIALIZED_TABLE_FORMAT_FEATURE" in failed.results[0].message
