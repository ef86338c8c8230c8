"""The catalog in memory behaves as Delta does where the engine depends on it."""

from datetime import date
from itertools import pairwise

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind, CommitMetadata
from dbt.adapters.spark_mt.definition.errors import CommitConflictError, QueryError
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, prepare
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.literals import literal_value
from tests.support.memory.tables import Change, Snapshot
from tests.unit.builders import columns

T = TableName("t", "s", "c")
AB = columns("a INT; b INT")


@pytest.fixture
def catalog():
    made = MemoryCatalog(lambda: 1000)
    made.create(T, AB, [(1, 1)])
    return made


def fenced(seq):
    return Change("WRITE", 0, CommitMetadata("id", CommitKind.CONTENT, seq, 1))


def same(snapshot):
    return snapshot


def test_every_change_is_a_version(catalog):
    catalog.append(T, [(2, 2)])
    catalog.delete(T, lambda row: row[0] == 1)
    table = catalog.table(T)
    assert [s.rows for s in table.snapshots] == [((1, 1),), ((1, 1), (2, 2)), ((2, 2),)]
    assert [commit.operation for commit in table.backwards()] == [
        "DELETE",
        "WRITE",
        "CREATE TABLE AS SELECT",
    ]


def test_versions_grow_with_gaps(catalog):
    for _ in range(6):
        catalog.append(T, [])
    table = catalog.table(T)
    grown = [later - version for version, later in pairwise(table.versions)]
    assert min(grown) == 1
    assert max(grown) > 1
    assert [c.previous for c in table.log] == [-1, *table.versions[:-1]]


def test_a_number_is_taken_once(catalog):
    assert catalog.commit(T, fenced(1), same) == catalog.table(T).version
    with pytest.raises(CommitConflictError):
        catalog.commit(T, fenced(1), same)
    catalog.append(T, [])
    assert catalog.commit(T, fenced(2), same) == catalog.table(T).version


def test_restore_does_not_lower_the_fence(catalog):
    catalog.commit(T, fenced(1), same)
    catalog.restore(T, catalog.table(T).versions[0])
    catalog.clean_log(T)
    with pytest.raises(CommitConflictError):
        catalog.commit(T, fenced(1), same)


def test_what_was_read_does_not_change(catalog):
    before = catalog.table(T)
    catalog.append(T, [(2, 2)])
    assert before.newest.rows == ((1, 1),)


def test_names_have_no_case(catalog):
    assert catalog.table(TableName("T", "S", "C")) == catalog.table(T)


def test_two_creators_conflict(catalog):
    with pytest.raises(CommitConflictError):
        catalog.create_with(T, fenced(1), Snapshot(AB))


def test_a_table_that_is_gone_conflicts(catalog):
    catalog.drop(T)
    with pytest.raises(CommitConflictError):
        catalog.commit(T, fenced(1), same)


def test_a_clone_and_a_new_table_are_other_tables(catalog):
    copy = TableName("copy", "s", "c")
    catalog.clone(T, copy)
    first = catalog.table(T).identity
    assert catalog.table(copy).identity != first
    catalog.create(T, AB)
    assert catalog.table(T).identity != first


@pytest.mark.parametrize(
    ("literal", "type_", "value"),
    [
        ("1", "INT", 1),
        ("-1", "BIGINT", -1),
        ("'1'", "INT", 1),
        ("1", "STRING", "1"),
        (r"'it\'s'", "VARCHAR(10)", "it's"),
        ("DATE '2025-03-01'", "DATE", date(2025, 3, 1)),
        ("'2025-03-01'", "DATE", date(2025, 3, 1)),
    ],
)
def test_literals(literal, type_, value):
    assert literal_value(literal, type_) == value


@pytest.mark.parametrize(
    ("literal", "type_"), [("'one'", "INT"), ("'2025-13-01'", "DATE"), ("1", "BINARY")]
)
def test_literals_without_a_value(literal, type_):
    assert not MemoryTables().environment.store.castable(literal, type_)


def test_queries_are_known_by_their_tokens_and_expanded_names():
    tables = MemoryTables()
    prepare(tables)
    analyzer = tables.environment.analyzer
    found = analyzer.analyze(SUMS)
    assert analyzer.analyze(found.expanded).columns == found.columns
    assert analyzer.analyze(f"{SUMS}\n-- same").sources == found.sources
    with pytest.raises(QueryError):
        analyzer.analyze("SELECT 1 AS unknown")
    tables.drop("orders")
    with pytest.raises(QueryError) as error:
        analyzer.analyze(SUMS)
    assert error.value.parameters["engine_condition"] == "TABLE_OR_VIEW_NOT_FOUND"


def test_views_lead_to_what_they_read():
    tables = MemoryTables()
    prepare(tables)
    tables.view("v", SUMS)
    tables.view("w", "SELECT * FROM v")
    for query in ("SELECT * FROM v", "SELECT * FROM w"):
        tables.learn(query, "k INT; total BIGINT", lambda rows: next(iter(rows.values())))
    found = tables.environment.analyzer.analyze("SELECT * FROM w")
    assert [(s.name.name, [v.name for v in s.via]) for s in found.sources] == [
        ("w", []),
        ("v", ["w"]),
        ("orders", ["w", "v"]),
    ]
