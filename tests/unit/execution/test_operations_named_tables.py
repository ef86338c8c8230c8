"""What goes wrong deep down names the table of the statement."""

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.query.analyzer import QueryError
from tests.behaviour.memory import MemoryTables


@pytest.mark.parametrize("head", ["", "EXPLAIN "])
def test_an_unknown_relation(head):
    with pytest.raises(QueryError) as error:
        MemoryTables().execute(f"{head}CREATE MATERIALIZED TABLE a.b AS SELECT * FROM nowhere")
    assert error.value.parameters["table"] == "a.b"
    assert "Materialized table a.b: The query is refused" in str(error.value)


def test_an_error_without_a_table_needs_none():
    with pytest.raises(MaterializedTableError) as error:
        MemoryTables().execute("DESC JOB 'nothing'")
    assert "table" not in error.value.parameters
