import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import KEEP_NONE, StateRetention, StateRetentionType
from tests.support.errors import raises


@pytest.mark.parametrize(
    ("retention", "sql"),
    [
        (KEEP_NONE, "NONE"),
        (StateRetention(StateRetentionType.ALL), "ALL"),
        (StateRetention(StateRetentionType.PTF_ONLY), "PTF_ONLY"),
        (StateRetention(StateRetentionType.PTF_ONLY, ("a", "it's")), r"PTF_ONLY('a', 'it\'s')"),
    ],
)
def test_is_written_as_in_a_statement(retention, sql):
    assert retention.sql == sql


@pytest.mark.parametrize("kind", [StateRetentionType.ALL, StateRetentionType.NONE])
def test_only_ptf_only_names_operators(kind):
    with raises(conditions.INVALID_STATE_RETENTION) as caught:
        StateRetention(kind, ("dedupe",))
    assert caught.value.condition == "MATERIALIZED_TABLE_INVALID_STATE_RETENTION"
    assert caught.value.parameters == {"stateRetention": kind.value}
