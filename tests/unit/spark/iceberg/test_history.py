from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
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
