"""A model of the materialization `materialized_table`, from its first run on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture, write_file

from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.adapters.spark_mt.spark.tables.table_store import SparkTableStore
from tests.support.parses import counted_parses

_SEED = "id,origin\n1,EWR\n2,JFK\n3,JFK\n"
_MODEL = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select origin, count(*) as flights from {{ ref('flights') }} group by origin
"""


def message_and_response(results) -> tuple[str, dict]:
    """The status of the only model of a run, and its facts in run_results.json."""
    written = json.loads(Path("target/run_results.json").read_text(encoding="utf-8"))
    return results.results[-1].message, written["results"][-1]["adapter_response"]


def _written() -> str:
    """The statement of the model that dbt ran."""
    return next(Path("target/run").rglob("by_origin.sql")).read_text(encoding="utf-8")


class Base:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"by_origin.sql": _MODEL}

    @pytest.fixture(scope="class")
    def ask(self, project):
        """Runs a query and returns its rows."""
        return lambda sql: project.run_sql(sql, fetch="all")

    @pytest.fixture
    def write(self, project):
        """Changes the model's file."""
        return lambda sql, name="by_origin.sql": write_file(
            sql, project.project_root, "models", name
        )


class TestLife(Base):
    """One table's life; the tests of this class build on each other."""

    def test_a_run_creates_and_fills(self, project, ask):
        run_dbt(["seed"])
        message, response = message_and_response(run_dbt(["run"]))
        assert message == "CREATED"
        assert (response["action"], response["rows"], response["refresh"]) == (
            "CREATED",
            2,
            "REFRESHED",
        )
        rows = ask(f"select * from {project.test_schema}.by_origin order by 1")
        assert rows == [("EWR", 1), ("JFK", 2)]

    def test_nothing_moved(self, project, ask, monkeypatch):
        before = ask(f"describe history {project.test_schema}.by_origin")
        parses, loads, find = counted_parses(monkeypatch), [], SparkTableStore.find

        def counted(store, name):
            loads.append(name.name)
            return find(store, name)

        monkeypatch.setattr(SparkTableStore, "find", counted)
        message, response = message_and_response(run_dbt(["run"]))
        assert message == "UP TO DATE"
        assert (parses, loads) == ([_written()], ["by_origin"]), "each once"
        assert (response["action"], response["refresh"], response["changes"]) == (
            "UNCHANGED",
            "UP_TO_DATE",
            [],
        )
        assert len(ask(f"describe history {project.test_schema}.by_origin")) == len(before)

    def test_a_source_moved(self, project, ask):
        project.run_sql(f"insert into {project.test_schema}.flights values (4, 'LGA')")
        message, response = message_and_response(run_dbt(["run"]))
        assert message == "REFRESHED 3 rows"
        source = f"spark_catalog.{project.test_schema}.flights"
        assert list(response["positions_to"]) == [source]
        assert response["positions_from"] != response["positions_to"]
        assert len(ask(f"select * from {project.test_schema}.by_origin")) == 3

    def test_the_query_gets_a_column(self, project, ask, write):
        write(_MODEL.replace("as flights", "as flights, max(id) as latest"))
        message, response = message_and_response(run_dbt(["run"]))
        assert message.startswith("ALTERED ")
        assert message.endswith("REFRESHED 3 rows")
        assert response["changes"]
        rows = ask(f"select latest from {project.test_schema}.by_origin order by 1")
        assert rows == [(1,), (3,), (4,)]

    def test_a_column_cannot_go(self, project, ask, write):
        write(_MODEL)
        results = run_dbt(["run"], expect_pass=False)
        message = results.results[0].message
        assert "you can only append new columns at the end of original schema" in message
        assert "Stacktrace" not in message
        rows = ask(f"select latest from {project.test_schema}.by_origin order by 1")
        assert rows == [(1,), (3,), (4,)]

    def test_full_refresh_replaces(self, project, ask, write):
        write(_MODEL)
        message, response = message_and_response(run_dbt(["run", "--full-refresh"]))
        assert (message, response["action"]) == ("REPLACED", "REPLACED")
        assert [c[0] for c in ask(f"describe {project.test_schema}.by_origin")] == [
            "origin",
            "flights",
        ]

    def test_empty_alters_nothing(self, project, ask, write):
        write(_MODEL.replace("as flights", "as flights, min(id) as first"))
        before = ask(f"show create materialized table {project.test_schema}.by_origin")
        message, _ = message_and_response(run_dbt(["run", "--empty"]))
        assert message == "VALIDATED"
        assert ask(f"show create materialized table {project.test_schema}.by_origin") == before
        assert len(ask(f"select * from {project.test_schema}.by_origin")) == 3

    def test_empty_finds_errors(self, project, ask, write):
        write(_MODEL.replace("count(*) as flights", "count(nothing) as flights"))
        results = run_dbt(["run", "--empty"], expect_pass=False)
        assert "UNRESOLVED_COLUMN" in results.results[0].message
        assert len(ask(f"select * from {project.test_schema}.by_origin")) == 3

    def test_never_leaves_the_refresh_to_others(self, project, ask, write):
        write(_MODEL.replace("freshness=", "refresh_on_run='never', freshness="))
        project.run_sql(f"insert into {project.test_schema}.flights values (5, 'BOS')")
        message, response = message_and_response(run_dbt(["run"]))
        assert (message, response.get("refresh")) == ("UNCHANGED", None)
        assert len(ask(f"select * from {project.test_schema}.by_origin")) == 3

    def test_always_recomputes(self, write):
        write(_MODEL.replace("freshness=", "refresh_on_run='always', freshness="))
        assert message_and_response(run_dbt(["run"]))[0] == "REFRESHED 4 rows"
        assert message_and_response(run_dbt(["run"]))[0] == "REFRESHED 4 rows"

    def test_docs_show_the_type(self, project):
        catalog = run_dbt(["docs", "generate"])
        node = catalog.nodes["model.test.by_origin"]
        assert node.metadata.type == "materialized_table"
        assert node.metadata.database == project.database
        assert list(node.columns) == ["origin", "flights"]

    @pytest.mark.usefixtures("project")
    def test_show_takes_our_statements(self):
        _, log = run_dbt_and_capture(
            ["show", "--inline", "show materialized tables in {{ schema }}", "--limit", "3"]
        )
        assert "by_origin" in log


