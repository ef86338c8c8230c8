"""Logs with more commits than Spark looks at without a job, read in both ways."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from dbt.adapters.spark_mt.spark.delta.log import DeltaLog, DriverLog, commit_file
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles
from tests.support.refs import delta_at

COMMITS = 33


@pytest.fixture
def table(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE many (id BIGINT) USING delta")
    for n in range(1, COMMITS):
        session.sql(f"INSERT INTO many VALUES ({n})")
    rows = session.sql("DESCRIBE TABLE EXTENDED many").collect()
    path = next(row["data_type"] for row in rows if row["col_name"] == "Location")
    return delta_at(path)


def test_both_implementations_return_the_same(session, table):
    """Also between 30 commits, over which files are picked out of the directory."""
    by_jobs, by_files = DeltaLog(session), DriverLog(session, DriverFiles(session))
    last, nowhere = COMMITS - 1, delta_at(f"{table.handle}-not")
    requested = {
        "versions": lambda log: log.versions(table),
        "newest": lambda log: log.newest(table),
        "is newest": lambda log: (log.is_newest(table, last), log.is_newest(table, 7)),
        "commit": lambda log: (log.commit(table, 3), log.commit(table, COMMITS)),
        "commits": lambda log: log.commits([(table, 1), (table, 32)]),
        "back": lambda log: list(log.backwards(table)),
        "actions": lambda log: sorted(map(str, log.file_actions(table, 1, last) or ())),
        "few actions": lambda log: sorted(map(str, log.file_actions(table, 9, 12) or ())),
        "no actions": lambda log: log.file_actions(table, 9, COMMITS),
        "nothing": lambda log: (log.newest(nowhere), log.versions(nowhere)),
    }
    recorded = {what: (ask(by_jobs), ask(by_files)) for what, ask in requested.items()}
    assert {what: a for what, (a, _) in recorded.items()} == {
        what: b for what, (_, b) in recorded.items()
    }
    assert recorded["versions"][0] == [*range(COMMITS)]
    assert len(recorded["actions"][0]) == last
    assert [commit.version for commit in recorded["back"][0]] == [*range(last, -1, -1)]
    assert by_jobs.table_id(table) == "", "the newest commits do not have it"
    detail = session.sql("DESCRIBE DETAIL many").collect()[0]
    assert by_files.table_id(table) == detail["id"]
    assert_no_hint_is_needed(session, table)
    assert_cleaned_up(by_jobs, by_files, table)


def assert_no_hint_is_needed(session, table):
    """Delta overwrites it and then its checksum; in between it cannot be read."""

    def newest():
        return DriverLog(session, DriverFiles(session)).newest(table)

    hint = Path(urlparse(f"{table.handle}/_delta_log/_last_checkpoint").path)
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


def assert_cleaned_up(by_jobs, by_files, table):
    """What both say when the oldest commits are gone."""
    first = COMMITS - 5
    for version in range(first):
        Path(urlparse(commit_file(table, version)).path).unlink()
    for log in (by_jobs, by_files):
        assert log.versions(table) == [*range(first, COMMITS)]
        assert log.file_actions(table, first - 1, first) is None
        assert [commit.version for commit in log.backwards(table)][-1] == first
        assert log.commit(table, first - 1) is None
