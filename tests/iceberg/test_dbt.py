"""dbt projects with tables of Iceberg in a catalog of its own, in projects with tables of Delta."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture, write_file
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt shows

_SEED = "id,origin\n1,EWR\n2,JFK\n3,JFK\n"
_MODEL = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select origin, count(*) as flights from {{ ref('flights') }} group by origin
"""
_PROJECT_OF_TWO_CATALOGS = {
    "models": {"test": {"lake": {"+database": "ice"}}},
    "seeds": {
        "test": {
            "codes": {
                "+database": "ice",
                "+column_types": {"code": "varchar(5)", "n": "smallint"},
                "+partition_by": "days(day)",
            }
        }
    },
    "snapshots": {"test": {"+database": "ice"}},
}


@pytest.fixture(scope="class")
def ask(project):
    """Runs a query and returns its rows."""
    return lambda sql: project.run_sql(sql, fetch="all")


@pytest.fixture
def write(project):
    """Changes a file of a model."""
    return lambda sql, name: write_file(sql, project.project_root, "models", *name.split("/"))


def run_of(name, *, expect_pass=True):
    """Run one node; its message and its facts in run_results.json."""
    results = run_dbt(["run", "--select", name], expect_pass=expect_pass)
    written = json.loads(Path("target/run_results.json").read_text(encoding="utf-8"))
    return results.results[-1].message, written["results"][-1]["adapter_response"]


def provider(ask, name):
    facts = {row[0]: row[1] for row in ask(f"describe table extended {name}")}
    return facts["Provider"]


def snapshots(ask, name):
    return [row[0] for row in ask(f"select snapshot_id from {name}.snapshots")]


def type_of(project, database, name):
    """The type by which dbt knows a relation, looked up again."""
    with get_connection(project.adapter):
        project.adapter.cache.clear()
        found = project.adapter.get_relation(database, project.test_schema, name)
    return None if found is None else str(found.type)


class TestMaterializedTable:
    """One table in a project of two catalogs; the tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return _PROJECT_OF_TWO_CATALOGS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        tests = """
models:
  - name: by_origin
    description: It's "ours"
    config: {persist_docs: {relation: true, columns: true}}
    data_tests:
      - materialized_table_equals_query
      - materialized_table_healthy
      - materialized_table_fresh
    columns:
      - {name: origin, description: "where 'from'", data_tests: [unique, not_null]}
  - name: total
    data_tests: [materialized_table_equals_query]
