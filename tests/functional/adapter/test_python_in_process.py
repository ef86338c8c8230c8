"""Python models beyond dbt's tests: their sessions, their errors, what they print and write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

_SOURCE = """
{{ config(materialized='table') }}
select id, cast(id % 2 as string) as kind from range(4)
"""
_TYPED = """

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Factor:
    value: int = 2


def model(dbt, session):
    dbt.config(materialized="table", partition_by="kind")
    print("hello from the model")
    print(dbt.this, dbt.is_incremental, end="")
    rows = dbt.ref("source_model")
    return rows.withColumn("doubled", rows.id * Factor().value)
"""
_IN_WORKERS = """
from pyspark.sql.functions import udf


class Doubler:
    def __call__(self, value):
        return 2 * value


def model(dbt, session):
    dbt.config(materialized="table")
    return session.range(2).withColumn("doubled", udf(Doubler(), "bigint")("id"))
"""
_VIEW_OF_ITS_OWN = """
def model(dbt, session):
    dbt.config(materialized="table")
    session.sql("select '{name}' as name").createOrReplaceTempView("shared_name")
    met = session.table("shared_name")
    return met.pandas_api() if {pandas} else met
"""
_INCREMENTAL = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="{strategy}", {configs})
    rows = dbt.ref("source_model")
    if dbt.is_incremental:
        rows = rows.filter("id = 3").selectExpr("id", "kind", "'new' as added")
    return rows
"""


class TestFrames:
    """Three models that run at the same time."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "source_model.sql": _SOURCE,
            "typed.py": _TYPED,
            "first.py": _VIEW_OF_ITS_OWN.format(name="first", pandas=True),
            "second.py": _VIEW_OF_ITS_OWN.format(name="second", pandas=False),
        }

    @pytest.fixture(scope="class")
    def log(self, project):
        assert project.test_schema
        return run_dbt_and_capture(["run"])[1]

    def test_a_model_is_a_module_like_any_other(self, project, log):
        query = f"select id, kind, doubled from {project.test_schema}.typed order by id"
        assert project.run_sql(query, fetch="all")[-1] == (3, "1", 6)
        assert "OK created python table model" in log

    @pytest.mark.usefixtures("log")
    def test_configs_are_those_of_a_sql_model(self, project):
        rows = project.run_sql(f"describe extended {project.test_schema}.typed", fetch="all")
        assert ("# Partition Information", "", "") in rows

    def test_printed_lines_are_in_the_log(self, project, log):
        assert "typed: hello from the model\n" in log
        assert f"typed: spark_catalog.{project.test_schema}.typed False\n" in log

    @pytest.mark.usefixtures("log")
    @pytest.mark.parametrize("name", ["first", "second"])
    def test_each_has_a_session_of_its_own(self, project, name):
        assert project.run_sql(f"select * from {project.test_schema}.{name}", fetch="all") == [
            (name,)
        ]


@pytest.mark.conformance
class TestWorkers:
    """Spark's Python workers have no module of the model's name."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"doubled.py": _IN_WORKERS}

    def test_a_function_of_the_model_runs_in_workers(self, project):
        run_dbt(["run"])
        query = f"select * from {project.test_schema}.doubled order by id"
        assert project.run_sql(query, fetch="all") == [(0, 0), (1, 2)]


@pytest.mark.conformance
class TestIncremental:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "source_model.sql": _SOURCE,
            "merged.py": _INCREMENTAL.format(
                strategy="merge", configs="unique_key='id', on_schema_change='append_new_columns'"
            ),
            "partitioned.py": _INCREMENTAL.format(
                strategy="insert_overwrite", configs="partition_by='kind'"
            ).replace(", \"'new' as added\"", ""),
        }

    @pytest.fixture(scope="class")
    def rows(self, project):
        run_dbt(["run"])
        run_dbt(["run", "-s", "merged", "partitioned"])
        return lambda name: project.run_sql(
            f"select * from {project.test_schema}.{name} order by id", fetch="all"
        )

    def test_merge_takes_a_new_column(self, rows):
        assert rows("merged") == [
            (0, "0", None),
            (1, "1", None),
            (2, "0", None),
            (3, "1", "new"),
        ]

    def test_overwrite_leaves_other_partitions(self, rows):
        assert rows("partitioned") == [(0, "0"), (2, "0"), (3, "1")]

    @pytest.mark.usefixtures("rows")
    def test_no_helper_table_stays(self, project):
        listed = project.run_sql(f"show tables in {project.test_schema}", fetch="all")
        assert sorted(row[1] for row in listed) == ["merged", "partitioned", "source_model"]


