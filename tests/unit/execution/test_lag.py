"""How far a table lies behind its sources."""

import pytest

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_state import LastRefresh, StoredTable
from dbt.adapters.spark_mt.execution.lag import lag_seconds
from tests.unit.builders import ORDERS, QUERY, TABLE, resolve, stored

REFRESH = LastRefresh("r", "recompute", "REFRESH", 40_000, 41_000, 1)
NAMES = {"orders": ORDERS, "products": TABLE}
AT_3 = VersionedPosition(3, "id")
AT_12 = OffsetPosition("kafka", '{"orders":{"0":12}}')
LANDED = OffsetPosition("json", '{"logOffset":3}')


class Sources:
    """Sources whose first unread commit is known."""

    def __init__(self, **changes):
        self.changes = {NAMES[name]: at for name, at in changes.items()}

    def first_change_after(self, source, position):
        assert position in (AT_3, AT_12)
        return self.changes.get(source)


def lag(positions, now=100_000, refresh=REFRESH, **changes):
    definition = stored(resolve(AskedDefinition(QUERY)))
    table = StoredTable(definition, 1, 1, (), positions, refresh)
    return lag_seconds(table, NAMES, Sources(**changes), now)


@pytest.mark.parametrize(
    ("positions", "changes", "expected"),
    [
        ({"orders": AT_3}, {}, 0),
        ({"orders": AT_3}, {"orders": 90_000}, 10),
        ({"orders": AT_3, "products": AT_3}, {"orders": 90_000, "products": 70_500}, 29),
        ({"orders": AT_3}, {"orders": 100_500}, 0),
        ({"orders": UnknownPosition()}, {}, 60),
        ({"orders": AT_3, "products": UnknownPosition()}, {"orders": 90_000}, 60),
        ({"orders": AT_12}, {"orders": 90_000}, 10),
        ({"orders": AT_12}, {}, 0),
        ({"orders": LANDED}, {}, 60),
        ({"view": DefinitionPosition("x")}, {}, 0),
        ({"gone": AT_3}, {}, 0),
        ({}, {}, 0),
        (None, {}, None),
    ],
)
def test_lag_counts_from_the_earliest_change_that_was_not_read(positions, changes, expected):
    assert lag(positions, **changes) == expected


def test_a_source_without_versions_and_without_a_refresh_says_nothing():
    assert lag({"orders": UnknownPosition()}, refresh=None) == 0
