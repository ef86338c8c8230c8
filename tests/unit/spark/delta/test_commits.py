"""Lines of a Delta log, without Spark."""

import json
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    encode_commit,
)
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_format import TableDescription
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.spark.delta.commits import checksum_description, parse_commit
from dbt.adapters.spark_mt.spark.delta.log import (
    DriverLog,
    commit_file,
)
from tests.support.refs import delta_at

METADATA = CommitMetadata("id", CommitKind.CONTENT, 3, 2)


def line(**info):
    return json.dumps({"commitInfo": {"timestamp": 1000, "operation": "WRITE", **info}})


def test_our_commit():
    found = parse_commit(
        7,
        line(
            userMetadata=encode_commit(METADATA),
            operationMetrics={"numOutputRows": "12", "numFiles": "1"},
            operationParameters={"mode": "Overwrite"},
        ),
    )
    assert (found.version, found.timestamp_ms, found.operation) == (7, 1000, "WRITE")
    assert (found.metadata, found.rows, found.effect) == (METADATA, 12, CommitEffect.ROWS)


def test_a_commit_of_others():
    found = parse_commit(0, line(userMetadata="by hand"))
    assert (found.metadata, found.rows, found.restored) == (None, None, None)


def test_restore_keeps_the_number_of_its_version():
    def restored(**parameters):
        found = parse_commit(3, line(operation="RESTORE", operationParameters=parameters))
        assert found.effect is CommitEffect.RESTORE
        return found.restored

    assert restored(version=0, timestamp=None) == 0
    assert restored(version="2") == 2
    assert restored(version=None, timestamp="2025-03-01 10:00:00") is None


@pytest.mark.parametrize(
    ("operation", "effect"),
    [
        ("WRITE", CommitEffect.ROWS),
        ("STREAMING UPDATE", CommitEffect.ROWS),
        ("something new", CommitEffect.ROWS),
        ("OPTIMIZE", CommitEffect.NO_ROWS),
        ("SET TBLPROPERTIES", CommitEffect.NO_ROWS),
        ("CLONE", CommitEffect.CLONE),
        ("CREATE OR REPLACE TABLE AS SELECT", CommitEffect.REPLACE),
        ("REPLACE TABLE", CommitEffect.REPLACE),
    ],
)
def test_what_an_operation_does(operation, effect):
    assert parse_commit(1, line(operation=operation, operationParameters={"version": 5})) == (
        Commit(1, 0, 1000, operation, None, None, "1000", effect=effect)
    )


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


@pytest.mark.parametrize(
    ("metrics", "changed"),
    [
        ({"numUpdatedRows": "3", "numCopiedRows": "9"}, 3),
        ({"numDeletedRows": "4"}, 4),
        ({"numDeletedRows": "-1"}, None),
        ({"numTargetRowsInserted": "1", "numTargetRowsDeleted": "3"}, 4),
        ({"numOutputRows": "12", "numFiles": "1"}, None),
        ({}, None),
    ],
)
def test_statements_that_change_rows_say_how_many(metrics, changed):
    assert parse_commit(7, line(operationMetrics=metrics)).changed == changed


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085"])
def test_line_separators_in_values_end_no_line_of_a_commit(separator):
    """JSON escapes none of them, and `str.splitlines` ends a line at each."""
    stats = json.dumps({"numRecords": 7, "minValues": {"v": separator}}, ensure_ascii=False)
    added = {"path": "a", "dataChange": True, "stats": stats}
    other = json.dumps({"other": separator}, ensure_ascii=False)
    text = "\n".join((other, json.dumps({"add": added}, ensure_ascii=False), line()))
    texts = {commit_file(delta_at("/t"), 4): text}
    files = SimpleNamespace(
        read=texts.get, read_if_there=texts.get, first_line=lambda p: texts[p].split("\n")[0]
    )
    log = DriverLog(None, files)
    (action,) = log.file_actions(delta_at("/t"), 4, 4)
    assert (action.path, action.rows, action.adds) == ("a", 7, True)
    assert log.commit(delta_at("/t"), 4).timestamp_ms == 1000


CHECKSUM = {
    "metadata": {"id": "i", "description": "c", "configuration": {"note": "x", "path": "/t"}},
    "protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clustering"]},
    "domainMetadata": [
        {"domain": "other", "configuration": "{}", "removed": False},
        {
            "domain": "delta.clustering",
            "configuration": json.dumps({"clusteringColumns": [["a", "b"], ["c"]]}),
            "removed": False,
        },
    ],
}
DESCRIBED = {
    "note": "x",
    "delta.minReaderVersion": "1",
    "delta.minWriterVersion": "7",
    "delta.feature.clustering": "supported",
    "clusteringColumns": '[["a","b"],["c"]]',
}


def test_a_checksum_file_describes_its_table():
    assert checksum_description(CHECKSUM) == TableDescription("c", DESCRIBED)
    removed = [{**CHECKSUM["domainMetadata"][1], "removed": True}]
    found = checksum_description({**CHECKSUM, "domainMetadata": removed})
    assert found.properties["clusteringColumns"] == "[]"
    old = {"minReaderVersion": 1, "minWriterVersion": 2, "readerFeatures": None}
    metadata = {"configuration": {}, "description": None}
    found = checksum_description({"metadata": metadata, "protocol": old})
    versions = {"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"}
    assert found == TableDescription("", versions)


@pytest.mark.parametrize("key", CHECKSUM)
def test_a_checksum_file_that_lacks_a_field_describes_nothing(key):
    without = {other: value for other, value in CHECKSUM.items() if other != key}
    assert checksum_description(without) is None
    assert checksum_description({**CHECKSUM, key: None}) is None


@pytest.mark.parametrize(("mode", "is_known"), [("name", False), ("id", False), ("none", True)])
def test_clustering_columns_with_other_names_in_files_are_not_known(mode, is_known):
    metadata = {"configuration": {"delta.columnMapping.mode": mode}}
    assert (checksum_description({**CHECKSUM, "metadata": metadata}) is not None) == is_known
