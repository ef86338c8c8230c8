"""SQLMesh, with a materialization of a few lines that sends our statements."""

from __future__ import annotations

import subprocess

import pytest

from tests.clients.conftest import ENVIRONMENTS
from tests.faults.server import environment
from tests.support.page_blocks import block

_TIMEOUT_S = 600
_FILES = {
    "config.yaml": """
gateways:
  spark:
    connection: {type: spark}
    state_connection: {type: duckdb, database: state.db}
default_gateway: spark
model_defaults: {dialect: spark, start: 2026-01-01}
""",
    "materializations/materialized_table.py": block("plain-sql.md", "SQLMesh", "python"),
    "models/sums.sql": """
MODEL (
  name mesh.sums,
  kind CUSTOM (materialization 'materialized_table'),
  columns (k INT, total BIGINT)
);
SELECT k, sum(v) AS total FROM mesh_raw.orders GROUP BY k;
""",
}


@pytest.fixture
def sqlmesh(remote, tmp_path):
    """Runs SQLMesh in a project."""
    for name, text in _FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(*arguments):
        done = subprocess.run(  # noqa: S603 - our own command
            [ENVIRONMENTS / "sqlmesh" / "bin" / "sqlmesh", *arguments],
            cwd=tmp_path,
            env={
                **environment(),
                "SPARK_REMOTE": remote,
                "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "1",
            },
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_model_is_a_materialized_table(sqlmesh, spark):
    """Its view shows the rows of the table, which the next run refreshes."""
    spark.sql("CREATE SCHEMA mesh_raw")
    spark.sql("CREATE TABLE mesh_raw.orders (k INT, v INT) USING delta")
    spark.sql("INSERT INTO mesh_raw.orders VALUES (1, 10), (1, 5), (2, 7)")
    sqlmesh("plan", "--auto-apply", "--no-prompts")
    assert spark.sql("SELECT * FROM mesh.sums ORDER BY k").collect() == [(1, 15), (2, 7)]
    (table,) = spark.sql("SHOW MATERIALIZED TABLES FROM sqlmesh__mesh").collect()
    spark.sql("INSERT INTO mesh_raw.orders VALUES (3, 1)")
    spark.sql(f"ALTER MATERIALIZED TABLE sqlmesh__mesh.{table.table_name} REFRESH")
    assert spark.sql("SELECT count(*) FROM mesh.sums").first()[0] == 3
