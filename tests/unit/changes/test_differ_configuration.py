import pytest

from dbt.adapters.spark_mt.changes.changes import Changed
from dbt.adapters.spark_mt.changes.differ import configuration_changes, diff, keep_configuration
from dbt.adapters.spark_mt.definition.columns import ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import KEEP_NONE, LogicalRefreshMode
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from tests.unit.builders import TABLE, resolve, stored

DDL = "a INT; b INT"
BEFORE = DeclaredDefinition("SELECT 1", freshness=Freshness.parse("1 hour"), comment="old")
AFTER = DeclaredDefinition(
    "SELECT 2",
    comment="new",
    constraints=(PrimaryKey(("a",)),),
    partitioned_by=("b",),
    options=(("k", "v"),),
    refresh_mode=LogicalRefreshMode.CONTINUOUS,
    start_mode=parse_start_mode("RESUME_OR_FROM_BEGINNING"),
    state_retention=KEEP_NONE,
)


def create(declared):
    return CreateTable(CreateForm.CREATE_OR_ALTER, TABLE, declared)


def test_everything_but_the_query_stays_as_stored():
    before = stored(resolve(BEFORE, DDL))
    kept = keep_configuration(create(AFTER), before)
    assert kept == create(DeclaredDefinition("SELECT 2", freshness=BEFORE.freshness, comment="old"))
    found = diff(before.resolved, resolve(kept.declared, DDL))
    assert [change.kind for change in found] == [Changed.QUERY]
    assert configuration_changes(found) == ()


def test_the_changes_that_were_left_are_those_that_are_not_of_the_query():
    found = diff(resolve(BEFORE, DDL), resolve(AFTER, f"{DDL}; c INT"))
    assert [change.subject or change.kind for change in found] == [
        Changed.QUERY,
        Changed.COLUMNS_APPENDED,
        "comment",
        "partitioned_by",
        "freshness",
        "refresh_mode",
        "start_mode",
        "state_retention",
        "k",
        Changed.PRIMARY_KEY,
    ]
    assert configuration_changes(found) == found[2:]


@pytest.mark.parametrize(
    ("stored_specs", "written", "kept"),
    [
        ((), (ColumnSpec("x"),), (ColumnSpec("x"),)),
        ((ColumnSpec("x"),), (), ()),
        (
            (ColumnSpec("a", "INT", not_null=False, comment="old"),),
            (
                ColumnSpec("A", "INT", not_null=True, comment="new"),
                ColumnSpec("b", "INT", comment="b"),
            ),
            (
                ColumnSpec("A", "INT", not_null=False, comment="old"),
                ColumnSpec("b", "INT", comment="b"),
            ),
        ),
    ],
)
def test_the_column_list_belongs_to_the_query(stored_specs, written, kept):
    before = stored(resolve(DeclaredDefinition("q", columns=stored_specs), "a INT"))
    statement = create(DeclaredDefinition("q2", columns=written))
    assert keep_configuration(statement, before).declared.columns == kept