"""
        total = (
            "{{ config(materialized='materialized_table') }} "
            "select sum(flights) as n from {{ ref('by_origin') }}"
        )
        return {"lake": {"by_origin.sql": _MODEL}, "total.sql": total, "schema.yml": tests}

    def test_a_build_creates_tables_in_both_catalogs(self, project, ask):
        run_dbt(["build"])
        schema = project.test_schema
        assert provider(ask, f"ice.{schema}.by_origin") == "iceberg"
        assert provider(ask, f"spark_catalog.{schema}.total") == "delta"
        rows = ask(f"select * from ice.{schema}.by_origin order by 1")
        assert rows == [("EWR", 1), ("JFK", 2)]
        assert ask(f"select n from {schema}.total") == [(3,)]
        described = ask(f"describe table extended ice.{schema}.by_origin")
        assert described[0] == ("origin", "string", "where 'from'")
        assert ("Comment", 'It\'s "ours"', "") in described
        assert type_of(project, "ice", "by_origin") == "materialized_table"

    def test_a_second_run_writes_nothing(self, project, ask):
        name = f"ice.{project.test_schema}.by_origin"
        before = snapshots(ask, name)
        message, response = run_of("by_origin")
        assert (message, response["action"]) == ("UP TO DATE", "UNCHANGED")
        assert snapshots(ask, name) == before

    def test_a_changed_source_is_followed_through_both_catalogs(self, project, ask):
        schema = project.test_schema
        project.run_sql(f"insert into {schema}.flights values (4, 'LGA')")
        run_dbt(["build", "--exclude", "flights"])
        assert len(ask(f"select * from ice.{schema}.by_origin")) == 3
        assert ask(f"select n from {schema}.total") == [(4,)]

    def test_the_query_gets_a_column_in_place(self, project, ask, write):
        name = f"ice.{project.test_schema}.by_origin"
        write(_MODEL.replace("as flights", "as flights, max(id) as latest"), "lake/by_origin.sql")
        message, _ = run_of("by_origin")
        assert message.startswith("ALTERED ")
        assert ask(f"select latest from {name} order by 1") == [(1,), (3,), (4,)]

    def test_a_column_goes_by_a_full_refresh_only(self, project, ask, write):
        name = f"ice.{project.test_schema}.by_origin"
        write(_MODEL, "lake/by_origin.sql")
        message, _ = run_of("by_origin", expect_pass=False)
        assert "you can only append new columns" in message
        _, printed = run_dbt_and_capture(["run-operation", "plan_materialized_tables"])
        assert f"{name}: refused" in printed
        results = run_dbt(["run", "--full-refresh", "--select", "by_origin"])
        assert results.results[0].message == "REPLACED"
        assert ask(f"select * from {name} order by 1") == [("EWR", 1), ("JFK", 2), ("LGA", 1)]

    def test_the_format_may_be_named(self, write):
        named = _MODEL.replace("freshness=", "file_format='iceberg', freshness=")
        write(named, "lake/by_origin.sql")
        assert run_of("by_origin")[0] == "UP TO DATE"

    def test_another_format_than_the_catalogs_is_refused(self, write):
        write(_MODEL.replace("freshness=", "file_format='delta', freshness="), "lake/by_origin.sql")
        message, _ = run_of("by_origin", expect_pass=False)
        assert "[MATERIALIZED_TABLE_INVALID_CONFIG]" in message
        assert "tables of its catalog are tables of Apache Iceberg" in message
        write(_MODEL, "lake/by_origin.sql")

    @pytest.mark.usefixtures("project")
    def test_docs_have_both_catalogs(self):
        catalog = run_dbt(["docs", "generate"])
        node = catalog.nodes["model.test.by_origin"]
        assert (node.metadata.database, node.metadata.type) == ("ice", "materialized_table")
        assert list(node.columns) == ["origin", "flights"]
        assert node.metadata.comment == 'It\'s "ours"'
        assert node.columns["origin"].comment == "where 'from'"
        assert catalog.nodes["model.test.total"].metadata.database == "spark_catalog"

    def test_orphans_are_dropped_in_the_catalog(self, project, ask):
        schema = project.test_schema
        (Path(project.project_root) / "models" / "lake" / "by_origin.sql").unlink()
        (Path(project.project_root) / "models" / "total.sql").unlink()
        (Path(project.project_root) / "models" / "schema.yml").unlink()
        write_file(
            "{{ config(materialized='view') }} select 1 as id",
            project.project_root,
            "models",
            "lake",
            "v.sql",
        )
        arguments = ["run-operation", "drop_orphaned_materialized_tables"]
        run_dbt([*arguments, "--args", "{dry_run: false}"])
        assert ask(f"show tables in ice.{schema}") == []


class TestPlainTables:
    """dbt-spark's own materializations in the catalog of Iceberg."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return _PROJECT_OF_TWO_CATALOGS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": _SEED, "codes.csv": "code,n,day\na,1,2026-01-01\nb,2,2026-01-02\n"}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {
            "kept.sql": """
{% snapshot kept %}
{{ config(strategy='check', unique_key='id', check_cols=['origin'], hard_deletes='invalidate') }}
select * from {{ ref('flights') }}
{% endsnapshot %}
"""
        }

    @pytest.fixture(scope="class")
    def models(self):
        source = "select id, origin from {{ ref('flights') }}"
        incremental = "materialized='incremental', incremental_strategy"
        newer = "{% if is_incremental() %} where id > 2 {% endif %}"
        return {
            "lake": {
                "all_rows.sql": f"{{{{ config(materialized='table') }}}} {source}",
                "seen.sql": f"{{{{ config(materialized='view') }}}} {source}",
                "appended.sql": f"{{{{ config({incremental}='append') }}}} {source} {newer}",
                "merged.sql": f"{{{{ config({incremental}='merge', unique_key='id') }}}} "
                f"select id, origin, {{{{ 1 if is_incremental() else 0 }}}} as run from "
                f"{{{{ ref('flights') }}}} {newer}",
                "overwritten.sql": f"{{{{ config({incremental}='insert_overwrite', "
                "partition_by='origin') }} select id, {{ 1 if is_incremental() else 0 }} as run, "
                f"origin from {{{{ ref('flights') }}}} {newer}",
                "partly.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("all_rows").where("id > 1")
""",
                "schema.yml": """
models:
  - name: all_rows
    description: it's all
    config: {persist_docs: {relation: true, columns: true}}
    columns:
      - name: id
        description: "the 'id'"
        data_tests: [unique, {not_null: {config: {store_failures: true}}}]
""",
            }
        }

    def test_each_materialization_is_built(self, project, ask):
        run_dbt(["build"])
        schema, three = project.test_schema, [(1, "EWR"), (2, "JFK"), (3, "JFK")]
        for name in ("all_rows", "seen", "appended"):
            assert ask(f"select id, origin from ice.{schema}.{name} order by 1") == three
        for name in ("all_rows", "appended", "merged", "overwritten", "kept", "codes", "partly"):
            assert provider(ask, f"ice.{schema}.{name}") == "iceberg"
        assert provider(ask, f"spark_catalog.{schema}.flights") == "delta"
        assert len(ask(f"select * from ice.{schema}.partly")) == 2
        described = ask(f"describe table extended ice.{schema}.all_rows")
        assert described[0] == ("id", "bigint", "the 'id'")
        assert ("Comment", "it's all", "") in described
        for name, type_ in (("seen", "view"), ("all_rows", "table"), ("nowhere", None)):
            assert type_of(project, "ice", name) == type_

    def test_a_second_build_changes_what_it_should(self, project, ask):
        schema = project.test_schema
        before = {n: snapshots(ask, f"ice.{schema}.{n}") for n in ("codes", "all_rows", "merged")}
        project.run_sql(f"update spark_catalog.{schema}.flights set origin = 'LGA' where id = 3")
        project.run_sql(f"delete from spark_catalog.{schema}.flights where id = 1")
        run_dbt(["build", "--exclude", "flights"])
        assert ask(f"select id, origin from ice.{schema}.all_rows order by 1") == [
            (2, "JFK"),
            (3, "LGA"),
        ]
        assert ask(f"select id, origin from ice.{schema}.seen order by 1") == [
            (2, "JFK"),
            (3, "LGA"),
        ]
        assert ask(f"select id, origin from ice.{schema}.appended order by 1, 2") == [
            (1, "EWR"),
            (2, "JFK"),
            (3, "JFK"),
            (3, "LGA"),
        ]
        assert ask(f"select * from ice.{schema}.merged order by 1") == [
            (1, "EWR", 0),
            (2, "JFK", 0),
            (3, "LGA", 1),
        ]
        assert ask(f"select id, run, origin from ice.{schema}.overwritten order by 1, 3") == [
            (1, 0, "EWR"),
            (2, 0, "JFK"),
            (3, 0, "JFK"),
            (3, 1, "LGA"),
        ]
        history = f"select id, origin, dbt_valid_to is null from ice.{schema}.kept order by 1, 2"
        assert ask(history) == [
            (1, "EWR", False),
            (2, "JFK", True),
            (3, "JFK", False),
            (3, "LGA", True),
        ]
        names = {row[1] for row in ask(f"show tables in ice.{schema}")}
        views = {row[1] for row in ask(f"show views in ice.{schema}")}
        assert not [name for name in names | views if "__dbt" in name]
        assert snapshots(ask, f"ice.{schema}.codes") == before["codes"], "an equal seed"
        # Replaced in place: the snapshots from before are still there.
        assert set(before["all_rows"]) < set(snapshots(ask, f"ice.{schema}.all_rows"))

    def test_a_full_refresh_replaces_in_place(self, project, ask):
        schema = project.test_schema
        before = snapshots(ask, f"ice.{schema}.merged")
        run_dbt(["run", "--full-refresh"])
        assert ask(f"select * from ice.{schema}.merged order by 1") == [
            (2, "JFK", 0),
            (3, "LGA", 0),
        ]
        assert set(before) < set(snapshots(ask, f"ice.{schema}.merged"))

    @pytest.mark.usefixtures("project")
    def test_docs_have_columns_of_tables_and_views(self):
        catalog = run_dbt(["docs", "generate"])
        found = {
            key.rpartition(".")[2]: (node.metadata.type, list(node.columns))
            for key, node in catalog.nodes.items()
            if node.metadata.database == "ice"
        }
        assert found["all_rows"] == ("table", ["id", "origin"])
        assert found["seen"] == ("view", ["id", "origin"])
        assert found["overwritten"] == ("table", ["id", "run", "origin"])
        assert "kept" in found

    def test_another_format_is_refused_before_something_is_written(self, project, ask, write):
        schema = project.test_schema
        before = snapshots(ask, f"ice.{schema}.all_rows")
        text = "{{ config(materialized='table', file_format='delta') }} select 1 as id"
        write(text, "lake/all_rows.sql")
        message, _ = run_of("all_rows", expect_pass=False)
        assert "[MATERIALIZED_TABLE_FORMAT_OF_CATALOG]" in message
        assert snapshots(ask, f"ice.{schema}.all_rows") == before
        write(text.replace("'delta'", "'iceberg', database='spark_catalog'"), "lake/all_rows.sql")
        message, _ = run_of("all_rows", expect_pass=False)
        assert "tables of the catalog spark_catalog are tables of Delta" in message

    def test_a_model_changes_its_materialization(self, project, ask, write):
        name = f"ice.{project.test_schema}.all_rows"
        query = "select id, origin from {{ ref('flights') }}"
        merge = ", incremental_strategy='merge', unique_key='id'"
        merges = defaultdict(str, incremental=merge)
        for materialization, type_ in (
            ("materialized_table", "materialized_table"),
            ("incremental", "table"),
            ("materialized_table", "materialized_table"),
            ("table", "table"),
            ("view", "view"),
            ("table", "table"),
            ("view", "view"),
            ("materialized_table", "materialized_table"),
            ("view", "view"),
        ):
            config = f"{{{{ config(materialized='{materialization}'{merges[materialization]}) }}}}"
            write(f"{config} {query}", "lake/all_rows.sql")
            run_of("all_rows")
            assert type_of(project, "ice", "all_rows") == type_
            assert ask(f"select id, origin from {name} order by 1") == [(2, "JFK"), (3, "LGA")]

    def test_a_schema_is_dropped_with_what_is_in_it(self, project, ask):
        schema = project.test_schema
        with get_connection(project.adapter):
            relation = project.adapter.Relation.create(database="ice", schema=schema)
            project.adapter.drop_schema(relation)
        assert (schema,) not in ask("show schemas in ice")


class TestSessionAndContracts:
    """A project whose profile names the catalog of Iceberg."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, spark):  # noqa: ARG002 - dbt uses the Spark that runs
        return {"type": "spark_mt", "method": "session", "threads": 2, "catalog": "ice"}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"flights.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        query = "select id, origin from {{ ref('flights') }}"
        contract = "contract={'enforced': true}"
        return {
            "ours.sql": f"{{{{ config(materialized='materialized_table', {contract}) }}}} {query}",
            "plain.sql": f"{{{{ config(materialized='table', {contract}) }}}} {query}",
            "schema.yml": """
models:
  - name: ours
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: origin, data_type: string}
  - name: plain
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: origin, data_type: string}
""",
        }

    def test_empty_shows_a_view_until_the_table_is_built(self, project, ask):
        run_dbt(["seed"])
        run_dbt(["run", "--empty", "--select", "ours"])
        assert type_of(project, "ice", "ours") == "view"
        assert ask(f"select * from ice.{project.test_schema}.ours") == []

    def test_not_null_is_in_the_materialized_table_only(self, project, ask):
        _, log = run_dbt_and_capture(["run"])
        schema = project.test_schema
        assert type_of(project, "ice", "ours") == "materialized_table"
        for name in ("ours", "plain"):
            assert len(ask(f"select * from ice.{schema}.{name}")) == 3
        assert "constraint not_null (id): no Apache Iceberg table has it." in log
        project.run_sql(f"insert into ice.{schema}.flights values (null, 'X')")
        results = run_dbt(["run"], expect_pass=False)
        messages = {each.node.name: each.message for each in results}
        assert "NULL" in messages["ours"]
        assert len(ask(f"select * from ice.{schema}.ours")) == 3
        assert len(ask(f"select * from ice.{schema}.plain")) == 4

    def test_debug_names_each_line_that_the_session_lacks(self, project):
        with get_connection(project.adapter):
            project.adapter.execute("set spark.wap.branch = audit")
            with pytest.raises(DbtRuntimeError) as raised:
                project.adapter.debug_query()
            project.adapter.execute("reset spark.wap.branch")
        assert "[MATERIALIZED_TABLE_ICEBERG_SESSION]" in raised.value.msg
        assert "spark.sql.catalog.cached.cache-enabled: false" in raised.value.msg
        assert "spark.wap.branch must not be set, but is audit" in raised.value.msg
        assert "spark.sql.extensions" not in raised.value.msg
        assert "catalog.ice.cache" not in raised.value.msg
