"""Streams over sources of Iceberg, into tables of Iceberg and of Delta."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeKind
from dbt.adapters.spark_mt.spark.catalog.table_details import TableDetails
from dbt.adapters.spark_mt.spark.environment import installed_tables
from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader
from dbt.adapters.spark_mt.spark.query.stream_sources import stream_source
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from tests.behaviour.harness import divided
from tests.behaviour.hosting import Hosting
from tests.behaviour.hosting_spark import SparkWorld
from tests.behaviour.spark import SparkTables
from tests.functional.streams.following import followed
from tests.iceberg.conftest import REST
from tests.iceberg.test_tables import CHANGES, ROWWISE, World

CONTINUOUS = "FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = CONTINUOUS"
KEYED = "SELECT k, sum(v) AS total FROM {t} GROUP BY k"
WAIT_S = 120


@pytest.fixture
def world(session, schema):
    made = World(session, schema, "delta")
    yield made
    made.tables.stop_all()


@pytest.mark.parametrize(
    ("query", "clauses"),
    [(ROWWISE, ""), pytest.param(KEYED, "", marks=pytest.mark.conformance)],
)
def test_batches_are_commits_of_the_table(world, query, clauses):
    world.create(query, f"{clauses} {CONTINUOUS}")
    world.tables.start(world.name)
    for number in range(3):
        world.change(f"INSERT INTO {{t}} VALUES ({200 + number}, 'a', {number})")
        world.tables.await_fresh(world.name, WAIT_S)
        world.equals(query)
    world.session.sql(f"DELETE FROM {world.name} WHERE k = 'nothing'")
    world.change("INSERT INTO {t} VALUES (300, 'b', 1)")
    world.tables.await_fresh(world.name, WAIT_S)
    world.equals(query, "a commit of a user lets the batch be made again")
    world.tables.stop(world.name)
    world.change(CHANGES[1])
    world.tables.start(world.name)
    world.tables.await_fresh(world.name, WAIT_S)
    world.equals(query, "changed rows are not those of a stream")


@pytest.mark.parametrize(
    ("catalog", "iceberg_catalog"),
    [
        pytest.param("spark_catalog", "ice", id="spark_catalog"),
        pytest.param("ice", "ice", id="ice"),
        pytest.param(REST, REST, id="rest"),
    ],
    indirect=["iceberg_catalog"],
)
def test_a_hosted_table_follows_its_source(session, schema, catalog, iceberg_catalog):
    world = World(session, schema, catalog=iceberg_catalog)
    world.name = f"{catalog}.{schema}.m"
    system = f"{iceberg_catalog}.system"
    world.create(ROWWISE, CONTINUOUS)
    world.change("INSERT INTO {t} VALUES (60, 'before the stream', 1)")
    world.tables.start(world.name)
    try:
        for number in range(2):
            follow(world, f"INSERT INTO {{t}} VALUES ({200 + number}, 'a', {number})", "stream")
        rows = world.tables.progress(world.name).rows
        compaction = f"CALL {system}.rewrite_data_files(table => '{schema}.t', {_ALL})"
        follow(world, compaction, "stream")
        assert world.tables.progress(world.name).rows == rows, "a compaction changes no row"
        for change in CHANGES[1:]:
            follow(world, change)
            follow(world, CHANGES[0], "stream")
        back = f"snapshot_id => {world.snapshots(world.source)[0]}"
        follow(world, f"CALL {system}.rollback_to_snapshot(table => '{schema}.t', {back})")
        follow(world, CHANGES[0], "stream")
        world.tables.stop(world.name)
        world.change(CHANGES[0])
        world.tables.start(world.name)
        follow(world, CHANGES[0], "stream")
    finally:
        world.tables.stop_all()


def follow(world, change, strategy=""):
    """Change the source, wait for the table, and compare it with its query."""
    world.change(change)
    progress = world.tables.await_fresh(world.name, WAIT_S)
    world.equals(ROWWISE, change)
    assert progress.choice.name.startswith(strategy), change


_ALL = "options => map('rewrite-all', 'true')"
WINDOWS = (
    "SELECT window(ts, '1 minute').start AS minute, count(*) AS n, max(id) AS newest FROM {t} "
    "GROUP BY window(ts, '1 minute')"
)
WATERMARK = "WITH ('watermark' = 'ts DELAY OF INTERVAL 1 HOUR') FRESHNESS = INTERVAL '2' SECOND"


@pytest.fixture
def events(session, schema):
    world = World(session, schema)
    session.sql(f"DROP TABLE {world.source}")
    session.sql(f"CREATE TABLE {world.source} (id BIGINT, ts TIMESTAMP) USING iceberg")
    yield world
    world.tables.stop_all()


def add_events(world, *ids):
    """Add rows, one a minute."""
    rows = ", ".join(f"({i}, timestamp_seconds({1_700_000_000 + 60 * (i % 4)}))" for i in ids)
    world.change(f"INSERT INTO {{t}} VALUES {rows}")


@pytest.mark.parametrize(
    "catalog", ["ice", pytest.param("spark_catalog", marks=pytest.mark.conformance)]
)
def test_groups_are_kept_by_state(events, catalog):
    events.name = f"{catalog}.{events.schema}.m"
    add_events(events, 1, 2)
    events.change("DELETE FROM {t} WHERE id = 2")
    events.create(WINDOWS, WATERMARK)
    events.equals(WINDOWS, "the state of a table whose newest snapshot is a delete")
    for ids in (3, 4, 5), (6,):
        add_events(events, *ids)
        assert events.refreshed(WINDOWS) == "stateful"
    table = f"table => '{events.schema}.t', {_ALL}"
    events.session.sql(f"CALL ice.system.rewrite_data_files({table})")
    events.refreshed(WINDOWS, "a compaction")
    add_events(events, 7)
    assert events.refreshed(WINDOWS) == "stateful"
    events.change("UPDATE {t} SET id = 100 WHERE id = 1")
    assert events.refreshed(WINDOWS) == "recompute", "no stream can follow that"
    add_events(events, 8)
    assert events.refreshed(WINDOWS) == "stateful"


def test_streams_of_both_formats_in_one_query(events):
    other = f"spark_catalog.{events.schema}.others"
    events.session.sql(f"CREATE TABLE {other} (id BIGINT) USING delta")
    streams = f"SELECT id FROM STREAM {{t}} UNION ALL SELECT id FROM STREAM {other}"
    rows = streams.replace("STREAM ", "")
    add_events(events, 1)
    events.create(streams, "FRESHNESS = INTERVAL '2' SECOND")
    for number in range(3):
        add_events(events, 10 + number)
        events.refreshed(rows)
        events.session.sql(f"INSERT INTO {other} VALUES ({number})")
        events.refreshed(rows)


class Source:
    """A table of Iceberg with numbers, which can be opened as a stream."""

    def __init__(self, session, schema, mode="copy-on-write"):
        self.session, self.name = session, TableName.of("ice", schema, "numbers")
        modes = (f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        self.sql(f"CREATE TABLE {{t}} (id INT) USING iceberg TBLPROPERTIES ({', '.join(modes)})")

    def sql(self, *statements):
        for statement in statements:
            self.session.sql(statement.format(t=self.name.sql))

    def add(self, *numbers):
        listed = ", ".join(f"({each})" for each in numbers)
        self.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM VALUES {listed}")

    def call(self, procedure, arguments):
        table = f"table => '{self.name.schema}.{self.name.name}'"
        self.session.sql(f"CALL ice.system.{procedure}({table}, {arguments})")

    def compact(self):
        self.call("rewrite_data_files", "options => map('rewrite-all', 'true')")

    def roll_back(self):
        first = self.session.sql(
            f"SELECT snapshot_id FROM {self.name.sql}.snapshots ORDER BY committed_at LIMIT 1"
        ).collect()[0][0]
        self.call("rollback_to_snapshot", f"snapshot_id => {first}")

    def expire(self):
        self.add(8)
        self.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")

    def make_again(self):
        self.sql("DROP TABLE {t}", "CREATE TABLE {t} (id INT) USING iceberg")
        self.add(1)

    def open(self):
        tables = installed_tables(self.session, DriverFiles(self.session))
        sessions = PrivateSessions(self.session)
        reader = SparkSourceReader(tables, TableDetails(self.session, tables), sessions)
        private = self.session.newSession()
        return stream_source(private, self.name, "iceberg", reader, tables.named)


@pytest.fixture
def numbers(session, schema):
    return Source(session, schema)


def batch(*numbers):
    return [[(each,) for each in numbers]]


def test_a_stream_begins_after_any_snapshot(numbers, tmp_path):
    beginnings = (
        ("append", lambda: numbers.add(1, 2, 3)),
        ("overwrite", lambda: numbers.sql("UPDATE {t} SET id = 4 WHERE id = 1")),
        ("delete", lambda: numbers.sql("DELETE FROM {t} WHERE id = 4")),
        ("replace", numbers.compact),
        ("rows replaced", lambda: numbers.sql("INSERT OVERWRITE {t} VALUES (5), (6)")),
    )
    for number, (name, begin) in enumerate(beginnings):
        begin()
        source = numbers.open()
        after = source.latest()
        assert followed(source, after, tmp_path / f"{number}-waiting") == ([], None), name
        numbers.add(100 + number)
        numbers.add(200 + number)
        found = followed(source, after, tmp_path / f"{number}-after")
        assert found == (batch(100 + number, 200 + number), source.latest()), name
        assert source.kind(after, source.latest()) is ChangeKind.ADDED
        whole = [tuple(row) for row in numbers.session.table(numbers.name.sql).collect()]
        found = followed(source, None, tmp_path / f"{number}-whole")
        assert found == ([sorted(whole, key=repr)], source.latest()), name


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_deleted_rows_are_not_in_the_first_batch(session, schema, tmp_path, mode):
    numbers = Source(session, schema, mode)
    numbers.add(1, 2, 3)
    numbers.sql("DELETE FROM {t} WHERE id = 2")
    numbers.add(4)
    source = numbers.open()
    newest = source.latest()
    assert followed(source, BEFORE_ALL, tmp_path / "whole") == (batch(1, 3, 4), newest)
    numbers.add(5)
    assert followed(source, newest, tmp_path / "after") == (batch(5), source.latest())


def test_a_stream_of_an_empty_table_waits_for_its_first_snapshot(numbers, tmp_path):
    source = numbers.open()
    empty = source.latest()
    assert followed(source, empty, tmp_path / "waiting") == ([], None)
    assert followed(source, None, tmp_path / "waiting-for-all") == ([], None)
    numbers.add(1)
    assert followed(source, empty, tmp_path / "after") == (batch(1), source.latest())


def test_a_checkpoint_is_continued_after_its_first_snapshot_has_expired(numbers, tmp_path):
    numbers.add(1)
    source = numbers.open()
    after = source.latest()
    numbers.add(2)
    assert followed(source, after, tmp_path / "kept")[0] == batch(2)
    numbers.compact()
    numbers.call("rewrite_manifests", "use_caching => false")  # apache/iceberg#10117
    empty, position = followed(source, after, tmp_path / "kept")
    assert (empty, position) == ([[]], source.latest())
    numbers.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")
    numbers.add(3)
    assert followed(source, after, tmp_path / "kept") == (batch(3), source.latest())


def test_rows_whose_manifests_are_merged_come_once(numbers, tmp_path):
    """What apache/iceberg#10156 says of Iceberg's own source, with restarts in between."""
    numbers.sql("ALTER TABLE {t} SET TBLPROPERTIES ('commit.manifest.min-count-to-merge' = '2')")
    numbers.add(0)
    source = numbers.open()
    after, found = source.latest(), []
    for number in range(1, 6):
        numbers.add(10 * number)
        numbers.add(10 * number + 1)
        found += followed(source, after, tmp_path / "kept")[0]
    assert found == [[(10 * n,), (10 * n + 1,)] for n in range(1, 6)]


