"""Tables that the driver reads and writes: jobs, statistics of files, caches, types."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dbt.adapters.spark_mt.execution.table_format import RowsNotThereError, TableColumns
from dbt.adapters.spark_mt.spark.delta.driver_tables import DriverTable
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from tests.behaviour.table_format import changed

_MORE = pytest.mark.conformance
_TYPES = {
    "k": "BIGINT",
    "amount": "DECIMAL(38,10)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "name": "STRING",
    "part": "STRING",
}
_ROWS = """SELECT id AS k,
CAST(CONCAT('12345678901234567890123456', '.', LPAD(id, 10, '0')) AS DECIMAL(38, 10)) AS amount,
IF(id % 7 = 0, NULL, DATE '2026-01-01' + CAST(id AS INT)) AS day,
timestamp_micros(1767225600000000 + id * 1001) AS at,
CONCAT(REPEAT('ä', 40), id) AS name, CONCAT('a b%/=', id % 2, 'é') AS part FROM range({})"""
_PARTITIONED = "PARTITIONED BY (part)"
_MAPPED = "'delta.columnMapping.mode' = 'name'"


def jobs_of(session) -> int:
    """How many jobs the driver has started."""
    return session.sparkContext._jsc.sc().dagScheduler().numTotalJobs()


def cost(session, write) -> int:
    """How many jobs a write starts."""
    before = jobs_of(session)
    write()
    return jobs_of(session) - before


def files_of(session, name) -> dict[str, dict]:
    """The statistics of the files of a table, by the last commit that says something of each."""
    found = session.sql(f"DESCRIBE DETAIL {name.sql}").collect()[0]
    lines = session.read.text(f"{found['location']}/_delta_log/*.json").orderBy(
        "_metadata.file_path"
    )
    files: dict[str, dict] = {}
    for (line,) in lines.collect():
        action = json.loads(line, parse_float=Decimal)
        if "add" in action:
            files[action["add"]["path"]] = json.loads(action["add"]["stats"], parse_float=Decimal)
    return files


@pytest.mark.parametrize("name", ["append", "overwrite"])
def test_rows_are_written_by_one_job(world, session, name):
    """The number of the fence, and the files, are not looked for in the log."""
    t = world.table([(k, "v") for k in range(20)])
    write, rows = getattr(world.tables, name), world.made([(30, "new")])
    assert cost(session, lambda: world.commit(1, write, t, rows)) == 1
    again = world.made([(31, "newer")])
    assert cost(session, lambda: world.commit(2, write, t, again)) == 1
    before = [(k, "v") for k in range(20)] + [(30, "new")]
    assert world.rows(t) == sorted([*(before if name == "append" else []), (31, "newer")], key=repr)
    operation = session.sql(f"DESCRIBE HISTORY {t.sql} LIMIT 1").collect()[0]
    assert operation["operation"] == "WRITE"
    assert operation["operationParameters"]["mode"].lower() == name
    assert operation["operationMetrics"]["numOutputRows"] == "1"


def test_few_rows_are_found_by_one_job(world, session):
    t = world.table([(k, f"v{k}") for k in range(20)])
    args = (
        world.tables.apply_changes,
        changed(t),
        world.made([(30, "w")]),
        world.made([(7, "v7")]),
    )
    assert world.commit(1, *args)
    removed = "SELECT 9 AS k, 'v9' AS v"
    args = (world.tables.apply_changes, changed(t), world.made([(31, "w")]), removed)
    # one that measures the rows, one for their hashes, one that finds them, one that writes
    assert cost(session, lambda: world.commit(2, *args)) == 4
    assert (7, "v7") not in world.rows(t)
    assert (9, "v9") not in world.rows(t)
    assert len(world.rows(t)) == 20


def test_rows_that_are_marked_already_are_not_counted(world, session):
    """The scan reads them too, so that Delta looks up no row in a vector."""
    t = world.table([(k, f"v{k}") for k in range(20)])
    there, (first, second) = (3, "v3"), ((30, "w"), (31, "x"))
    for number, (gone, new) in enumerate([(there, first), (first, there), (there, second)], 1):
        args = world.tables.apply_changes, changed(t), world.made([new]), world.made([gone])
        # one that measures the rows, one that finds them, one that writes
        assert cost(session, lambda: world.commit(number, *args)) == 3, number  # noqa: B023
    assert world.rows(t) == sorted([(k, f"v{k}") for k in range(20) if k != 3] + [second], key=repr)
    again = world.tables.apply_changes, changed(t), world.made([(32, "y")]), world.made([there])
    with pytest.raises(RowsNotThereError):
        world.commit(4, *again)


@pytest.mark.parametrize(
    ("clauses", "properties"),
    [("", ""), pytest.param(_PARTITIONED, _MAPPED, marks=_MORE), (_PARTITIONED, "")],
)
def test_files_keep_their_statistics(world, session, clauses, properties):
    """Also each digit of a decimal: a file is skipped by them. Marked rows make bounds wide."""
    t = world.name("t")
    listed = ", ".join(f"{name} {type_}" for name, type_ in _TYPES.items())
    more = ", ".join(filter(None, ["'delta.enableDeletionVectors' = 'true'", properties]))
    session.sql(f"CREATE TABLE {t.sql} ({listed}) USING delta {clauses} TBLPROPERTIES ({more})")
    session.sql(f"INSERT INTO {t.sql} {_ROWS.format(40)}")
    before = files_of(session, t)
    table = TableColumns(t, tuple(_TYPES), types=tuple(_TYPES.values()))
    for number, condition in enumerate(("k IN (3, 14)", "k IN (0, 39)", "k = 21"), 1):
        removed = f"SELECT * FROM {t.sql} WHERE {condition}"
        rows = [tuple(row) for row in session.sql(removed).collect()]
        nothing = f"SELECT * FROM {t.sql} WHERE false"
        assert world.commit(number, world.tables.apply_changes, table, nothing, removed)
        assert rows
        assert not session.sql(removed).collect()
    left = "k NOT IN (3, 14, 0, 39, 21)"
    assert (
        session.sql(
            f"SELECT * FROM ({_ROWS.format(40)}) WHERE {left} EXCEPT ALL SELECT * FROM {t.sql}"
        ).count()
        == 0
    )
    assert session.table(t.sql).count() == 35
    after = files_of(session, t)
    tight = {path: after[path].pop("tightBounds") for path in before}
    assert not all(tight.values())
    for path, stats in before.items():
        assert stats.pop("tightBounds")
        assert stats == after[path]


def test_a_file_whose_last_rows_go_leaves_the_table(world, session):
    t = world.table([(1, "a"), (2, "b")])
    session.sql(f"INSERT INTO {t.sql} {world.made([(3, 'c')])}")
    removed = world.made([(1, "a"), (2, "b")])
    assert world.commit(1, world.tables.apply_changes, changed(t), world.made([(4, "d")]), removed)
    assert world.rows(t) == [(3, "c"), (4, "d")]
    assert len(session.table(t.sql).inputFiles()) == 2


@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=_MORE), "America/New_York"])
def test_of_many_files_those_are_read_that_may_have_the_rows(world, session, zone):
    """Each range of values that Delta keeps statistics of, at its ends."""
    session.conf.set("spark.sql.session.timeZone", zone)
    t = world.name("t")
    listed = ", ".join(f"{name} {type_}" for name, type_ in _TYPES.items())
    session.sql(
        f"CREATE TABLE {t.sql} ({listed}) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    for start in range(0, 40, 10):
        part = f"SELECT * FROM ({_ROWS.format(40)}) WHERE k BETWEEN {start} AND {start + 9}"
        session.sql(f"INSERT INTO {t.sql} SELECT /*+ COALESCE(1) */ * FROM ({part})")
    table = TableColumns(t, tuple(_TYPES), types=tuple(_TYPES.values()))
    for number, keys in enumerate(["9, 10", "19, 20", "29, 30", "0, 39", "15, 16"], 1):
        removed = f"SELECT * FROM {t.sql} WHERE k IN ({keys})"
        nothing = f"SELECT * FROM {t.sql} WHERE false"
        assert session.sql(removed).count() == 2
        assert world.commit(number, world.tables.apply_changes, table, nothing, removed)
        assert session.sql(removed).count() == 0
    assert session.table(t.sql).count() == 30


@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=_MORE), "America/New_York"])
def test_files_that_cannot_have_a_row_are_not_read(world, session, zone):
    session.conf.set("spark.sql.session.timeZone", zone)
    t = world.name("t")
    listed = ", ".join(f"{name} {type_}" for name, type_ in _TYPES.items())
    session.sql(f"CREATE TABLE {t.sql} ({listed}) USING delta PARTITIONED BY (part)")
    for start in range(0, 40, 10):
        part = f"SELECT * FROM ({_ROWS.format(40)}) WHERE k BETWEEN {start} AND {start + 9}"
        session.sql(f"INSERT INTO {t.sql} SELECT /*+ COALESCE(1) */ * FROM ({part})")
    session.conf.set(delta_format.FENCE_NUMBER, "1")
    texts = ", ".join(f"CAST({name} AS STRING) AS {name}" for name in _TYPES)  # in that zone
    low, high = session.sql(
        f"SELECT {texts} FROM ({_ROWS.format(40)}) WHERE k IN (12, 17)"
    ).collect()
    found = {}
    for name, type_ in _TYPES.items():
        ends = [f"CAST('{low[name]}' AS {type_})", f"CAST('{high[name]}' AS {type_})"]
        least, greatest = sorted(ends)
        rows = DriverTable.of(session, t).rows(f"t.{name} >= {least} AND t.{name} <= {greatest}")
        found[name] = len(rows.inputFiles())
        wanted = f"{name} >= {least} AND {name} <= {greatest}"
        assert rows.where(wanted).count() == session.table(t.sql).where(wanted).count()
    # of a text, Delta keeps the first 32 characters
    assert found == {"k": 2, "amount": 2, "day": 2, "at": 2, "name": 8, "part": 8}
    one = session.sql(f"SELECT max(part) FROM {t.sql}").collect()[0][0]
    assert len(DriverTable.of(session, t).rows(f"t.part >= '{one}'").inputFiles()) == 4
    session.conf.unset(delta_format.FENCE_NUMBER)


def test_a_table_whose_last_commit_lists_no_files(world, session):
    t = world.table([(k, "v") for k in range(20)])
    session.conf.set("spark.databricks.delta.allFilesInCrc.enabled", "false")
    session.sql(f"INSERT INTO {t.sql} {world.made([(20, 'v')])}")
    session.conf.unset("spark.databricks.delta.allFilesInCrc.enabled")
    removed = world.made([(3, "v"), (20, "v")])
    assert world.commit(1, world.tables.apply_changes, changed(t), world.made([(9, "w")]), removed)
    assert len(world.rows(t)) == 20
    assert world.commit(2, world.tables.overwrite, t, world.made([(1, "a")]))
    assert world.rows(t) == [(1, "a")]


@pytest.mark.parametrize("type_", ["CHAR(4)", "VARCHAR(4)"])
def test_texts_of_a_length_are_written_by_sql(world, session, type_):
    t = world.name("t")
    session.sql(f"CREATE TABLE {t.sql} (k {type_}) USING delta")
    world.commit(1, world.tables.append, t, "SELECT 'a' AS k")
    with pytest.raises(Exception, match="DELTA_EXCEED_CHAR_VARCHAR_LIMIT"):
        world.commit(2, world.tables.append, t, "SELECT 'abcde' AS k")
    assert [row[0].strip() for row in session.table(t.sql).collect()] == ["a"]


def test_rows_of_other_types_and_names(world):
    """They are cast as an INSERT casts them, by the places of the columns."""
    t = world.table([(1, "a")])
    world.commit(1, world.tables.append, t, "SELECT 2L AS other, 'b' AS k")
    world.commit(2, world.tables.append, t, "SELECT 3 AS other, 'c' AS k")
    assert world.rows(t) == [(1, "a"), (2, "b"), (3, "c")]
    with pytest.raises(Exception, match="OVERFLOW"):
        world.commit(3, world.tables.append, t, "SELECT 30000000000L AS k, 'd' AS v")
    assert len(world.rows(t)) == 3


@pytest.mark.parametrize("name", ["append", "overwrite", "apply_changes"])
def test_a_cached_table_shows_the_new_rows(world, session, name):
    t = world.table([(1, "a"), (2, "b")])
    session.sql(f"CACHE TABLE {t.sql}")
    try:
        assert session.table(t.sql).count() == 2
        added, removed = world.made([(3, "c")]), world.made([(1, "a")])
        args = (changed(t), added, removed) if name == "apply_changes" else (t, added)
        assert world.commit(1, getattr(world.tables, name), *args)
        found = sorted(map(tuple, session.table(t.sql).collect()))
        assert (
            found
            == {
                "append": [(1, "a"), (2, "b"), (3, "c")],
                "overwrite": [(3, "c")],
                "apply_changes": [(2, "b"), (3, "c")],
            }[name]
        )
    finally:
        session.sql(f"UNCACHE TABLE {t.sql}")


def test_a_number_that_is_taken_writes_nothing(world, session):
    t = world.table([(1, "a")])
    assert world.commit(1, world.tables.append, t, world.made([(2, "b")])) is not None
    assert world.commit(1, world.tables.append, t, world.made([(3, "c")])) is None
    assert world.commit(1, world.tables.overwrite, t, world.made([(3, "c")])) is None
    assert world.rows(t) == [(1, "a"), (2, "b")]
    assert session.conf.get(delta_format.FENCE_NUMBER, None) is None
