"""What an offset in a checkpoint means for a Delta source, and when it means no version."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import SourceNotFoundError
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.spark.delta.stream import version_read
from dbt.adapters.spark_mt.spark.query.sources import position_in
from tests.support.errors import raises
from tests.support.refs import delta_at

LOG = SimpleNamespace(
    commit=lambda _, version: SimpleNamespace(identity="id") if version == 4 else None
)


def offset(version, index=-1, *, starting=False):
    return {"reservoirVersion": version, "index": index, "isStartingVersion": starting}


def test_a_batch_ends_after_the_commit_before_the_next_one():
    assert version_read("s", offset(5)) == 4


@pytest.mark.parametrize("inside", [offset(5, 3), offset(5, starting=True)])
def test_an_end_inside_a_commit_is_no_version(inside):
    with raises(conditions.OFFSET_INSIDE_COMMIT, match="s"):
        version_read("s", inside)


def test_a_version_is_a_position_as_long_as_the_log_holds_it():
    assert position_in(LOG, delta_at("/s"), 4) == VersionedPosition(4, "id")
    assert position_in(LOG, delta_at("/s"), -1) == BEFORE_ALL
    with pytest.raises(SourceNotFoundError, match="no longer holds version 3"):
        position_in(LOG, delta_at("/s"), 3)
