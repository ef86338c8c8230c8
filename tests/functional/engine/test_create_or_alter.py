"""CREATE OR ALTER of a table that exists: what counts as a change, and what it commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
from dbt.adapters.spark_mt.execution.results import Action
from tests.functional.engine.oracle import (
    assert_equals_query,
    delta_id,
    described,
    fenced_commits,
    history,
    outcome,
    properties,
    rows,
    version,
)
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REGISTRY = "materialized_table_system.registry"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in a schema with the source `src(id INT, name, ds)`."""
    session.sql(
        f"CREATE TABLE {schema}.src USING delta AS SELECT CAST(id AS INT) AS id, "
        "concat('n', id % 3) AS name, '2025-01-01' AS ds FROM range(6)"
    )
    return MaterializedTables(session)


def altered(tables: MaterializedTables, clauses: str, query: str = "SELECT id, name FROM src"):
    return outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE t {clauses} AS {query}")


def test_unchanged_commits_nothing(tables):
    clauses = (
        "(id, name) COMMENT 'c' PARTITIONED BY (name) WITH ('k' = 'v') "
        "FRESHNESS = INTERVAL '1' MINUTE"
    )
    altered(tables, clauses)
    before = history(tables, "t"), version(tables, _REGISTRY)
    same = altered(tables, clauses.replace("'1' MINUTE", "'60' SECONDS"))
    assert (same.action, same.changes, same.refresh) == (Action.UNCHANGED, (), None)
    assert (history(tables, "t"), version(tables, _REGISTRY)) == before


@pytest.mark.conformance
def test_unchanged_reads_nothing_but_definitions(tables, session):
    altered(tables, "")
    context = session.sparkContext
    context.setJobGroup("unchanged", "what an unchanged statement runs")
    altered(tables, "")
    context.setLocalProperty("spark.jobGroup.id", None)
    jobs = context.statusTracker().getJobIdsForGroup("unchanged")
    assert len(jobs) <= 4, "the log's newest commits are read, and the details of the table"


@pytest.mark.conformance
def test_comments_and_whitespace_in_the_query_change_its_text_only(tables):
    altered(tables, "")
    before = version(tables, "t")
    text = "SELECT  id, -- the key\n  name FROM src /* all */"
    change = altered(tables, "", text)
    assert (change.action, change.refresh) == (Action.ALTERED, None)
    newest = fenced_commits(tables, "t")[0]
    assert (newest["kind"], newest["version"]) == ("definition", before + 1)
    assert newest["positions"] == fenced_commits(tables, "t")[1]["positions"]
    assert described(tables, "t")["Original query"] == text
    assert altered(tables, "", text).action is Action.UNCHANGED


_SLOTS = ("list", "comment", "layout", "options", "freshness", "mode", "start", "retention")
_ASPECTS = (
    ("list", "(id INT, name STRING COMMENT 'n')", "Comment of column"),
    ("comment", "COMMENT 'new'", "Comment"),
    ("options", "WITH ('k' = 'v')", "Option 'k'"),
    ("options", "WITH ('k' = 'v', 'delta.appendOnly' = 'false')", "Option 'delta.appendOnly'"),
    ("freshness", "FRESHNESS = INTERVAL '3' MINUTE", "Freshness"),
    ("freshness", "FRESHNESS = INTERVAL '1' DAY", "Freshness"),
    ("mode", "REFRESH_MODE = FULL", "Refresh mode"),
    ("layout", "CLUSTER BY (id)", "Clustering"),
    ("list", "(id INT, name STRING COMMENT 'n', PRIMARY KEY (id) NOT ENFORCED)", "Primary key"),
    (
        "list",
        "(id INT, name STRING COMMENT 'n', PRIMARY KEY (id) NOT ENFORCED, CHECK (id >= 0))",
        "Constraint",
    ),
    ("start", "START_MODE = RESUME_OR_FROM_NOW", "Start mode"),
    ("retention", "STATE_RETENTION = ALL", "State retention"),
)


