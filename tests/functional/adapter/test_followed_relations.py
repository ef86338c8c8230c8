"""What dbt does to relations that tables of ours read: no commit of these is empty meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_seeds import history, messages

_TABLE = "{{ config(materialized='table') }} select id, id * %d as v from range(1, 4)"
_PYTHON = """
def model(dbt, session):
    dbt.config(materialized="%s")
    return session.sql("select id, id * %d as v from range(1, 4)")
"""
_VIEW = "select id, id * %d as v from range(1, 4)"
_INCREMENTAL = """
{{ config(materialized='incremental', %s) }} select id, id * %d as v from range(1, 4)
"""
_OURS = "{{ config(materialized='materialized_table') }} select id, id * %d as v from range(1, 4)"
_OVER = """
{{ config(materialized='materialized_table') }} select id, v + 1 as w from {{ ref('followed') }}
"""
_TESTS = """
models:
  - name: over
    data_tests: [materialized_table_equals_query]
"""


class Base:
    @pytest.fixture(scope="class")
    def models(self):
        return {"over.sql": _OVER, "tests.yml": _TESTS, "followed.sql": _TABLE % 1}

    @pytest.fixture
    def build(self, project):
        """Writes the followed model, builds, and returns the values in the table over it."""

        def build(text: str, *flags: str, suffix: str = "sql", command: str = "build") -> list[int]:
            models = Path(project.project_root, "models")
            for old in models.glob("followed.*"):
                old.unlink()
            write_file(text, project.project_root, "models", f"followed.{suffix}")
            run_dbt([command, *flags])
            query = f"select w from {project.test_schema}.over order by w"
            return [row[0] for row in project.run_sql(query, fetch="all")]

        return build

    @pytest.fixture
    def rows_by_version(self, project):
        return lambda: [rows for _, rows in history(project, "followed")]


class TestTables(Base):
    """One relation's life; the tests of this class build on each other."""

    def test_a_table_is_replaced_in_one_commit(self, build, rows_by_version):
        assert build(_TABLE % 1) == [2, 3, 4]
        assert build(_TABLE % 10) == [11, 21, 31]
        assert rows_by_version() == [3, 3]

    @pytest.mark.conformance
    def test_so_is_one_of_python(self, build, rows_by_version):
        assert build(_PYTHON % ("table", 2), suffix="py") == [3, 5, 7]
        assert rows_by_version() == [3, 3, 3]

    @pytest.mark.conformance
    def test_an_incremental_model_adds_a_commit(self, build, rows_by_version):
        assert build(_INCREMENTAL % ("incremental_strategy='merge', unique_key='id'", 3)) == [
            *(4, 7, 10)
        ]
        assert build(_INCREMENTAL % ("incremental_strategy='insert_overwrite'", 4)) == [5, 9, 13]
        assert rows_by_version() == [3] * 5

    @pytest.mark.conformance
    def test_its_full_refresh_is_one_commit(self, build, rows_by_version):
        text = _INCREMENTAL % ("on_schema_change='append_new_columns'", 5)
        assert build(text, "--full-refresh") == [6, 11, 16]
        wider = text.replace("as v", "as v, 'x' as more")
        assert build(wider, "--full-refresh") == [6, 11, 16]
        assert build(_PYTHON % ("incremental", 6), "--full-refresh", suffix="py") == [7, 13, 19]
        assert rows_by_version() == [3] * 8

    @pytest.mark.conformance
    def test_a_materialized_table_is_released_and_replaced(self, build, rows_by_version, project):
        build(_OURS % 7, "--full-refresh")
        project.run_sql(f"select * from {project.test_schema}.followed")
        created = len(rows_by_version())
        assert build(_TABLE % 8) == [9, 17, 25]
        assert set(rows_by_version()[-created:]) == {3}
        listed = f"show materialized tables in {project.test_schema}"
        assert [row[1] for row in project.run_sql(listed, fetch="all")] == ["over"]
        build(_OURS % 7, "--full-refresh")
        assert build(_INCREMENTAL % ("", 9), "--full-refresh") == [10, 19, 28]
        assert set(rows_by_version()) == {3}


