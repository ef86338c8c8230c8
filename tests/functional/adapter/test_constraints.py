"""Contracts with constraints on plain tables and views."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture

conformance = pytest.mark.conformance

_HEADER = "set time zone 'Asia/Kolkata';"


def _in_spark(text: str) -> str:
    """A fixture's file with the types and functions of Spark."""
    return (
        text.replace("data_type: text", "data_type: string")
        .replace("set session time zone 'Asia/Kolkata';", _HEADER)
        .replace("current_setting('timezone')", "current_timezone()")
        .replace("""'"from"'""", "'`from`'")
        .replace(""""from" = """, "`from` = ")
    )


class _InSpark:
    """dbt's project with the types of Spark."""

    @pytest.fixture(scope="class")
    def models(self, request):
        files = next(
            vars(cls)["models"]
            for cls in request.cls.__mro__
            if cls is not _InSpark and "models" in vars(cls)
        )
        return {name: _in_spark(text) for name, text in files.__wrapped__(self).items()}


class _ColumnsEqual(_InSpark):
    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self, int_type, schema_int_type, string_type):
        return [
            ["1", schema_int_type, int_type],
            ["'1'", string_type, string_type],
            ["true", "boolean", "boolean"],
            ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"],
            ["date '2013-11-03'", "date", "date"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["array(1, 2)", "array<int>", "array<int>"],
            ["cast(1 as decimal(10, 2))", "decimal(10,2)", "decimal(10,2)"],
            ["named_struct('bar', 1)", "struct<bar:int>", "struct<bar:int>"],
        ]


@conformance
class TestTableConstraintsColumnsEqual(_ColumnsEqual, BaseTableConstraintsColumnsEqual):
    pass


@conformance
class TestViewConstraintsColumnsEqual(_ColumnsEqual, BaseViewConstraintsColumnsEqual):
    pass


@conformance
class TestIncrementalConstraintsColumnsEqual(_ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    pass


_WRITTEN = """
create or replace table <model_identifier>
using delta
as
select id, color, date_day
from (
  -- depends_on: <foreign_key_model_identifier>
  select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
where case
  when `id` is null
  then raise_error('a row breaks the constraint not null of column id.')
  when not coalesce((id > 0), false)
  then raise_error('a row breaks the constraint check check_ec83b4e28402 ((id > 0)).')
  when not coalesce(id >= 1, false)
  then raise_error('a row breaks the constraint check check_a09be4a27d0f (id >= 1).')
  else monotonically_increasing_id() >= 0 end
"""


class _Ddl(_InSpark):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        return _WRITTEN


@conformance
class TestTableConstraintsRuntimeDdlEnforcement(_Ddl, BaseConstraintsRuntimeDdlEnforcement):
    pass


@conformance
class TestIncrementalConstraintsRuntimeDdlEnforcement(
    _Ddl, BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


@conformance
class TestModelConstraintsRuntimeEnforcement(_Ddl, BaseModelConstraintsRuntimeEnforcement):
    pass


@conformance
class TestConstraintQuotedColumn(_InSpark, BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        return """
create or replace table <model_identifier>
using delta
as
select id, `from`, date_day
from (
  select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
) as model_subq
where case
  when `id` is null
  then raise_error('a row breaks the constraint not null of column id.')
  when `from` is null
  then raise_error('a row breaks the constraint not null of column from.')
  when not coalesce((`from` = 'blue'), false)
  then raise_error('a row breaks the constraint check check_d356a16b765d ((`from` = \\'blue\\')).')
  else monotonically_increasing_id() >= 0 end
"""


@pytest.mark.conformance
class TestTableConstraintsRollback(_InSpark, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["NOT NULL of column id"]


@conformance
class TestIncrementalConstraintsRollback(_InSpark, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "not_null_id"]


@conformance
class TestTableContractSqlHeader(_InSpark, BaseTableContractSqlHeader):
    pass


@conformance
class TestIncrementalContractSqlHeader(_InSpark, BaseIncrementalContractSqlHeader):
    pass


@conformance
class TestIncrementalForeignKeyConstraint(_InSpark, BaseIncrementalForeignKeyConstraint):
    pass


_CHECKED = """
models:
  - name: checked
    config: {contract: {enforced: true}, materialized: table}
    columns:
      - {name: id, data_type: int, constraints: [{type: not_null}, {type: unique}]}
      - {name: amount, data_type: int, constraints: [{type: check, expression: amount > 0}]}
    constraints:
      - {type: check, name: small, expression: amount < 100}
      - {type: primary_key, columns: [id], warn_unsupported: false}
"""
_ROWS = """
select a.id, a.amount from {{ this.schema }}.a as a join {{ this.schema }}.b as b on a.id = b.id
where b.is_wanted
"""


@pytest.mark.conformance
class TestConstraintsOfATable:
    @pytest.fixture(scope="class")
    def models(self):
        return {"checked.yml": _CHECKED, "checked.sql": _ROWS}

    def test_rows_that_the_query_leaves_out_break_nothing_and_later_ones_do(self, project):
        schema = project.test_schema
        project.run_sql(
            f"create table {schema}.a as select * from values (1, 5), (2, -5) t(id, amount)"
        )
        wanted = "values (1, true), (2, false) t(id, is_wanted)"
        project.run_sql(f"create table {schema}.b as select * from {wanted}")
        results, log = run_dbt_and_capture(["run"], expect_pass=None)
        assert [result.message for result in results] == ["OK"]
        assert "constraint unique (id): no Delta table has it" in log
        assert "primary_key" not in log
        for row, condition in (
            ("(3, -1)", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
            ("(3, 100)", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
            ("(null, 1)", "not_null_id"),
        ):
            with pytest.raises(Exception, match=condition):
                project.run_sql(f"insert into {schema}.checked values {row}")
        project.run_sql(f"update {schema}.b set is_wanted = true")
        (failed,) = run_dbt(["run"], expect_pass=False)
        assert "A row breaks the constraint CHECK" in failed.message
        rows = project.run_sql(f"select id, amount from {schema}.checked", fetch="all")
        assert [tuple(row) for row in rows] == [(1, 5)]
