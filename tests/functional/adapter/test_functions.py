"""dbt's functions, which are SQL functions of Spark."""

from __future__ import annotations

import pytest
import yaml
from dbt.artifacts.schemas.results import RunStatus
from dbt.events.types import JinjaLogWarning
from dbt.tests.adapter.functions import files
from dbt.tests.adapter.functions.test_udfs import (
    CanFindScalarFunctionRelation,
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)
from dbt.tests.util import run_dbt
from dbt.version import __version__
from dbt_common.events.event_catcher import EventCatcher  # noqa: TID251 - as dbt's tests do

conformance = pytest.mark.conformance


@pytest.mark.conformance
class TestUDFsBasic(UDFsBasic):
    pass


@conformance
class TestDeterministicUDF(DeterministicUDF):
    def check_function_volatility(self, sql: str):
        assert "\n  DETERMINISTIC" in sql


@conformance
class TestNonDeterministicUDF(NonDeterministicUDF):
    def check_function_volatility(self, sql: str):
        assert "NOT DETERMINISTIC" in sql


@conformance
class TestStableUDF(StableUDF):
    def check_function_volatility(self, sql: str):
        assert "DETERMINISTIC" not in sql

    @pytest.mark.usefixtures("project")
    def test_the_volatility_is_warned_about(self):
        warnings = EventCatcher(JinjaLogWarning)
        run_dbt(["build"], callbacks=[warnings.catch])
        (warning,) = warnings.caught_events
        assert "Found `stable` volatility" in warning.data.msg


@conformance
class TestSqlUDFDefaultArgSupport(SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


@conformance
class TestCanFindScalarFunctionRelation(CanFindScalarFunctionRelation):
    pass


def _refused(expected: str) -> None:
    (result,) = run_dbt(["build"], expect_pass=False).results
    assert result.status == RunStatus.Error
    assert expected in result.message


@conformance
class TestErrorForUnsupportedType(ErrorForUnsupportedType):
    """Spark has table functions; this one returns no table."""

    @pytest.mark.usefixtures("project")
    def test_udfs(self):
        _refused("A table function returns `table (column type, …)`")


@conformance
class TestPythonUDFNotSupported(PythonUDFNotSupported):
    @pytest.mark.usefixtures("project")
    def test_udfs(self):
        _refused("Python functions live in a session of Spark")


@conformance
class TestPythonUDFRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


@conformance
class TestPythonUDFEntryPointRequired(PythonUDFEntryPointRequired):
    pass


@pytest.mark.skipif(__version__ < "1.12", reason="dbt-core 1.11 has no overloads")
@conformance
class TestOverloads:
    @pytest.fixture(scope="class")
    def functions(self):
        overload = {
            "defined_in": "as_text",
            "arguments": [{"name": "a", "data_type": "string"}],
            "returns": {"data_type": "string"},
        }
        shown = {"name": "shown", "arguments": [{"name": "a", "data_type": "int"}]}
        shown |= {"returns": {"data_type": "string"}, "overloads": [overload]}
        properties = yaml.safe_dump({"functions": [shown]})
        return {"shown.sql": "a", "as_text.sql": "a", "properties.yml": properties}

    @pytest.mark.usefixtures("project")
    def test_are_refused(self):
        _refused("in Spark a second function of a name replaces the first")


@conformance
@pytest.mark.parametrize(
    ("file", "text", "described", "expected"),
    [
        (
            "sum_squared.sql",
            files.SUM_SQUARED_UDAF_SQL,
            files.SUM_SQUARED_UDAF_SQL_YML,
            "cannot contain an aggregate",
        ),
        (
            "sum_squared.py",
            files.SUM_SQUARED_UDAF_PYTHON,
            files.SUM_SQUARED_UDAF_PYTHON_YML,
            "aggregates in Python",
        ),
        pytest.param(
            "price_for_xlarge.js",
            files.MY_JS_UDF,
            files.MY_UDF_YML,
            "Spark runs no JavaScript",
            marks=pytest.mark.skipif(
                __version__ < "1.12", reason="dbt-core 1.11 reads no JavaScript"
            ),
        ),
    ],
)
class TestRefusedFunctions:
    @pytest.fixture(scope="class")
    def functions(self):
        return {}

    def test_is_refused_with_a_sentence(self, project, file, text, described, expected):
        folder = project.project_root / "functions"
        for name, content in ((file, text), ("properties.yml", described)):
            (folder / name).write_text(content, encoding="utf-8")
        _refused(expected)
        (folder / file).remove()


_TAXED = """
functions:
  - name: taxed
    description: The price with tax
    config: {persist_docs: {relation: true, columns: true}}
    arguments:
      - {name: price, data_type: "decimal(10,2)", description: "The price, isn't it"}
      - {name: rate, data_type: "decimal(4,2)", default_value: 0.19}
    returns: {data_type: "decimal(12,2)"}
  - name: up_to
    config: {type: table}
    arguments: [{name: n, data_type: int}]
    returns: {data_type: "table (id int)"}
"""
_MODEL = """
{{ config(materialized='materialized_table', freshness='1 day') }}
select id, {{ function('taxed') }}(cast(id as decimal(10, 2))) as price
from {{ this.schema }}.ids
"""


class TestFunctionsOfModels:
    @pytest.fixture(scope="class")
    def functions(self):
        return {
            "properties.yml": _TAXED,
            "taxed.sql": "price * (1 + rate) -- with tax;",
            "up_to.sql": "select explode(sequence(0, n)) as id;",
        }

    @pytest.fixture(scope="class")
    def models(self):
        return {"priced.sql": _MODEL}

    def test_a_materialized_table_uses_a_function_and_follows_its_changes(self, project):
        schema = project.test_schema
        project.run_sql(f"create table {schema}.ids using delta as select 1 as id")
        run_dbt(["build"])
        assert self.rows(project) == [(1, "1.19")]
        described = project.run_sql(f"describe function extended {schema}.taxed", fetch="all")
        text = "\n".join(row[0] for row in described)
        assert "The price with tax" in text
        assert "isn't it" in text
        (count,) = project.run_sql(f"select count(*) from {schema}.up_to(3)", fetch="one")
        assert count == 4

        changed = project.project_root / "functions" / "taxed.sql"
        changed.write_text("price * (1 + rate) + 1", encoding="utf-8")
        run_dbt(["build"])
        assert self.rows(project) == [(1, "2.19")]

    def rows(self, project) -> list[tuple[int, str]]:
        sql = f"select id, cast(price as string) from {project.test_schema}.priced"
        return [tuple(row) for row in project.run_sql(sql, fetch="all")]
