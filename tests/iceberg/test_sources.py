"""Materialized tables of Delta over sources of Iceberg, compared with their queries."""

from __future__ import annotations

from threading import Thread

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import (
    MaterializedTableError,
    RefreshNotIncrementalError,
)
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.metadata import DriverMetadata, SqlMetadata
from dbt.adapters.spark_mt.strategies import differential
from tests.functional.engine.oracle import outcome, rows
from tests.support.errors import raises

COPY = "copy-on-write"
MERGE = "merge-on-read"


def properties(version, mode):
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    return f"TBLPROPERTIES ('format-version' = '{version}', {modes})"


CHANGES = {
    "append": "INSERT INTO {t} VALUES (101, 'a', 1.5), (101, 'a', 1.5)",
    "append of no rows": "INSERT INTO {t} SELECT * FROM {t} WHERE false",
    "update": "UPDATE {t} SET v = v + 1 WHERE id IN (3, 40)",
    "delete": "DELETE FROM {t} WHERE id = 7",
    "one of equal rows": "DELETE FROM {t} WHERE id = 101",
    "NULL keys": "INSERT INTO {t} VALUES (NULL, NULL, 2.5), (NULL, NULL, NULL)",
    "update to NULL": "UPDATE {t} SET k = NULL WHERE id = 9",
    "not a number": "INSERT INTO {t} VALUES (200, 'n', CAST('NaN' AS DOUBLE)), (201, 'n', -0.0D)",
    "merge": (
        "MERGE INTO {t} AS t USING (SELECT CAST(id AS INT) AS id FROM range(45, 55)) AS s "
        "ON t.id = s.id WHEN MATCHED AND t.id = 46 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN INSERT *"
    ),
    "append after deletes": "INSERT INTO {t} VALUES (102, 'b', 2.5)",
    "compaction": (
        "CALL ice.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))"
    ),
    "overwrite with other rows": "INSERT OVERWRITE {t} SELECT id, k, v * 2 FROM {t} WHERE id > 5",
    "overwrite with the same rows": "INSERT OVERWRITE {t} SELECT * FROM {t}",
    "delete of all": "DELETE FROM {t} WHERE true",
    "append to nothing": "INSERT INTO {t} VALUES (1, 'a', 1.0), (2, 'b', 2.0)",
}
MERGE_INSERT = "INSERT (id, k, v) VALUES (s.id, 'new', 1.0)"
QUERY = (
    "SELECT k, count(*) AS n, sum(CAST(v AS DECIMAL(20,2))) AS v FROM {t} "
    "WHERE NOT isnan(v) OR v IS NULL GROUP BY k"
)
STRICT = "'incremental' = 'strict'"


class Source:
    """A table of Iceberg, and tables over it."""

    def __init__(self, session, schema, version=2, mode=COPY):
        self.session, self.schema = session, schema
        self.tables = MaterializedTables(session)
        self.name = f"ice.{schema}.t"
        session.sql(
            f"CREATE TABLE {self.name} (id INT, k STRING, v DOUBLE) USING iceberg "
            f"{properties(version, mode)}"
        )
        session.sql(
            f"INSERT INTO {self.name} SELECT CAST(id AS INT), chr(CAST(97 + id % 5 AS INT)), "
            "CAST(id AS DOUBLE) FROM range(50)"
        )

    def create(self, name, query, options=STRICT, clauses=""):
        properties = f"TBLPROPERTIES ({options})" if options else ""
        outcome(
            self.tables,
            f"CREATE MATERIALIZED TABLE {name} {clauses} {properties} "
            f"AS {query.format(t=self.name)}",
        )

    def change(self, statement):
        name = f"{self.schema}.t" if "CALL" in statement else self.name
        return self.session.sql(statement.replace("INSERT *", MERGE_INSERT).format(t=name))

    def refreshed(self, name, query, why=""):
        """Refresh a table, compare it with its query, and return the strategy."""
        done = self.tables.refresh(name)
        expected = rows(self.tables, query.format(t=self.name))
        assert repr(rows(self.tables, f"SELECT * FROM {name}")) == repr(expected), why
        return done.strategy

    def refused(self, name, query, code):
        """Assert that `strict` names why all rows are computed, and compute them."""
        with pytest.raises(RefreshNotIncrementalError, match=rf"\({code}\)"):
            self.tables.refresh(name)
        self.tables.refresh(name, force=True)
        assert repr(rows(self.tables, f"SELECT * FROM {name}")) == repr(
            rows(self.tables, query.format(t=self.name))
        )

    def snapshots(self):
        """The ids of the snapshots, the oldest first."""
        found = self.session.sql(
            f"SELECT snapshot_id FROM {self.name}.snapshots ORDER BY committed_at"
        )
        return [row[0] for row in found.collect()]

    def why(self):
        """The reason of the newest job."""
        return self.tables.execute("SHOW JOBS").rows[0][-1]