VALUES = (
    "true",
    "1",
    "2L",
    "CAST(0.5 AS FLOAT)",
    "0.25D",
    "12345678901234567890.12BD",
    "1.5BD",
    "TIMESTAMP '2026-01-01 00:00:00.123456'",
    "TIMESTAMP_NTZ '2026-01-01 00:00:00.123456'",
    "DATE '1582-10-04'",
    "'ä😀'",
    "X'00FF'",
    "array(1, NULL)",
    "map('k', named_struct('v', 1.5BD))",
    "named_struct('inner', array(named_struct('q', DATE '2026-01-01')))",
)


@pytest.mark.parametrize("files", ["parquet", "orc", "avro"])
def test_files_of_each_format_have_values_of_each_type(session, schema, tmp_path, files):
    listed = ", ".join(f"{value} AS c{place}" for place, value in enumerate(VALUES))
    nothing = ", ".join("NULL" for _ in VALUES)
    numbers = Source(session, schema)
    numbers.sql(
        "DROP TABLE {t}",
        f"CREATE TABLE {{t}} USING iceberg TBLPROPERTIES ('write.format.default' = '{files}') "
        f"AS SELECT 0 AS id, {listed}",
    )
    after = numbers.open().latest()
    numbers.sql(f"INSERT INTO {{t}} SELECT 1, {listed}", f"INSERT INTO {{t}} SELECT 2, {nothing}")
    written = session.sql(f"SELECT DISTINCT file_format FROM {numbers.name.sql}.files").collect()
    assert [row[0] for row in written] == [files.upper()]

    def rows(condition):
        found = session.sql(f"SELECT * FROM {numbers.name.sql} WHERE {condition}").collect()
        return [sorted(map(tuple, found), key=repr)]

    source = numbers.open()
    assert followed(source, None, tmp_path / "whole")[0] == rows("true")
    assert followed(source, after, tmp_path / "after")[0] == rows("id > 0")


