"""Fixtures of dbt in Postgres' SQL, translated to Spark's."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp


class FromPostgres:
    """Translates what a test runs through `project.run_sql`, statement by statement."""

    @pytest.fixture(scope="class")
    def project(self, project):
        run = project.run_sql

        def run_translated(sql, fetch=None):
            for statement in spark_sql(sql.format(**self._names(project))):
                answer = run(statement.replace("{", "{{").replace("}", "}}"), fetch=fetch)
            return answer

        project.run_sql = run_translated
        return project

    @staticmethod
    def _names(project):
        return {"schema": project.test_schema, "database": project.database}


def spark_sql(sql: str) -> list[str]:
    """The statements of a text in Postgres' dialect, in Spark's."""
    parsed = [each for each in sqlglot.parse(sql, read="postgres") if each is not None]
    statements = []
    for each in parsed:
        later = _filled_afterwards(each)
        statements.append(each.transform(_plain_timestamps).sql(dialect="spark"))
        statements += later
    return statements


def _filled_afterwards(statement: exp.Expression) -> list[str]:
    """Take the defaults out of ADD COLUMN, which Delta refuses there, and fill the column then."""
    later = []
    if isinstance(statement, exp.Alter):
        for column in statement.find_all(exp.ColumnDef):
            for constraint in column.find_all(exp.DefaultColumnConstraint):
                value = constraint.this.sql(dialect="spark")
                later.append(f"UPDATE {statement.this} SET {column.this} = {value}")
                constraint.parent.pop()
    return later


def _plain_timestamps(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.TIMESTAMP:
        return exp.DataType.build("TIMESTAMPTZ")  # Spark's TIMESTAMP
    return node