@pytest.mark.conformance
def test_each_aspect_but_the_query_leaves_the_rows(tables):
    """One aspect after the other joins the statement, and at the end all of them go at once."""
    altered(tables, "")
    identity, before = delta_id(tables, "t"), version(tables, "t")
    slots = dict.fromkeys(_SLOTS, "")
    for slot, clause, sentence in _ASPECTS:
        slots[slot] = clause
        change = altered(tables, " ".join(slots.values()))
        assert (change.action, change.refresh) == (Action.ALTERED, None), clause
        assert len([text for text in change.changes if text.startswith(sentence)]) == 1
    assert altered(tables, " ".join(slots.values())).action is Action.UNCHANGED
    later = [c for c in fenced_commits(tables, "t") if c["version"] > before]
    assert [commit["kind"] for commit in later] == ["definition"] * len(_ASPECTS)
    assert len(altered(tables, "").changes) >= len(_SLOTS)
    assert altered(tables, "").action is Action.UNCHANGED
    assert delta_id(tables, "t") == identity
    assert_equals_query(tables, "t")


def test_metadata_follows_the_definition(tables):
    altered(tables, "(id INT COMMENT 'a', name STRING) COMMENT 'x' WITH ('k' = '1', 'l' = '2')")
    altered(
        tables, "(id INT COMMENT 'b', name STRING) COMMENT 'y' CLUSTER BY (id) WITH ('k' = '3')"
    )
    (detail,) = tables.sql("DESCRIBE DETAIL t").collect()
    assert (detail["description"], detail["clusteringColumns"]) == ("y", ["id"])
    assert (detail["properties"]["k"], "l" in detail["properties"]) == ("3", False)
    assert tables.sql("DESCRIBE TABLE t").collect()[0]["comment"] == "b"
    altered(tables, "")
    (detail,) = tables.sql("DESCRIBE DETAIL t").collect()
    assert (detail["description"] or "", detail["clusteringColumns"]) == ("", [])
    assert "k" not in detail["properties"]
    assert not tables.sql("DESCRIBE TABLE t").collect()[0]["comment"]


def test_appended_columns_and_a_changed_query_fill_the_table_in_one_commit(tables):
    altered(tables, "CLUSTER BY (id)")
    identity, before = delta_id(tables, "t"), version(tables, "t")
    change = altered(
        tables, "CLUSTER BY (id)", "SELECT id, name, id * 2 AS d, ds FROM src WHERE id > 1"
    )
    assert (change.action, change.refresh.rows) == (Action.ALTERED, 4)
    newest = fenced_commits(tables, "t")[0]
    assert (newest["kind"], newest["version"]) == ("content", before + 1)
    assert newest["definition"]
    assert tables.sql("SELECT * FROM t").columns == ["id", "name", "d", "ds"]
    assert tables.sql("DESCRIBE DETAIL t").collect()[0]["clusteringColumns"] == ["id"]
    assert delta_id(tables, "t") == identity
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_changed_query_and_changed_clauses_at_once(tables):
    altered(tables, "COMMENT 'a' WITH ('k' = '1')")
    change = altered(
        tables,
        "(id INT COMMENT 'key', name STRING, PRIMARY KEY (id) NOT ENFORCED) COMMENT 'b' "
        "WITH ('l' = '2')",
        "SELECT id, upper(name) AS name FROM src",
    )
    assert len(change.changes) >= 5
    assert properties(tables, "t").items() >= {"l": "2"}.items()
    assert "k" not in properties(tables, "t")
    assert tables.sql("DESCRIBE TABLE t").collect()[0]["comment"] == "key"
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_an_appended_column_that_needs_column_mapping(tables):
    altered(tables, "PARTITIONED BY (name)")
    query = "SELECT id, name, id + 1 AS `a b` FROM src"
    altered(tables, "PARTITIONED BY (name)", query)
    assert tables.sql("SELECT * FROM t").columns == ["id", "name", "a b"]
    assert altered(tables, "PARTITIONED BY (name)", query).action is Action.UNCHANGED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_widening_needs_its_option(tables):
    altered(tables, "(id INT COMMENT 'k', name STRING)")
    wide, query = "(id BIGINT COMMENT 'k', name STRING)", "SELECT id, name FROM src"
    with raises(conditions.COLUMN_WIDENING):
        altered(tables, wide, query)
    identity = delta_id(tables, "t")
    change = altered(tables, wide + " WITH ('schema.type-widening' = 'true')", query)
    assert change.action is Action.ALTERED
    assert tables.sql("SELECT * FROM t").dtypes[0] == ("id", "bigint")
    assert tables.sql("DESCRIBE TABLE t").collect()[0]["comment"] == "k"
    assert delta_id(tables, "t") == identity
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_columns_that_cannot_change(tables):
    altered(tables, "")
    before = history(tables, "t")
    for query, error in (
        ("SELECT id FROM src", conditions.DROPPED_COLUMN),
        ("SELECT id, name AS other FROM src", conditions.COLUMN_MISMATCH),
        ("SELECT name, id FROM src", conditions.COLUMN_MISMATCH),
        ("SELECT CAST(id AS STRING) AS id, name FROM src", conditions.COLUMN_MISMATCH),
    ):
        with raises(error):
            altered(tables, "", query)
    assert history(tables, "t") == before