@pytest.fixture
def source(session, schema):
    return Source(session, schema)


_MORE = pytest.mark.conformance


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        (2, COPY),
        (3, MERGE),
        pytest.param(3, COPY, marks=_MORE),
        pytest.param(2, MERGE, marks=_MORE),
    ],
)
def test_each_kind_of_change_is_applied(session, schema, version, mode):
    source = Source(session, schema, version, mode)
    rowwise = "SELECT id, upper(k) AS k, v FROM {t} WHERE id <> 13 OR id IS NULL"
    named = {"grouped": QUERY, "filtered": rowwise}
    for name, query in named.items():
        source.create(name, query)
    used = {}
    for why, statement in CHANGES.items():
        source.change(statement)
        used[why] = tuple(source.refreshed(*each, why) for each in named.items())
    nothing = {"append of no rows", "compaction"}
    assert {used[why] for why in nothing} == {("skip", "skip")}
    assert used["append"] == ("differential", "append")
    assert used["append after deletes"] == ("differential", "append")
    for why in used.keys() - nothing:
        assert used[why][0] == "differential", why


def test_the_rows_of_rewritten_files_are_those_by_which_the_versions_differ(source):
    environment = SparkEnvironment(source.session)
    table = environment.details.of(TableName("t", source.schema, "ice"))
    history = environment.tables.history(table)
    begin = history.commit(table, history.newest(table))
    kinds = ("update", "NULL keys", "delete", "merge", "compaction", "not a number")
    for why in kinds:
        source.change(CHANGES[why])
    end = history.commit(table, history.newest(table))
    range_ = VersionRange(table, *(VersionedPosition(c.version, c.identity) for c in (begin, end)))
    with environment.sessions.open() as private:
        ways = environment.tables.of(table).changes(private.spark).weighted(range_, "w")
        found = [sorted(map(repr, private.spark.sql(each).collect())) for each in ways]
    assert len(found) == 2, "the rewritten files, and the versions"
    assert found[0] == found[1] != []


def test_a_merge_on_read_source_is_compared_only_where_the_option_is_strict(
    session, schema, monkeypatch
):
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    source = Source(session, schema, 2, MERGE)
    source.create("automatic", QUERY, options="")
    source.change(CHANGES["update"])
    assert source.refreshed("automatic", QUERY) == "recompute"
    assert source.why().startswith("MERGE_ON_READ_SOURCE: ")
    assert "copy-on-write" in source.why()


def test_main_may_be_rolled_back_and_replaced(source):
    source.create("grouped", QUERY)
    source.change(CHANGES["update"])
    source.change(CHANGES["append"])
    assert source.refreshed("grouped", QUERY) == "differential"
    first, *_ = source.snapshots()
    source.change(f"CALL ice.system.rollback_to_snapshot('{{t}}', {first})")
    assert source.refreshed("grouped", QUERY) == "differential"
    assert source.tables.refresh("grouped").strategy == "skip"
    source.change(CHANGES["append"])
    assert source.refreshed("grouped", QUERY) == "differential"
    source.change("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT * FROM {t} WHERE id % 2 = 0")
    source.refreshed("grouped", QUERY, "the columns have the same ids again")
    source.change("DROP TABLE {t}")
    source.change("CREATE TABLE {t} USING iceberg AS SELECT 1 AS id, 'x' AS k, 2.0D AS v")
    source.refused("grouped", QUERY, "SOURCE_RECREATED")


