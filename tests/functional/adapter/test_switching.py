"""A model that becomes a materialized table while something else has its name."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

_PLAIN = "{{ config(materialized='%s') }} select id, 'old' as what from range(3)"
_KEYED = """
{{ config(materialized='materialized_table', primary_key=['id']) }}
select id %% %d as id, 'new' as what from range(3)
"""


@pytest.mark.usefixtures("project")
class TestSwitching:
    @pytest.fixture(scope="class")
    def models(self):
        return {"switched.sql": _PLAIN % "table"}

    @pytest.fixture
    def write(self, project):
        return lambda sql: write_file(sql, project.project_root, "models", "switched.sql")

    @pytest.fixture
    def rows(self, project):
        query = f"select what, count(*) from {project.test_schema}.switched group by what"
        return lambda: project.run_sql(query, fetch="all")

    @pytest.fixture
    def names(self, project):
        query = f"show tables in {project.test_schema}"
        return lambda: sorted(row[1] for row in project.run_sql(query, fetch="all"))

    def test_a_failure_leaves_the_old_table(self, write, rows, names):
        run_dbt(["run"])
        write(_KEYED % 2)
        results = run_dbt(["run", "--full-refresh"], expect_pass=False)
        assert "MATERIALIZED_TABLE_CONSTRAINT_VIOLATED" in results.results[0].message
        assert rows() == [("old", 3)]
        assert names() == ["switched"]

    def test_the_new_table_takes_its_place(self, write, rows, names):
        write(_KEYED % 10)
        assert run_dbt(["run", "--full-refresh"]).results[0].message == "CREATED"
        assert rows() == [("new", 3)]
        assert names() == ["switched"]

    def test_the_registry_knows_it_by_its_own_name(self, project):
        query = f"show materialized tables in {project.test_schema}"
        listed = [row[1] for row in project.run_sql(query, fetch="all")]
        assert listed == ["switched"]
        assert run_dbt(["run"]).results[0].message == "UP TO DATE"

    def test_a_view_is_dropped_for_the_table_without_an_option(self, write, rows, names):
        write(_PLAIN % "view")
        run_dbt(["run"])
        write(_KEYED % 10)
        assert run_dbt(["run"]).results[0].message == "CREATED"
        assert rows() == [("new", 3)]
        assert names() == ["switched"]
