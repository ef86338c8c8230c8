from typing import get_args

from dbt.adapters.spark_mt.execution.operations import _CARRY_OUT
from dbt.adapters.spark_mt.statements.nodes import Statement


def test_every_statement_is_carried_out():
    assert set(get_args(Statement)) == set(_CARRY_OUT)