ENDS = {
    "UPDATE": (lambda t: t.sql("UPDATE {t} SET id = 9 WHERE id = 1"), "changes or removes rows"),
    "DELETE": (lambda t: t.sql("DELETE FROM {t} WHERE id < 9"), "changes or removes rows"),
    "overwrite": (lambda t: t.sql("INSERT OVERWRITE {t} VALUES (9)"), "changes or removes rows"),
    "rollback": (lambda t: t.roll_back(), "does not lead"),
    "replace": (
        lambda t: t.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 9 AS id"),
        "does not lead",
    ),
    "expiry": (lambda t: t.expire(), "does not lead"),
    "drop and create": (lambda t: t.make_again(), "another one|UUID|dropped"),
    "column": (
        lambda t: t.sql("ALTER TABLE {t} DROP COLUMN id", "ALTER TABLE {t} ADD COLUMN id INT"),
        "column id is another one",
    ),
}


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", ENDS)
def test_a_change_that_is_no_append_ends_the_stream(session, schema, tmp_path, change, mode):
    numbers = Source(session, schema, mode)
    numbers.add(1)
    numbers.add(2)
    source = numbers.open()
    after = source.latest()
    ends, problem = ENDS[change]
    running = source.stream(after)
    ends(numbers)
    if change != "column":
        now = numbers.open()
        changed = now.kind(after, now.latest())
        assert changed not in {ChangeKind.NONE, ChangeKind.ADDED}, "one rule, also in Java"
    batches = []
    writer = running.writeStream.foreachBatch(lambda rows, _: batches.extend(rows.collect()))
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    with pytest.raises(Exception, match=problem):
        query.awaitTermination()
    assert batches == []