def test_expired_positions_lead_to_a_recompute(source):
    source.create("grouped", QUERY, options="")
    source.change(CHANGES["update"])
    source.change(
        "CALL ice.system.expire_snapshots(table => '{t}', "
        "older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    assert source.refreshed("grouped", QUERY) == "recompute"
    assert source.tables.refresh("grouped").strategy == "skip"


def test_columns_count_from_the_next_snapshot_on(source):
    query = "SELECT id, v FROM {t}"
    source.create("read", query, options="")
    source.change("ALTER TABLE {t} ADD COLUMN more INT")
    assert source.tables.refresh("read").strategy == "skip"
    source.change("INSERT INTO {t} VALUES (300, 'x', 1.0, 7)")
    source.refreshed("read", query)
    source.change("ALTER TABLE {t} DROP COLUMN k")
    source.change("INSERT INTO {t} VALUES (301, 1.0, 7)")
    source.refreshed("read", query)
    source.create("wide", "SELECT id, more FROM {t}")
    source.change("UPDATE {t} SET more = 8 WHERE id = 5")
    assert source.refreshed("wide", "SELECT id, more FROM {t}") == "differential"
    source.change("ALTER TABLE {t} DROP COLUMN more")
    source.change("ALTER TABLE {t} ADD COLUMN more INT")
    source.change("INSERT INTO {t} VALUES (302, 1.0, 9)")
    source.refused("wide", "SELECT id, more FROM {t}", "SOURCE_TYPES_CHANGED")


def test_a_table_without_snapshots_is_a_source(session, schema):
    tables = MaterializedTables(session)
    session.sql(f"CREATE TABLE ice.{schema}.t (id INT) USING iceberg")
    query = f"SELECT id, count(*) AS n FROM ice.{schema}.t AS x GROUP BY id"
    outcome(tables, f"CREATE MATERIALIZED TABLE m TBLPROPERTIES ({STRICT}) AS {query}")
    assert rows(tables, "SELECT * FROM m") == []
    assert tables.refresh("m").strategy == "skip"
    session.sql(f"INSERT INTO ice.{schema}.t VALUES (1), (1)")
    assert tables.refresh("m").strategy == "differential"
    assert rows(tables, "SELECT * FROM m") == [(1, 2)]


def test_changes_of_both_formats_meet_in_a_join(source):
    session = source.session
    session.sql("CREATE TABLE names (k STRING, name STRING) USING delta")
    session.sql("INSERT INTO names VALUES ('a', 'A'), ('b', 'B'), (NULL, 'none')")
    query = (
        "SELECT n.name, count(*) AS n, max(t.id) AS id FROM {t} AS t "
        "LEFT JOIN names AS n ON t.k = n.k GROUP BY n.name"
    )
    source.create("joined", query)
    both = "UPDATE names SET name = 'C' WHERE k = 'b'", CHANGES["update to NULL"]
    for statement in ("INSERT INTO names VALUES ('c', 'C'), ('c', 'D')", *both):
        source.change(statement)
        assert source.refreshed("joined", query, statement) == "differential"
    for statement in (CHANGES["delete"], "DELETE FROM names WHERE k = 'a'"):
        source.change(statement)
    assert source.refreshed("joined", query) == "differential"


def test_lags_and_instants_are_those_of_snapshots(source):
    source.create("read", "SELECT id FROM {t}", options="")
    assert source.tables.lag("read").since_ms is None
    source.change(CHANGES["append of no rows"])
    assert source.tables.lag("read").since_ms is None
    at = source.session.sql("SELECT current_timestamp()").collect()[0][0]
    source.change("INSERT INTO {t} VALUES (500, 'z', 1.0)")
    assert source.tables.lag("read").since_ms is not None
    start = f"START_MODE = FROM_TIMESTAMP(TIMESTAMP '{at.isoformat(sep=' ')}')"
    source.create("later", "SELECT id FROM {t}", options="", clauses=start)
    assert rows(source.tables, "SELECT * FROM later") == [(500,)]
    source.change("INSERT INTO {t} VALUES (501, 'z', 1.0)")
    source.tables.refresh("later")
    assert rows(source.tables, "SELECT * FROM later") == [(500,), (501,)]


@pytest.mark.parametrize("read", ["VERSION AS OF 'audit'", "VERSION AS OF 'fixed'"])
def test_a_branch_and_a_tag_may_move(source, read):
    source.change("ALTER TABLE {t} CREATE BRANCH audit")
    source.change("ALTER TABLE {t} CREATE TAG fixed")
    query = f"SELECT count(*) AS n FROM {{t}} {read}"
    source.create("counted", query, options="")
    source.change("INSERT INTO {t}.branch_audit VALUES (900, 'z', 1.0)")
    source.change(f"ALTER TABLE {{t}} REPLACE TAG fixed AS OF VERSION {source.snapshots()[-1]}")
    assert source.refreshed("counted", query) == "recompute"
    assert rows(source.tables, "SELECT * FROM counted") == [(51,)]


def test_a_snapshot_is_read_as_it_is(source):
    query = f"SELECT count(*) AS n FROM {{t}} VERSION AS OF {source.snapshots()[0]}"
    source.create("counted", query, options="")
    source.change(CHANGES["append"])
    source.refreshed("counted", query)


def test_the_first_format_version_has_no_versions(session, schema):
    source = Source(session, schema, 1)
    source.create("read", "SELECT id FROM {t}", options="")
    source.change(CHANGES["append"])
    assert source.refreshed("read", "SELECT id FROM {t}") == "recompute"
    assert source.refreshed("read", "SELECT id FROM {t}") == "recompute", "never skipped"
    with raises(conditions.NOT_INCREMENTAL):
        source.create("strict", QUERY)


def test_a_branch_of_the_session_is_not_read(source):
    source.change("ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    source.create("counted", "SELECT count(*) AS n FROM {t}")
    source.session.conf.set("spark.wap.branch", "audit")
    source.change(CHANGES["append"])
    assert source.tables.refresh("counted").strategy == "skip"
    source.session.conf.unset("spark.wap.branch")
    assert rows(source.tables, "SELECT * FROM counted") == [(50,)]


@pytest.mark.parametrize("part", ["snapshots", "branch_main"])
def test_a_name_of_four_parts_is_no_source(source, part):
    with pytest.raises(MaterializedTableError):
        source.create("counted", f"SELECT count(*) AS n FROM {{t}}.{part}", options="")
    assert not source.session.catalog.tableExists("counted")


def test_a_catalog_with_a_cache_is_refused(session, schema):
    session.sql(f"CREATE NAMESPACE cached.{schema}")
    session.sql(f"CREATE TABLE cached.{schema}.t USING iceberg AS SELECT 1 AS id")
    with raises(iceberg_format.CACHED_CATALOG) as raised:
        outcome(
            MaterializedTables(session),
            f"CREATE MATERIALIZED TABLE m AS SELECT id FROM cached.{schema}.t",
        )
    assert raised.value.parameters["key"] == "spark.sql.catalog.cached.cache-enabled"
    assert not session.catalog.tableExists("m")


def test_a_plain_table_of_iceberg_is_not_adopted(source):
    with pytest.raises(MaterializedTableError):
        outcome(source.tables, f"ADOPT MATERIALIZED TABLE {source.name} AS SELECT 1 AS id")
    assert source.session.table(source.name).count() == 50


def test_a_thread_without_an_active_session_finds_the_catalog(source):
    name, found = TableName("t", source.schema, "ice"), []
    reader = DriverMetadata(source.session.newSession())
    thread = Thread(target=lambda: found.append(reader.read(name)))
    thread.start()
    thread.join()
    assert found == [DriverMetadata(source.session).read(name)]


def test_a_delta_table_of_the_same_name_is_another_source(source):
    source.session.sql("CREATE TABLE t USING delta AS SELECT 7 AS id")
    query = "SELECT count(*) AS n, (SELECT max(id) FROM t) AS id FROM {t}"
    source.create("both", query, options="")
    source.change(CHANGES["append"])
    source.refreshed("both", query)
    source.session.sql("INSERT INTO t VALUES (8)")
    source.refreshed("both", query)


def test_a_view_in_a_catalog_of_iceberg_is_read_through(source):
    source.session.sql(f"CREATE VIEW ice.{source.schema}.w AS SELECT id, k FROM {source.name}")
    query = f"SELECT k, count(*) AS n FROM ice.{source.schema}.w GROUP BY k"
    source.create("viewed", query, options="")
    source.change(CHANGES["append"])
    source.refreshed("viewed", query)


def test_statements_read_the_metadata_where_the_driver_is_elsewhere(source):
    name = TableName("t", source.schema, "ice")
    for statement in (CHANGES["append"], CHANGES["update"]):
        source.change(statement)
        found = SqlMetadata(source.session).read(name)
        assert found == DriverMetadata(source.session).read(name)
        assert [each.id for each in found.ancestry(found.head)] == source.snapshots()[::-1]
    assert SqlMetadata(source.session).read(TableName("nothing", source.schema, "ice")) is None
    assert DriverMetadata(source.session).read(TableName("nothing", source.schema, "ice")) is None
