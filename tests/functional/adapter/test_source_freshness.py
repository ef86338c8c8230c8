"""`dbt source freshness`: with a query of the rows, and by the commits of tables alone."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from dbt.tests.adapter.utils.test_source_freshness_custom_info import (
    BaseCalculateFreshnessMethod,
)
from dbt.tests.util import run_dbt

DAY_S = 86_400


@pytest.mark.conformance
class TestCalculateFreshnessMethod(BaseCalculateFreshnessMethod):
    pass


_SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    freshness:
      warn_after: {count: 1, period: day}
      error_after: {count: 3, period: day}
    tables:
      - name: compacted
      - name: never_loaded
      - name: filled
      - name: files
      - name: a_view
      - name: gone
      - name: with_query
        loaded_at_query: select timestamp '2026-01-01 00:00:00'
"""
_FILLED = """
{{ config(materialized='materialized_table', freshness='1 day') }}
select id from {{ this.schema }}.compacted
"""


class TestFreshnessByCommits:
    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": _SOURCES, "filled.sql": _FILLED}

    def test_what_commits_show(self, project):
        schema = project.test_schema
        for sql in (
            "create table {s}.compacted (id int) using delta",
            "insert into {s}.compacted values (1)",
            "insert into {s}.compacted values (2)",
            "create table {s}.never_loaded (id int) using delta",
            "create table {s}.files using parquet as select 1 as id",
            "create view {s}.a_view as select * from {s}.compacted",
            "create table {s}.with_query (id int) using delta",
        ):
            project.run_sql(sql.format(s=schema))
        run_dbt(["run"])
        changed = _newest_commit_ms(project, "compacted")
        # neither changes a row
        project.run_sql(f"optimize {schema}.compacted")
        project.run_sql(f"alter table {schema}.compacted set tblproperties ('a' = 'b')")

        found = {r.node.name: r for r in run_dbt(["source", "freshness"], expect_pass=False)}

        compacted = found["compacted"]
        assert compacted.status == "pass"
        assert round(compacted.max_loaded_at.timestamp() * 1000) == changed
        # It has what its sources have, whenever that was loaded.
        filled = found["filled"].max_loaded_at.timestamp() * 1000
        assert filled > _newest_commit_ms(project, "filled")
        assert found["never_loaded"].status == "error"
        assert found["with_query"].status == "error"
        for name, kind in {"files": "parquet table", "a_view": "view", "gone": "no such"}.items():
            assert found[name].status == "runtime error"
            assert "MATERIALIZED_TABLE_FRESHNESS_WITHOUT_COMMITS" in found[name].message
            assert kind in found[name].message

    def test_a_materialized_table_is_as_old_as_the_change_that_it_lacks(self, project):
        schema = project.test_schema
        project.run_sql(f"insert into {schema}.compacted values (3)")
        changed = _newest_commit_ms(project, "compacted")
        (filled,) = run_dbt(["source", "freshness", "--select", "source:raw.filled"])
        assert round(filled.max_loaded_at.timestamp() * 1000) == changed
        assert 0 < filled.age < DAY_S
        artifact = Path(project.project_root, "target", "sources.json")
        written = json.loads(artifact.read_text(encoding="utf-8"))
        assert [each["status"] for each in written["results"]] == ["pass"]


def _newest_commit_ms(project, table: str) -> int:
    """The time in the newest commit of a table's log."""
    (detail,) = project.run_sql(
        f"select _metadata.file_path from {project.test_schema}.{table} limit 1", fetch="all"
    )
    log = Path(unquote(urlparse(detail[0]).path)).parent / "_delta_log"
    newest = max(log.glob("*.json"))
    actions = map(json.loads, newest.read_text(encoding="utf-8").splitlines())
    return next(a["commitInfo"]["timestamp"] for a in actions if "commitInfo" in a)
