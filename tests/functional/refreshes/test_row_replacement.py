"""Replacement of rows by one scan: bad input, and other programs after the scan."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.execution.table_format import RowsNotThereError, TableColumns
from dbt.adapters.spark_mt.spark.delta import row_changes
from dbt.adapters.spark_mt.spark.delta.row_conditions import MOST_VALUES
from dbt.adapters.spark_mt.spark.session.errors import failure_of
from tests.behaviour.table_format import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.functional.engine.test_table_format import DeltaWorld

_MORE = pytest.mark.conformance
_PATIENCE_S = 120
ROWS = [(k, f"v{k % 3}") for k in range(20)]
ADDED, REMOVED = [(7, "new")], [(7, "v1"), (9, "v0")]
AFTER = sorted([*(row for row in ROWS if row not in REMOVED), *ADDED], key=repr)


@pytest.fixture
def by_one_scan(monkeypatch) -> list[bool]:
    """Whether each change of rows was made by one scan."""
    found, replaced = [], row_changes.replace_rows

    def noted(*arguments):
        found.append(replaced(*arguments))
        return found[-1]

    monkeypatch.setattr(row_changes, "replace_rows", noted)
    return found


def apply_paused(directory: Path, world, session, *arguments) -> None:
    """Change rows; those that are added wait when they are computed, which is after the scan."""
    began, go = str(directory / "began"), str(directory / "go")

    def paused(text: str) -> str:  # a worker of Spark gets it by value
        Path(began).touch()
        end = time.monotonic() + _PATIENCE_S
        while not Path(go).exists() and time.monotonic() < end:
            time.sleep(0.05)
        return text

    table, added, removed = arguments
    session.udf.register("paused", paused, "string")
    slowly = f"SELECT k, paused(v) AS v FROM ({added})"
    world.tables.apply_changes(session, table, slowly, removed)


def change_during(
    world: DeltaWorld, directory: Path, table, other: Callable[[], object]
) -> BaseException | None:
    """Change rows while another program does something after the scan; return the error."""
    caught: list[BaseException] = []

    def change() -> None:
        write = partial(apply_paused, directory, world)
        try:
            world.commit(1, write, changed(table), world.made(ADDED), world.made(REMOVED))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            caught.append(error)

    thread = Thread(target=change)
    thread.start()
    end = time.monotonic() + _PATIENCE_S
    while not (directory / "began").exists():
        assert thread.is_alive(), caught
        assert time.monotonic() < end
        time.sleep(0.05)
    try:
        other()
    finally:
        (directory / "go").touch()
        thread.join()
    return caught[0] if caught else None


OTHERS = {
    "insert": "INSERT INTO {} VALUES (500, 'i')",
    "equal insert": "INSERT INTO {} VALUES (9, 'v0')",
    "delete": "DELETE FROM {} WHERE k = 5",
    "delete of the row": "DELETE FROM {} WHERE k = 7",
    "update": "UPDATE {} SET v = 'u' WHERE k = 5",
    "update of the row": "UPDATE {} SET v = 'u' WHERE k = 9",
    "optimize": "OPTIMIZE {}",
    "overwrite": "INSERT OVERWRITE {} VALUES (1, 'o')",
}
BOTH = {
    "insert": [*AFTER, (500, "i")],
    "equal insert": [*AFTER, (9, "v0")],
    "delete": [row for row in AFTER if row[0] != 5],
    "update": [(k, "u" if k == 5 else v) for k, v in AFTER],
    "optimize": AFTER,
}
"""The rows after both, where Delta reconciles the two; the others must be a conflict.

