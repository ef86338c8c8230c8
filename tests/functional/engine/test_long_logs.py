"""Logs with more commits than Spark looks at without a job, read in both ways."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from dbt.adapters.spark_mt.spark.delta.log import DeltaLog, DriverLog, commit_file
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles

COMMITS = 33


@pytest.fixture
def location(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE many (id BIGINT) USING delta")
    for n in range(1, COMMITS):
        session.sql(f"INSERT INTO many VALUES ({n})")
    rows = session.sql("DESCRIBE TABLE EXTENDED many").collect()
    return next(row["data_type"] for row in rows if row["col_name"] == "Location")


def test_both_implementations_return_the_same(session, location):
    """Also between 30 commits, over which files are picked out of the directory."""
    by_jobs, by_files = DeltaLog(session), DriverLog(session, DriverFiles(session))
    last = COMMITS - 1
    requested = {
        "versions": lambda log: log.versions(location),
        "newest": lambda log: log.newest(location),
        "is newest": lambda log: (log.is_newest(location, last), log.is_newest(location, 7)),
        "commit": lambda log: (log.commit(location, 3), log.commit(location, COMMITS)),
        "commits": lambda log: log.commits([(location, 1), (location, 32)]),
        "back": lambda log: list(log.backwards(location)),
        "actions": lambda log: sorted(map(str, log.file_actions(location, 1, last) or ())),
        "few actions": lambda log: sorted(map(str, log.file_actions(location, 9, 12) or ())),
        "no actions": lambda log: log.file_actions(location, 9, COMMITS),
        "nothing": lambda log: (log.newest(f"{location}-not"), log.versions(f"{location}-not")),
    }
    recorded = {what: (ask(by_jobs), ask(by_files)) for what, ask in requested.items()}
    assert {what: a for what, (a, _) in recorded.items()} == {
        what: b for what, (_, b) in recorded.items()
    }
    assert recorded["versions"][0] == [*range(COMMITS)]
    assert len(recorded["actions"][0]) == last
    assert [commit.version for commit in recorded["back"][0]] == [*range(last, -1, -1)]
    assert by_jobs.table_id(location) == "", "the newest commits do not have it"
    detail = session.sql("DESCRIBE DETAIL many").collect()[0]
    assert by_files.table_id(location) == detail["id"]
    assert_no_hint_is_needed(session, location)
    assert_cleaned_up(by_jobs, by_files, location)


def assert_no_hint_is_needed(session, location):
    """Delta overwrites it and then its checksum; in between it cannot be read."""

    def newest():
        return DriverLog(session, DriverFiles(session)).newest(location)

    hint = Path(urlparse(f"{location}/_delta_log/_last_checkpoint").path)
    recorded, checksum = hint.read_bytes(), hint.with_name(f".{hint.name}.crc")
    checksum.write_bytes(checksum.read_bytes()[:-4] + b"else")
    assert newest() == COMMITS - 1
    checksum.unlink()
    hint.write_bytes(recorded[:9])
    assert newest() == COMMITS - 1
    hint.unlink()
    assert newest() == COMMITS - 1


def test_a_missing_version_is_none(session, tmp_path):
    files, nothing = DriverFiles(session), f"{tmp_path.as_uri()}/nothing"
    assert (files.first_line(nothing), files.read_if_there(nothing)) == (None, None)
    assert (files.modified_ms(nothing), files.listing(nothing)) == (None, "")
    assert (files.is_file(nothing), files.names(nothing)) == (False, [])
    assert not files.is_file(tmp_path.as_uri())
    with pytest.raises(Exception, match="nothing"):
        files.read(nothing)
    (tmp_path / "empty").touch()
    assert files.first_line(f"{tmp_path.as_uri()}/empty") == ""


def assert_cleaned_up(by_jobs, by_files, location):
    """What both say when the oldest commits are gone."""
    first = COMMITS - 5
    for version in range(first):
        Path(urlparse(commit_file(location, version)).path).unlink()
    for log in (by_jobs, by_files):
        assert log.versions(location) == [*range(first, COMMITS)]
        assert log.file_actions(location, first - 1, first) is None
        assert [commit.version for commit in log.backwards(location)][-1] == first
        assert log.commit(location, first - 1) is None
