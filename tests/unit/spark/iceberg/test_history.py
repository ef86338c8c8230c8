from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    encode_commit,
)
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_history import read_history
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.history import (
    IcebergHistory,
    down_to_ours,
    highest_number,
)
from tests.unit.spark.iceberg import tables_of_snapshots as made

T = made.TABLE
NOWHERE = replace(T, name=TableName("nothing", "s", "ice"))


def versions(commits):
    return [each.version for each in commits]


def test_commits_lead_back_to_the_creation():
    history = made.history(*map(made.snapshot, (1, 2)), made.snapshot(5, parent=2))
    commits = list(history.backwards(T))
    assert versions(commits) == [5, 2, 1, 0]
    assert [each.previous for each in commits] == [2, 1, 0, -1]
    assert [each.identity for each in commits] == ["50", "20", "10", made.UUID]
    assert versions(history.backwards(T, 2)) == [2, 1, 0]
    assert history.oldest(T).version == 0


def test_commits_end_where_snapshots_have_expired():
    history = made.history(made.snapshot(3), made.snapshot(4))
    commits = list(history.backwards(T))
    assert versions(commits) == [4, 3]
    assert commits[-1].previous == 2
    assert history.oldest(T).version == 3


def test_there_is_nothing_without_a_table():
    history = made.history(made.snapshot(1))
    assert history.newest(NOWHERE) == -1
    assert not history.is_there(NOWHERE)
    assert history.oldest(NOWHERE) is None
    assert history.at(NOWHERE, 10**14) is None
    assert history.commit(NOWHERE, 1) is None
    assert history.stamp(NOWHERE, 1) == ""
    assert history.first_row_change(NOWHERE, 0, 1) is None
    assert not history.keeps_columns(NOWHERE, 0, 1)
    assert history.description(NOWHERE, 1) is None
    assert history.size(NOWHERE, 1) is None


def test_an_empty_table_has_one_commit_that_changes_no_rows():
    history = made.history()
    (commit,) = history.backwards(T)
    assert (commit.version, commit.effect, commit.timestamp_ms) == (0, CommitEffect.NO_ROWS, 500)
    assert history.is_newest(T, 0)
    assert history.commit(T, 0) == commit
    assert history.at(T, 10**14) == 0


def test_an_instant_is_found_by_the_moves_of_main():
    moves = [(1000, 10), (2000, 20), (3000, 10)]
    history = made.history(*map(made.snapshot, (1, 2)), head=1, moves=moves)
    assert [history.at(T, at) for at in (1001, 2001, 3001)] == [1, 2, 1]
    assert history.at(T, 1000) == 0, "nothing was there before the first snapshot"
    assert made.history(made.snapshot(3), made.snapshot(4)).at(T, 3000) is None


def test_the_first_change_of_rows_skips_compactions_and_empty_commits():
    summaries = (made.APPEND, made.NOTHING, made.COMPACTION, made.REWRITE)
    history = made.history(*(made.snapshot(n, each) for n, each in enumerate(summaries, 1)))
    assert history.first_row_change(T, 1, 3) is None
    assert history.first_row_change(T, 1, 4).version == 4
    assert history.first_row_change(T, -1, 4).version == 1
    assert history.first_row_change(T, 4, 4) is None


def test_a_rollback_changes_rows_when_main_moved():
    moves = [(1000, 10), (2000, 20), (9000, 10)]
    history = made.history(*map(made.snapshot, (1, 2)), head=1, moves=moves)
    change = history.first_row_change(T, 2, 1)
    assert (change.version, change.timestamp_ms, change.effect) == (1, 9000, CommitEffect.RESTORE)
    assert change.previous == 2


def test_columns_stay_while_the_schema_does():
    other = {"schema-id": 1, "fields": made.SCHEMA["fields"][:1]}
    snapshots = (made.snapshot(1), made.snapshot(2), made.snapshot(3, schema=1))
    history = made.history(*snapshots, schemas=[made.SCHEMA, other])
    assert history.keeps_columns(T, 1, 2)
    assert not history.keeps_columns(T, 1, 3)
    assert not history.keeps_columns(T, 1, 9)


