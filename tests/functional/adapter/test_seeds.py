"""Seeds that tables of ours read: what a build commits to them, and what these tables see of it."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, write_file

_SEED = """id,name,price,born,note
1,O'Brien,1.50,2024-01-31,
2,,2.25,2024-02-29,"a, b"
3,Zoë,,,x
"""
_OVER = """
{{ config(materialized='materialized_table', incremental='strict') }}
select id, name, price * 2 as doubled, born from {{ ref('people') }}
"""
_TESTS = """
models:
  - name: over
    data_tests: [materialized_table_equals_query]
"""


def history(project, name):
    """Operation and rows of each version of a table, from its first."""
    table = f"{project.test_schema}.{name}"
    commits = project.run_sql(f"describe history {table}", fetch="all")
    found = []
    for version, operation in sorted((row[0], row[4]) for row in commits):
        count = project.run_sql(
            f"select count(*) from {table} version as of {version}", fetch="all"
        )
        found.append((operation, count[0][0]))
    return found


def messages(results):
    return {each.node.name: each.message for each in results}


REPLACED = "CREATE OR REPLACE TABLE AS SELECT"


class SeedUnderATable:
    """A project with a seed, and a materialized table over it."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"people.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"over.sql": _OVER, "tests.yml": _TESTS}

    @pytest.fixture
    def write(self, project):
        return lambda text: write_file(text, project.project_root, "seeds", "people.csv")

    @pytest.fixture
    def rows(self, project):
        query = f"select * from {project.test_schema}.over order by id"
        return lambda: [tuple(map(str, row)) for row in project.run_sql(query, fetch="all")]


class TestSeedUnderATable(SeedUnderATable):
    def test_a_first_build_fills_it_in_one_commit(self, project, rows):
        assert messages(run_dbt(["build"]))["people"] == "CREATE 3"
        assert history(project, "people") == [(REPLACED, 3)]
        assert rows()[0] == ("1", "O'Brien", "3.0", "2024-01-31")

    def test_equal_rows_are_not_written(self, project):
        said = messages(run_dbt(["build"]))
        assert (said["people"], said["over"]) == ("UNCHANGED", "UP TO DATE")
        assert history(project, "people") == [(REPLACED, 3)]

    def test_changed_rows_are_one_commit_that_is_followed(self, project, write, rows):
        write(_SEED.replace("O'Brien", "Ann") + "4,New,4,2024-03-01,\n")
        said = messages(run_dbt(["build"]))
        assert said["people"] == "INSERT 4"
        assert history(project, "people") == [(REPLACED, 3), ("WRITE", 4)]
        assert said["over"].startswith("REFRESHED")
        assert [row[1] for row in rows()] == ["Ann", "None", "Zoë", "New"]

    @pytest.mark.conformance
    def test_changed_columns_replace_the_table_in_one_commit(self, project, write, rows):
        write(_SEED.replace("note", "remark"))
        # a replaced source has no changes to compute from: `strict` refuses the refresh
        auto = _OVER.replace(", incremental='strict'", "")
        write_file(auto, project.project_root, "models", "over.sql")
        said = messages(run_dbt(["build"]))
        assert said["people"] == "CREATE 3"
        assert history(project, "people") == [(REPLACED, 3), ("WRITE", 4), (REPLACED, 3)]
        assert [row[1] for row in rows()] == ["O'Brien", "None", "Zoë"]

    @pytest.mark.conformance
    def test_a_full_refresh_is_one_commit(self, project, rows):
        run_dbt(["seed", "--full-refresh"])
        assert history(project, "people")[3:] == [(REPLACED, 3)]
        run_dbt(["build"])
        assert len(rows()) == 3

    @pytest.mark.conformance
    def test_a_cell_that_cannot_be_cast_changes_nothing(self, project, write):
        before = history(project, "people")
        write(_SEED.replace("id,name,price,born,note", "id,name,price,born,remark"))
        path = Path(project.project_root, "seeds", "people.yml")
        path.write_text("seeds: [{name: people, config: {column_types: {name: int}}}]")
        failed = run_dbt(["seed"], expect_pass=False)
        assert "CAST_INVALID_INPUT" in failed.results[0].message
        assert history(project, "people") == before
        path.unlink()
        assert run_dbt(["seed"]).results[0].message == "UNCHANGED"


@contextmanager
def stopping(monkeypatch, number, *, is_done):
    """Fail at a statement that writes, as a process that ends then; count those before it."""
    from pyspark.sql import SparkSession

    run, seen = SparkSession.sql, []

    def sql(session, text, *args, **named):
        if not text.lstrip().upper().startswith(_WRITES):
            return run(session, text, *args, **named)
        seen.append(text)
        if len(seen) == number and not is_done:
            raise StoppedError
        found = run(session, text, *args, **named)
        if len(seen) == number:
            raise StoppedError
        return found

    with monkeypatch.context() as patch:
        patch.setattr(SparkSession, "sql", sql)
        yield seen


class StoppedError(Exception):
    """The end of a process."""


_WRITES = ("CREATE OR REPLACE", "INSERT OVERWRITE", "COMMENT", "ALTER", "DROP TABLE")
_COMMENTED = "seeds: [{name: people, config: {persist_docs: {relation: true}}, description: %s}]"


