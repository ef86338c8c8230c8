from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

from dbt.adapters.spark_mt.spark.iceberg.metadata import SqlMetadata, parse
from tests.unit.spark.iceberg import tables_of_snapshots as made


def numbers(path):
    return None if path is None else [each.number for each in path]


def test_a_table_without_snapshots_is_at_version_zero():
    found = made.metadata()
    assert (found.newest, found.identity(0)) == (0, made.UUID)
    assert found.holds(0)
    assert not found.holds(1)


def test_the_newest_version_is_the_number_of_the_head():
    found = made.metadata(*map(made.snapshot, (1, 2, 3)))
    assert (found.newest, found.identity(3), found.identity(2)) == (3, "30", "20")


def test_after_a_rollback_the_head_has_a_lower_number():
    found = made.metadata(*map(made.snapshot, (1, 2, 3)), head=1)
    assert found.newest == 1
    assert found.identity(3) == "30", "a snapshot that main has left can still be read"


def test_a_path_follows_the_parents_of_a_snapshot():
    found = made.metadata(*map(made.snapshot, (1, 2, 5)), made.snapshot(6, parent=5))
    assert numbers(found.path(1, 2)) == [2]
    assert found.path(2, 6) is None, "the parent of 5 is gone"
    whole = made.metadata(*map(made.snapshot, (1, 2)), made.snapshot(5, parent=2))
    assert numbers(whole.path(1, 5)) == [2, 5]
    assert numbers(whole.path(0, 5)) == numbers(whole.path(-1, 5)) == [1, 2, 5]
    assert numbers(whole.path(5, 5)) == []


def test_no_path_leads_to_a_version_that_main_left():
    snapshots = (*map(made.snapshot, (1, 2, 3)), made.snapshot(4, parent=1))
    found = made.metadata(*snapshots)
    assert found.path(3, 4) is None
    assert found.path(3, 1) is None
    assert found.path(2, 0) is None
    assert numbers(found.path(1, 4)) == [4]


def test_an_expired_snapshot_is_on_no_path():
    found = made.metadata(made.snapshot(3), made.snapshot(4))
    assert found.path(2, 4) is None
    assert found.path(0, 4) is None
    assert numbers(found.path(3, 4)) == [4]


def test_of_snapshots_without_numbers_the_newest_one_on_main_counts():
    old = {**made.snapshot(1), "sequence-number": 0}
    older = {**made.snapshot(2, parent=1), "sequence-number": 0}
    found = made.metadata(old, older, made.snapshot(3))
    assert found.identity(0) == "20"
    assert made.metadata(old, older, head=1).identity(0) == "10"


def test_operations_say_which_rows_change():
    kinds = {
        name: made.metadata(made.snapshot(1, getattr(made, name))).head
        for name in ("APPEND", "NOTHING", "REWRITE", "COMPACTION", "DELETE", "MARKS")
    }
    changing = {"APPEND", "REWRITE", "DELETE", "MARKS"}
    assert {name for name, each in kinds.items() if each.changes_rows} == changing
    adding = {"APPEND", "NOTHING", "COMPACTION"}
    assert {name for name, each in kinds.items() if each.adds_only} == adding
    assert {name for name, each in kinds.items() if each.has_deletes} == {"MARKS"}
    assert {name: each.changed for name, each in kinds.items()} == {
        "APPEND": 10,
        "NOTHING": 0,
        "REWRITE": 20,
        "COMPACTION": 0,
        "DELETE": 10,
        "MARKS": 1,
    }
    assert kinds["MARKS"].rows == 99


def test_a_writer_that_does_not_count_delete_files_may_have_some():
    document = made.snapshot(1)
    del document["summary"]["total-delete-files"]
    assert made.metadata(document).head.has_deletes


def test_partition_columns_are_those_whose_values_are_kept():
    fields = [
        {"source-id": 2, "field-id": 1000, "name": "K", "transform": "identity"},
        {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[4]"},
    ]
    specs = [{"spec-id": 0, "fields": []}, {"spec-id": 3, "fields": fields}]
    found = made.metadata(**{"partition-specs": specs, "default-spec-id": 3})
    assert found.partitioned_by == ("K",)


def test_a_table_of_the_first_format_version_is_read_without_numbers():
    document = made.document(made.snapshot(1), **{"format-version": 1})
    del document["snapshots"][0]["sequence-number"]
    del document["snapshots"][0]["schema-id"]
    assert parse(document).newest == 0


class Session:
    """Answers the two statements with the file that the catalog names."""

    def __init__(self):
        self.files, self.reads = {}, 0
        self.current = ""
        self.read = SimpleNamespace(format=lambda _: self)

    def sql(self, statement):
        assert statement == "SELECT file FROM `ice`.`s`.`t`.metadata_log_entries"
        return SimpleNamespace(collect=lambda: [{"file": "old"}, {"file": self.current}])

    def load(self, path):
        self.reads += 1
        return self._rows(self.files[path])

    def _rows(self, content):
        rows = [{"content": bytearray(content)}]
        return SimpleNamespace(select=lambda _: SimpleNamespace(collect=lambda: rows))


def test_a_file_is_parsed_once_also_a_compressed_one():
    session = Session()
    text = json.dumps(made.document(made.snapshot(1))).encode()
    session.files = {"/m/1.json": text, "/m/2.gz.json": gzip.compress(text)}
    reader = SqlMetadata(session)
    for session.current in ("/m/1.json", "/m/1.json", "/m/2.gz.json"):
        assert reader.read(made.TABLE.name).newest == 1
    assert session.reads == 2
