"""Incremental refresh: after any change of the sources, the rows are those of a recompute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError, InvalidDefinitionError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.spark.session import kept_rows
from dbt.adapters.spark_mt.spark.session.kept_rows import KeptRows
from dbt.adapters.spark_mt.spark.tables import result_changes
from dbt.adapters.spark_mt.spark.tables.result_changes import ResultChanges, TableChange
from dbt.adapters.spark_mt.spark.tables.stored_sums import SumsTables
from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter
from dbt.adapters.spark_mt.strategies import differential
from tests.functional.engine.oracle import (
    assert_equals_query,
    fenced_commits,
    outcome,
    rows,
    version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.results import RefreshOutcome

NAME = "differential"
SHAPES = {
    "project": "SELECT id, v * 2 AS w, d FROM f WHERE v > 1",
    "join": "SELECT f.id, f.v, g.name FROM f JOIN g ON f.k = g.k WHERE f.v <> 3",
    "aggregate": "SELECT k, count(*) AS n, count(v) AS c, sum(v) AS s FROM f GROUP BY k",
    "extremes": "SELECT k, min(v) AS low, max(d) AS high, count(DISTINCT v) AS n FROM f GROUP BY k",
    "join and aggregate": "SELECT g.name, sum(f.v) AS s FROM f JOIN g ON f.k = g.k GROUP BY g.name",
    "window": "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS place FROM f",
    "distinct": "SELECT DISTINCT k, d FROM f",
    "left join": "SELECT f.id, g.name FROM f LEFT JOIN g ON f.k = g.k",
    "self-join": "SELECT a.id, b.id AS other FROM f a JOIN f b ON a.k = b.k AND a.v = b.v + 1",
    "union": "SELECT k, v FROM f WHERE v < 5 UNION ALL SELECT k, length(name) FROM g",
}
SUMS = {
    "nullable sum": "SELECT k, sum(v) AS s FROM f WHERE id < 990 GROUP BY k",
    "average": "SELECT k, avg(v) AS m, sum(v) / count(*) AS r FROM f GROUP BY k HAVING sum(v) > 9",
    "of a join": "SELECT g.name, sum(f.d + f.v) AS s FROM f JOIN g ON f.k = g.k GROUP BY g.name",
    "one group": "SELECT sum(d) AS s, avg(v) AS m FROM f",
    "distinct": "SELECT DISTINCT k, v FROM f",
}
ROW_WISE = ("project", "union")
ALWAYS = ("join and aggregate",)
"""Shapes that `make test` runs, with deletion vectors; `make conformance` runs all."""
CHANGES = (
    "UPDATE f SET v = v + 1 WHERE id = 3",
    "DELETE FROM f WHERE id IN (4, 5)",
    """MERGE INTO g USING (SELECT 2 AS k, 'zwei' AS name UNION ALL SELECT 40, 'new') s ON g.k = s.k
    WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *""",
)


@pytest.fixture
def tables(
    session: SparkSession, schema: str, monkeypatch: pytest.MonkeyPatch
) -> MaterializedTables:
    """Sources `f(id, k, v, d)` with NULLs and duplicates, and `g(k, name)`."""
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    monkeypatch.setattr(result_changes, "SMALLEST_RATIO", 0)
    fact = (
        "SELECT id, IF(id % 11 = 0, NULL, id % 7) AS k, CAST(id % 5 AS INT) AS v, "
        "CAST(id / 50 AS DECIMAL(10, 2)) AS d FROM range(200)"
    )
    session.sql(f"CREATE TABLE {schema}.f USING delta AS {fact} UNION ALL ({fact} LIMIT 20)")
    session.sql(
        f"CREATE TABLE {schema}.g USING delta AS "
        "SELECT id AS k, CONCAT('n', id % 3) AS name FROM range(20)"
    )
    return MaterializedTables(session)


def create(tables: MaterializedTables, query: str, more: str = "", columns: str = "") -> None:
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE t {columns} WITH ('incremental' = 'auto'{more}) "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}",
    )


def refreshed(tables: MaterializedTables, *statements: str, by: str = NAME) -> RefreshOutcome:
    """Change the sources and refresh; the rows are those of the query, by the strategy."""
    for statement in statements:
        tables.sql(statement)
    done = tables.refresh("t")
    assert (done.status, done.strategy) == (RefreshResult.REFRESHED, by)
    assert_equals_query(tables, "t")
    assert fenced_commits(tables, "t")[0]["refresh"]["strategy"] == by
    return done


def reasons(tables: MaterializedTables) -> str:
    """Why the newest refresh was done as it was, from the log of refreshes."""
    return str(tables.sql("SHOW JOBS").collect()[0]["reason"])


@pytest.mark.parametrize(
    "shape",
    [s if s in ALWAYS else pytest.param(s, marks=pytest.mark.conformance) for s in SHAPES],
)
def test_rows_are_those_of_the_query_after_any_change(tables, shape):
    if shape in ALWAYS:
        tables.sql("ALTER TABLE f SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    create(tables, SHAPES[shape])
    added = "INSERT INTO f VALUES (900, 3, 4, 1.5), (901, NULL, 4, 1), (901, NULL, 4, 1)"
    refreshed(tables, added, by="append" if shape in ROW_WISE else NAME)
    refreshed(tables, *CHANGES)
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE


AGGREGATE = SHAPES["aggregate"]


def test_a_sum_follows_its_changes_without_its_number_of_values(tables):
    """Also where it becomes NULL: then the rows of its group are read."""
    create(tables, "SELECT k, sum(d) AS s, count(*) AS n FROM f GROUP BY k")
    refreshed(tables, "UPDATE f SET d = d + 1 WHERE id % 30 = 0", "DELETE FROM f WHERE id = 5")
    values = "(700, 50, 1, 2.5), (701, 50, 1, -2.5), (702, 50, 1, NULL), (703, 51, 1, NULL)"
    refreshed(tables, f"INSERT INTO f VALUES {values}, (704, 51, 1, 0)")
    refreshed(tables, "DELETE FROM f WHERE id IN (700, 701, 704)")
    rows = tables.sql("SELECT k, s, n FROM t WHERE k >= 50 ORDER BY k").collect()
    assert [tuple(row) for row in rows] == [(50, None, 1), (51, None, 1)]
    refreshed(tables, "INSERT INTO f VALUES (705, 50, 1, 0)", "DELETE FROM f WHERE id = 703")
    rows = tables.sql("SELECT k, s, n FROM t WHERE k >= 50 ORDER BY k").collect()
    assert [tuple(row) for row in rows] == [(50, 0, 2)]


@pytest.mark.parametrize(
    "feed",
    [
        "enableChangeDataFeed",
        pytest.param("enableDeletionVectors", marks=pytest.mark.conformance),
    ],
)
def test_a_value_that_cannot_be_compared_came_and_went(tables, feed):
    """Rows with maps are not netted, so that one is gained and lost in the same range."""
    tables.sql(
        "CREATE TABLE h (k INT, m MAP<STRING, INT>) USING delta "
        f"TBLPROPERTIES ('delta.{feed}' = 'true')"
    )
    tables.sql("INSERT INTO h VALUES (1, map('y', 1)), (2, map('x', 3))")
    tables.sql("INSERT INTO h SELECT 3, map('x', 1) FROM range(90)")
    create(tables, "SELECT k, sum(m['x']) AS s, count(*) AS n FROM h GROUP BY k")
    came = (
        "INSERT INTO h SELECT /*+ COALESCE(1) */ * FROM VALUES (1, map('x', 5)), (1, map('z', 1))"
    )
    refreshed(tables, came, "DELETE FROM h WHERE m['x'] = 5")
    found = tables.sql("SELECT k, s, n FROM t ORDER BY k").collect()
    assert [tuple(row) for row in found] == [(1, None, 2), (2, 3, 1), (3, 90, 90)]


@pytest.mark.conformance
@pytest.mark.parametrize(
    "properties",
    ["'delta.enableDeletionVectors' = 'true'", "'delta.enableChangeDataFeed' = 'true'"],
)
def test_sources_with_deletion_vectors_and_with_a_change_data_feed(tables, properties):
    tables.sql(f"ALTER TABLE f SET TBLPROPERTIES ({properties})")
    create(tables, SHAPES["join and aggregate"])
    refreshed(tables, *CHANGES)
    refreshed(tables, "DELETE FROM f WHERE id = 7", "INSERT INTO f VALUES (7, 3, 9, 0)")


@pytest.mark.conformance
def test_a_feed_that_was_enabled_in_between_is_not_read(tables):
    create(tables, AGGREGATE)
    enable = "ALTER TABLE f SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    refreshed(tables, "DELETE FROM f WHERE id = 1", enable, "DELETE FROM f WHERE id = 2")


@pytest.mark.conformance
def test_commits_that_change_no_row_change_no_file(tables):
    create(tables, AGGREGATE)
    tables.sql("INSERT INTO f VALUES (900, 3, 4, 1.5)")
    refreshed(tables)
    files = sorted(tables.sql("SELECT * FROM t").inputFiles())
    tables.sql("OPTIMIZE f")
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    refreshed(tables, "INSERT INTO f VALUES (901, 3, 4, 1.5)", "DELETE FROM f WHERE id = 901")
    refreshed(tables, "UPDATE f SET v = 4 - v WHERE id IN (1, 8)")  # both of one group
    assert sorted(tables.sql("SELECT * FROM t").inputFiles()) == files


@pytest.mark.conformance
def test_columns_of_files_are_computed_again(tables):
    """OPTIMIZE changes them without a change of a row."""
    query = "SELECT id, f._metadata.file_name AS file FROM f WHERE id > 190"
    create(tables, query)
    for change in ("INSERT INTO f VALUES (900, 3, 4, 1.5)", "OPTIMIZE f"):
        tables.sql(change)
        assert tables.refresh("t").strategy == "recompute"
        assert sorted(rows(tables, "SELECT * FROM t")) == sorted(rows(tables, query))
    assert "f._metadata.file_name" in reasons(tables)
    with pytest.raises(InvalidDefinitionError, match="METADATA"):
        tables.sql(
            "CREATE MATERIALIZED TABLE s WITH ('incremental' = 'strict') "
            f"FRESHNESS = INTERVAL '1' MINUTE AS {query}"
        )


@pytest.mark.conformance
def test_a_restored_source(tables):
    create(tables, AGGREGATE)
    before = version(tables, "f")
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)")
    refreshed(tables, f"RESTORE TABLE f TO VERSION AS OF {before}")


@pytest.mark.conformance
def test_a_replaced_and_a_recreated_source_are_read_whole(tables):
    create(tables, AGGREGATE)
    again = "CREATE OR REPLACE TABLE f USING delta AS SELECT * FROM f"
    refreshed(tables, again, "INSERT INTO f VALUES (900, 3, 4, 1.5)", by="recompute")
    assert "CHANGE_TOO_LARGE" in reasons(tables)
    tables.sql("CREATE TABLE f2 USING delta AS SELECT * FROM f")
    tables.sql("DROP TABLE f")
    refreshed(tables, "CREATE TABLE f USING delta AS SELECT * FROM f2", by="recompute")
    assert "SOURCE_RECREATED" in reasons(tables)
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)")


@pytest.mark.conformance
def test_a_column_that_a_source_gained_does_not_matter(tables):
    create(tables, SHAPES["join"])
    refreshed(
        tables,
        "ALTER TABLE g ADD COLUMN more INT",
        "INSERT INTO g VALUES (3, 'again', 1)",
        "DELETE FROM g WHERE k = 4",
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v, a FROM x",
        pytest.param("SELECT id, v, a FROM x ORDER BY id LIMIT 3", marks=pytest.mark.conformance),
        pytest.param(
            "SELECT id, max(v) AS v, max(a) AS a FROM x GROUP BY id", marks=pytest.mark.conformance
        ),
    ],
)
def test_zeros_keep_their_sign(tables, query):
    """0.0 equals -0.0, and grouping by either gives 0.0."""
    row = "SELECT {} AS id, {} AS v, array({}) AS a"
    first = [row.format(n, v, v) for n, v in enumerate(("0D", "-0D", "0D", "-0D", "1.5D"))]
    more = "SELECT id + 5, CAST(id AS DOUBLE), array() FROM range(60)"
    tables.sql(f"CREATE TABLE x USING delta AS {' UNION ALL '.join([*first, more])}")
    create(tables, query)
    with_signs = "SELECT CAST(v AS STRING), CAST(a AS STRING) FROM {}"
    for changes in (
        ("DELETE FROM x WHERE id = 4", "UPDATE x SET v = -v WHERE id = 0"),
        ("UPDATE x SET a = array(-v) WHERE id < 3", "UPDATE x SET v = 0D WHERE id IN (1, 6)"),
    ):
        refreshed(tables, *changes)
        assert rows(tables, with_signs.format("t")) == rows(tables, with_signs.format(f"({query})"))


@pytest.mark.conformance
def test_columns_that_get_another_place_in_the_files_change_all_rows(tables):
    """Delta commits that without an action on a file, and its change data feed has no rows."""
    properties = "'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'"
    tables.sql(f"ALTER TABLE f SET TBLPROPERTIES ({properties})")
    create(tables, "SELECT id, v, d FROM f")
    refreshed(tables, "ALTER TABLE f ADD COLUMN w INT", "DELETE FROM f WHERE id = 3")
    again = ("ALTER TABLE f DROP COLUMN v", "ALTER TABLE f ADD COLUMN v INT")
    refreshed(tables, *again, by="recompute")
    assert rows(tables, "SELECT DISTINCT v FROM t") == [(None,)]
    refreshed(
        tables,
        "UPDATE f SET w = 7",
        "ALTER TABLE f RENAME COLUMN v TO x",
        "ALTER TABLE f RENAME COLUMN w TO v",
        "ALTER TABLE f RENAME COLUMN x TO w",
        by="recompute",
    )
    assert rows(tables, "SELECT DISTINCT v FROM t") == [(7,)]


@pytest.mark.conformance
def test_a_source_with_a_column_of_fixed_length_is_followed_by_its_versions(tables):
    """Spark reads it with an operator that pads the texts."""
    tables.sql("CREATE TABLE c (id INT, `_` CHAR(3)) USING delta")
    tables.sql("INSERT INTO c SELECT id % 9, 'a' FROM range(90)")
    create(tables, "SELECT `_`, id FROM c")
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    refreshed(tables, "INSERT INTO c VALUES (3, 'b')", by="append")
    refreshed(tables, "UPDATE c SET `_` = 'abc' WHERE id = 3")
    refreshed(tables, "DELETE FROM c WHERE `_` = 'b'", "UPDATE c SET `_` = 'x' WHERE id = 4")


@pytest.mark.conformance
def test_a_column_that_hides_the_metadata_of_files(tables):
    row = "named_struct('file_name', CONCAT('n', id)) AS _metadata"
    tables.sql(f"CREATE TABLE m USING delta AS SELECT id, id % 3 AS k, {row} FROM range(60)")
    create(tables, "SELECT id, k FROM m")
    added = f"INSERT INTO m SELECT id, 7, {row} FROM range(60, 62)"
    refreshed(tables, added, by="append")
    refreshed(tables, "DELETE FROM m WHERE id = 5", "UPDATE m SET k = 9 WHERE id = 6")


@pytest.mark.conformance
@pytest.mark.parametrize("pays", [0, 10**9])
def test_sums_that_are_too_large_without_ansi_mode(tables, pays, monkeypatch):
    monkeypatch.setattr(result_changes, "SMALLEST_RATIO", pays)
    tables.sql("SET spark.sql.ansi.enabled = false")
    row = "SELECT id, id % 3 AS k, CAST({} AS DECIMAL(38, 10)) AS d FROM range({})"
    tables.sql(f"CREATE TABLE w USING delta AS {row.format('9999999999999999999999999999BD', 60)}")
    create(tables, "SELECT k, sum(d) AS s, count(d) AS c, count(*) AS n FROM w GROUP BY k")
    refreshed(tables, f"INSERT INTO w {row.format(1, 2)}")
    refreshed(tables, "DELETE FROM w WHERE k = 0 AND id < 9")


def test_only_changed_rows_are_written(tables):
    create(tables, AGGREGATE, more=", 'delta.enableChangeDataFeed' = 'true'")
    done = refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 1")
    feed = rows(tables, f"SELECT k, _change_type FROM table_changes('t', {version(tables, 't')})")
    assert feed == [(1, "update_postimage"), (1, "update_preimage")]
    assert done.rows == 1
    assert "SMALL_CHANGE" in reasons(tables)
    assert "RULES" in reasons(tables)


@pytest.mark.conformance
def test_of_equal_rows_as_many_go_as_the_query_loses(tables):
    create(tables, "SELECT v, k IS NULL AS unknown FROM f")
    refreshed(tables, "DELETE FROM f WHERE id = 30")
    refreshed(tables, "UPDATE f SET v = 77 WHERE id IN (1, 6, 11)")
    assert rows(tables, "SELECT v FROM t WHERE v = 77") == [(77,)] * 6


@pytest.mark.conformance
def test_mode_full_that_followed_from_the_freshness(tables):
    outcome(
        tables,
        "CREATE MATERIALIZED TABLE t WITH ('incremental' = 'auto') FRESHNESS = INTERVAL '1' DAY "
        f"AS {AGGREGATE}",
    )
    refreshed(tables, *CHANGES)
    assert tables.refresh("t", force=True).strategy == "recompute"


@pytest.mark.conformance
def test_a_large_change_and_changes_by_others_lead_to_a_recompute(tables):
    create(tables, AGGREGATE)
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id < 50", by="recompute")
    assert "CHANGE_TOO_LARGE: about" in reasons(tables)
    tables.sql("DELETE FROM t WHERE k = 1")
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)", by="recompute")
    assert "FOREIGN_ROWS" in reasons(tables)
    refreshed(tables, "INSERT INTO f VALUES (901, 3, 4, 1.5)")


@pytest.mark.conformance
def test_a_change_that_cannot_be_applied_leads_to_a_recompute(tables, monkeypatch):
    create(tables, AGGREGATE)
    row = "SELECT {} AS k, 1L AS n, 1L AS c, 1L AS s"
    wrong = TableChange(row.format("98L"), row.format("99L"))
    with monkeypatch.context() as patch:
        patch.setattr(ResultChanges, "of", lambda *_: wrong)
        refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)", by="recompute")
    assert "CHANGE_FAILED" in reasons(tables)
    refreshed(tables, "INSERT INTO f VALUES (901, 3, 4, 1.5)")


@pytest.mark.conformance
def test_first_rows_follow_the_sources_until_rows_that_are_not_stored_may_follow(tables):
    create(tables, f"{AGGREGATE} ORDER BY s DESC, k LIMIT 3")
    refreshed(tables, "INSERT INTO f VALUES (900, 6, 100, 1.5)")
    assert "TOP)" in reasons(tables)
    written = refreshed(
        tables, "INSERT INTO f VALUES (901, 6, 1, 1.5)", "DELETE FROM f WHERE id = 1"
    )
    assert written.rows <= 2
    refreshed(tables, "DELETE FROM f WHERE k = 6 AND id NOT BETWEEN 100 AND 199", by="recompute")
    assert "TOP_ROWS_LEFT" in reasons(tables)


@pytest.mark.conformance
def test_a_constraint_is_that_of_all_rows(tables):
    tables.sql("DELETE FROM f WHERE id < 20")
    create(tables, "SELECT id, v FROM f", columns="(PRIMARY KEY (id) NOT ENFORCED)")
    refreshed(tables, "INSERT INTO f VALUES (902, 3, 4, 1.5)")
    tables.sql("INSERT INTO f VALUES (100, 3, 4, 1.5)")
    with pytest.raises(ConstraintViolatedError, match="100"):
        tables.refresh("t")
    refreshed(tables, "DELETE FROM f WHERE id = 100", "INSERT INTO f VALUES (100, 5, 5, 5)")


def test_a_writer_in_between_is_not_overlooked(tables, monkeypatch):
    create(tables, AGGREGATE)
    found: list[Any] = []

    def of(self, spark, step, kept):
        if not found:
            tables.sql("DELETE FROM t WHERE k = 1")
        found.append(step.version)
        return kept_of(self, spark, step, kept)

    kept_of = ResultChanges.of
    monkeypatch.setattr(ResultChanges, "of", of)
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)", by="recompute")
    assert len(found) == 1


@pytest.mark.conformance
def test_rows_that_are_kept_are_released(tables, monkeypatch):
    create(tables, SHAPES["join"])
    held: list[int] = []
    release = KeptRows.release

    def released(self):
        held.extend(self._held)
        release(self)

    monkeypatch.setattr(kept_rows, "FEW_ROWS", -1)  # the driver keeps none
    monkeypatch.setattr(KeptRows, "release", released)
    refreshed(tables, *CHANGES)
    assert held
    assert not {*held} & {*tables._spark.sparkContext._jsc.getPersistentRDDs()}


@pytest.mark.conformance
def test_rows_that_were_lost_with_their_executor_are_computed_again(tables, monkeypatch, spark):
    """A local checkpoint cannot be computed from its query: a new attempt must read again."""
    create(tables, SHAPES["project"])
    outcome(tables, "ALTER MATERIALIZED TABLE t SET ('incremental' = 'strict')")
    keep, losses = KeptRows.keep, []

    def losing(self, query, *measures, **named):
        kept = keep(self, query, *measures, **named)
        if not losses:
            context = spark.sparkContext._jsc.sc()
            master = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().blockManager().master()
            for rdd in context.getRDDStorageInfo():
                losses.append(rdd.id())
                master.removeRdd(rdd.id(), True)  # noqa: FBT003 - of the JVM: wait
        return kept

    monkeypatch.setattr(KeptRows, "keep", losing)
    refreshed(tables, *CHANGES)
    assert losses
    assert len(fenced_commits(tables, "t")) == 3, "CREATE, ALTER, and one refresh"


@pytest.mark.conformance
def test_it_is_used_unless_it_is_switched_off(tables):
    outcome(tables, f"CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' MINUTE AS {AGGREGATE}")
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5)")
    outcome(tables, "ALTER MATERIALIZED TABLE t SET ('incremental' = 'off')")
    refreshed(tables, "INSERT INTO f VALUES (901, 3, 4, 1.5)", by="recompute")


def test_it_is_shown(tables):
    create(tables, AGGREGATE)
    shown = {row[0]: row[1] for row in tables.sql("DESC EXTENDED MATERIALIZED TABLE t").collect()}
    assert shown["Engine"] == f"incremental, strategy {NAME}"
    explained = tables.sql(
        "EXPLAIN CREATE OR ALTER MATERIALIZED TABLE t WITH ('incremental' = 'auto') "
        f"FRESHNESS = INTERVAL '2' MINUTES REFRESH_MODE = CONTINUOUS AS {AGGREGATE}"
    ).collect()
    recorded = [(row[2], row[5].partition(":")[0]) for row in explained]
    assert (f"incremental/{NAME}", "RULES") in recorded


def sums(tables: MaterializedTables) -> list[str]:
    """The tables with partial sums."""
    listed = "SHOW TABLES IN materialized_table_system LIKE 'sums_*'"
    return [row["tableName"] for row in tables.sql(listed).collect()]


@pytest.mark.conformance
@pytest.mark.parametrize("keys", [("k",), ("k", "j")])
def test_a_key_of_nulls_that_is_neither_in_the_table_nor_in_its_new_rows(tables, keys):
    """Delta takes such a key for a match of the NULLs that its outer join gives for no row."""
    named = ", ".join(f"id % 50 AS {key}" for key in keys)
    tables.sql(f"CREATE TABLE h USING delta AS SELECT {named} FROM range(100)")
    by, nulls, ones = (", ".join(each) for each in (keys, ["NULL"] * len(keys), "1" * len(keys)))
    create(
        tables,
        f"SELECT {by}, count(*) AS n FROM h GROUP BY {by} HAVING count(*) BETWEEN 2 AND 3",
    )
    for found, added in (
        (50, f"({nulls}), ({ones})"),
        (51, f"({nulls})"),
        (50, f"({nulls}), ({nulls})"),
    ):
        refreshed(tables, f"INSERT INTO h VALUES {added}")
        assert len(rows(tables, "TABLE t")) == found


@pytest.mark.conformance
@pytest.mark.parametrize("aggregate", ["max(s)", "listagg(s) WITHIN GROUP (ORDER BY s)"])
def test_an_aggregate_that_spark_computes_over_sorted_rows(tables, aggregate):
    """Also of rows that are kept, and where Spark plans a query at once."""
    tables.sql("CREATE TABLE h USING delta AS SELECT id % 9 AS v, STRING(id) AS s FROM range(90)")
    create(tables, f"SELECT v, {aggregate} AS m FROM h GROUP BY v")
    refreshed(tables, "INSERT INTO h VALUES (1, 'x'), (4, 'y'), (NULL, NULL)")
    refreshed(tables, "DELETE FROM h WHERE s IN ('x', '8')")


@pytest.fixture
def without_others(session: SparkSession) -> None:
    """No other test has left partial sums."""
    session.sql("CREATE SCHEMA IF NOT EXISTS materialized_table_system")
    for row in session.sql("SHOW TABLES IN materialized_table_system LIKE 'sums_*'").collect():
        session.sql(f"DROP TABLE materialized_table_system.{row['tableName']}")


@pytest.mark.usefixtures("without_others")
@pytest.mark.parametrize(
    "shape",
    [s if s in ("average",) else pytest.param(s, marks=pytest.mark.conformance) for s in SUMS],
)
def test_partial_sums_follow_the_sources(tables, shape):
    create(tables, SUMS[shape])
    assert sums(tables) == []
    refreshed(tables, CHANGES[0])
    (name,) = sums(tables)
    stored = f"materialized_table_system.{name}"
    refreshed(tables, *CHANGES[1:], "INSERT INTO f VALUES (7, 50, NULL, 0), (8, 50, 9, 1)")
    tables.sql("OPTIMIZE f")
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    refreshed(tables, "DELETE FROM f WHERE k = 50 AND v > 0")
    refreshed(tables, "DELETE FROM f WHERE k = 50")
    versions = [row["operation"] for row in tables.sql(f"DESCRIBE HISTORY {stored}").collect()]
    assert len(versions) == 4
    assert set(versions[:-1]) <= {"MERGE", "WRITE"}, "the sums are computed once"
    assert "D3" in reasons(tables)
    tables.execute("DROP MATERIALIZED TABLE t")
    assert sums(tables) == []


@pytest.mark.conformance
@pytest.mark.usefixtures("without_others")
def test_an_average_does_not_overflow(tables):
    """The sum of a group exceeds a BIGINT; all values are exact in a DOUBLE."""
    create(tables, "SELECT k, avg(1L * v * 1152921504606846976) AS m FROM f GROUP BY k")
    refreshed(tables, "INSERT INTO f VALUES (900, 3, 4, 1.5), (901, NULL, 4, 1)")
    assert len(sums(tables)) == 1
    refreshed(tables, *CHANGES)


@pytest.mark.conformance
@pytest.mark.usefixtures("without_others")
def test_partial_sums_that_are_ahead_gone_or_changed_by_others(tables, monkeypatch):
    create(tables, SUMS["nullable sum"])
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 3")
    (name,) = sums(tables)
    stored = f"materialized_table_system.{name}"

    class KilledError(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(ContentWriter, "_check", killed)
        tables.sql("UPDATE f SET v = v + 1 WHERE id = 4")
        with pytest.raises(KilledError):
            tables.refresh("t")
    before = version(tables, stored)
    refreshed(tables)
    assert version(tables, stored) == before  # they were ahead, and the sources did not move since
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 5")
    tables.sql(f"UPDATE {stored} SET rows = rows + 1")
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 6")
    tables.sql(f"ALTER TABLE {stored} ADD COLUMN more INT")
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 7")
    tables.sql(f"DROP TABLE {stored}")
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 8")
    outcome(tables, f"ALTER MATERIALIZED TABLE t AS {SUMS['nullable sum']} HAVING sum(v) > 3")
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 9")
    assert len(sums(tables)) == 1


@pytest.mark.conformance
@pytest.mark.usefixtures("without_others")
def test_of_two_refreshes_one_changes_the_partial_sums(tables, monkeypatch):
    """A commit between their reads, such as one of OPTIMIZE, does not let both of them do it."""
    create(tables, SUMS["nullable sum"])
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 3")
    (name,) = sums(tables)
    first: list[tuple[Any, dict[str, Any]]] = []
    is_second_here = []
    apply = SumsTables.apply

    def in_parallel(*args: Any, **named: Any) -> None:
        if first and is_second_here:
            apply(*args, **named)
        elif first:
            is_second_here.append(True)
            apply(*first[0][0], **first[0][1])
            apply(*args, **named)
        else:
            first.append((args, named))
            stored = f"materialized_table_system.{name}"
            tables.sql(f"ALTER TABLE {stored} SET TBLPROPERTIES ('a' = 'b')")
            tables.sql("UPDATE f SET v = v - 1 WHERE id = 4")
            MaterializedTables(tables._spark).refresh("t")

    tables.sql("UPDATE f SET v = v + 1 WHERE id = 4")
    with monkeypatch.context() as patch:
        patch.setattr(SumsTables, "apply", in_parallel)
        tables.refresh("t")
    assert is_second_here
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id = 18")
