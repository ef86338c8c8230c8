"""Reading of the corpora, random changes, comparison and results, without Spark."""

from __future__ import annotations

import struct
from datetime import date
from pathlib import Path

import pytest
import sqlglot

from tests.corpus import scripts, tpcds
from tests.corpus.comparison import difference
from tests.corpus.corpora import Selection
from tests.corpus.jars import texts_of_class
from tests.corpus.queries import Query
from tests.corpus.results import (
    BEGIN,
    END,
    NO_TABLE,
    REFUSED,
    SPARK_REFUSES,
    Result,
    Round,
    Store,
    figures,
    fingerprint,
    report,
    with_report,
)
from tests.corpus.scripts import Kind, Statement, alternatives, script
from tests.corpus.sources import ROUNDS, Choice, Column, Source, changes

ROOT = Path(__file__).parents[3]
COLUMNS = {
    "store_sales": (Column("ss_sold_date_sk", "INT"), Column("ss_quantity", "INT")),
    "date_dim": (Column("d_date_sk", "INT"), Column("d_year", "INT"), Column("d_date", "DATE")),
    "item": (Column("i_item_sk", "INT"),),
}
QUERY = Query(
    "tpcds/q0",
    "SELECT d_year FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk "
    "AND d_year IN (1999, 2001) AND d_date > '1999-02-01'",
)
SOURCE = Source(
    "t",
    (Column("a", "int", is_nullable=False), Column("m", "map<int,int>"), Column("s", "string")),
    (("1", None, "x"), ("2", None, "y'z"), ("3", None, None)),
)


def test_the_texts_of_a_class_file():
    pool = [
        b"\x01" + struct.pack(">H", 3) + b"abc",
        b"\x05" + b"\0" * 8,  # a long takes two places
        b"\x0a" + b"\0" * 4,
        b"\x01" + struct.pack(">H", 2) + b"de",
    ]
    content = b"\xca\xfe\xba\xbe\0\0\0\x3d" + struct.pack(">H", 6) + b"".join(pool) + b"rest"
    assert texts_of_class(content) == ("abc", "de")


def test_a_query_names_its_tables():
    assert tpcds.read(QUERY.text) == {"store_sales", "date_dim"}


def test_rows_of_a_query_depend_on_the_seed_and_the_query():
    (dates, sales) = tpcds.sources([QUERY], COLUMNS, seed=1)
    assert (dates.name, sales.name) == ("date_dim", "store_sales")
    key, year, day = dates.rows[0]
    assert (year, day[:4]) in {("1999", "1999"), ("2001", "2001")}
    assert day > "1999-02-01"
    assert key in {row[0] for row in sales.rows}
    assert len(set(sales.rows)) < len(sales.rows)
    assert (dates, sales) == tpcds.sources([QUERY], COLUMNS, seed=1)
    assert (dates, sales) != tpcds.sources([QUERY], COLUMNS, seed=2)


@pytest.mark.parametrize("round_", ROUNDS)
@pytest.mark.parametrize("seed", range(20))
def test_changes_are_statements_of_spark(round_, seed):
    text = changes(SOURCE, round_, Choice(seed))
    assert text == changes(SOURCE, round_, Choice(seed))
    assert sqlglot.parse_one(text, dialect="spark").key == round_
    assert "CAST(NULL AS int)" not in text  # a column that may not be NULL


@pytest.mark.parametrize("seed", range(20))
def test_the_keys_of_a_merge_are_its_own(seed):
    """Spark refuses a MERGE in which two rows update one."""
    text = changes(SOURCE, "merge", Choice(seed))
    values = sqlglot.parse_one(text, dialect="spark").find(sqlglot.exp.Values).expressions
    keys = [tuple(e.sql() for e in row.expressions[:2]) for row in values]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("source", [Source("t", SOURCE.columns, ()), Source("t", (), ((),))])
def test_nothing_changes_a_table_without_rows_or_columns(source):
    assert changes(source, "update", Choice(1)) is None


