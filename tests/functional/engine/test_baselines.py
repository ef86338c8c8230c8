"""Tables that do not count their sources from their beginning, on Delta.

What Delta could get wrong runs always; the rest, which follows from the plan alone, with
`make conformance`.
"""

from __future__ import annotations

import pytest

from tests.behaviour.baseline_faults import CASES, BaselineFaults
from tests.behaviour.baselines import Baselines
from tests.behaviour.spark import SparkTables

CORE = (
    "test_from_now_begins_empty_and_takes_each_new_row_once",
    "test_rows_with_a_key_from_now_follow_changes_of_old_rows",
    "test_resume_keeps_rows_and_applies_the_new_query_to_what_came_since",
    "test_an_appended_column_is_null_in_kept_rows",
    "test_resume_of_groups_computes_touched_groups_whole",
    "test_rows_that_go_suspend_a_table_without_a_key",
    "test_a_source_made_anew_suspends",
    "test_rows_are_followed_through_views",
    "test_a_race_applies_changes_once",
    "test_partitions_count_from_the_baseline",
)
TAIL = tuple(name for name in vars(Baselines) if name.startswith("test_") and name not in CORE)
FAULTS = [
    pytest.param(CASES[name], 0, after, id=f"{name}-{'after' if after else 'before'}")
    for name, after in (("resume rows", True), ("merge", False), ("merge", True))
]


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


def without(names: tuple[str, ...]) -> type[Baselines]:
    """The guarantees but for some."""
    return type("Baselines", (Baselines,), dict.fromkeys(names))


class TestBaselines(without(TAIL)):
    """The guarantees in which Delta has a part."""


@pytest.mark.conformance
class TestMoreOfBaselines(without(CORE)):
    """All others."""


class TestBaselineFaults(BaselineFaults):
    """A commit that fails, or whose answer never comes."""

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        super().test_a_step_fails(tables, case, step, after)