def test_a_merge_that_changes_nothing_and_a_new_column_do_not_end_it(numbers, tmp_path):
    numbers.add(1)
    source = numbers.open()
    after = source.latest()
    running = source.stream(after)
    numbers.sql(
        "MERGE INTO {t} AS t USING (SELECT 5 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "ALTER TABLE {t} ADD COLUMN note STRING FIRST",
        "INSERT INTO {t} VALUES ('x', 2)",
    )
    found = []
    writer = running.writeStream.foreachBatch(lambda rows, _: found.extend(rows.collect()))
    writer.option("checkpointLocation", str(tmp_path)).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert [tuple(row) for row in found] == [(2,)]


class IcebergTables(SparkTables):
    """The current namespace of a catalog of Iceberg."""

    provider = "iceberg"

    def _map_columns(self, name):
        """Columns of Iceberg have ids."""


class IcebergWorld(SparkWorld):
    """Hosts of tables of Iceberg over tables of Iceberg."""

    def replace(self, name, ddl, rows):
        frame = self._spark.createDataFrame(rows, ddl.replace(";", ","))
        frame.createOrReplaceTempView("new_rows")
        self._spark.sql(f"CREATE OR REPLACE TABLE {name} USING iceberg AS SELECT * FROM new_rows")

    def rewrite(self, name):
        schema = self._spark.catalog.currentDatabase()
        arguments = f"table => '{schema}.{name}', options => map('rewrite-all', 'true')"
        self._spark.sql(f"CALL ice.system.rewrite_data_files({arguments})")


CORE, REST = divided(
    Hosting,
    (
        "every_row_arrives_once",
        "a_source_that_no_stream_can_follow",
        "files_that_are_rewritten_are_no_change",
    ),
)


class _OnIceberg:
    @pytest.fixture
    def world(self, session, schema):
        session.sql(f"USE ice.{schema}")
        made = IcebergWorld(IcebergTables(session), session)
        yield made
        made.close()


class TestHosting(_OnIceberg, CORE):
    """What Iceberg and Structured Streaming could get wrong."""


@pytest.mark.conformance
class TestEveryHosting(_OnIceberg, REST):
    """All other guarantees."""
