"""The generic tests of materialized tables, and operations on many models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import relation_from_name, run_dbt, run_dbt_and_capture

SEED = "id,origin\n1,EWR\n2,JFK\n3,JFK\n"
BY_ORIGIN = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select origin, count(*) as flights from {{ ref('flights') }} group by origin
"""
SMALL = """
{{ config(materialized='materialized_table') }}
select origin from {{ ref('by_origin') }} where flights < 2
"""
SCHEMA = """
models:
  - name: by_origin
    data_tests:
      - materialized_table_fresh: {arguments: {within: 7 days}}
      - materialized_table_equals_query:
          config: {store_failures: true, alias: differing, warn_if: ">0", error_if: ">=3"}
      - materialized_table_healthy
"""


class TestGenericTests:
    """The tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"by_origin.sql": BY_ORIGIN, "small.sql": SMALL, "schema.yml": SCHEMA}

    @pytest.fixture
    def tested(self):
        """Runs the tests and returns status and failures of each, by the test's kind."""

        def run():
            results = run_dbt(["test", "-s", "by_origin"], expect_pass=None)
            return {
                r.node.test_metadata.name.removeprefix("materialized_table_"): (
                    str(r.status),
                    r.failures,
                )
                for r in results
            }

        return run

    @pytest.fixture
    def operate(self):
        """Runs an operation and returns whether it succeeded, and its lines about tables."""

        def run(name, **arguments):
            result, printed = run_dbt_and_capture(
                ["--quiet", "run-operation", name, "--args", json.dumps(arguments)],
                expect_pass=None,
            )
            lines = [line for line in printed.splitlines() if line.startswith("spark_catalog.")]
            said = {line.split(": ")[0].split(".")[-1]: line.split(": ", 1)[1] for line in lines}
            return result.results[0].status == "success", said

        return run

    @pytest.mark.usefixtures("project")
    def test_a_build_with_tests(self):
        results = run_dbt(["build"])
        assert [str(r.status) for r in results].count("pass") == 3

    def test_rows_by_hand_are_found_counted_and_stored(self, project, tested):
        table = relation_from_name(project.adapter, "by_origin")
        project.run_sql(f"insert into {table} values ('SFO', 9), ('SFO', 9)")
        found = tested()
        assert found["equals_query"] == ("warn", 2)
        assert found["healthy"] == ("fail", 1)
        assert found["fresh"] == ("pass", 0)
        stored = f"{project.test_schema}_dbt_test__audit.differing"
        ((problem, details, failures),) = project.run_sql(
            f"select problem, details, failures from {stored}", fetch="all"
        )
        assert (problem, failures) == ("unexpected row", 2)
        assert json.loads(details) == {"origin": "SFO", "flights": 9}

    @pytest.mark.conformance
    def test_operations_on_many_models(self, project, operate, tested):
        ok, said = operate("refresh_materialized_tables", force=True)
        assert (ok, list(said)) == (True, ["by_origin", "small"])
        assert said["by_origin"] == "REFRESHED 2 rows"
        assert tested()["equals_query"][1] == 0
        ok, said = operate("suspend_materialized_tables", select="small")
        assert (ok, said) == (True, {"small": "SUSPENDED"})
        ok, said = operate("suspend_materialized_tables")
        assert (ok, said) == (True, {"by_origin": "SUSPENDED", "small": "SUSPENDED already"})
        assert tested()["healthy"] == ("fail", 1)
        project.run_sql(f"drop table {relation_from_name(project.adapter, 'by_origin')}")
        ok, said = operate("resume_materialized_tables")
        assert not ok
        assert "MATERIALIZED_TABLE_NOT_FOUND" in said["by_origin"]
        assert said["small"].startswith("FAILED")
        run_dbt(["run"])
        ok, said = operate("resume_materialized_tables", run_options={"spark.sql.ansi.enabled": 1})
        assert said["by_origin"] == "ACTIVATED already"

    def test_orphans_are_listed_and_dropped_on_request(self, project, operate):
        schema = project.test_schema
        project.run_sql(f"create materialized table {schema}.notes as select 1 as a")
        (Path(project.project_root) / "models" / "small.sql").unlink()
        ok, said = operate("drop_orphaned_materialized_tables")
        assert (ok, list(said)) == (True, ["small"])
        assert said["small"].startswith("would be dropped, the model is gone")
        ok, said = operate("drop_orphaned_materialized_tables", dry_run=False)
        assert (ok, list(said)) == (True, ["small"])
        assert operate("drop_orphaned_materialized_tables") == (True, {})
        left = {row[1] for row in project.run_sql(f"show tables in {schema}", fetch="all")}
        assert {"by_origin", "notes"} <= left
        assert "small" not in left