class TestRenderedStatement(Base):
    @pytest.fixture(scope="class")
    def macros(self):
        comment = "{% macro materialized_table_comment() %}comment 'of the project'{% endmacro %}"
        return {"comment.sql": comment}

    def test_a_macro_of_the_project_renders_what_runs(self, project, ask):
        run_dbt(["seed"])
        _, log = run_dbt_and_capture(["--debug", "run"])
        written = _written()
        assert written.startswith("create or alter materialized table")
        assert "comment 'of the project'" in written
        assert f'"node_id": "model.test.by_origin"}} */\n{written}' in log
        shown = ask(f"show create materialized table {project.test_schema}.by_origin")[0][0]
        assert "COMMENT 'of the project'" in shown

    @pytest.mark.usefixtures("project")
    def test_a_plan_renders_the_same(self):
        _, printed = run_dbt_and_capture(["run-operation", "plan_materialized_tables"])
        assert "1 model: 1 unchanged" in printed


@pytest.mark.conformance
class TestEmptyBeforeTheFirstRun(Base):
    def test_a_view_is_shown_until_the_table_is_built(self, project, ask):
        run_dbt(["seed"])
        assert message_and_response(run_dbt(["run", "--empty"]))[0] == "VALIDATED"
        assert ask(f"select * from {project.test_schema}.by_origin") == []
        assert message_and_response(run_dbt(["run"]))[0] == "CREATED"
        assert len(ask(f"select * from {project.test_schema}.by_origin")) == 2


class TestConfig(Base):
    @pytest.mark.usefixtures("project")
    def test_everything_wrong_is_in_one_error(self, write):
        write(
            "{{ config(materialized='materialized_table', freshness='0 minutes', "
            "refresh_mode='incremental', partition='origin', incremental_strategy='merge') }}"
            "select 1 as id"
        )
        message = run_dbt(["run"], expect_pass=False).results[0].message
        assert "[MATERIALIZED_TABLE_INVALID_CONFIG]" in message
        for key in ("freshness_interval", "refresh_mode", "partition", "incremental_strategy"):
            assert f"- {key}: " in message

    @pytest.mark.parametrize(
        "freshness",
        [
            pytest.param("'3 minutes'", marks=pytest.mark.conformance),
            "{'build_after': {'count': 3, 'period': 'minute'}}",
        ],
    )
    def test_freshness_in_every_form(self, project, ask, write, freshness):
        run_dbt(["seed"])
        write(_MODEL.replace("'10 minutes'", freshness))
        run_dbt(["run"])
        shown = ask(f"show materialized tables in {project.test_schema} like 'by_origin'")
        assert [row[3] for row in shown] == ["INTERVAL '3' MINUTE"]


class TestContract(Base):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "by_origin.sql": _MODEL.replace("freshness", "contract={'enforced': true}, freshness"),
            "schema.yml": """
models:
  - name: by_origin
    config: {persist_docs: {relation: true, columns: true}}
    description: It's "ours"
    constraints:
      - {type: primary_key, columns: [origin], warn_unsupported: false}
    columns:
      - {name: origin, data_type: string, description: "where 'from'"}
      - {name: flights, data_type: bigint, constraints: [{type: not_null}]}
""",
        }

    def test_columns_keys_and_comments_are_declared(self, project, ask, write):
        run_dbt(["seed"])
        assert message_and_response(run_dbt(["run"]))[0] == "CREATED"
        shown = ask(f"show create materialized table {project.test_schema}.by_origin")[0][0]
        assert "PRIMARY KEY (`origin`) NOT ENFORCED" in shown
        assert "NOT NULL" in shown
        described = ask(f"describe {project.test_schema}.by_origin")
        assert described[0] == ("origin", "string", "where 'from'")

        write(
            _MODEL.replace("freshness", "contract={'enforced': true}, freshness").replace(
                "count(*)", "cast(count(*) as string)"
            )
        )
        message = run_dbt(["run"], expect_pass=False).results[0].message
        assert "contract" in message


