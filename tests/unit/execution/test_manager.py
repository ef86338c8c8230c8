from typing import get_args

from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
from dbt.adapters.spark_mt.statements.nodes import Statement


def test_every_statement_is_carried_out():
    dispatcher = vars(MaterializedTableManager)["_execute"].dispatcher
    unknown = dispatcher.dispatch(object)
    assert [s for s in get_args(Statement) if dispatcher.dispatch(s) is unknown] == []