@pytest.mark.conformance
class TestStoppedSeed(SeedUnderATable):
    @pytest.mark.parametrize("change", ["rows", "columns"])
    def test_a_seed_has_its_old_or_its_new_rows_and_the_next_run_ends_it(
        self, project, write, rows, monkeypatch, change
    ):
        changed = {
            "rows": lambda n: _SEED.replace("O'Brien", f"Ann {n}"),
            "columns": lambda n: _SEED.replace("note", f"note{n}").replace("O'Brien", f"Bob {n}"),
        }[change]
        auto = _OVER.replace(", incremental='strict'", "")
        write_file(auto, project.project_root, "models", "over.sql")
        write(_SEED)
        run_dbt(["build"])
        for number, is_done in product(range(1, 6), (False, True)):
            before, wanted = rows(), changed(2 * number + is_done)
            write(wanted)
            described = _COMMENTED % f"at {number}{is_done}"
            write_file(described, project.project_root, "seeds", "people.yml")
            with stopping(monkeypatch, number, is_done=is_done) as seen:
                stopped = run_dbt(["seed"], expect_pass=None).results[0]
            assert rows() == before, "the table is refreshed by the build alone"
            assert history(project, "people")[-1][1] == 3
            run_dbt(["build"])
            assert rows()[0][1] in wanted
            if len(seen) < number:
                break
            assert stopped.status == "error"
        else:
            pytest.fail("a seed has more statements than expected")
        assert number > 1


_CONFIGURED = """
seeds:
  - name: kept
    description: It's "kept" \\\\o/
    columns:
      - {name: id, description: "the key's column"}
    config:
      column_types: {code: char(3), label: varchar(4), amount: "decimal(10, 2)", at: timestamp}
      partition_by: kind
      tblproperties: {made.by: dbt, delta.minReaderVersion: 1}
      persist_docs: {relation: true, columns: true}
      quote_columns: true
      delimiter: ";"
      pre-hook: set spark.sql.sources.partitionOverwriteMode = dynamic
  - name: outside
    config: {location_root: "%(root)s"}
  - name: flat
    config: {file_format: parquet}
"""
_KEPT = """id;code;label;amount;at;kind
1;a;ab   ;1.5;2024-01-01 10:00:00;x
2;;;;;y
3;abc;NULL;0;2024-02-01;x
"""
_BIG = "id,name,day\n" + "".join(f"{i},n{i % 97},2024-01-{i % 28 + 1:02}\n" for i in range(20_000))


@pytest.mark.conformance
class TestConfiguredSeeds:
    @pytest.fixture(scope="class")
    def seeds(self, tmp_path_factory):
        root = tmp_path_factory.mktemp("out side")
        return {
            "kept.csv": _KEPT,
            "outside.csv": "id,f\n1,0.1\n2,-0.0\n",
            "flat.csv": "id\n1\n",
            "blank.csv": "id,nothing\n1,\n2,\n",
            "empty.csv": "id,name\n",
            "big.csv": _BIG,
            "seeds.yml": _CONFIGURED % {"root": root},
        }

    @pytest.fixture
    def write(self, project):
        return lambda name, text: write_file(text, project.project_root, "seeds", name)

    @pytest.fixture
    def rows(self, project):
        def read(query):
            return [tuple(row) for row in project.run_sql(query, fetch="all")]

        return lambda query: read(query.replace("$", f"{project.test_schema}."))

    def test_a_first_run_creates_them(self, rows):
        assert set(messages(run_dbt(["seed"])).values()) == {
            *("CREATE 3", "CREATE 2", "CREATE 0", "CREATE 20000", "INSERT 1"),
        }
        assert rows("select id, code, label, kind from $kept order by id") == [
            (1, "a  ", "ab  ", "x"),
            (2, None, None, "y"),
            (3, "abc", None, "x"),
        ]
        described = {row[0]: row[1:] for row in rows("describe table extended $kept")}
        assert described["id"] == ("bigint", "the key's column")
        assert described["amount"][0] == "decimal(10,2)"
        assert described["at"][0] == "timestamp"
        assert described["Comment"][0] == 'It\'s "kept" \\\\o/'
        assert dict(rows("show tblproperties $kept"))["made.by"] == "dbt"
        assert rows("describe detail $kept")[0][7] == ["kind"]

    def test_a_second_run_writes_nothing(self, project):
        before = {name: history(project, name) for name in ("kept", "outside", "blank", "big")}
        said = messages(run_dbt(["seed"]))
        assert said.pop("flat") == "INSERT 1"
        assert set(said.values()) == {"UNCHANGED"}
        assert {name: history(project, name) for name in before} == before

    def test_seeds_at_a_location_are_not_doubled(self, rows, write):
        write("outside.csv", "id,f\n1,0.1\n2,0.0\n")
        assert messages(run_dbt(["seed"]))["outside"] == "INSERT 2"
        write("outside.csv", "id,f,more\n1,0.1,x\n")
        assert messages(run_dbt(["seed"]))["outside"] == "CREATE 1"
        assert rows("select * from $outside") == [(1, 0.1, "x")]

    def test_all_partitions_are_overwritten(self, rows, write):
        write("kept.csv", "\n".join(_KEPT.splitlines()[:2]))
        assert messages(run_dbt(["seed", "--select", "kept"]))["kept"] == "INSERT 1"
        assert rows("select id from $kept") == [(1,)]

    def test_text_that_is_too_long_changes_nothing(self, project, rows, write):
        before = history(project, "kept")
        write("kept.csv", _KEPT.replace("ab   ", "abcde"))
        failed = run_dbt(["seed", "--select", "kept"], expect_pass=False)
        assert "EXCEED" in failed.results[0].message
        assert history(project, "kept") == before
        assert rows("select id from $kept") == [(1,)]
