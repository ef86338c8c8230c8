"""What was changed about a table past its definition."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.drift import DriftKind, catalog_drift, state_drift
from dbt.adapters.spark_mt.definition.definition import (
    CatalogEntry,
    DeclaredDefinition,
    ForeignCommit,
    StoredTable,
)
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from tests.unit.builders import QUERY, resolve, stored

DECLARED = DeclaredDefinition(
    QUERY, comment="orders", options=(("delta.appendOnly", "false"),), clustered_by=("price",)
)
DEFINITION = stored(resolve(DECLARED))
WANTED = {"delta.appendOnly": "false", "materialized-table.freshness": "INTERVAL '3' MINUTE"}
IN_LINE = CatalogEntry("orders", {}, WANTED, ("price",))
OWNER = (("dbt", "model.shop.orders"),)


def found(**changes):
    return [
        (d.kind, d.found) for d in catalog_drift(DEFINITION, WANTED, replace(IN_LINE, **changes))
    ]


def state(**changes):
    definition = replace(DEFINITION, **changes)
    table = StoredTable(definition, 3, 7, definition.resolved.columns, {})
    return [d.kind for d in state_drift(table)]


def test_nothing_drifted():
    assert found() == []
    assert state() == []


def test_a_changed_and_a_missing_property():
    assert found(properties={"delta.appendOnly": "true"}) == [
        (
            DriftKind.PROPERTY,
            "the property delta.appendOnly was changed from 'false' to 'true'",
        )
    ]
    assert found(properties={}) == [
        (DriftKind.PROPERTY, "the property delta.appendOnly was removed, it was 'false'")
    ]


def test_an_undeclared_property_is_drift_unless_the_format_sets_it():
    more = {
        **WANTED,
        "delta.minReaderVersion": "3",
        "owner": "me",
        "delta.logRetentionDuration": "x",
    }
    ((kind, text),) = found(
        properties=more, maintained=frozenset({"delta.minReaderVersion", "owner"})
    )
    assert kind is DriftKind.PROPERTY
    assert text == "the property delta.logRetentionDuration was set to 'x'"


def test_a_redacted_value_cannot_be_compared():
    assert found(properties={**WANTED, "delta.appendOnly": "*********(redacted)"}) == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"comment": ""}, DriftKind.COMMENT),
        ({"column_comments": {"price": "in EUR"}}, DriftKind.COMMENT),
        ({"clustered_by": ()}, DriftKind.CLUSTERING),
        ({"clustered_by": ("user_id",)}, DriftKind.CLUSTERING),
    ],
)
def test_comments_and_clustering(changes, kind):
    assert [k for k, _ in found(**changes)] == [kind]


def test_commits_of_other_writers_are_named():
    table = StoredTable(DEFINITION, 3, 7, (), {}, foreign_commits=(ForeignCommit(6, "DELETE"),))
    (drift,) = state_drift(table)
    assert (drift.kind, drift.found) == (DriftKind.ROWS, "DELETE in version 6 changed rows")


def test_a_suspension():
    assert state(status=RefreshStatus.SUSPENDED) == [DriftKind.STATUS]


def test_a_definition_changed_by_another_writer():
    assert state(owner=OWNER, changed_by=()) == [DriftKind.DEFINITION]
    assert state(owner=OWNER, changed_by=OWNER) == []
    assert state(owner=OWNER, changed_by=None) == []
    assert state(changed_by=OWNER) == []


def test_what_matters_is_what_readers_get():
    assert DriftKind.ROWS.matters
    assert not DriftKind.COMMENT.matters
