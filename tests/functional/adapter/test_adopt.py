"""A dbt incremental model that becomes a materialized table with the rows it has, and goes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

_SEED = "id,origin\n1,EWR\n2,JFK\n3,JFK\n"
_INCREMENTAL = """
{{ config(materialized='incremental') }}
select id, origin from {{ ref('flights') }}
{% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}
"""
_ADOPTING = """
{{ config(materialized='materialized_table', adopt=true, refresh_mode='full') }}
select id, origin from {{ ref('flights') }}
"""


def assert_kept(before, after):
    """The same table to Delta, every file as it was; a commit without rows may add an empty one."""
    assert after[0] == before[0]
    assert before[1].items() <= after[1].items()


class Base:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"kept.sql": _INCREMENTAL}

    @pytest.fixture(scope="class")
    def ask(self, project):
        return lambda sql: project.run_sql(
            sql.format(t=f"{project.test_schema}.kept", s=project.test_schema), fetch="all"
        )

    @pytest.fixture
    def run(self, project):
        """Runs the model, with another text if one is given, and returns its message."""

        def run(sql: str | None = None, *flags: str, passes: bool = True) -> str:
            if sql is not None:
                write_file(sql, project.project_root, "models", "kept.sql")
            arguments = ["run", "--select", "kept", *flags]
            return run_dbt(arguments, expect_pass=passes).results[0].message

        return run

    @pytest.fixture
    def rows(self, ask):
        return lambda: [tuple(row) for row in ask("select * from {t} order by id")]

    @pytest.fixture
    def delta(self, ask, warehouse, project):
        """Delta's identity of the table, and the files of its rows."""

        def look():
            root = Path(warehouse) / f"{project.test_schema}.db" / "kept"
            files = {p.name: p.read_bytes() for p in root.glob("*.parquet")}
            return ask("describe detail {t}")[0][1], files

        return look


class TestThereAndBack(Base):
    """One table's life; the tests of this class build on each other."""

    def test_a_plain_table_is_not_adopted_without_an_option(self, run, rows, project):
        run_dbt(["seed"])
        run()
        project.run_sql(f"delete from {project.test_schema}.flights where id = 1")
        message = run(_ADOPTING.replace("adopt=true, ", ""), passes=False)
        assert "--full-refresh" in message
        assert "`adopt: true`" in message
        _, printed = run_dbt_and_capture(["--quiet", "run-operation", "plan_materialized_tables"])
        assert "[MATERIALIZED_TABLE_ROWS_DIFFER]" in message
        assert "1 rows differ" in message
        assert "refuses others" in printed
        message = run(_ADOPTING.replace("adopt=true", "adopt=false"), passes=False)
        assert "[MATERIALIZED_TABLE_EXPECTED]" in message
        assert rows() == [(1, "EWR"), (2, "JFK"), (3, "JFK")]

    @pytest.mark.conformance
    def test_every_difference_is_in_one_error(self, run, delta):
        before = delta()
        other = _ADOPTING.replace("id, origin", "cast(id as string) as id, origin as other")
        message = run(other.replace("adopt=true", "adopt=true, partition_by='id'"), passes=False)
        assert "[MATERIALIZED_TABLE_CANNOT_ADOPT]" in message
        assert message.count("\n    - ") == 3
        assert delta() == before

    @pytest.mark.usefixtures("project")
    def test_a_plan_names_what_it_adopts(self, project):
        write_file(_ADOPTING, project.project_root, "models", "kept.sql")
        planned = ["run-operation", "plan_materialized_tables", "--args", '{"output": "json"}']
        _, printed = run_dbt_and_capture(["--quiet", *planned])
        assert '"table adopted"' in printed

    def test_empty_adopts_nothing(self, run, ask, rows):
        assert run(_ADOPTING, "--empty") == "VALIDATED"
        assert ask("show materialized tables in {s}") == []
        assert len(rows()) == 3

    def test_it_is_adopted_with_its_rows_and_files(self, run, rows, ask, delta):
        before, versions = delta(), len(ask("describe history {t}"))
        assert run() == "ADOPTED"
        assert_kept(before, delta())
        assert rows() == [(1, "EWR"), (2, "JFK"), (3, "JFK")]
        assert [row[1] for row in ask("show materialized tables in {s}")] == ["kept"]
        assert len(ask("describe history {t}")) > versions
        facts = json.loads(Path("target/run_results.json").read_text(encoding="utf-8"))
        assert facts["results"][-1]["adapter_response"]["action"] == "ADOPTED"

    @pytest.mark.conformance
    def test_it_is_adopted_once(self, run, rows):
        assert run() == "UP TO DATE"
        assert len(rows()) == 3

    @pytest.mark.conformance
    def test_it_is_altered_in_place(self, run, rows, delta):
        before = delta()
        assert run(_ADOPTING.replace("adopt=true", "adopt=true, freshness='2 hours'")).startswith(
            "ALTERED 1 change"
        )
        assert_kept(before, delta())
        assert len(rows()) == 3

    def test_a_source_that_moves_ends_the_trust(self, run, rows, delta, project):
        project.run_sql(f"insert into {project.test_schema}.flights values (4, 'LGA')")
        identity = delta()[0]
        assert run() == "REFRESHED 3 rows"
        assert rows() == [(2, "JFK"), (3, "JFK"), (4, "LGA")]
        assert delta()[0] == identity

    def test_an_incremental_model_continues_with_an_adopted_table(
        self, run, rows, ask, delta, project
    ):
        project.run_sql(f"delete from {project.test_schema}.flights where id < 4")
        project.run_sql(f"insert into {project.test_schema}.flights values (5, 'BOS')")
        before = delta()
        run(_INCREMENTAL)
        assert rows() == [(2, "JFK"), (3, "JFK"), (4, "LGA"), (5, "BOS")]
        assert_kept(before, delta())
        assert ask("show materialized tables in {s}") == []
        run()
        assert len(rows()) == 4

    @pytest.mark.conformance
    def test_it_is_adopted_again_and_follows_its_source(self, run, rows, project):
        assert run(_ADOPTING.replace("refresh_mode='full'", "refresh_mode='continuous'")) == (
            "ADOPTED"
        )
        project.run_sql(f"insert into {project.test_schema}.flights values (6, 'SFO')")
        run()
        assert [row[0] for row in rows()] == [2, 3, 4, 5, 6]

    @pytest.mark.conformance
    def test_a_full_refresh_replaces_what_was_adopted(self, run, rows):
        assert run(None, "--full-refresh") == "REPLACED"
        assert [row[0] for row in rows()] == [4, 5, 6]


@pytest.mark.conformance
class TestNothingThere(Base):
    def test_a_new_table_is_created(self, run, rows):
        run_dbt(["seed"])
        assert run(_ADOPTING) == "CREATED"
        assert len(rows()) == 3
