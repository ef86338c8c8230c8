"""History of commits: the newest state, the fence, and the effect of RESTORE and other writers."""

from dataclasses import replace

from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    RefreshMetadata,
)
from dbt.adapters.spark_mt.definition.definition import ForeignCommit, LastRefresh
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.table_history import read_history
from tests.unit.builders import commit


def at(version):
    """Positions that differ by a version of the source."""
    return {"orders": VersionedPosition(version, "orders-id")}


def metadata(kind, seq, generation=1, **more):
    refresh = RefreshMetadata(f"r{seq}", "recompute", "REFRESH", 900)
    return CommitMetadata("id", kind, seq, generation, refresh=refresh, **more)


def content(version, seq, generation=1, definition=""):
    found = metadata(
        CommitKind.CONTENT, seq, generation, definition=definition, positions=at(version)
    )
    return commit(version, metadata=found, rows=10 + version, at=1000 + version)


def ours(version, kind, seq, generation=1, **more):
    return commit(
        version, metadata=metadata(kind, seq, generation, **more), rows=0, at=1000 + version
    )


def foreign(version, operation, **more):
    return commit(version, operation, at=1000 + version, **more)


def history(*commits, published=1):
    """Read commits, given oldest first."""
    return read_history(reversed(commits), published)


def test_nothing_is_known_of_a_log_without_commits_of_ours():
    found = history(foreign(0, "WRITE"), foreign(1, "OPTIMIZE"))
    assert (found.version, found.seq, found.newest, found.written) == (1, 0, None, None)
    assert found.foreign == (ForeignCommit(0, "WRITE"),)
    assert found.last_refresh() is None


def test_the_newest_commit_has_rows_and_fence():
    found = history(content(0, 1, definition="d"), content(1, 2))
    assert (found.version, found.seq, found.newest.positions) == (1, 2, at(1))
    assert found.last_refresh() == LastRefresh("r2", "recompute", "REFRESH", 900, 1001, 11)


def test_only_as_much_is_read_as_is_needed():
    read = []

    def commits():
        for each in (content(9, 5), content(8, 4), content(7, 3)):
            read.append(each.version)
            yield each

    read_history(commits(), 1)
    assert read == [9]


def test_a_pending_definition_is_found_below_later_commits():
    pending = ours(1, CommitKind.DEFINITION, 2, 2, definition="new", positions=at(0))
    found = history(content(0, 1, definition="old"), pending, foreign(2, "OPTIMIZE"))
    assert (found.definition, found.newest.generation, found.seq) == ("new", 2, 2)
    assert found.written.version == 0


def test_a_publication_has_no_rows():
    publish = ours(1, CommitKind.PUBLISH, 0)
    found = history(content(0, 1), publish)
    assert (found.newest.kind, found.seq, found.version) == (CommitKind.CONTENT, 1, 1)


def test_a_partition_keeps_the_tables_positions():
    partition = ours(1, CommitKind.PARTITION, 2, positions=at(0), partition_positions=at(5))
    found = history(content(0, 1), partition)
    assert (found.newest.positions, found.seq) == (at(0), 2)
    assert found.written.version == 0
    assert found.last_refresh().rows == 10


def test_row_changes_of_other_writers_are_listed_back_to_our_last_content():
    found = history(
        foreign(0, "DELETE"),
        content(1, 1),
        foreign(2, "UPDATE"),
        foreign(3, "OPTIMIZE"),
        foreign(4, "SET TBLPROPERTIES"),
        ours(5, CommitKind.DEFINITION, 2, 1, positions=at(1)),
        foreign(6, "MERGE"),
    )
    assert found.foreign == (ForeignCommit(2, "UPDATE"), ForeignCommit(6, "MERGE"))


def applied(version, seq, applied_to, seen=()):
    """A commit that changed rows of a version and left the others as they were."""
    found = metadata(
        CommitKind.CONTENT, seq, positions=at(version), foreign=seen, applied_to=applied_to
    )
    return commit(version, metadata=found, rows=1, at=1000 + version)


def test_changes_of_other_writers_during_a_computation_are_listed():
    found = history(
        content(0, 1),
        foreign(1, "DELETE"),
        foreign(2, "OPTIMIZE"),
        foreign(3, "WRITE"),
        ours(4, CommitKind.PUBLISH, 0),
        foreign(5, "RESTORE", restored=0),
        applied(6, 2, 1, seen=((1, "DELETE"),)),
        foreign(7, "MERGE"),
    )
    assert [each.version for each in found.foreign] == [1, 3, 5, 7]
    assert (found.newest.positions, found.written.version) == (at(6), 6)


def test_no_more_is_read_where_nothing_came_in_between():
    read = []

    def commits():
        for each in (applied(3, 3, 2), applied(2, 2, 1), content(1, 1)):
            read.append(each.version)
            yield each

    assert read_history(commits(), 1).foreign == ()
    assert read == [3]


def test_no_more_is_read_where_versions_have_gaps():
    read = []

    def commits():
        for each in (applied(40, 3, 20), applied(20, 2, 7), content(7, 1)):
            read.append(each.version)
            yield replace(each, previous={40: 20, 20: 7, 7: -1}[each.version])

    assert read_history(commits(), 1).foreign == ()
    assert read == [40]


def test_a_commit_of_a_newer_release_in_between_does_not_matter():
    unreadable = commit(1, problem="its format is 2", at=1001)
    found = history(content(0, 1), unreadable, applied(2, 2, 0))
    assert (found.unreadable, found.newest.positions, found.foreign) == (None, at(2), ())


def test_restore_brings_rows_back_and_leaves_the_fence():
    restored = foreign(3, "RESTORE", restored=0)
    found = history(content(0, 1), content(1, 2), content(2, 3), restored)
    assert (found.version, found.seq, found.newest.positions) == (3, 3, at(0))
    assert found.foreign == ()


def test_restore_to_a_restored_version():
    found = history(
        content(0, 1),
        content(1, 2),
        foreign(2, "RESTORE", restored=0),
        content(3, 3),
        foreign(4, "RESTORE", restored=2),
    )
    assert (found.seq, found.newest.positions) == (3, at(0))


def test_our_commit_after_a_restore_counts():
    found = history(content(0, 1), content(1, 2), foreign(2, "RESTORE", restored=0), content(3, 3))
    assert (found.seq, found.newest.positions) == (3, at(3))


def test_a_definition_that_a_restore_made_void_does_not_count():
    found = history(
        content(0, 1, 1, "old"),
        content(1, 2, 2, "new"),
        foreign(2, "RESTORE", restored=0),
    )
    assert (found.definition, found.newest.generation, found.seq) == ("old", 1, 2)


def test_after_a_restore_to_a_timestamp_only_the_fence_is_known():
    restored = foreign(3, "RESTORE")
    found = history(content(0, 1), content(1, 2), foreign(2, "OPTIMIZE"), restored)
    assert (found.version, found.seq, found.newest, found.definition) == (3, 2, None, "")


def test_a_log_that_was_cleaned_up_below_our_last_commits():
    partition = ours(41, CommitKind.PARTITION, 8, positions=at(3))
    found = history(foreign(40, "OPTIMIZE"), partition)
    assert (found.seq, found.newest.positions, found.written) == (8, at(3), None)
    last = found.last_refresh()
    assert (last.refresh_id, last.committed_at_ms, last.rows) == ("r8", 900, None)
