"""Materialized tables of Iceberg, compared with their queries."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.iceberg.driver_transactions import DriverTransaction
from tests.functional.engine.oracle import outcome, rows
from tests.iceberg.conftest import in_each_catalog

SUMS = "SELECT k, sum(v) AS total, count(*) AS n FROM {t} GROUP BY k"
ROWWISE = "SELECT id, upper(k) AS k, v FROM {t} WHERE id <> 13"
STRICT = "TBLPROPERTIES ('incremental' = 'strict')"
CHANGES = (
    "INSERT INTO {t} VALUES (101, 'a', 7), (102, NULL, 8)",
    "UPDATE {t} SET v = v + 1 WHERE id IN (3, 40)",
    "DELETE FROM {t} WHERE id % 7 = 0",
    (
        "MERGE INTO {t} AS t USING (SELECT CAST(id AS INT) AS id FROM range(45, 55)) AS s "
        "ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = -1 "
        "WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (s.id, 'z', 1)"
    ),
    "INSERT OVERWRITE {t} SELECT id, k, v FROM {t} WHERE id > 5",
)


class World:
    """A source of a format, and materialized tables of Iceberg over it."""

    def __init__(self, session, schema, source_format="iceberg", catalog="ice"):
        self.session, self.schema, self.catalog = session, schema, catalog
        self.tables = MaterializedTables(session)
        place = catalog if source_format == "iceberg" else "spark_catalog"
        self.source, self.name = f"{place}.{schema}.t", f"{catalog}.{schema}.m"
        session.sql(f"CREATE TABLE {self.source} (id INT, k STRING, v INT) USING {source_format}")
        session.sql(
            f"INSERT INTO {self.source} SELECT CAST(id AS INT), chr(CAST(97 + id % 5 AS INT)), "
            "CAST(id AS INT) FROM range(50)"
        )

    def create(self, query, clauses=STRICT, name=None, form="CREATE"):
        text = f"{form} MATERIALIZED TABLE {name or self.name} {clauses} AS "
        return outcome(self.tables, text + query.format(t=self.source))

    def change(self, statement):
        self.session.sql(statement.format(t=self.source))

    def refreshed(self, query, why="", name=None):
        """Refresh a table, compare it with its query, and return the strategy."""
        done = self.tables.refresh(name or self.name)
        self.equals(query, why, name)
        return done.strategy

    def equals(self, query, why="", name=None):
        expected = rows(self.tables, query.format(t=self.source))
        assert rows(self.tables, f"SELECT * FROM {name or self.name}") == expected, why

    def snapshots(self, name=None):
        found = self.session.sql(
            f"SELECT snapshot_id FROM {name or self.name}.snapshots ORDER BY committed_at"
        )
        return [row[0] for row in found.collect()]


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def create_leave_alone_and_refresh(world):
    assert world.create(SUMS, "").action.value == "CREATED"
    world.equals(SUMS)
    before = world.snapshots()
    assert world.create(SUMS, "", form="CREATE OR ALTER").action.value == "UNCHANGED"
    assert world.tables.refresh(world.name).strategy == "skip"
    assert world.snapshots() == before
    world.change(CHANGES[0])
    world.tables.refresh(world.name, force=True)
    world.equals(SUMS)


def drop(world):
    outcome(world.tables, f"DROP MATERIALIZED TABLE {world.name}")
    assert not world.session.catalog.tableExists(world.name)


@in_each_catalog
def test_a_table_is_created_refreshed_left_alone_and_dropped(world):
    create_leave_alone_and_refresh(world)
    facts = world.session.sql(f"DESCRIBE TABLE EXTENDED {world.name}").collect()
    assert ("Provider", "iceberg") in [(row[0], row[1]) for row in facts]
    drop(world)


@in_each_catalog
@pytest.mark.parametrize("source_format", ["iceberg", "delta"])
def test_each_kind_of_change_is_applied(session, schema, iceberg_catalog, source_format):
    world = World(session, schema, source_format, iceberg_catalog)
    other = f"{iceberg_catalog}.{schema}.other"
    world.create(SUMS)
    world.create(ROWWISE, name=other)
    for statement in CHANGES:
        world.change(statement)
        assert world.refreshed(SUMS, statement) == "differential", statement
        world.refreshed(ROWWISE, statement, other)
    assert world.tables.refresh(world.name).strategy == "skip"


@in_each_catalog
def test_rows_are_merged_by_their_key(world):
    query = "SELECT id AS key, k, v FROM {t}"
    world.create(query, f"(PRIMARY KEY (key) NOT ENFORCED) {STRICT}")
    for statement in CHANGES[:3]:
        world.change(statement)
        assert world.refreshed(query, statement) == "differential", statement


@in_each_catalog
def test_columns_are_appended_by_the_commit_of_their_rows(world):
    world.create(ROWWISE, "")
    wider = "SELECT id, upper(k) AS k, v, v * 2 AS twice FROM {t} WHERE id <> 13"
    assert world.create(wider, "", form="CREATE OR ALTER").action.value == "ALTERED"
    world.equals(wider)
    world.change(CHANGES[1])
    world.refreshed(wider)


@in_each_catalog
def test_a_table_is_replaced_with_other_columns_and_partitions(world):
    world.create(SUMS, "")
    identity = world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect()
    query = "SELECT k AS `group`, CAST(sum(v) AS STRING) AS total FROM {t} GROUP BY k"
    done = world.create(query, "PARTITIONED BY (`group`)", form="CREATE OR REPLACE")
    assert done.action.value == "REPLACED"
    world.equals(query)
    uuid = "materialized-table.iceberg-id"
    now = world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect()
    assert [row for row in now if row[0] == uuid] == [row for row in identity if row[0] == uuid]
    world.change(CHANGES[0])
    assert world.refreshed(query)
    assert world.tables.refresh(world.name).strategy == "skip"


@in_each_catalog
def test_a_write_of_a_user_before_the_publication_is_kept_and_the_refresh_comes_again(
    world, at_first_call
):
    world.create(ROWWISE, "")

    def delete():
        world.session.sql(f"DELETE FROM {world.name} WHERE id = 1")

    calls = at_first_call(DriverTransaction, "publish", delete)
    world.change(CHANGES[0])
    world.tables.refresh(world.name, force=True)
    world.equals(ROWWISE)
    assert len(calls) == 2


@in_each_catalog
def test_a_rollback_of_the_table_leads_to_the_rows_of_the_query(world):
    world.create(SUMS)
    first = world.snapshots()[-1]
    world.change(CHANGES[1])
    world.refreshed(SUMS)
    world.session.sql(
        f"CALL {world.catalog}.system.rollback_to_snapshot('{world.schema}.m', {first})"
    )
    assert world.refreshed(SUMS) == "differential"
    world.create(ROWWISE.replace("v FROM", "v AS w FROM"), "", form="CREATE OR REPLACE")
    query = ROWWISE.replace("v FROM", "v AS w FROM")
    world.equals(query)
    before = world.snapshots()[-1]
    altered = query.replace("13", "14")
    world.create(altered, "", form="CREATE OR ALTER")
    world.equals(altered)
    world.session.sql(
        f"CALL {world.catalog}.system.rollback_to_snapshot('{world.schema}.m', {before})"
    )
    world.refreshed(altered, "rows of the query before the ALTER are computed again")


def test_changes_by_users_are_found_and_corrected(world):
    world.create(SUMS, "")
    world.session.sql(f"UPDATE {world.name} SET total = 0")
    assert world.tables.refresh(world.name).strategy == "skip"
    world.tables.refresh(world.name, force=True)
    world.equals(SUMS)


@in_each_catalog
def test_not_null_is_kept_by_the_table(world):
    clauses = "(id INT NOT NULL, k STRING, v INT)"
    world.create("SELECT id, k, v FROM {t}", clauses)
    assert not world.session.table(world.name).schema["id"].nullable
    with pytest.raises(Exception, match="NOT_NULL_ASSERT_VIOLATION"):
        world.session.sql(f"INSERT INTO {world.name} VALUES (CAST(NULL AS INT), 'x', 1)")
    world.change(CHANGES[1])
    world.refreshed("SELECT id, k, v FROM {t}")
    world.create("SELECT id, k, v FROM {t}", "(id INT, k STRING, v INT)", form="CREATE OR ALTER")
    assert world.session.table(world.name).schema["id"].nullable


@in_each_catalog
def test_a_table_of_delta_reads_one_of_iceberg_and_the_other_way_round(world):
    world.create(ROWWISE)
    query = f"SELECT k, count(*) AS n FROM {world.name} GROUP BY k"
    world.create(query, name="of_delta")
    world.create("SELECT max(n) AS n FROM of_delta", name=f"{world.catalog}.{world.schema}.last")
    for statement in CHANGES[:3]:
        world.change(statement)
        world.refreshed(ROWWISE)
        world.tables.refresh("of_delta")
        world.equals(query, name="of_delta")
        world.refreshed(
            "SELECT max(n) AS n FROM of_delta", name=f"{world.catalog}.{world.schema}.last"
        )


@pytest.mark.parametrize(
    ("query", "clauses", "feature"),
    [
        ("SELECT CAST(id AS SMALLINT) AS id FROM {t}", "", "the type SMALLINT"),
        ("SELECT array(CAST(id AS TINYINT)) AS id FROM {t}", "", "the type TINYINT"),
        ("SELECT k FROM {t}", "(k VARCHAR(3))", "the type VARCHAR"),
        ("SELECT k COLLATE UTF8_LCASE AS k FROM {t}", "", "the type COLLATE"),
        ("SELECT id FROM {t}", "CLUSTER BY (id)", "CLUSTER BY"),
        ("SELECT id FROM {t}", "TBLPROPERTIES ('format-version' = '1')", "format-version = 1"),
    ],
)
def test_what_iceberg_cannot_do_is_refused(world, query, clauses, feature):
    with pytest.raises(MaterializedTableError, match=f"Apache Iceberg cannot have .*{feature}"):
        world.create(query, clauses)
    assert not world.session.catalog.tableExists(world.name)


@in_each_catalog
def test_a_plain_table_of_the_name_is_not_touched(world):
    world.session.sql(f"CREATE TABLE {world.name} USING iceberg AS SELECT 1 AS id")
    with pytest.raises(MaterializedTableError):
        world.create(SUMS, "", form="CREATE OR REPLACE")
    assert rows(world.tables, f"SELECT * FROM {world.name}") == [(1,)]


@in_each_catalog
def test_old_files_are_removed_and_small_ones_merged(world):
    world.create(ROWWISE)
    for statement in CHANGES[:3]:
        world.change(statement)
        world.refreshed(ROWWISE)
    storage = world.tables._engine.value.storage
    name = TableName("m", world.schema, world.catalog)
    storage.compact(name, "")
    world.equals(ROWWISE)
    storage.vacuum(name, "", 0)
    assert len(world.snapshots()) == 1
    world.change(CHANGES[3])
    world.refreshed(ROWWISE)


@in_each_catalog
def test_jobs_and_tables_are_listed_from_the_catalog_of_the_table(world):
    world.create(SUMS, "")
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN {world.catalog}.{world.schema}").rows
    assert [row for row in shown if "m" in row]
    world.session.sql(f"USE {world.catalog}.{world.schema}")
    assert world.tables.execute("SHOW JOBS").rows
    world.session.sql(f"USE spark_catalog.{world.schema}")
