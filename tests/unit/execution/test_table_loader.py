"""What a table is to us."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.columns import Column, TableName
from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind, CommitMetadata
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    InconsistentTable,
    StoredTable,
    UnmanagedTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.execution.table_loader import (
    Table,
    identify,
    plain_table,
    published_definition,
)
from dbt.adapters.spark_mt.planning.properties import DEFINITION
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from tests.unit.builders import QUERY, TABLE, commit, resolve, stored

DEFINITION_1 = stored(resolve(DeclaredDefinition(QUERY)))
DEFINITION_2 = replace(stored(resolve(DeclaredDefinition(QUERY, comment="new"))), generation=2)


def content(version, seq, definition):
    metadata = CommitMetadata(
        definition.table_id,
        CommitKind.CONTENT,
        seq,
        definition.generation,
        encode_definition(definition),
        positions={},
    )
    return commit(version, metadata=metadata, rows=1)


def table(*commits, published=DEFINITION_1, **given):
    """A table, its commits oldest first."""
    properties = {FORMAT.identity_property: "delta-1"}
    if published is not None:
        properties[DEFINITION] = encode_definition(published)
    values = {
        "name": TABLE,
        "format": FORMAT,
        "identity": lambda: "delta-1",
        "properties": properties,
        "clustered_by": (),
        "commits": lambda: reversed(commits),
        "columns": lambda: DEFINITION_1.resolved.columns,
    }
    return Table(**{**values, **given})


def test_a_table_of_ours():
    found = identify(table(content(0, 1, DEFINITION_1)))
    assert isinstance(found, StoredTable)
    assert (found.definition, found.seq, found.version) == (DEFINITION_1, 1, 0)
    assert not found.unpublished


def test_a_commit_is_in_force_before_it_is_published():
    found = identify(table(content(0, 1, DEFINITION_1), content(1, 2, DEFINITION_2)))
    assert found.definition == DEFINITION_2
    assert found.published == DEFINITION_1


def test_a_create_that_was_cut_short_is_not_published():
    properties = {DEFINITION: encode_definition(DEFINITION_1)}
    found = identify(table(content(0, 1, DEFINITION_1), properties=properties))
    assert found.unpublished


@pytest.mark.parametrize(
    ("declared", "real", "unpublished"),
    [
        (("user_id",), ("user_id",), False),
        (("user_id",), (), True),
        ((), ("user_id",), True),
        (("USER_ID",), ("user_id",), False),
        (("a b",), ("`a b`",), False),
    ],
)
def test_clustering_that_is_not_as_asked_must_be_set(declared, real, unpublished):
    resolved = DEFINITION_1.resolved
    clustered = replace(
        DEFINITION_1,
        resolved=replace(resolved, declared=replace(resolved.declared, clustered_by=declared)),
    )
    found = identify(table(content(0, 1, clustered), published=clustered, clustered_by=real))
    assert found.unpublished is unpublished


def test_a_renamed_table_keeps_its_definition_under_the_new_name():
    name = TableName("other", "s", "c")
    found = identify(table(content(0, 1, DEFINITION_1), name=name))
    assert found.definition == replace(DEFINITION_1, name=name)


def test_a_clone_is_an_unmanaged_table():
    found = identify(table(commit(0, "CLONE"), identity=lambda: "delta-2"))
    assert isinstance(found, UnmanagedTable)


def test_a_table_that_was_never_ours():
    found = identify(table(commit(0), published=None))
    assert found == UnmanagedTable(TABLE, "delta table")


def test_a_table_whose_properties_were_removed():
    found = identify(table(content(0, 1, DEFINITION_1), published=None))
    assert isinstance(found, InconsistentTable)
    assert (found.seq, found.definition) == (1, DEFINITION_1)


def test_a_cleaned_log_leaves_the_definition_and_no_positions():
    found = identify(table(commit(9, "OPTIMIZE")))
    assert (found.definition, found.positions, found.last_refresh) == (DEFINITION_1, None, None)


@pytest.mark.parametrize(
    ("real", "word"),
    [
        (lambda c: c[:-1], "are gone"),
        (lambda c: (*c, Column("x", "INT")), "not of its definition"),
        (lambda c: c[::-1], "another order"),
        (lambda c: (Column(c[0].name, "STRING"), *c[1:]), "are gone"),
    ],
)
def test_other_columns_are_damage(real, word):
    columns = real(DEFINITION_1.resolved.columns)
    found = identify(table(content(0, 1, DEFINITION_1), columns=lambda: columns))
    assert isinstance(found, InconsistentTable)
    assert word in found.problem


def test_columns_of_unmanaged_tables_are_not_read():
    def refuse():
        raise AssertionError

    identify(table(commit(0), published=None, columns=refuse))


def test_what_is_known_of_a_table_with_an_unreadable_definition():
    properties = {DEFINITION: "zz", FORMAT.identity_property: "delta-1"}
    commits = (content(0, 1, DEFINITION_1), content(1, 2, DEFINITION_2))
    found = identify(table(*commits, properties=properties))
    assert isinstance(found, Unreadable)
    assert (found.table_id, found.generation, found.seq) == ("id-1", 2, 2)
    assert identify(table(properties=properties)).table_id == ""


def unreadable(version, operation="WRITE"):
    """A commit of ours of which this release cannot read what it says."""
    return commit(version, operation, rows=1, problem="its format is 2")


def test_a_commit_that_cannot_be_read_makes_the_table_unreadable():
    """Positions of an older commit would let the next refresh read source rows twice."""
    found = identify(table(content(0, 1, DEFINITION_1), unreadable(1)))
    assert isinstance(found, Unreadable)
    assert found.error.condition == "MATERIALIZED_TABLE_UNREADABLE_COMMIT"
    assert found.error.parameters == {
        "table": str(TABLE),
        "version": "1",
        "problem": "its format is 2",
    }
    assert (found.table_id, found.generation) == ("id-1", 2)


def test_the_next_number_is_above_any_that_cannot_be_read():
    adopted = replace(DEFINITION_1, fence=57)
    for published, seq in ((DEFINITION_1, 3), (adopted, 60)):
        found = identify(table(content(0, 1, published), unreadable(2), published=published))
        assert isinstance(found, Unreadable)
        assert found.seq == seq


def test_a_newer_commit_of_ours_makes_one_that_cannot_be_read_irrelevant():
    found = identify(table(unreadable(0), content(1, 9, DEFINITION_1), foreign(2)))
    assert isinstance(found, StoredTable)
    assert found.seq == 9


def test_a_commit_that_cannot_be_read_and_was_rolled_back_only_hides_its_number():
    restore = commit(3, "RESTORE", restored=1)
    found = identify(table(content(1, 1, DEFINITION_1), unreadable(2), restore))
    assert isinstance(found, StoredTable)
    assert found.seq == 4
    to_time = commit(3, "RESTORE")
    found = identify(table(content(1, 1, DEFINITION_1), unreadable(2), to_time))
    assert isinstance(found, StoredTable)
    assert (found.seq, found.positions) == (4, None)


def test_a_table_that_lost_its_properties_is_unreadable_too():
    found = identify(table(content(0, 1, DEFINITION_1), unreadable(1), published=None))
    assert isinstance(found, Unreadable)
    assert (found.table_id, found.generation, found.seq) == ("", 0, 2)


def test_an_unreadable_definition():
    with pytest.raises(UnreadableDefinitionError):
        published_definition({DEFINITION: "zz"}, TABLE)
    assert published_definition({}, TABLE) is None


def test_a_restore_to_the_moment_of_the_create_is_no_clone():
    """The first commit has no note of the identity yet, and the text of the RESTORE no zone."""
    restore = commit(3, "RESTORE")
    found = identify(
        table(
            content(0, 1, DEFINITION_1),
            content(2, 2, DEFINITION_1),
            restore,
            properties={DEFINITION: encode_definition(DEFINITION_1)},
        )
    )
    assert isinstance(found, StoredTable)
    assert (found.seq, found.positions, found.unpublished) == (2, None, True)


def mark(version, kind, seq, definition=None, operation="WRITE"):
    """A commit of ours without rows."""
    encoded = encode_definition(definition) if definition else ""
    generation = definition.generation if definition else 0
    metadata = CommitMetadata("id-1", kind, seq, generation, encoded, positions={})
    return commit(version, operation, metadata, 0)


def foreign(version, operation="WRITE"):
    return commit(version, operation)


ADOPTED = mark(1, CommitKind.ADOPTION, 1, DEFINITION_1)


def test_an_adopted_table_is_recognized_before_its_properties_are_set():
    found = identify(table(foreign(0), ADOPTED, published=None))
    assert isinstance(found, StoredTable)
    assert (found.definition, found.never_published, found.foreign_commits) == (
        DEFINITION_1,
        True,
        (),
    )


def test_commits_before_the_adoption_do_not_count():
    found = identify(table(foreign(0), ADOPTED, foreign(2)))
    assert isinstance(found, StoredTable)
    assert [commit.version for commit in found.foreign_commits] == [2]


def test_an_adopted_table_replaced_by_another_writer_is_inconsistent():
    replaced = foreign(2, "CREATE OR REPLACE TABLE AS SELECT")
    assert isinstance(
        identify(table(foreign(0), ADOPTED, replaced, published=None)), InconsistentTable
    )


def test_a_table_whose_properties_are_removed_after_a_refresh_is_damaged():
    commits = (foreign(0), ADOPTED, content(2, 2, DEFINITION_1))
    assert isinstance(identify(table(*commits, published=None)), InconsistentTable)


@pytest.mark.parametrize("published", [DEFINITION_1, None])
def test_a_released_table_is_plain_whether_its_properties_are_gone_or_not(published):
    released = mark(1, CommitKind.RELEASE, 2)
    found = table(content(0, 1, DEFINITION_1), released, foreign(2), published=published)
    assert identify(found) == UnmanagedTable(TABLE, "delta table")
    seen = plain_table(found, ("a",))
    assert (seen.seq, seen.is_fence_known, seen.version) == (2, True, 2)
    assert (seen.leftover, seen.partitioned_by) == (published, ("a",))


def test_a_fence_makes_no_table_of_ours():
    clone = table(foreign(0, "CLONE"), mark(1, CommitKind.FENCE, 40), identity=lambda: "delta-2")
    assert identify(clone) == UnmanagedTable(TABLE, "clone of a materialized table")
    assert (plain_table(clone, ()).seq, plain_table(clone, ()).is_fence_known) == (40, True)


@pytest.mark.parametrize(
    ("commits", "known"),
    [
        ((foreign(0), foreign(1)), True),
        ((foreign(0, "CLONE"),), False),
        ((foreign(4), foreign(5)), False),
        ((), False),
    ],
)
def test_a_fence_is_known_where_the_whole_log_is(commits, known):
    assert plain_table(table(*commits, published=None), ()).is_fence_known is known


def test_a_log_without_our_commits_continues_above_the_fence():
    adopted = replace(DEFINITION_1, fence=57)
    found = identify(table(foreign(30), foreign(31), published=adopted))
    assert isinstance(found, StoredTable)
    assert found.seq == 57 + 32


def test_rows_of_an_earlier_definition_than_the_published_one_have_no_positions():
    """A format whose properties have no versions was rolled back to before an ALTER."""
    found = identify(table(content(0, 1, DEFINITION_1), published=DEFINITION_2))
    assert isinstance(found, StoredTable)
    assert (found.definition, found.positions, found.last_refresh) == (DEFINITION_2, None, None)
