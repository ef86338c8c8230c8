"""`plan_materialized_tables`: what a run would do, without doing it."""

from __future__ import annotations

import json

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

SEED = "id,origin\n1,EWR\n2,JFK\n3,JFK\n"
BY_ORIGIN = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select origin, count(*) as flights from {{ ref('flights') }} group by origin
"""
SMALL = """
{{ config(materialized='materialized_table', tags=['small'], on_configuration_change='continue') }}
select origin from {{ ref('by_origin') }} where flights < 2
"""


class TestPlan:
    """The tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"by_origin.sql": BY_ORIGIN, "small.sql": SMALL}

    @pytest.fixture
    def plan(self):
        """Plans and returns the document, by model, and whether the operation succeeded."""

        def planned(**arguments):
            given = json.dumps({"output": "json", **arguments})
            result, printed = run_dbt_and_capture(
                ["--quiet", "run-operation", "plan_materialized_tables", "--args", given],
                expect_pass=None,
            )
            document = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
            by_model = {plan["model"].rsplit(".", 1)[-1]: plan for plan in document["models"]}
            return by_model, result.results[0].status == "success"

        return planned

    def test_a_first_run_in_a_schema_that_is_empty(self, project, plan):
        plans, ok = plan()
        assert list(plans) == ["by_origin", "small"]
        assert [p["verdict"] for p in plans.values()] == ["created", "created"]
        assert "flights not there" in plans["by_origin"]["notes"][0]
        assert ok
        assert project.run_sql(f"show tables in {project.test_schema}", fetch="all") == []

    def test_what_changed_and_what_drifted(self, project, plan):
        run_dbt(["seed"])
        plans, _ = plan(select="by_origin")
        assert (plans["by_origin"]["verdict"], plans["by_origin"]["notes"]) == ("created", [])
        run_dbt(["run"])
        write_file(
            BY_ORIGIN.replace("as flights", "as flights, max(id) as latest"),
            *(project.project_root, "models", "by_origin.sql"),
        )
        write_file(
            SMALL.replace("tags", "freshness='5 minutes', tags"),
            *(project.project_root, "models", "small.sql"),
        )
        table = f"{project.test_schema}.by_origin"
        project.run_sql(f"comment on table {table} is 'by hand'")
        project.run_sql(f"insert into {table} values ('SFO', 9)")
        before = project.run_sql(f"describe history {table}", fetch="all")
        plans, ok = plan()
        assert ok
        assert plans["by_origin"]["verdict"] == "rebuilt"
        assert len(plans["by_origin"]["changes"]) == 2
        assert {d["kind"] for d in plans["by_origin"]["drift"]} == {"comment", "rows"}
        assert plans["by_origin"]["loses"]
        assert plans["small"]["verdict"] == "unchanged"
        assert "freshness" in plans["small"]["notes"][0].lower()
        write_file(
            SMALL.replace("flights < 2", "latest < 2"),
            *(project.project_root, "models", "small.sql"),
        )
        plans, _ = plan()
        assert plans["small"]["verdict"] == "unknown"
        plans, _ = plan(select="small")
        assert plans["small"]["verdict"] == "refused"
        write_file(SMALL, project.project_root, "models", "small.sql")
        assert project.run_sql(f"describe history {table}", fetch="all") == before

    def test_a_refusal_fails_only_when_asked(self, project, plan):
        write_file(
            BY_ORIGIN.replace("origin, count(*)", "count(*)").replace("origin,", ""),
            *(project.project_root, "models", "by_origin.sql"),
        )
        plans, ok = plan(select=["by_*"])
        assert ok
        assert plans["by_origin"]["verdict"] == "refused"
        assert plans["by_origin"]["condition"].startswith("MATERIALIZED_TABLE_")
        assert plans["by_origin"]["violations"]
        plans, ok = plan(select="tag:small", fail_on="refused")
        assert (list(plans), ok) == (["small"], True)
        plans, ok = plan(select="by_origin", fail_on="refused")
        assert not ok
        plans, ok = plan(select="by_origin", full_refresh=True, fail_on="refused")
        assert (plans["by_origin"]["verdict"], ok) == ("rebuilt", True)

    @pytest.mark.usefixtures("project")
    def test_output_is_text_and_misspelt_names_are_errors(self):
        _, printed = run_dbt_and_capture(["run-operation", "plan_materialized_tables"])
        assert "2 models: 1 unchanged, 1 refused; 1 changed outside of dbt" in printed
        _, printed = run_dbt_and_capture(
            ["run-operation", "plan_materialized_tables", "--args", "{select: by_orgin}"],
            expect_pass=False,
        )
        assert "Did you mean 'by_origin'?" in printed
