"""What readers of Delta tables have not read, from commit files that are read once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    RefreshMetadata,
)
from dbt.adapters.spark_mt.definition.errors import SourceNotFoundError
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    OffsetPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.spark.tables.source_states import SparkSourceStates
from tests.support.refs import delta_at

ORDERS = TableName("orders", "s", "c")
WIDE = TableName("wide", "s", "c")


class Log:
    """Logs by location, which count what is read of them."""

    def __init__(self):
        self.logs: dict[str, dict[int, Commit]] = {}
        self.reads = Counter()

    def add(self, location, operation="WRITE", *, metadata=None, rows=1, tag=""):
        log = self.logs.setdefault(location, {})
        version = max(log, default=-1) + 1
        identity = f"{location}{tag}{version}"
        log[version] = Commit(
            version,
            version - 1,
            version * 1000,
            operation,
            metadata,
            rows,
            identity,
            effect=FORMAT.effect_of(operation),
        )

    def oldest(self, table):
        return next(iter(self.logs.get(table.handle, {}).values()), None)

    def newest(self, table):
        return max(self.logs.get(table.handle, ()), default=-1)

    def is_newest(self, table, version):
        return version >= 0 and self.newest(table) == version

    def stamp(self, table, version):
        commit = self.logs.get(table.handle, {}).get(version)
        return commit.identity if commit else ""

    def commit(self, table, version):
        self.reads["commit"] += 1
        return self.logs.get(table.handle, {}).get(version)

    def first_row_change(self, table, after, upto):
        for version in range(after + 1, upto + 1):
            self.reads["searched"] += 1
            commit = self.logs[table.handle][version]
            if commit.effect is not CommitEffect.NO_ROWS and commit.rows:
                return commit
        return None

    def size(self, table, version):
        self.reads["size"] += 1
        return (200 * version, 200_000 * version) if table.handle in self.logs else None

    def backwards(self, table, newest):
        log = self.logs[table.handle]
        return (log[version] for version in range(newest, -1, -1) if version in log)


class Details:
    """Where tables live, remembered until forgotten, as the real ones."""

    def __init__(self):
        self.catalog = {}
        self.requested = Counter()
        self._known = {}

    def table(self, name):
        if name not in self._known:
            self.requested[name.name] += 1
            location = self.catalog.get(name)
            known = delta_at(location, name) if location else None
            self._known[name] = known
        return self._known[name]

    def properties(self, _name):
        return {}

    def forget(self, name=None):
        if name is None:
            self._known.clear()
        else:
            self._known.pop(name, None)


class Topics:
    def first_record_after(self, _source, _position):
        return 42


@pytest.fixture
def log():
    found = Log()
    for _ in "abc":
        found.add("/orders")
    return found


@pytest.fixture
def details():
    found = Details()
    found.catalog = {ORDERS: "/orders", WIDE: "/wide"}
    return found


@pytest.fixture
def states(log, details):
    return SparkSourceStates(InstalledTables(DeltaTables(log)), details, Topics())


def at(version, location="/orders"):
    return VersionedPosition(version, f"{location}{version}")


def content(read, kind=CommitKind.CONTENT):
    refresh = RefreshMetadata("r", "append", "CONTINUOUS", read * 1000)
    positions = {str(ORDERS): at(read)}
    return CommitMetadata("id", kind, read + 1, 1, positions=positions, refresh=refresh)


def test_the_first_change_after_a_position(states):
    assert states.unread(ORDERS, at(0)).changed_at_ms == 1000
    assert states.unread(ORDERS, at(2)).changed_at_ms is None
    assert states.unread(ORDERS, BEFORE_ALL).changed_at_ms == 0


def test_commits_that_change_no_rows_are_passed(states, log):
    log.add("/orders", "OPTIMIZE")
    log.add("/orders", rows=0)
    assert states.unread(ORDERS, at(2)).changed_at_ms is None
    log.add("/orders")
    assert states.unread(ORDERS, at(2)).changed_at_ms == 5000


def test_a_log_that_has_not_moved_is_not_read_again(states, log):
    log.add("/orders", "OPTIMIZE")
    for _ in range(3):
        states.unread(ORDERS, at(2))
        states.unread(ORDERS, at(0))
    before = log.reads.copy()
    for _ in range(10):
        states.unread(ORDERS, at(2))
        states.unread(ORDERS, at(0))
    assert log.reads == before
    log.add("/orders", "OPTIMIZE")
    states.unread(ORDERS, at(2))
    assert log.reads["searched"] == before["searched"] + 1


def test_what_a_source_reflects_right_before_what_was_not_read_of_it(states, log):
    for read in (0, 0, 1, 2):
        log.add("/wide", metadata=content(read), rows=read)
    found = states.unread(WIDE, at(0, "/wide"))
    assert (found.changed_at_ms, found.state.version, found.state.is_newest) == (2000, 1, False)
    assert found.state.positions == {str(ORDERS): at(0)}
    found = states.unread(WIDE, at(3, "/wide"))
    assert (found.changed_at_ms, found.state.version, found.state.is_newest) == (None, 3, True)
    assert states.newest(WIDE).positions == {str(ORDERS): at(2)}


def test_a_plain_table_reflects_nothing(states):
    assert states.unread(ORDERS, at(0)).state is None
    assert states.newest(ORDERS) is None


def test_a_table_that_was_created_again_in_its_place(states, log):
    assert states.unread(ORDERS, at(2)).changed_at_ms is None
    log.logs["/orders"].clear()
    for _ in "abc":
        log.add("/orders", tag="new")
    assert states.unread(ORDERS, at(2)).changed_at_ms == 0


def test_a_table_that_was_created_again_elsewhere(states, log, details):
    assert states.unread(ORDERS, at(2)).changed_at_ms is None
    log.add("/other")
    details.catalog[ORDERS] = "/other"
    assert states.unread(ORDERS, at(0, "/other")).changed_at_ms is None
    assert details.requested["orders"] == 2
    states.forget()
    assert states.unread(ORDERS, at(2)).changed_at_ms == 0


def test_a_source_that_is_gone_and_comes_back(states, log, details):
    del details.catalog[ORDERS]
    with pytest.raises(SourceNotFoundError):
        states.unread(ORDERS, at(2))
    details.catalog[ORDERS] = "/orders"
    assert states.unread(ORDERS, at(2)).changed_at_ms is None
    log.logs["/orders"].clear()
    with pytest.raises(SourceNotFoundError):
        states.unread(ORDERS, replace(at(2), identity="x"))


def test_a_log_that_was_cleaned_up_counts_from_its_oldest_commit(states, log):
    del log.logs["/orders"][0]
    assert states.unread(ORDERS, at(0)).changed_at_ms == 1000


def test_a_topic_is_asked_for_its_records(states):
    position = OffsetPosition("kafka", '{"orders":{"0":12}}')
    assert states.unread(ORDERS, position).changed_at_ms == 42


def test_the_activity_of_a_source_is_read_once_for_each_version(states, log):
    found = states.activity(ORDERS)
    assert (found.change_seconds, found.files, found.file_bytes) == (1.0, 400, 1_000)
    assert found.compaction == f"OPTIMIZE {ORDERS.sql}"
    assert states.activity(ORDERS) == found
    assert log.reads["size"] == 1
    log.add("/orders")
    assert states.activity(ORDERS).files == 600
    assert log.reads["size"] == 2
