"""What the actions of a log mean for the rows of a table."""

from __future__ import annotations

import json
from dataclasses import replace

from dbt.adapters.spark_mt.spark.delta.changes import MOST_FILES, changed_rows, file_changes
from dbt.adapters.spark_mt.spark.delta.commits import FileAction, file_action


def name(number):
    return f"part-00000-00000000-0000-4000-8000-{number:012x}.c000.snappy.parquet"


A, B, C = (name(n) for n in range(3))


def add(version, path, *, rows=True):
    return FileAction(version, path, adds=True, changes_rows=rows)


def remove(version, path, *, rows=True):
    return FileAction(version, path, adds=False, changes_rows=rows)


def test_files_that_came_are_read_at_the_end():
    found = file_changes([add(2, f"day=2025-01-01/{B}"), add(1, A)], 4)
    assert found.added == {4: (A, B)}
    assert (found.removes_rows, found.named) == (False, True)


def test_files_that_were_rewritten_since_are_read_where_they_came():
    found = file_changes([add(1, A), add(2, B), remove(3, A, rows=False), add(3, C, rows=False)], 5)
    assert found.added == {1: (A,), 5: (B,)}
    assert not found.removes_rows
    assert set(found.touched) == {A, B, C}


def test_a_file_that_only_moved_rows_brings_none():
    found = file_changes([remove(1, A, rows=False), add(1, B, rows=False)], 1)
    assert (found.added, found.removes_rows) == ({}, False)


def test_rows_deleted_within_a_file_are_found():
    found = file_changes([remove(1, A), add(1, A)], 1)
    assert found.removing == (1,)
    assert found.removes_rows
    assert found.touched == (A,)


def test_rows_are_read_by_commit_where_no_file_is_read_twice():
    marked = [remove(1, A), add(1, A)]
    assert file_changes(marked, 4).marks_rows
    assert file_changes([*marked, remove(2, A), add(2, A)], 4).marks_rows
    assert file_changes([*marked, add(2, B), remove(3, A)], 4).marks_rows
    assert file_changes([add(1, A), remove(2, A), add(2, A)], 4).marks_rows, "it came in the range"
    moved = [remove(3, A, rows=False), add(3, C, rows=False)]
    assert file_changes([*marked, *moved], 4).marks_rows
    assert not file_changes([add(1, A)], 4).marks_rows
    assert not file_changes([remove(1, A), add(1, B)], 4).marks_rows, "a copy on write"
    assert not file_changes([*marked, add(2, B), remove(3, B)], 4).marks_rows
    assert not file_changes(moved, 4).marks_rows


def test_ambiguous_names_of_files_are_not_used():
    assert not file_changes([add(1, "day=1/data.parquet")], 1).named
    assert file_changes([add(1, f"a%20b/{A}")], 1).named
    assert not file_changes([add(1, name(n)) for n in range(MOST_FILES + 1)], 1).named


def test_an_action_is_read_from_its_line():
    added = {"path": A, "dataChange": True, "stats": json.dumps({"numRecords": 7})}
    assert file_action(3, json.dumps({"add": added})) == replace(add(3, A), rows=7)
    removed = json.dumps({"remove": {"path": A, "dataChange": False}})
    assert file_action(4, removed) == remove(4, A, rows=False)


def sized(version, rows, *, changes=True):
    return FileAction(version, A, adds=True, changes_rows=changes, rows=rows)


def test_a_commit_counts_what_it_says_or_the_rows_of_its_files():
    actions = [sized(1, 40), sized(2, 5), sized(2, 6), sized(3, 9, changes=False)]
    assert changed_rows(actions, {}, whole=100) == 51
    assert changed_rows(actions, {1: 2, 2: None}, whole=100) == 13
    assert changed_rows([sized(1, None), sized(1, 3)], {}, whole=100) == 100
    assert changed_rows([sized(1, None)], {1: 3}, whole=100) == 3