def test_bags_of_rows():
    assert not difference([(1, 2.0), (1, {"a": 1, "b": 2})], [(1, {"b": 2, "a": 1}), (1, 2.0)])
    assert difference([(0.1 + 0.2, -0.0, b"x")], [(0.3, 0.0, bytearray(b"x"))]) is not False
    assert not difference([(float("nan"), None)], [(float("nan"), None)])
    assert difference([(1,), (1,)], [(1,)]).unexpected == (("(1)", 1),)
    assert difference([("1",)], [(1,)])
    assert difference([], [(None,)]).missing == (("(None)", 1),)


FILE = """-- a comment
--IMPORT other.sql
--SET a=1,b = 2
create temporary view t as select * from values (1) as t(a);
/* why; */
select 'x\\;' from t; -- at the end
(select 1);
SET x = 1;
--QUERY-DELIMITER-START
select ';' from t
--QUERY-DELIMITER-END
WITH x AS (SELECT 1) SELECT * FROM x;
WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"""


def test_a_file_of_statements():
    found = script("dir/file.sql", {"dir/file.sql": FILE, "other.sql": "CREATE TABLE u (a INT);"})
    assert found.name == "sql-tests/dir/file"
    assert found.confs == (("a", "1"), ("b", "2"))
    assert found.statements == (
        Statement("CREATE TABLE u (a INT)", Kind.ADDS),
        Statement("create temporary view t as select * from values (1) as t(a)", Kind.ADDS),
        Statement("select 'x\\;' from t", Kind.QUERY),
        Statement("(select 1)", Kind.QUERY),
        Statement("SET x = 1", Kind.CHANGES),
        Statement("select ';' from t", Kind.QUERY),
        Statement("WITH x AS (SELECT 1) SELECT * FROM x", Kind.QUERY),
        Statement("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", Kind.CHANGES),
    )


def test_confs_of_folders():
    found = script("nonansi/file.sql", {"nonansi/file.sql": "select 1"})
    assert found.confs == (("spark.sql.ansi.enabled", "false"),)


def test_tables_in_place_of_temporary_views():
    view = "CREATE OR REPLACE TEMPORARY VIEW v(a) AS VALUES (1)"
    table, persistent, same = alternatives(view, reads_tables=False)
    assert (
        table == "CREATE OR REPLACE TABLE v USING delta AS SELECT * FROM (\nVALUES (1)\n) AS v(a)"
    )
    assert persistent == "CREATE OR REPLACE VIEW v (a) AS VALUES (1)"
    assert same == view
    assert alternatives(view, reads_tables=True) == (persistent, view)
    assert scripts.temporary_query(view) == "VALUES (1)"
    assert scripts.temporary_query("CREATE VIEW v AS SELECT 1") is None
    assert alternatives("create table t(a int) using parquet", reads_tables=False) == (
        "create table t(a int) USING delta",
    )
    assert alternatives("DROP VIEW v", reads_tables=False) == ("DROP VIEW v",)


RESULTS = (
    Result(
        "tpcds/q1",
        "SELECT 1",
        1,
        "strict",
        rounds=(
            Round("create", "recompute", 2, is_changed=True),
            Round("insert", "differential", 2, is_changed=True, seconds=(0.5, 1.5)),
        ),
    ),
    Result("tpcds/q2", "SELECT 2", 1, "auto", ("WINDOW",), (Round("insert", "recompute", 1),)),
    Result("tpcds/q3", "SELECT 3", 1, REFUSED, ("SOME_CONDITION",), faults=("wrong",)),
    Result("tpcds/q4", "SELECT 4", 1, "auto", (), (Round("insert", "", 1, is_compared=False),)),
    Result("tpcds/q5", "SELECT 4", 1, "strict", (), (Round("insert", "recompute", 0),)),
    Result("sql-tests/a#1", "SELECT 5", 1, SPARK_REFUSES, ("TABLE_OR_VIEW_NOT_FOUND",)),
    Result("sql-tests/a#2", "SELECT 6", 1, NO_TABLE),
)


def test_results_are_kept(tmp_path):
    store = Store(tmp_path / "folder" / "results.jsonl")
    assert store.read() == {}
    for result in RESULTS:
        store.add(result)
    assert tuple(store.read().values()) == RESULTS


