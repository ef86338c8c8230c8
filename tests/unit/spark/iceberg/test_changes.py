from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.positions import ChangeExtent, ChangeKind
from dbt.adapters.spark_mt.spark.formats.iceberg import COPY_ON_WRITE
from dbt.adapters.spark_mt.spark.iceberg.changes import RangeReader, changed_types
from tests.unit.spark.iceberg import tables_of_snapshots as made

types = pytest.importorskip("pyspark.sql.types")
COLUMNS = types.StructType().add("id", types.IntegerType()).add("K", types.StringType())


class Session:
    """Knows the columns of every query, and has the least and greatest weight of one job."""

    def __init__(self, weights=None):
        self.weights, self.jobs = weights, []

    def sql(self, text):
        self.schema = COLUMNS
        if "least" in text:
            self.jobs.append(text)
        return self

    def collect(self):
        assert self.weights is not None, "no job is expected"
        return [dict(zip(("least", "most"), self.weights, strict=True))]


def reader(*snapshots, weights=None, **more):
    history = made.history(*snapshots, **more)
    return RangeReader(Session(weights), history, lambda table, v: f"{table.name.sql}@{v}")


def snapshots(*summaries):
    return [made.snapshot(n, each) for n, each in enumerate((made.APPEND, *summaries), 1)]


@pytest.mark.parametrize(
    ("summaries", "kind"),
    [
        ((made.APPEND, made.COMPACTION), ChangeKind.ADDED),
        ((made.NOTHING, made.COMPACTION), ChangeKind.NONE),
        ((made.DELETE, made.APPEND), ChangeKind.REMOVED),
        ((made.MARKS,), ChangeKind.REMOVED),
    ],
)
def test_operations_say_what_happened_without_a_job(summaries, kind):
    found = reader(*snapshots(*summaries))
    assert found.kind(made.between(1, len(summaries) + 1), net=False) is kind


@pytest.mark.parametrize(
    ("weights", "kind"),
    [((None, None), ChangeKind.NONE), ((1, 2), ChangeKind.ADDED), ((-1, 1), ChangeKind.REMOVED)],
)
def test_rewritten_rows_are_compared(weights, kind):
    found = reader(*snapshots(made.REWRITE), weights=weights)
    assert found.kind(made.between(1, 2), net=False) is kind
    (job,) = found._spark.jobs
    assert ".changes WITH ('start-snapshot-id' = '10', 'end-snapshot-id' = '20')" in job


def test_a_version_that_has_expired_is_gone():
    found = reader(made.snapshot(3), made.snapshot(4))
    assert found.kind(made.between(1, 4), net=True) is ChangeKind.GONE
    assert found.extent(made.between(1, 4)) == ChangeExtent(ChangeKind.GONE)
    assert found.changed_types(made.between(1, 4)) == ()


def test_the_whole_table_is_added_before_all_and_to_nothing():
    found = reader(*snapshots(made.MARKS))
    for after in (-1, 0):
        assert found.kind(made.between(after, 2), net=False) is not ChangeKind.NONE
        assert found.added(made.between(after, 2)).endswith("FROM `ice`.`s`.`t`@2")
        assert found.removed(made.between(after, 2)) is None
        (query,) = found.weighted(made.between(after, 2), "w")
        assert query.startswith("SELECT *, 1L AS `w`")


def test_appended_rows_are_read_incrementally():
    found = reader(*snapshots(made.APPEND, made.COMPACTION))
    range_ = made.between(1, 3, {"id"})
    assert found.added(range_) == (
        "SELECT `id`, CAST(NULL AS STRING) AS `K` FROM `ice`.`s`.`t` "
        "WITH ('start-snapshot-id' = '10', 'end-snapshot-id' = '30')"
    )
    assert found.removed(range_) is None
    assert len(found.weighted(range_, "w")) == 1


def test_what_is_no_append_is_never_read_incrementally():
    for summaries in ((made.REWRITE,), (made.MARKS,), (made.APPEND, made.DELETE)):
        found = reader(*snapshots(*summaries))
        range_ = made.between(1, len(summaries) + 1)
        assert "start-snapshot-id" not in found.added(range_)
        assert "@1" in found.added(range_)
        assert "@1" in found.removed(range_)


def test_nothing_is_read_where_no_row_changed():
    found = reader(*snapshots(made.NOTHING, made.COMPACTION))
    assert found.added(made.between(1, 3)).endswith("WHERE false")
    assert found.added(made.between(2, 2)).endswith("WHERE false")
    assert found.removed(made.between(1, 3)) is None


@pytest.mark.parametrize(
    ("found", "more", "ways"),
    [
        (snapshots(made.APPEND, made.REWRITE), {}, 2),
        (snapshots(made.MARKS, made.REWRITE), {}, 1),
        (snapshots(made.APPEND, made.REWRITE), {"current-schema-id": 1}, 1),
        ([*snapshots(made.APPEND), made.snapshot(3, parent=1)], {}, 1),
    ],
)
def test_versions_are_compared_where_files_do_not_show_the_changes(found, more, ways):
    schemas = [made.SCHEMA, {**made.SCHEMA, "schema-id": 1}]
    queries = reader(*found, schemas=schemas, **more).weighted(made.between(2, 3), "w")
    assert len(queries) == ways
    assert ".changes" not in queries[-1]
    assert "@2" in queries[-1]


def test_the_extent_counts_the_rows_of_rewritten_files():
    found = reader(*snapshots(made.APPEND, made.REWRITE))
    assert found.extent(made.between(1, 2)) == ChangeExtent(ChangeKind.ADDED, 10, 100)
    assert found.extent(made.between(1, 3)) == ChangeExtent(ChangeKind.REMOVED, 30, 100)
    assert found.extent(made.between(2, 2)) == ChangeExtent(ChangeKind.NONE)
    assert found.extent(made.between(-1, 3)) == ChangeExtent(ChangeKind.ADDED, 100, 100)


def test_the_extent_names_what_to_set_where_rows_are_marked():
    found = reader(*snapshots(made.MARKS))
    assert found.extent(made.between(1, 2)) == ChangeExtent(
        ChangeKind.REMOVED, 1, 99, COPY_ON_WRITE
    )


def test_a_rollback_may_have_changed_all_rows():
    found = reader(*snapshots(made.APPEND), head=1)
    assert found.extent(made.between(2, 1)) == ChangeExtent(ChangeKind.REMOVED, 200, 100)


def schema(*fields):
    names = ("id", "name", "type")
    return {"schema-id": 1, "fields": [dict(zip(names, f, strict=True)) for f in fields]}


@pytest.mark.parametrize(
    ("now", "columns", "changed"),
    [
        (((1, "id", "int"), (2, "k", "string")), None, []),
        (((1, "id", "long"), (2, "k", "string")), None, ["id"]),
        (((1, "id", "long"), (2, "k", "string")), {"k"}, []),
        (((1, "id", "int"), (3, "k", "string")), None, ["k"]),
        (((1, "id", "int"),), None, ["k"]),
        (((2, "id", "string"), (1, "k", "int")), None, ["id", "k"]),
    ],
)
def test_columns_are_known_by_their_ids(now, columns, changed):
    found = changed_types(made.SCHEMA, schema(*now), columns)
    assert [each.split()[0] for each in found] == changed


def test_what_changes_no_value_is_no_other_type():
    def nested(**more):
        field = {"id": 5, "name": "x", "required": False, "type": "int", **more}
        return schema((1, "s", {"type": "struct", "fields": [field]}))

    assert changed_types(nested(), nested(required=True, doc="d"), None) == ()
    assert changed_types(nested(), nested(type="long"), None) != ()
