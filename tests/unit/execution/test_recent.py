"""What the statement before found is given out once, and not for long."""

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.recent import MAX_AGE_S, Recent
from tests.unit.builders import ORDERS, QUERY, QUERY_COLUMNS, TABLE, analyzed, resolve, stored

FOUND = StoredTable(stored(resolve(AskedDefinition(QUERY))), 1, 1, (), {})
ANALYZED = analyzed(QUERY, QUERY_COLUMNS)


class Clock:
    seconds = 10.0

    def __call__(self):
        return self.seconds


def kept():
    clock = Clock()
    recent = Recent(clock)
    recent.keep(FOUND, ANALYZED)
    return recent, clock


def test_it_is_given_out_once():
    recent, _ = kept()
    assert recent.take(TABLE) == (FOUND, ANALYZED)
    assert recent.take(TABLE) is None


def test_another_table_uses_it_up():
    recent, _ = kept()
    assert recent.take(ORDERS) is None
    assert recent.take(TABLE) is None


def test_it_grows_old():
    recent, clock = kept()
    clock.seconds += MAX_AGE_S + 0.1
    assert recent.take(TABLE) is None


def test_it_can_be_forgotten():
    recent, _ = kept()
    recent.forget()
    assert recent.take(TABLE) is None
