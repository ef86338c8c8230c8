"""Rows that a log has dropped are not lost by computing a table again."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.codec import decode_definition, encode_definition
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, StoredTable
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import OffsetPosition
from dbt.adapters.spark_mt.execution.baseline import loss_of, with_origin, without_data_loss
from dbt.adapters.spark_mt.planning.steps import RefreshRun
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from tests.support.errors import raises
from tests.support.memory.environment import MemoryEnvironment
from tests.unit.builders import QUERY, resolve, stored

TOPIC = TableName("events", "s", "c")
SOURCES = (
    Source(TOPIC, SourceKind.UNVERSIONED, format="kafka"),
    Source(TableName("users", "s", "c"), SourceKind.VERSIONED, format="delta"),
)
RUN = RefreshRun("r", "REFRESH", {}, 0, SOURCES)


class Logs:
    """Sources that begin at an offset."""

    def __init__(self, beginning):
        self.beginning = beginning

    def earliest(self, name):
        assert name == TOPIC
        return begins(self.beginning)


def begins(offset, topic="t"):
    return OffsetPosition("kafka", f'{{"{topic}":{{"0":{offset}}}}}')


def world(beginning):
    return replace(MemoryEnvironment().value, sources=Logs(beginning))


def table(origin, mode=LogicalRefreshMode.CONTINUOUS):
    definition = stored(resolve(DeclaredDefinition(QUERY, refresh_mode=mode)))
    definition = replace(definition, origin=origin)
    return StoredTable(definition, 1, 1, (), None)


def test_the_beginnings_of_logs_are_noted_where_all_rows_are_computed():
    resolved = table(()).definition.resolved
    assert with_origin(world(3), resolved, RUN).origin == ((str(TOPIC), begins(3)),)
    full = table((), LogicalRefreshMode.FULL).definition.resolved
    assert with_origin(world(3), full, RUN) == RUN


@pytest.mark.parametrize("beginning", [0, 3])
def test_a_log_that_dropped_nothing_is_read_again(beginning):
    known = table(((str(TOPIC), begins(3)),))
    assert without_data_loss(world(beginning), known, RUN).origin == (
        (str(TOPIC), begins(beginning)),
    )


def test_a_log_that_dropped_rows_is_not():
    known = table(((str(TOPIC), begins(3)),))
    with raises(conditions.LOG_HISTORY_LOST) as caught:
        without_data_loss(world(4), known, RUN)
    assert caught.value.condition == "MATERIALIZED_TABLE_LOG_HISTORY_LOST"
    assert caught.value.parameters["loss"] == (
        f"{TOPIC} begins at {begins(4)}, and the table was filled from {begins(3)}"
    )


def test_a_table_that_was_filled_before_that_was_noted_can_be_filled_again():
    assert loss_of(table(()), with_origin(world(9), table(()).definition.resolved, RUN)) == ""


def test_a_partition_that_came_later_is_no_loss():
    known = table(((str(TOPIC), begins(3)),))
    more = OffsetPosition("kafka", '{"t":{"0":3,"1":0}}')
    assert loss_of(known, replace(RUN, origin=((str(TOPIC), more),))) == ""


def test_it_is_stored_with_the_definition():
    definition = table(((str(TOPIC), begins(3)),)).definition
    assert decode_definition(encode_definition(definition), "t") == definition