def test_properties_are_those_of_the_newest_version():
    history = made.history(made.snapshot(1), made.snapshot(2), properties={"comment": "c"})
    assert history.description(T, 2).comment == "c"
    assert history.description(T, 1) is None


def test_the_size_is_that_of_the_summary():
    summary = {**made.APPEND, "total-data-files": "3", "total-files-size": "1024"}
    history = made.history(made.snapshot(1, summary))
    assert history.size(T, 1) == (3, 1024)
    assert history.size(T, 0) is None


def test_several_commits_are_those_that_exist():
    history = made.history(made.snapshot(1), made.snapshot(2))
    assert history.commits([(T, 1), (T, 7), (NOWHERE, 1)]).keys() == {(T, 1)}


def ours(number, seq, **more):
    """A snapshot of ours, with the number of its fence."""
    text = encode_commit(CommitMetadata("id", CommitKind.CONTENT, seq, 1, positions={}))
    return made.snapshot(number, {**made.APPEND, iceberg_format.COMMIT: text}, **more)


def test_snapshots_of_ours_have_commit_metadata():
    history = made.history(ours(1, 1), made.snapshot(2), ours(3, 2))
    assert [c.metadata and c.metadata.seq for c in history.backwards(T)] == [2, None, 1, None]
    assert history.commit(T, 3).metadata.positions == {}


def test_metadata_that_cannot_be_read_is_a_problem_of_the_commit():
    damaged = {**made.APPEND, iceberg_format.COMMIT: '{"materialized-table":2}'}
    commit = made.history(made.snapshot(1, damaged)).commit(T, 1)
    assert commit.metadata is None
    assert "its format is 2" in commit.problem


FENCE = "materialized-table.fence"


@pytest.mark.parametrize(
    ("properties", "highest"), [({}, 3), ({FENCE: "7"}, 7), ({FENCE: "2"}, 3), ({FENCE: "x"}, 3)]
)
def test_the_highest_number_is_a_property_or_that_of_a_snapshot(properties, highest):
    """`main` was rolled back to the first snapshot, and a staged one was never on it."""
    snapshots = ours(1, 2), ours(2, 3), ours(3, 9)
    moves = [(1000, 10), (2000, 20), (3000, 10)]
    found = made.metadata(*snapshots, head=1, moves=moves, properties=properties)
    assert highest_number(found) == highest
    assert highest_number(found, "another") == 0


def test_a_rollback_does_not_lower_the_number_that_comes_next():
    snapshots, moves = (ours(1, 1), ours(2, 2)), [(1000, 10), (2000, 20), (3000, 10)]
    history = made.history(*snapshots, head=1, moves=moves, properties={FENCE: "2"})
    found = read_history(history.backwards(T))
    assert (found.version, found.seq, found.newest.seq) == (1, 2, 1)


class CountingReader(made.Reader):
    """A catalog that counts how often it is asked."""

    asked = 0

    def read(self, name):
        self.asked += 1
        return super().read(name)


def test_a_version_that_was_found_is_not_asked_for_again():
    reader = CountingReader(made.metadata(made.snapshot(1), made.snapshot(2)))
    history = IcebergHistory(reader)
    assert history.newest(T) == 2
    assert history.commit(T, 2).identity == "20"
    assert history.stamp(T, 1) == "10"
    assert history.first_row_change(T, 1, 2).version == 2
    assert history.keeps_columns(T, 1, 2)
    assert versions(history.backwards(T, 2)) == [2, 1, 0]
    assert reader.asked == 1
    reader.found = made.metadata(made.snapshot(1), made.snapshot(2), made.snapshot(3))
    assert history.commit(T, 3).identity == "30"
    assert history.is_newest(T, 3)
    reader.found = None
    assert not history.is_newest(T, 3)
    assert history.commit(T, 3) is None


@pytest.mark.parametrize(
    ("snapshots", "kept"),
    [
        ((ours(1, 1), ours(2, 2)), 1),
        ((ours(1, 1), ours(2, 2), made.snapshot(3, made.COMPACTION)), 2),
        ((made.snapshot(1), made.snapshot(2)), 1),
        ((), 1),
    ],
)
def test_expiry_keeps_the_newest_snapshot_of_ours(snapshots, kept):
    assert down_to_ours(made.metadata(*snapshots)) == kept