def test_a_line_that_an_interruption_cut_off_is_no_result(tmp_path):
    store = Store(tmp_path / "results.jsonl")
    store.add(RESULTS[0])
    with store.path.open("a") as file:
        file.write('{"query": "tpc')
    assert list(store.read()) == ["tpcds/q1"]
    store.add(RESULTS[1])
    assert list(store.read()) == ["tpcds/q1", "tpcds/q2"]


def test_results_of_other_shards_are_read(tmp_path):
    first, second = (Store(tmp_path / f"code-1.{number}of2.jsonl") for number in (1, 2))
    Store(tmp_path / "other-1.1of1.jsonl").add(RESULTS[2])
    first.add(RESULTS[0])
    second.add(RESULTS[1])
    assert set(first.read()) == set(second.read()) == {"tpcds/q1", "tpcds/q2"}


def test_results_hold_for_the_code_that_gave_them():
    assert fingerprint({"a": b"1", "b": b""}) == fingerprint({"b": b"", "a": b"1"})
    assert fingerprint({"a": b"1"}) != fingerprint({"a": b"2"})
    assert fingerprint({"a": b"1"}) != fingerprint({"b": b"1"})


def test_figures_count_what_spark_takes_and_what_reads_a_table():
    (found,) = figures(RESULTS)
    assert (found.corpus, found.queries, found.created) == ("tpcds", 5, 4)
    assert (found.strict, found.incremental, found.always, found.refreshes) == (2, 1, 1, 5)
    assert found.changed == 1
    assert (found.right, found.undetermined, found.faulty) == (3, 1, 1)
    assert found.empty == 1
    text = "\n".join(report(RESULTS))
    assert "| corpus | queries | created | accepted by `strict` | incremental |" in text
    assert "| tpcds | 5 | 4 | 2 | 1 | 1 | 5 | 1 | 1 | 3 | 1 | 1 |" in text
    assert "| 1 | not created | `SOME_CONDITION` |" in text
    assert "| 1 | recomputed | `WINDOW` |" in text
    assert "outcome" not in "\n".join(report(RESULTS[:1]))


def test_a_page_gets_the_report_between_its_marks():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = with_report(page, ["one", "two"])
    assert once == f"before\n{BEGIN}\none\ntwo\n{END}\nafter\n"
    assert with_report(once, ["one", "two"]) == once


def test_the_page_has_the_marks():
    text = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    assert text.index(BEGIN) < text.index(END)


def test_a_share_is_drawn_by_its_seed():
    names = [f"tpcds/q{number}" for number in range(1_000)]
    drawn = {name for name in names if Selection(share=0.1).has(name)}
    assert 60 < len(drawn) < 140
    assert drawn <= {name for name in names if Selection(share=0.2).has(name)}
    assert drawn != {name for name in names if Selection(share=0.1, seed=2).has(name)}
    assert {name for name in names if Selection(only="*/q1?").has(name)} == set(names[10:20])


def test_a_job_is_in_one_shard(monkeypatch):
    monkeypatch.setenv("CORPUS_SHARD", "2/3")
    assert Selection.of_environment().shard == (2, 3)
    shards = [Selection(shard=(number, 3)) for number in (1, 2, 3)]
    assert [[n for n in range(7) if each.of_shard(n)] for each in shards] == [
        [0, 3, 6],
        [1, 4],
        [2, 5],
    ]
    assert all(map(Selection().of_shard, range(7)))


def test_files_are_drawn_before_their_queries():
    names = [f"sql-tests/f{file}#{number}" for file in range(100) for number in range(100)]
    drawn = [name for name in names if Selection(share=0.1).has(name)]
    assert 600 < len(drawn) < 1_400
    assert len({name.partition("#")[0] for name in drawn}) < 40


def test_a_page_says_which_queries_ran():
    day = date(2026, 11, 27)
    whole = Selection().described(day)
    assert whole == "The run of 2026-11-27: all queries, with `CORPUS_SEED=31`."
    part = Selection("tpcds*", 0.25, 7, deadline=0).described(day)
    assert "the queries `tpcds*`, a share of 0.25, with `CORPUS_SEED=7`." in part
    assert part.endswith("It ended by its limit of time, before all of them.")
