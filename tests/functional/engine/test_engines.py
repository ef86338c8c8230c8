"""The engine of a table, chosen on what Spark itself says of its query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.query.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.query.query_rows import Pins, pin_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "WITH ('watermark' = 'ts DELAY OF INTERVAL 10 SECONDS') "
WINDOWS = "SELECT window.start AS w, c, count(*) AS n FROM {} GROUP BY window(ts, '1 minute'), c"
LATE = "WATERMARK ts DELAY OF INTERVAL 10 SECONDS"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """The sources `o` (Delta), `f` (Parquet) and `v`, a view of `o`; all (id, c, ts)."""
    columns = "(id BIGINT, c STRING, ts TIMESTAMP)"
    session.sql(f"CREATE TABLE {schema}.o {columns} USING delta")
    session.sql(f"CREATE TABLE {schema}.f {columns} USING parquet")
    session.sql(f"CREATE VIEW {schema}.v AS SELECT * FROM o WHERE id > 0")
    return MaterializedTables(session)


def explained(tables, query, clauses=""):
    """The engine of a table that is not made, and the codes of the reasons."""
    rows = tables.execute(f"EXPLAIN CREATE MATERIALIZED TABLE t {clauses} AS {query}").rows
    rows = [row for row in rows if row[0] == "engine"]
    (engine,) = {row[2] for row in rows}
    return engine, [row[5].partition(":")[0] for row in rows]


def refused(tables, query, clauses=""):
    with pytest.raises(MaterializedTableError) as caught:
        explained(tables, query, clauses)
    return caught.value.condition


def test_the_engine_follows_from_sparks_plan(tables):
    assert explained(tables, "SELECT id, upper(c) AS c FROM v")[0] == "stream/append"
    assert explained(tables, WINDOWS.format("o"))[0] == "incremental/differential"
    engine, codes = explained(tables, WINDOWS.format("o"), MARK)
    assert (engine, codes[0]) == ("stream/stateful", "WATERMARK_DECLARED")
    assert explained(tables, WINDOWS.format(f"o {LATE}"))[0] == "stream/stateful"
    assert explained(tables, WINDOWS.format(f"STREAM o {LATE}"))[0] == "stream/stateful"
    assert explained(tables, "SELECT c, count(*) AS n FROM f GROUP BY c")[1][0] == "ONLY_LOGS"


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("query", "engine"),
    [
        ("SELECT id FROM o ORDER BY id", "incremental/append"),
        ("SELECT id FROM STREAM(o)", "stream/append"),
        ("SELECT id FROM f", "stream/append"),
        ("SELECT DISTINCT c FROM f", "stream/stateful"),
        ("SELECT DISTINCT c FROM v", "incremental/differential"),
        ("WITH w AS (SELECT * FROM f) SELECT c, max(id) AS m FROM w GROUP BY c", "stream/stateful"),
        ("SELECT c, count(DISTINCT id) AS n FROM f GROUP BY c", "incremental/recompute"),
        ("SELECT c, count(*) AS n FROM f GROUP BY c HAVING n > 1", "incremental/recompute"),
        ("SELECT c, id FROM f JOIN o FOR SYSTEM_TIME AS OF proctime() USING (id, c)", None),
        ("SELECT f.id, o.c FROM f JOIN o USING (id)", "incremental/recompute"),
        (f"SELECT f.id FROM f {LATE} JOIN o {LATE} ON f.id = o.id AND f.ts = o.ts", None),
    ],
)
def test_more_queries(tables, query, engine):
    found = explained(tables, query)[0]
    assert found == engine or (engine is None and found.startswith("stream/"))


@pytest.mark.conformance
def test_the_option_is_checked_against_the_source(tables):
    for option, condition in (
        ("id DELAY OF 1 s", "MATERIALIZED_TABLE_WATERMARK_COLUMN"),
        ("nothing DELAY OF 1 s", "MATERIALIZED_TABLE_WATERMARK_COLUMN"),
        ("f: ts DELAY OF 1 s", "MATERIALIZED_TABLE_WATERMARK_SOURCE"),
        ("ts DELAY OF 0 s", "MATERIALIZED_TABLE_INVALID_OPTION"),
    ):
        assert refused(tables, WINDOWS.format("v"), f"WITH ('watermark' = '{option}')") == condition
    over = "SELECT id, row_number() OVER (PARTITION BY c ORDER BY id) AS n FROM STREAM o"
    assert refused(tables, over) == "MATERIALIZED_TABLE_STREAM_QUERY"
    full = refused(tables, "SELECT id FROM STREAM o", "FRESHNESS = INTERVAL '1' DAY")
    assert full == "MATERIALIZED_TABLE_STREAM_IN_FULL_MODE"


@pytest.mark.conformance
@pytest.mark.parametrize("source", ["STREAM {}", "STREAM({})", "{}", "STREAM {} AS x"])
@pytest.mark.usefixtures("tables")
def test_a_view_replaces_a_source_with_a_watermark(session, source):
    body, as_, alias = source.partition(" AS ")
    text = WINDOWS.format(f"{body.format('o')} {LATE}{as_}{alias}")
    analyzed = SparkQueryAnalyzer(session).analyze(text)
    private = session.newSession()
    (name,) = [str(each.name) for each in analyzed.sources]
    private.readStream.table(name).createOrReplaceTempView("instead")
    pins = Pins(replaced={name: "instead"}, streams=True)
    pinned = pin_query(private, analyzed.expanded, analyzed.context, pins)
    assert pinned.text is not None, pinned.reason
    assert private.sql(pinned.text).isStreaming