Transactions of Delta are serializable by default, so that rows which are only added are one too.
"""
CORE = ("insert", "delete of the row", "optimize")


@pytest.mark.parametrize(
    "name", [name if name in CORE else pytest.param(name, marks=_MORE) for name in OTHERS]
)
def test_what_others_do_between_the_scan_and_the_commit(
    world, session, tmp_path, by_one_scan, name
):
    """Either both are in the table, or the change is refused as a conflict and has no effect."""
    t = world.table(ROWS[:10])
    session.sql(f"INSERT INTO {t.sql} {world.made(ROWS[10:])}")  # OPTIMIZE has files to merge
    error = change_during(world, tmp_path, t, lambda: session.sql(OTHERS[name].format(t.sql)))
    if error is None:
        assert name in BOTH
        assert by_one_scan == [True]
        assert world.rows(t) == sorted(BOTH[name], key=repr)
        return
    assert failure_of(error).is_conflict, error
    versions = world.tables.history.versions(world.ref(t))
    before, theirs = world.rows(t, versions[-2]), world.rows(t)
    assert before == sorted(ROWS, key=repr)
    assert theirs != AFTER
    assert (7, "new") not in theirs
    # The number was not taken: a refresh that is tried again can commit under it.
    assert world.commit(1, world.tables.append, t, world.made(ADDED)) is not None


@pytest.mark.parametrize("number", [MOST_VALUES + 1])
def test_more_rows_than_a_condition_lists(world, by_one_scan, number):
    t = world.table([(0, "a")])
    made = f"SELECT CAST(id AS INT) AS k, 'x' AS v FROM range(1, {number + 1})"
    world.commit(1, world.tables.append, t, made)
    new = world.made([(-1, "new")])
    version = world.commit(2, world.tables.apply_changes, changed(t), new, made)
    assert by_one_scan == [True]
    assert world.rows(t) == [(-1, "new"), (0, "a")]
    assert world.tables.history.commit(world.ref(t), version).changed == number + 1


@_MORE
def test_keys_beyond_the_list(world, by_one_scan):
    number = MOST_VALUES + 1
    t = world.table([(0, "a")])
    made = f"SELECT CAST(id AS INT) AS k, 'x' AS v FROM range(1, {number + 1})"
    world.commit(1, world.tables.append, t, made)
    rows, keys = f"SELECT k, 'y' AS v FROM ({made}) WHERE k > 3", f"SELECT k FROM ({made})"
    world.commit(2, world.tables.replace_keys, changed(t), ("k",), rows, keys)
    assert by_one_scan == [True]
    assert world.rows(t)[:2] == [(0, "a"), (10, "y")]
    assert len(world.rows(t)) == number - 2


@_MORE
def test_equal_rows_and_rows_that_are_not_there(world, by_one_scan):
    """The scan finds other numbers than expected, and a MERGE does what is right."""
    t = world.table([(1, "a"), (1, "a"), (None, None), (None, None), (2, "b")])
    removed = world.made([(1, "a"), (None, None)])
    world.commit(1, world.tables.apply_changes, changed(t), world.made(ADDED), removed)
    assert by_one_scan == [False]
    assert world.rows(t) == [(1, "a"), (2, "b"), (7, "new"), (None, None)]
    with pytest.raises(RowsNotThereError):
        world.commit(
            2, world.tables.apply_changes, changed(t), world.made(ADDED), world.made([(2, "x")])
        )
    assert by_one_scan == [False, False]
    assert len(world.rows(t)) == 4


@_MORE
@pytest.mark.parametrize("type_", ["CHAR(4)", "VARCHAR(4)"])
def test_texts_of_a_length(world, session, by_one_scan, type_):
    t = world.name("t")
    properties = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    session.sql(f"CREATE TABLE {t.sql} (k {type_}, v STRING) USING delta {properties}")
    session.sql(f"INSERT INTO {t.sql} VALUES ('a', '1'), ('b', '2'), (NULL, '3'), ('ab', '4')")
    table = TableColumns(t, ("k", "v"), types=(type_, "STRING"))
    as_read = f"SELECT k, v FROM {t.sql} WHERE v IN ('1', '3')"
    world.commit(1, world.tables.apply_changes, table, "SELECT 'c' AS k, '5' AS v", as_read)
    keys, rows = "SELECT 'b' AS k", "SELECT 'b' AS k, 'new' AS v"
    world.commit(2, world.tables.replace_keys, table, ("k",), rows, keys)
    assert by_one_scan == []
    assert [(k.strip(), v) for k, v in world.rows(t)] == [("ab", "4"), ("b", "new"), ("c", "5")]


@_MORE
@pytest.mark.parametrize("by_key", [False, True])
def test_a_table_with_a_change_data_feed(world, session, by_key):
    """Its readers get the rows that came and went, whoever finds them."""
    t = world.table(ROWS)
    feed = "'delta.enableChangeDataFeed' = 'true'"
    session.sql(f"ALTER TABLE {t.sql} SET TBLPROPERTIES ({feed})")
    if by_key:
        keys = world.made([(7,), (9,)], "k INT")
        args = (world.tables.replace_keys, changed(t), ("k",), world.made(ADDED), keys)
    else:
        args = (world.tables.apply_changes, changed(t), world.made(ADDED), world.made(REMOVED))
    version = world.commit(1, *args)
    assert world.rows(t) == AFTER
    feed_of = f"SELECT k, v, _change_type FROM table_changes('{t.sql}', {version})"
    found = {(row[0], row[1], row[2].split("_")[-1]) for row in session.sql(feed_of).collect()}
    ends = ("preimage", "postimage") if by_key else ("delete", "insert")
    removed = {(7, "v1", ends[0]), (9, "v0", "delete")}
    assert found == removed | {(7, "new", ends[1])}


@_MORE
def test_a_table_without_deletion_vectors(world, session, by_one_scan):
    """Readers that do not know them can read it before and after."""
    world.has_vectors = False
    t = world.table(ROWS)
    world.commit(1, world.tables.apply_changes, changed(t), world.made(ADDED), world.made(REMOVED))
    assert by_one_scan == []
    assert world.rows(t) == AFTER
    features = session.sql(f"DESCRIBE DETAIL {t.sql}").collect()[0]["tableFeatures"]
    assert "deletionVectors" not in features