_FAILS = """
def helper(rows):
    return rows.select("no_such_column")


def model(dbt, session):
    dbt.config(materialized="table")
    {body}
"""


class TestFailures:
    @pytest.fixture(scope="class")
    def models(self):
        return {"failing.py": _FAILS.format(body="return session.range(1)")}

    @pytest.fixture
    def fail(self, project):
        def run(body: str) -> str:
            write_file(_FAILS.format(body=body), project.project_root, "models", "failing.py")
            return run_dbt(["run"], expect_pass=False).results[0].message

        return run

    @pytest.fixture(autouse=True)
    def before(self, project):
        """The table that a failure must leave as it is."""
        project.run_sql(f"create or replace table {project.test_schema}.failing as select 1 as id")
        yield
        assert project.run_sql(f"select * from {project.test_schema}.failing", fetch="all") == [
            (1,)
        ]

    def test_an_exception_names_the_line_of_the_file(self, fail):
        message = fail("return 1 / 0")
        assert "[MATERIALIZED_TABLE_PYTHON_MODEL_FAILED]" in message
        assert "ZeroDivisionError: division by zero" in message
        assert 'File "models/failing.py", line 8, in model' in message
        assert "return 1 / 0" in message
        assert "<module>" not in message

    def test_an_error_of_spark_names_the_calls_of_the_model(self, fail):
        message = fail("return helper(session.range(1))")
        assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION]" in message
        assert "line 8, in model" in message
        assert "line 3, in helper" in message
        assert "pyspark" not in message

    def test_exit_ends_the_model_only(self, fail):
        assert "SystemExit: 3" in fail("import sys; return sys.exit(3)")

    @pytest.mark.conformance  # Spark's Python workers take their time to start
    def test_a_function_fails_while_rows_are_written(self, fail):
        message = fail(
            "return session.range(1).mapInPandas(lambda frames: [1 / 0 for _ in frames], 'a int')"
        )
        assert "ZeroDivisionError: division by zero" in message
        assert "line 8" in message

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("None", "nothing"),
            ("[1]", "a value of the type list"),
            ("session.readStream.format('rate').load()", "a streaming DataFrame"),
        ],
    )
    def test_what_is_no_table(self, fail, value, kind):
        message = fail(f"return {value}")
        assert "[MATERIALIZED_TABLE_PYTHON_MODEL_RESULT]" in message
        assert f"returned {kind}, which" in message


class TestStoredQueries:
    @pytest.fixture(scope="class")
    def models(self):
        return {"wrong.py": "def model(dbt, session):\n    return session.range(1)\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        hook = "create table {{ this.schema }}.by_a_hook (a int)"
        return {"models": {"test": {"+pre-hook": hook}}}

    @pytest.mark.parametrize("materialized", ["materialized_table", "view"])
    def test_refused_before_anything_happens(self, project, materialized):
        code = (
            "def model(dbt, session):\n"
            f"    dbt.config(materialized='{materialized}')\n"
            "    return session.range(1)\n"
        )
        write_file(code, project.project_root, "models", "wrong.py")
        message = run_dbt(["run"], expect_pass=False).results[0].message
        assert "[MATERIALIZED_TABLE_PYTHON_MODEL]" in message
        assert f"a {materialized} is a query" in message
        assert project.run_sql(f"show tables in {project.test_schema}", fetch="all") == []


@pytest.mark.conformance
class TestSwitching:
    """A model in SQL becomes one in Python."""

    @pytest.fixture(scope="class")
    def models(self):
        sql = "{{ config(materialized='materialized_table') }} select 1 as id"
        return {"switched.sql": sql}

    def test_the_materialized_table_is_dropped(self, project):
        run_dbt(["run"])
        Path(project.project_root, "models", "switched.sql").unlink()
        code = _FAILS.format(body="return session.range(2)")
        write_file(code, project.project_root, "models", "switched.py")
        run_dbt(["run"])
        rows = project.run_sql(f"select count(*) from {project.test_schema}.switched", fetch="all")
        assert rows == [(2,)]
        listed = f"show materialized tables in {project.test_schema}"
        assert project.run_sql(listed, fetch="all") == []
        facts = json.loads(Path("target/run_results.json").read_text(encoding="utf-8"))
        assert facts["results"][0]["message"] == "OK"
