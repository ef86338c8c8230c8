"""A log keeps 30 days: afterwards no commit of ours may be left in it."""

from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, StoredTable
from dbt.adapters.spark_mt.execution.table_loader import Table, identify
from dbt.adapters.spark_mt.planning.properties import DEFINITION
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from tests.unit.builders import QUERY, commit, resolve, stored

DEFINED = stored(resolve(DeclaredDefinition(QUERY)))
OPTIMIZED = commit(41, "OPTIMIZE")


def table(identity: str) -> Table:
    return Table(
        name=TableName("t", "s", "c"),
        format=FORMAT,
        identity=lambda: identity,
        properties={DEFINITION: encode_definition(DEFINED), FORMAT.identity_property: "made-here"},
        clustered_by=(),
        commits=lambda: [OPTIMIZED],
        columns=lambda: DEFINED.resolved.columns,
    )


def test_the_next_commit_takes_a_number_that_delta_cannot_have_seen():
    found = identify(table("made-here"))
    assert isinstance(found, StoredTable)
    assert found.seq > 41, "a commit with a number that Delta has seen is skipped in silence"
    assert found.positions is None, "so the next refresh computes the rows"


def test_a_clone_is_not_taken_for_such_a_table():
    assert not isinstance(identify(table("copied")), StoredTable)
