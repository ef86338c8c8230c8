"""Some of dbt's fixtures are written in Postgres' SQL; here they speak Spark's."""

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
    return [each.transform(_plain_timestamps).sql(dialect="spark") for each in parsed]


def _plain_timestamps(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.TIMESTAMP:
        return exp.DataType.build("TIMESTAMPTZ")  # Spark's TIMESTAMP
    return node