@pytest.mark.conformance
class TestTextTypes(Base):
    """CHAR and VARCHAR in the list that dbt writes, and queries that end with a semicolon."""

    @pytest.fixture(scope="class")
    def models(self):
        query = "select id, c, v from {{ schema }}.texts"
        config = "materialized='materialized_table', freshness='1 minute'"
        return {
            "described.sql": f"{{{{ config({config}) }}}} {query};\n-- the end\n",
            "agreed.sql": f"{{{{ config({config}, contract={{'enforced': true}}) }}}} {query} ; ",
            "schema.yml": """
models:
  - name: described
    config: {persist_docs: {columns: true}}
    columns:
      - {name: v, description: "a text"}
  - name: agreed
    columns:
      - {name: id, data_type: int}
      - {name: c, data_type: char(3)}
      - {name: v, data_type: varchar(10)}
""",
        }

    def test_each_run_finds_the_types_that_the_first_one_declared(self, project, ask):
        schema = project.test_schema

        def types_of(model):
            """As dbt sees them: DESCRIBE of a Delta table shows CHAR and VARCHAR as STRING."""
            relation = project.adapter.Relation.create(
                database=project.database, schema=schema, identifier=model
            )
            with get_connection(project.adapter):
                columns = project.adapter.get_columns_in_relation(relation)
            return [column.dtype for column in columns]

        project.run_sql(
            f"create table {schema}.texts (id int, c char(3), v varchar(10)) using delta"
        )
        project.run_sql(f"insert into {schema}.texts values (1, 'a', 'b'), (2, null, 'c ')")
        results = run_dbt(["run"])
        assert [result.message for result in results] == ["CREATED", "CREATED"]
        for number in range(2):
            project.run_sql(f"insert into {schema}.texts values (3, 'x', 'y{number}')")
            results = run_dbt(["run"])
            for model in ("described", "agreed"):
                assert types_of(model) == ["int", "char(3)", "varchar(10)"]
                assert len(ask(f"select * from {schema}.{model}")) == 3 + number
        assert ask(f"describe {schema}.described")[2][2] == "a text"


@pytest.mark.conformance
class TestHiddenRelation(Base):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "history.sql": "{{ config(materialized='incremental') }} "
            "select * from {{ ref('flights') }} "
            "{% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}"
        }

    def test_what_a_listing_hides_is_not_created_over(self, project, ask, monkeypatch):
        """A table that SHOW TABLES leaves out, as a catalog under load may (dbt-spark 950)."""
        run_dbt(["seed"])
        run_dbt(["run"])
        project.run_sql(f"delete from {project.test_schema}.flights where id < 3")
        monkeypatch.setattr(SparkMTAdapter, "list_relations_without_caching", lambda *_: [])
        run_dbt(["run"])
        assert len(ask(f"select * from {project.test_schema}.history")) == 3

    def test_columns_of_what_is_not_there(self, project):
        missing = project.adapter.Relation.create(
            database=project.database, schema=project.test_schema, identifier="nowhere"
        )
        with get_connection(project.adapter):
            assert project.adapter.get_columns_in_relation(missing) == []


@pytest.mark.conformance
class TestSuspended(Base):
    def test_a_run_does_not_refresh_a_suspended_table(self, project, ask, write):
        table = f"{project.test_schema}.by_origin"
        run_dbt(["seed"])
        run_dbt(["run"])
        project.run_sql(f"alter materialized table {table} suspend")
        project.run_sql(f"insert into {project.test_schema}.flights values (4, 'LGA')")
        message, response = message_and_response(run_dbt(["run"]))
        assert (message, response["status"], response.get("refresh")) == (
            "SUSPENDED",
            "SUSPENDED",
            None,
        )
        write(_MODEL.replace("as flights", "as flights, max(id) as latest"))
        message, response = message_and_response(run_dbt(["run"]))
        assert message.startswith("SUSPENDED, ALTERED 2 changes")
        assert ask(f"select * from {table} order by 1") == [("EWR", 1, None), ("JFK", 2, None)]
        project.run_sql(f"alter materialized table {table} resume")
        assert len(ask(f"select * from {table} where latest is not null")) == 3
        assert message_and_response(run_dbt(["run"]))[0] == "UP TO DATE"
