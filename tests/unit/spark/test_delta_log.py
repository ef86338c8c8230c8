"""Lines of a Delta log, without Spark."""

import json

import pytest

from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts, CommitKind, encode_commit
from dbt.adapters.spark_mt.spark.delta_log import (
    _escaped,
    _tail,
    commit_file,
    parse_commit,
    versions_in,
)

FACTS = CommitFacts("id", CommitKind.CONTENT, 3, "token", 2)


def line(**info):
    return json.dumps({"commitInfo": {"timestamp": 1000, "operation": "WRITE", **info}})


def test_our_commit():
    found = parse_commit(
        7,
        line(
            userMetadata=encode_commit(FACTS),
            operationMetrics={"numOutputRows": "12", "numFiles": "1"},
            operationParameters={"mode": "Overwrite"},
        ),
    )
    assert (found.version, found.timestamp_ms, found.operation) == (7, 1000, "WRITE")
    assert (found.facts, found.rows, found.parameters) == (FACTS, 12, {"mode": "Overwrite"})


def test_a_commit_of_others():
    found = parse_commit(0, line(userMetadata="by hand"))
    assert (found.facts, found.rows, found.parameters) == (None, None, {})


def test_restore_keeps_the_number_of_its_version():
    parameters = {"version": 0, "timestamp": None}
    assert parse_commit(
        3, line(operation="RESTORE", operationParameters=parameters)
    ).parameters == (parameters)


@pytest.mark.parametrize(
    ("info", "expected"),
    [({}, 1000), ({"inCommitTimestamp": 2000}, 2000), ({"timestamp": None}, 0)],
)
def test_the_time_of_a_commit(info, expected):
    assert parse_commit(0, line(**info)).timestamp_ms == expected


@pytest.mark.parametrize(
    ("metrics", "rows"),
    [
        ({"numOutputRows": "0", "numFiles": "0"}, 0),
        ({"numFiles": "0", "numRemovedFiles": "1"}, 0),
        ({"numFiles": "1"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_rows_that_were_counted(metrics, rows):
    assert parse_commit(0, line(operationMetrics=metrics)).rows == rows


def test_commit_files_are_named_by_version():
    assert commit_file("/t", 12) == "/t/_delta_log/00000000000000000012.json"


@pytest.mark.parametrize("path", ["file:/a/b", "file:///a/b", "/a/b", "s3a://a/b"])
def test_paths_are_compared_without_scheme_and_slashes(path):
    assert _tail(path) == "a/b"


def test_paths_are_no_patterns():
    assert _escaped(r"/a*b[1]{x}?\y") == r"/a\*b\[1\]\{x\}\?\\y"


def test_versions_are_those_of_commits():
    version = "0000000000000000000"
    log = "file:/a, b/_delta_log/"
    names = (
        f"{version}3.json",
        f"{version}2.json",
        f"{version}2.checkpoint.parquet",
        f"{version}2.checkpoint.6a9c.json",
        f"{version}0.{version}2.compacted.json",
        f"{version}4.json.tmp",
        "_last_checkpoint",
    )
    assert versions_in(f"Array({', '.join(log + name for name in names)})") == [2, 3]
    assert versions_in("") == []
