"""How far a table is, without Spark: its log is a set of file names."""

from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.spark.delta_log import DeltaLog, commit_file
from dbt.adapters.spark_mt.spark.newest_versions import NewestVersions
from dbt.adapters.spark_mt.spark.table_details import NoTable

NAME = TableName("registry", "system", "c")


class Log(DeltaLog):
    """A log whose directory is listed, and whose files are asked for one by one."""

    def __init__(self):
        self.files, self.listed = set(), 0
        self.texts = {}
        files = SimpleNamespace(exists=self.files.__contains__, read_if_there=self.texts.get)
        super().__init__(None, files)

    def put(self, location, *versions):
        self.files |= {commit_file(location, version) for version in versions}

    def versions(self, location):
        self.listed += 1
        return sorted(
            int(path[-25:-5]) for path in self.files if path.startswith(f"{location}/_delta_log")
        )


class Details:
    """A catalog with one table, or none."""

    def __init__(self, location=""):
        self.location, self.asked, self._known = location, 0, None

    def forget(self):
        self._known = None

    def of(self, _):
        if self._known is None:
            self.asked += 1
            self._known = SimpleNamespace(location=self.location) if self.location else NoTable("")
        return self._known


def test_a_look_without_news_asks_for_two_files():
    log, details = Log(), Details("/a")
    log.put("/a", 0, 1)
    newest = NewestVersions(details, log)
    assert [newest(NAME), newest(NAME)] == [1, 1]
    log.put("/a", 2, 3)
    assert newest(NAME) == 3
    assert (log.listed, details.asked) == (1, 1)


def test_a_table_that_comes_goes_and_comes_elsewhere():
    log, details = Log(), Details()
    newest = NewestVersions(details, log)
    assert newest(NAME) == -1
    details.location = "/a"
    log.put("/a", *range(4))
    assert newest(NAME) == 3
    log.files.clear()
    details.location = ""
    assert newest(NAME) == -1
    details.location = "/b"
    log.put("/b", 0, 1)
    assert newest(NAME) == 1


def test_a_table_that_was_made_anew_where_it_was():
    log, details = Log(), Details("/a")
    log.put("/a", *range(9))
    newest = NewestVersions(details, log)
    assert newest(NAME) == 8
    log.files.clear()
    log.put("/a", 0)
    assert newest(NAME) == 0


def test_where_spark_is_elsewhere_directories_are_listed():
    log = Log()
    log._files = None
    log.put("/a", 0, 1)
    assert (log.newest("/a", 0), log.is_newest("/a", 1), log.is_newest("/a", 0)) == (1, True, False)
    assert log.commit("/a", 7) is None


def test_whether_a_version_is_the_newest():
    log = Log()
    log.put("/a", 3, 4)
    assert [log.is_newest("/a", version) for version in (3, 4, 5)] == [False, True, False]
    assert log.listed == 0


def test_a_word_in_commits_is_looked_for_without_spark():
    log, details = Log(), Details("/a")
    newest = NewestVersions(details, log)
    log.texts[commit_file("/a", 3)] = '{"commitInfo":{"userMetadata":"a-word"}}'
    log.texts[commit_file("/a", 4)] = '{"commitInfo":{}}'
    assert newest.may_mention(NAME, "a-word", [3, 4])
    assert not newest.may_mention(NAME, "a-word", [4])
    assert newest.may_mention(NAME, "a-word", [4, 5]), "nobody knows what a lost commit said"
    log._files = None
    assert newest.may_mention(NAME, "a-word", [4]), "nor where files cannot be read without a job"
    details.location = ""
    details.forget()
    assert newest.may_mention(NAME, "a-word", [4])