def test_all_violations_at_once_and_nothing_touched(tables):
    altered(tables, "PARTITIONED BY (name)")
    before = history(tables, "t"), properties(tables, "t"), rows(tables, "SELECT * FROM t")
    with pytest.raises(InvalidDefinitionError) as impossible:
        altered(tables, "COMMENT 'b' PARTITIONED BY (id)", "SELECT id, ds FROM src")
    assert set(impossible.value.conditions) == {
        conditions.COLUMN_MISMATCH.name,
        conditions.PARTITIONING_CHANGE.name,
    }
    with pytest.raises(InvalidDefinitionError) as invalid:
        altered(
            tables,
            "(PRIMARY KEY (nope) NOT ENFORCED) PARTITIONED BY (none) "
            "WITH ('partition.fields.id.date-formatter' = 'yyyy')",
        )
    assert len(invalid.value.violations) == 4, "the key, the partition, the option, the change"
    assert (
        history(tables, "t"),
        properties(tables, "t"),
        rows(tables, "SELECT * FROM t"),
    ) == before


@pytest.mark.conformance
def test_a_view_with_other_columns_underneath_changes_the_query(tables):
    tables.sql("CREATE VIEW v AS SELECT id, name FROM src")
    altered(tables, "", "SELECT * FROM v")
    assert altered(tables, "", "SELECT * FROM v").action is Action.UNCHANGED
    tables.sql("CREATE OR REPLACE VIEW v AS SELECT id, name, ds FROM src")
    change = altered(tables, "", "SELECT * FROM v")
    assert (change.action, change.refresh.rows) == (Action.ALTERED, 6)
    assert tables.sql("SELECT * FROM t").columns == ["id", "name", "ds"]
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_stored_confs_are_part_of_what_the_query_means(tables, session):
    query = "SELECT id, date_format(timestamp_seconds(id), 'HH') AS hour FROM src"
    session.conf.set("spark.sql.session.timeZone", "UTC")
    altered(tables, "", query)
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    tables.refresh("t", force=True)
    assert rows(tables, "SELECT DISTINCT hour FROM t") == [("00",)]
    change = altered(tables, "", query)
    assert (change.action, change.refresh.rows) == (Action.ALTERED, 6)
    assert rows(tables, "SELECT DISTINCT hour FROM t") == [("09",)]
    session.conf.set("spark.sql.ansi.enabled", "false")
    assert any("ansi" in sentence for sentence in altered(tables, "", query).changes)
    assert altered(tables, "", query).action is Action.UNCHANGED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_confs_that_only_say_how_to_run_do_not_count(tables, session):
    altered(tables, "")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    assert altered(tables, "").action is Action.UNCHANGED
