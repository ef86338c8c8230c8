"""FLIP-492: ALTER … AS query, and CREATE OR REPLACE."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.flips.journeys import journey
from tests.support.errors import raises

SOURCE = "col1 INT; col2 STRING; col3 INT"
TWO, THREE = "col1 INT; col2 STRING", SOURCE
CREATE = """CREATE MATERIALIZED TABLE my_materialized_table {constraint}
FRESHNESS{equals} INTERVAL '1' MINUTE {mode}
AS
SELECT col1, col2
FROM paimon_source_table;
"""
ALTER = """ALTER MATERIALIZED TABLE my_materialized_table
{clauses}AS
SELECT {columns}
FROM paimon_source_table{hint};
"""
REPLACE = """CREATE OR REPLACE MATERIALIZED TABLE my_materialized_table
AS
SELECT col1, col2, col3
FROM paimon_source_table{hint};
"""
ALL = "col1, col2, col3"
LATEST = " /*+ OPTIONS('scan.mode' = 'latest') */"
SINCE = " /*+ OPTIONS('scan.timestamp-millis' = '1678883047356') */"
T = "my_materialized_table"


def created(world, constraint="", mode=""):
    """The declared table over a source with two rows."""
    world.source("paimon_source_table", SOURCE, [(1, "a", 10), (2, "b", 20)])
    return world.run(CREATE.format(equals=" =", constraint=constraint, mode=mode), TWO)


def alter(columns=ALL, hint="", clauses=""):
    """An ALTER of the query."""
    return ALTER.format(columns=columns, hint=hint, clauses=clauses)


class Flip492:
    """ALTER … AS query and OR REPLACE."""

    @journey(
        "User Story",
        "create `my_materialized_table`; the example lacks an equals sign: an error that writes "
        "the clause, and corrected",
    )
    def test_creates(self, world):
        with raises(conditions.MISSING_EQUALS) as error:
            world.run(CREATE.format(equals="", constraint="", mode=""))
        assert error.value.parameters["suggestion"] == "FRESHNESS = INTERVAL '1' MINUTE"
        assert created(world).action is Action.CREATED
        assert world.tables.rows(T) == [(1, "a"), (2, "b")]

    @journey(
        "User Story, Scenario 1",
        "`ALTER … AS` with one more column and a hint for the start after the table",
        "Spark has no hints after a table: an error that names the start mode which says the same",
    )
    def test_hints_are_start_modes(self, world):
        created(world)
        with raises(conditions.TABLE_HINT) as error:
            world.run(alter(hint=SINCE))
        assert error.value.parameters["twin"] == "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')"
        with raises(conditions.TABLE_HINT) as error:
            world.run(alter(hint=LATEST))
        assert error.value.parameters["twin"] == "START_MODE = FROM_NOW"
        assert [c.name for c in world.resolved(T).columns] == ["col1", "col2"]

    @journey(
        "User Story, Scenarios 1 and 2; Examples, With hint parameters",
        "the start modes in the place of the hints",
        "without a key, changes since a timestamp would double rows that are there: refused",
    )
    def test_start_modes_do_what_hints_did(self, world):
        created(world, "(PRIMARY KEY (col1) NOT ENFORCED)")
        since = "SET START_MODE = FROM_TIMESTAMP(TIMESTAMP '2023-03-15 13:30:47')\n"
        world.run(alter(clauses=since), THREE)
        assert world.tables.rows(T) == [(1, "a", 10), (2, "b", 20)]
        latest = REPLACE.format(hint="").replace("\nAS", "\nSTART_MODE = FROM_NOW\nAS")
        assert world.run(latest, THREE).action is Action.REPLACED
        assert world.tables.rows(T) == []
        world.tables.append("paimon_source_table", [(3, "c", 30)])
        world.refresh(T)
        assert world.tables.rows(T) == [(3, "c", 30)]

    @journey(
        "User Story, Scenario 1; Examples, Without hint parameters",
        "`ALTER … AS` with one more column: the schema grows, all source data is read again",
        spark=True,
    )
    def test_alters_the_query(self, world):
        created(world)
        identity = world.tables.identity(T)
        outcome = world.run(alter(), THREE)
        assert (outcome.action, outcome.refresh.status) == (
            Action.ALTERED,
            RefreshResult.REFRESHED,
        )
        assert world.tables.rows(T) == [(1, "a", 10), (2, "b", 20)]
        assert world.tables.identity(T) == identity

    @journey(
        "User Story, Scenario 2",
        "`CREATE OR REPLACE` with a hint: an error that names the start mode; without: the table "
        "is rebuilt",
        "readers see the old rows until the new ones are there: one commit, where the FLIP gives "
        "up atomicity",
        spark=True,
    )
    def test_replaces_the_table(self, world):
        created(world)
        with raises(conditions.TABLE_HINT):
            world.run(REPLACE.format(hint=LATEST))
        version = world.stored(T).version
        outcome = world.run(REPLACE.format(hint=""), THREE)
        assert outcome.action is Action.REPLACED
        assert world.tables.rows(T) == [(1, "a", 10), (2, "b", 20)]
        assert world.stored(T).version > version

    @journey(
        "Replacing a Table; Rejected Alternatives, 2",
        "options, comment and freshness are those of the new statement",
    )
    def test_a_replaced_table_keeps_no_clause(self, world):
        world.source("paimon_source_table", SOURCE, [(1, "a", 10)])
        clauses = "COMMENT 'old' WITH ('a' = 'b') FRESHNESS = INTERVAL '1' DAY"
        query = "SELECT col1, col2 FROM paimon_source_table"
        world.run(f"CREATE MATERIALIZED TABLE {T} {clauses} AS {query}", TWO)
        assert world.run(REPLACE.format(hint=""), THREE).refresh_mode == "CONTINUOUS"
        seen = world.tables.metadata(T)
        assert (seen.comment, seen.options) == ("", {})

    @journey(
        "Replacing a Table",
        "`CREATE OR REPLACE` of a table that is missing creates it",
    )
    def test_replacing_nothing_creates(self, world):
        world.source("paimon_source_table", SOURCE, [(1, "a", 10)])
        assert world.run(REPLACE.format(hint=""), THREE).action is Action.CREATED

    @pytest.mark.parametrize(
        ("columns", "ddl", "error"),
        [
            ("col1", "col1 INT", conditions.DROPPED_COLUMN),
            ("col2, col1", "col2 STRING; col1 INT", conditions.COLUMN_MISMATCH),
            ("col1, col2 AS text", "col1 INT; text STRING", conditions.COLUMN_MISMATCH),
            ("col1, col3 AS col2", "col1 INT; col2 INT", conditions.COLUMN_MISMATCH),
            ("col3, col1, col2", "col3 INT; col1 INT; col2 STRING", conditions.COLUMN_MISMATCH),
        ],
        ids=["deleted", "rearranged", "renamed", "retyped", "added in front"],
    )
    @journey(
        "Schema Change Restrictions",
        "columns are added at the end only; deleted, rearranged, renamed and retyped ones are "
        "refused, and nothing changes",
    )
    def test_restricts_schema_changes(self, world, columns, ddl, error):
        created(world)
        before = world.stored(T)
        world.learn(f"SELECT {columns}\nFROM paimon_source_table", ddl)
        with raises(error):
            world.run(alter(columns))
        assert world.stored(T) == before

    @journey(
        "Refresh Task Behavior, CONTINUOUS Mode",
        "a modification that fails is rolled back",
        "nothing is stopped before the new rows are there, so nothing has to be rolled back",
    )
    def test_a_failed_change_leaves_everything(self, world):
        created(world, "(PRIMARY KEY (col2) NOT ENFORCED)")
        before = world.stored(T)
        world.learn("SELECT col1, 'same' AS col2\nFROM paimon_source_table", TWO)
        with pytest.raises(ConstraintViolatedError):
            world.run(alter("col1, 'same' AS col2"))
        assert world.tables.rows(T) == [(1, "a"), (2, "b")]
        after = world.stored(T)
        assert after.definition == before.definition
        assert (after.positions, after.last_refresh) == (before.positions, before.last_refresh)

    @journey(
        "Refresh Task Behavior, FULL Mode",
        "a changed query of a full table",
        "the table is filled with the new query before the statement returns, not at the next run",
    )
    def test_a_changed_query_fills_a_full_table(self, world):
        created(world, mode="REFRESH_MODE = FULL")
        assert world.run(alter(), THREE).refresh.rows == 2
        assert world.tables.rows(T) == [(1, "a", 10), (2, "b", 20)]

    @journey(
        "Refresh Task Behavior, FULL Mode, Partitioned tables",
        "with a partition hint (date formatter), DESC shows what a run refreshes",
        "a changed query fills the whole table once; only scheduled runs write the latest "
        "partition alone",
    )
    def test_desc_shows_which_partition_is_refreshed(self, world):
        world.source("paimon_source_table", SOURCE, [(1, "2024-12-18", 10), (2, "2024-12-17", 20)])
        hint = "PARTITIONED BY (col2) WITH ('partition.fields.col2.date-formatter' = 'yyyy-MM-dd')"
        query = "SELECT col1, col2 FROM paimon_source_table"
        world.run(
            f"CREATE MATERIALIZED TABLE {T} {hint} FRESHNESS = INTERVAL '1' DAY AS {query}", TWO
        )
        assert "col2 as yyyy-MM-dd" in world.described(T)["Refresh"]
        assert world.run(alter(), THREE).refresh.partitions == ()
        assert world.tables.rows(T) == [(1, "2024-12-18", 10), (2, "2024-12-17", 20)]
        run = world.scheduled(T, "2024-12-19T00:00:00")
        assert run.partitions == ("col2='2024-12-18'",)

    @journey(
        "Refresh Task Behavior, FULL Mode, Note",
        "a date formatter that cannot name a partition",
        "an error at CREATE, where Flink's table would stay empty",
    )
    def test_a_wrong_hint_is_an_error(self, world):
        world.source("paimon_source_table", SOURCE, [(1, "2024-12-18", 10)])
        hint = "PARTITIONED BY (col2) WITH ('partition.fields.col2.date-formatter' = 'yyyy-QQ')"
        query = "SELECT col1, col2 FROM paimon_source_table"
        with raises(conditions.INVALID_OPTION):
            world.run(f"CREATE MATERIALIZED TABLE {T} {hint} AS {query}", TWO)
        assert not world.exists(T)

    @journey(
        "Support Desc Materialized Table",
        "`desc extended my_materialized_table`: refresh mode, handle, query, freshness",
        "needs the keywords MATERIALIZED TABLE: without them it is Spark's statement, which dbt "
        "reads",
        spark=True,
    )
    def test_describes(self, world):
        created(world)
        assert parse_statement("desc extended my_materialized_table") is None
        shown = world.described(T)
        assert shown["Original query"] == "SELECT col1, col2\nFROM paimon_source_table"
        assert shown["Refresh mode"].startswith("CONTINUOUS")
        assert shown["Refresh"] == "whole table"
        assert shown["Freshness"] == "INTERVAL '1' MINUTE"
        assert "Refresh handler" in shown

    @journey(
        "Rejected Alternatives, 3",
        "`SWAP WITH`",
        "refused, as in the FLIP; the error lists the forms of ALTER",
    )
    def test_swaps_nothing(self, world):
        with raises(conditions.UNSUPPORTED_ALTER) as error:
            world.run(f"ALTER MATERIALIZED TABLE c.d.{T} SWAP WITH c.d.other")
        assert error.value.parameters["form"] == "SWAP WITH"
