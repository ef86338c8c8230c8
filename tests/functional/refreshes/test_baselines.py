"""Tables that do not count their sources from their beginning, on Delta.

What Delta could get wrong runs always; the rest, which follows from the plan alone, with
`make conformance`.
"""

from __future__ import annotations

import pytest

from tests.behaviour.baseline_faults import CASES, BaselineFaults
from tests.behaviour.baselines import Baselines
from tests.behaviour.harness import divided
from tests.behaviour.spark import SparkTables

CORE, REST = divided(
    Baselines,
    ("from_now_begins_empty_and_takes_each_new_row_once",),
)
FAULTS = [
    pytest.param(CASES[name], 0, after, id=f"{name}-{'after' if after else 'before'}")
    for name, after in (("merge", False),)
]


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


class TestBaselines(CORE):
    """The guarantees in which Delta has a part."""


@pytest.mark.conformance
class TestMoreOfBaselines(REST):
    """All others."""


@pytest.mark.conformance
class TestBaselineFaults(BaselineFaults):
    """A commit that fails, or whose answer never comes."""

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        super().test_a_step_fails(tables, case, step, after)