@pytest.mark.conformance
class TestOtherKinds(Base):
    """A relation that no statement replaces is there until the new one has its rows."""

    @pytest.fixture
    def names(self, project):
        query = f"show tables in {project.test_schema}"
        return lambda: sorted(row[1] for row in project.run_sql(query, fetch="all"))

    @pytest.fixture
    def fail(self, project, names):
        """Builds the followed model with a query that fails in the middle; the old one stays."""

        def fail(text: str, *flags: str) -> None:
            query = f"select v from {project.test_schema}.followed order by v"
            before = project.run_sql(query, fetch="all")
            broken = text.replace("id * ", "raise_error('broken') + id * ")
            write_file(broken, project.project_root, "models", "followed.sql")
            failed = run_dbt(["run", "--select", "followed", *flags], expect_pass=False)
            assert "broken" in failed.results[0].message
            assert project.run_sql(query, fetch="all") == before
            assert set(names()) - {"followed__dbt_staged"} == {"followed", "over"}

        return fail

    def test_a_view_becomes_a_table(self, build, names, fail):
        assert build(_VIEW % 1) == [2, 3, 4]
        fail(_TABLE % 2)
        assert build(_TABLE % 2) == [3, 5, 7]
        assert names() == ["followed", "over"]

    def test_a_table_becomes_a_view_when_the_query_is_valid(self, build, project, names):
        write_file("select no_such_column", project.project_root, "models", "followed.sql")
        run_dbt(["run", "--select", "followed"], expect_pass=False)
        query = f"select v from {project.test_schema}.followed order by v"
        assert [row[0] for row in project.run_sql(query, fetch="all")] == [2, 4, 6]
        assert build(_VIEW % 3) == [4, 7, 10]
        assert names() == ["followed", "over"]

    def test_a_view_becomes_incremental(self, build, names, fail):
        fail(_INCREMENTAL % ("", 4))
        assert build(_INCREMENTAL % ("", 4)) == [5, 9, 13]
        assert names() == ["followed", "over"]

    def test_parquet_becomes_delta(self, build, names, fail):
        """Files count in a stream's checkpoint, so the table over them is not refreshed."""
        parquet = _TABLE.replace("'table'", "'table', file_format='parquet'")
        build(parquet % 5, "--select", "followed", command="run")
        fail(_TABLE % 6)
        assert build(_TABLE % 6) == [7, 13, 19]
        build(parquet % 5, "--select", "followed", command="run")
        assert build(_INCREMENTAL % ("", 7), "--full-refresh") == [8, 15, 22]
        assert names() == ["followed", "over"]


_SNAPSHOT = """
{% snapshot followed %}
{{ config(unique_key='id', strategy='check', check_cols='all') }}
select * from {{ ref('people') }}
{% endsnapshot %}
"""
_DOCS = """
snapshots:
  - name: followed
    config: {persist_docs: {columns: true}}
    columns: [{name: id, description: the key}]
"""


@pytest.mark.conformance
class TestSnapshot(Base):
    @pytest.fixture(scope="class")
    def models(self):
        over = _OVER.replace("v + 1 as w", "v as w, dbt_valid_to is null as is_current")
        return {"over.sql": over, "tests.yml": _TESTS}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"people.csv": "id,v\n1,10\n2,20\n"}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"followed.sql": _SNAPSHOT, "docs.yml": _DOCS}

    def test_each_run_is_one_commit_with_rows(self, project, rows_by_version):
        run_dbt(["build"])
        write_file("id,v\n1,11\n2,20\n3,30\n", project.project_root, "seeds", "people.csv")
        assert messages(run_dbt(["build"]))["people"] == "INSERT 3"
        before = rows_by_version()
        assert min(before) == 2
        assert before[-1] == 4
        run_dbt(["build"])
        after = rows_by_version()
        assert after[-1] == 4
        assert min(after) == 2
        query = f"select w from {project.test_schema}.over where is_current order by w"
        assert [row[0] for row in project.run_sql(query, fetch="all")] == [11, 20, 30]
