"""How far a table is, without Spark: its log is a set of file names."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions, NoTable
from dbt.adapters.spark_mt.spark.delta.log import DriverLog, commit_file
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from tests.support.refs import delta_at

NAME = TableName("registry", "system", "c")
A = delta_at("/a", NAME)


class Files:
    """The files of logs; counts what is asked."""

    def __init__(self):
        self.texts, self.requested, self.listed = {}, 0, 0

    def is_file(self, path):
        self.requested += 1
        return path in self.texts

    def read_if_there(self, path):
        return self.texts.get(path)

    def read(self, path):
        return self.texts[path]

    def first_line(self, path):
        self.requested += 1
        return None if path not in self.texts else self.texts[path].partition("\n")[0]

    def modified_ms(self, path):
        return 77 if path in self.texts else None

    def listing(self, directory):
        self.listed += 1
        return f"Array({', '.join(path for path in self.texts if path.startswith(directory))})"


class Log(DriverLog):
    """A log whose directory is listed, and whose files are asked for one by one."""

    def __init__(self):
        self.files = Files()
        self.texts = self.files.texts
        super().__init__(None, self.files)

    def put(self, location, *versions):
        table = delta_at(location, NAME)
        for version in versions:
            info = {"commitInfo": {"timestamp": version, "operation": "WRITE"}}
            self.texts[commit_file(table, version)] = json.dumps(info) + '\n{"add":{}}'

    def checkpoint(self, location, version):
        recorded = json.dumps({"version": version, "size": 1})
        self.texts[f"{location}/_delta_log/_last_checkpoint"] = recorded

    @property
    def listed(self):
        return self.files.listed


class Details:
    """A catalog with one table, or none."""

    def __init__(self, location=""):
        self.location, self.requested, self._known = location, 0, None

    def forget(self):
        self._known = None

    def of(self, _):
        if self._known is None:
            self.requested += 1
            self._known = delta_at(self.location, NAME) if self.location else NoTable("")
        return self._known

    of_made = of


def test_a_lookup_requests_files_and_lists_no_directory():
    log, details = Log(), Details("/a")
    log.put("/a", 0, 1)
    newest = NewestVersions(details, InstalledTables(DeltaTables(log)))
    assert [newest(NAME), newest(NAME)] == [1, 1]
    log.put("/a", 2, 3)
    assert newest(NAME) == 3
    assert (log.listed, details.requested) == (0, 1)


def test_the_history_says_which_version_came_before():
    log, details = Log(), Details("/a")
    log.put("/a", 0, 1)
    newest = NewestVersions(details, InstalledTables(DeltaTables(log)))
    assert [newest.previous(NAME, version) for version in (1, 0, 2)] == [0, -1, None]
    assert (log.files.requested, log.listed) == (3, 0)
    details.location = ""
    details.forget()
    assert newest.previous(NAME, 1) is None


def test_a_table_is_created_dropped_and_created_at_another_location():
    log, details = Log(), Details()
    newest = NewestVersions(details, InstalledTables(DeltaTables(log)))
    assert newest(NAME) == -1
    details.location = "/a"
    log.put("/a", *range(4))
    assert newest(NAME) == 3
    log.texts.clear()
    details.location = ""
    assert newest(NAME) == -1
    details.location = "/b"
    log.put("/b", 0, 1)
    assert newest(NAME) == 1


def test_a_table_recreated_at_the_same_location():
    log, details = Log(), Details("/a")
    log.put("/a", *range(9))
    newest = NewestVersions(details, InstalledTables(DeltaTables(log)))
    assert newest(NAME) == 8
    log.texts.clear()
    log.put("/a", 0)
    assert newest(NAME) == 0


def test_whether_a_version_is_the_newest():
    log = Log()
    log.put("/a", 3, 4)
    assert [log.is_newest(A, version) for version in (3, 4, 5)] == [False, True, False]
    assert log.listed == 0


def test_a_long_log_costs_no_more_than_a_short_one():
    log = Log()
    log.put("/a", *range(2_000))
    log.checkpoint("/a", 1_990)
    assert log.newest(A) == 1_999
    assert [commit.version for commit in islice(log.backwards(A), 3)] == [
        1_999,
        1_998,
        1_997,
    ]
    assert log.commit(A, 7).timestamp_ms == 7
    assert (log.listed, log.files.requested <= 40) == (0, True)


@pytest.mark.parametrize("newest", [*range(20), 1_000, 1_023, 1_024])
def test_the_end_of_a_log_without_checkpoints_is_found_in_strides(newest):
    log = Log()
    log.put("/a", *range(newest + 1))
    assert log.newest(A) == newest
    assert (log.listed, log.files.requested <= 24) == (0, True)


def test_a_log_that_was_read_costs_two_requests():
    log = Log()
    log.put("/a", *range(20))
    assert log.newest(A) == 19
    log.files.requested = 0
    assert (log.newest(A), log.files.requested) == (19, 2)
    log.put("/a", 20)
    assert (log.newest(A), log.newest(delta_at("/b"))) == (20, -1)


def test_a_log_that_was_read_may_be_gone_or_begin_again():
    log = Log()
    log.put("/a", *range(9))
    assert log.newest(A) == 8
    log.texts.clear()
    assert log.newest(A) == -1
    log.put("/a", 0, 1)
    assert log.newest(A) == 1


def test_the_stamp_of_a_commit_that_is_there_or_not():
    log = Log()
    log.put("/a", 0)
    assert [log.stamp(A, version) for version in (0, 1, -1)] == ["77", "", ""]


@pytest.mark.parametrize("half", ["", '{"vers', '{"version":'])
def test_a_checkpoint_that_is_being_written_is_not_needed(half):
    log = Log()
    log.put("/a", *range(5))
    log.texts["/a/_delta_log/_last_checkpoint"] = half
    assert log.newest(A) == 4


def test_a_log_whose_old_commits_are_gone():
    log = Log()
    log.put("/a", *range(30, 45))
    log.checkpoint("/a", 40)
    assert log.newest(A) == 44
    assert [commit.version for commit in log.backwards(A)] == [*range(44, 29, -1)]
    assert log.commit(A, 29) is None
    assert log.commits([(A, 29), (A, 31)]).keys() == {(A, 31)}


def test_a_log_without_the_commit_of_its_newest_checkpoint_is_listed():
    log = Log()
    log.put("/a", *range(50, 53))
    log.checkpoint("/a", 40)
    assert (log.newest(A), log.listed) == (52, 1)
    assert Log().newest(delta_at("/nowhere")) == -1


def test_the_metadata_of_a_commit_need_not_be_its_first_line():
    log = Log()
    log.texts[commit_file(A, 0)] = '{"protocol":{}}\n{"commitInfo":{"timestamp":5}}'
    assert log.commit(A, 0).timestamp_ms == 5


def test_a_writer_that_says_nothing_about_its_commits():
    """Delta's protocol leaves `commitInfo` to whoever writes."""
    log = Log()
    log.put("/a", 0, 2)
    for version, path in enumerate(("x", "y"), start=3):
        log.texts[commit_file(A, version)] = f'{{"add":{{"path":"{path}"}}}}\n'
    log.texts[commit_file(A, 1)] = '{"add":{"path":"x"}}\n'
    found = {commit.version: commit for commit in log.backwards(A)}
    assert list(found) == [4, 3, 2, 1, 0]
    assert found[3].identity == found[1].identity != found[4].identity
    assert (found[3].timestamp_ms, found[3].metadata) == (77, None)
