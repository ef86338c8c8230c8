"""Changes of a Delta source's rows between two positions, from its log."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeKind, VersionedPosition
from dbt.adapters.spark_mt.execution.ports import SourceSpan
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment


class Watched:
    """A source and what happened to it since a position."""

    def __init__(self, session, schema):
        self.session = session
        self.engine = SparkEnvironment(session)
        self.sources = self.engine.value.sources
        self.name = TableName("s", schema, "spark_catalog")

    def run(self, *statements):
        for statement in statements:
            self.session.sql(statement)

    def now(self) -> VersionedPosition:
        self.engine.details.forget()
        source = Source(self.name, SourceKind.VERSIONED)
        (position,) = self.sources.positions([source]).values()
        return position

    def kind(self, after, *, net=True):
        return self.sources.changes(SourceSpan(self.name, after, self.now()), net=net)

    def rows(self, after):
        """The rows that were added and removed since `after`."""
        range_ = VersionRange(self.sources.table(self.name), after, self.now())
        with self.engine.sessions.open() as private:
            reader = self.engine.tables.default.changes(private.spark)
            removed = reader.removed(range_)
            added = private.spark.sql(reader.added(range_)).collect()
            gone = private.spark.sql(removed).collect() if removed else []
        return sorted(map(tuple, added), key=repr), sorted(map(tuple, gone), key=repr)

    def weighted(self, after):
        """The rows with their weights, in each way in which they can be read."""
        range_ = VersionRange(self.sources.table(self.name), after, self.now())
        with self.engine.sessions.open() as private:
            ways = self.engine.tables.default.changes(private.spark).weighted(range_, "weight")
            return [Counter(map(tuple, private.spark.sql(way).collect())) for way in ways]


MARKED = (
    "CREATE TABLE s (id INT, v STRING, c CHAR(4), d DECIMAL(9, 2), day DATE) USING delta {layout} "
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
)
ROWS = (
    "SELECT CAST(id + {n} AS INT), IF(id % 5 = 0, NULL, CAST(id % 3 AS STRING)), "
    "IF(id % 4 = 0, NULL, CAST(id % 2 AS STRING)), id % 7, DATE'2026-01-01' + CAST(id % 3 AS INT) "
    "FROM range(0, 12, 1, 1)"
)
CHANGES = (
    f"INSERT INTO s {ROWS}",
    "UPDATE s SET v = concat(v, '{n}') WHERE id % 5 = {n} % 5",
    "UPDATE s SET id = id WHERE id % 3 = {n} % 3",
    "DELETE FROM s WHERE id % 7 = {n} % 7",
    "DELETE FROM s WHERE day = DATE'2026-01-01' + {n} % 3",
    (
        "MERGE INTO s USING (SELECT CAST(id + {n} AS INT) AS id FROM range(4)) AS t ON s.id = t.id "
        "WHEN MATCHED AND s.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s.c = 'm' "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)"
    ),
    "OPTIMIZE s",
    "REORG TABLE s APPLY (PURGE)",
    "RESTORE TABLE s TO VERSION AS OF {before}",
)


@pytest.fixture
def watched(session, schema):
    return Watched(session, schema)


PLAIN = "CREATE TABLE s (id INT, v STRING) USING delta"
SPACED = (
    "CREATE TABLE s (id INT, v STRING, `a b` STRING) USING delta PARTITIONED BY (`a b`) "
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')"
)


def test_appended_rows_are_read_from_their_files_alone(watched):
    watched.run(SPACED, "INSERT INTO s VALUES (1, 'a', 'x y/%20'), (2, 'b', 'z')")
    start = watched.now()
    assert watched.kind(start) is ChangeKind.NONE
    watched.run("INSERT INTO s VALUES (1, 'a', 'x y/%20'), (3, 'c', NULL)")
    middle = watched.now()
    watched.run("OPTIMIZE s", "INSERT INTO s VALUES (4, 'd', 'z')")
    assert watched.kind(start) is ChangeKind.ADDED
    both = [(1, "a", "x y/%20"), (3, "c", None), (4, "d", "z")]
    assert watched.rows(start) == (both, [])
    assert watched.rows(middle) == ([(4, "d", "z")], [])
    everything = sorted([*both, (1, "a", "x y/%20"), (2, "b", "z")], key=repr)
    assert watched.rows(BEFORE_ALL) == (everything, [])


@pytest.mark.conformance
def test_what_moves_rows_without_changing_them_changes_nothing(watched):
    watched.run(PLAIN, "INSERT INTO s VALUES (1, 'a')", "INSERT INTO s VALUES (2, 'b')")
    start = watched.now()
    watched.run("OPTIMIZE s", "ALTER TABLE s SET TBLPROPERTIES ('k' = 'v')")
    assert watched.kind(start) is ChangeKind.NONE
    assert watched.rows(start) == ([], [])
    watched.run("INSERT OVERWRITE s SELECT * FROM s", "INSERT OVERWRITE s SELECT * FROM s")
    assert watched.kind(start) is ChangeKind.NONE
    watched.run("CREATE OR REPLACE TABLE s USING delta AS SELECT * FROM s VERSION AS OF 2")
    assert watched.kind(start) is ChangeKind.NONE


@pytest.mark.conformance
@pytest.mark.parametrize("create", [PLAIN, SPACED])
def test_deleted_and_updated_rows_are_distinguished(watched, create):
    extra = ", 'p'" if create is SPACED else ""
    full = ("p",) if create is SPACED else ()
    watched.run(create, f"INSERT INTO s VALUES (1, 'a'{extra}), (2, 'b'{extra}), (2, 'b'{extra})")
    start = watched.now()
    watched.run(f"INSERT INTO s VALUES (3, 'c'{extra})", "OPTIMIZE s")
    watched.run("DELETE FROM s WHERE id = 1", "UPDATE s SET v = 'n' WHERE id = 3")
    assert watched.kind(start) is ChangeKind.REMOVED
    assert watched.rows(start) == ([(3, "n", *full)], [(1, "a", *full)])
    watched.run(f"INSERT INTO s VALUES (1, 'a'{extra})")
    assert watched.kind(start) is ChangeKind.ADDED
    assert watched.rows(start) == ([(3, "n", *full)], [])
    watched.run("RESTORE TABLE s TO VERSION AS OF 1")
    assert watched.kind(start) is ChangeKind.NONE
    assert watched.rows(start) == ([], [])


@pytest.mark.parametrize("feed", [pytest.param("false", marks=pytest.mark.conformance), "true"])
def test_removed_rows_that_come_back_are_a_change_only_where_the_log_is_trusted(watched, feed):
    watched.run(
        f"{PLAIN} TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}')",
        "INSERT INTO s VALUES (1, 'a'), (2, 'b')",
    )
    start = watched.now()
    watched.run("DELETE FROM s WHERE id = 1", "INSERT INTO s VALUES (1, 'a')")
    assert watched.kind(start) is ChangeKind.NONE
    assert watched.kind(start, net=False) is ChangeKind.REMOVED
    watched.run("INSERT INTO s VALUES (1, 'a')")
    assert watched.kind(start) is ChangeKind.ADDED
    before = watched.now()
    watched.run("INSERT OVERWRITE s SELECT * FROM s")
    assert watched.kind(before, net=False) is ChangeKind.NONE, "an overwrite counts no rows"
    watched.run("DELETE FROM s WHERE id = 2")
    assert watched.kind(start) is watched.kind(before) is ChangeKind.REMOVED


@pytest.mark.conformance
def test_columns_that_came_later_are_null_before(watched):
    watched.run(PLAIN, "INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    start = watched.now()
    watched.run("ALTER TABLE s ADD COLUMN w INT", "INSERT INTO s VALUES (3, 'c', 3)")
    assert watched.kind(start) is ChangeKind.ADDED
    assert watched.rows(start) == ([(3, "c", 3)], [])
    watched.run("DELETE FROM s WHERE id = 2")
    assert watched.rows(start) == ([(3, "c", 3)], [(2, "b", None)])


@pytest.mark.conformance
def test_a_column_that_had_another_name_in_between(watched):
    """The file that came then was rewritten, so that it is read as of a version of that time."""
    watched.run(f"{PLAIN} TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    watched.run("INSERT INTO s VALUES (1, 'a')")
    start = watched.now()
    watched.run("ALTER TABLE s RENAME COLUMN v TO w", "INSERT INTO s VALUES (2, 'b')")
    watched.run("ALTER TABLE s RENAME COLUMN w TO v", "OPTIMIZE s")
    assert watched.kind(start) is ChangeKind.ADDED
    assert watched.rows(start) == ([(2, "b")], [])


@pytest.mark.conformance
def test_columns_that_cannot_be_compared(watched):
    watched.run("CREATE TABLE s (id INT, m MAP<STRING, INT>) USING delta")
    watched.run("INSERT INTO s VALUES (1, map('a', 1))")
    start = watched.now()
    watched.run("INSERT INTO s VALUES (2, map('b', 2))", "OPTIMIZE s")
    assert watched.kind(start) is ChangeKind.ADDED
    assert watched.rows(start) == ([(2, {"b": 2})], [])
    watched.run("DELETE FROM s WHERE id = 1")
    assert watched.kind(start) is ChangeKind.REMOVED
    added, removed = watched.rows(start)
    assert (2, {"b": 2}) in added
    assert (1, {"a": 1}) in removed


@pytest.mark.conformance
def test_a_range_that_can_no_longer_be_read(watched):
    checkpoints = f"{PLAIN} TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    watched.run(checkpoints, "INSERT INTO s VALUES (1, 'a')")
    start = watched.now()
    watched.run("INSERT INTO s VALUES (2, 'b')", "INSERT INTO s VALUES (3, 'c')")
    middle = watched.now()
    location = watched.sources.table(watched.name).handle.removeprefix("file:")
    log = Path(location) / "_delta_log"
    for number in (0, 1, 2):
        (log / f"{number:020}.json").unlink()
    assert watched.kind(start) is ChangeKind.GONE
    assert watched.kind(middle) is ChangeKind.NONE
    watched.run("DROP TABLE s", PLAIN)
    assert watched.kind(start) is ChangeKind.REPLACED


@pytest.mark.conformance
def test_rows_whose_files_were_vacuumed(watched):
    watched.run(PLAIN, "INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    start = watched.now()
    watched.run(
        "DELETE FROM s WHERE id = 1",
        "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
        "VACUUM s RETAIN 0 HOURS",
        "INSERT INTO s VALUES (3, 'c')",
    )
    assert watched.kind(start) is ChangeKind.GONE
    later = watched.now()
    watched.run("INSERT INTO s VALUES (4, 'd')", "OPTIMIZE s")
    assert watched.kind(later) is ChangeKind.ADDED
    watched.run("VACUUM s RETAIN 0 HOURS")
    assert watched.kind(later) is ChangeKind.GONE


def test_the_position_at_an_instant(watched):
    watched.run(PLAIN, *(f"INSERT INTO s VALUES ({n}, 'a')" for n in range(4)))
    times = {
        row["version"]: int(row["timestamp"].timestamp() * 1000)
        for row in watched.session.sql("DESCRIBE HISTORY s").collect()
    }
    for version in range(1, 5):
        found = watched.sources.position_at(watched.name, times[version])
        assert (found.position.version, found.is_complete) == (version - 1, True)
    newest = watched.sources.position_at(watched.name, times[4] + 1)
    assert newest.position == watched.now()
    before = watched.sources.position_at(watched.name, times[0])
    assert (before.position, before.is_complete) == (BEFORE_ALL, False)


@pytest.mark.parametrize("has_list", [False, True])
def test_the_files_of_a_version_are_listed_once(watched, has_list):
    """By a job where the checksum of the commit does not list them."""
    watched.session.conf.set("spark.databricks.delta.allFilesInCrc.enabled", str(has_list).lower())
    watched.run(PLAIN, "INSERT INTO s VALUES (1, 'a')")
    jobs = 0 if has_list else 1

    def opened():
        version, table = watched.now().version, watched.sources.table(watched.name)
        with watched.engine.sessions.open() as private:
            context, group = private.spark.sparkContext, uuid4().hex
            context.setJobGroup(group, "")
            view = watched.engine.tables.default.opened(private.spark, table, version)
            listings = context.statusTracker().getJobIdsForGroup(group)
            return len(listings), [tuple(row) for row in private.spark.table(view).collect()]

    assert opened() == (jobs, [(1, "a")])
    assert opened() == (0, [(1, "a")])
    watched.run("DROP TABLE s", PLAIN, "INSERT INTO s VALUES (2, 'b')")
    assert opened() == (jobs, [(2, "b")]), "another table with versions of the same numbers"


@pytest.mark.parametrize(
    ("seed", "layout", "changes"),
    [
        (2, "", 3),
        pytest.param(3, "PARTITIONED BY (day)", 9, marks=pytest.mark.conformance),
        pytest.param(5, "CLUSTER BY (id)", 9, marks=pytest.mark.conformance),
        pytest.param(8, "", 9, marks=pytest.mark.conformance),
    ],
)
def test_marked_rows_are_those_by_which_the_files_differ(watched, seed, layout, changes):
    chosen = random.Random(seed)  # noqa: S311 - a test's choice
    watched.run(MARKED.format(layout=layout), f"INSERT INTO s {ROWS.format(n=0)}")
    starts, ways = [watched.now()], Counter()
    for n in range(changes):
        first = f"DELETE FROM s WHERE id = {n}"
        change = first if n % 3 == 0 else chosen.choice(CHANGES)
        watched.run(change.format(n=n, before=starts[-1].version - 1 or 1))
        for start in starts[-1], chosen.choice(starts):
            found = watched.weighted(start)
            ways[len(found)] += 1
            assert all(each == found[-1] for each in found), (n, change, found)
        starts.append(watched.now())
    assert ways[2] > 1, "without deletion vectors all are read from whole files"
