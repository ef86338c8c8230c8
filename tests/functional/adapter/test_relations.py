from __future__ import annotations

import pytest
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.util import get_connection


@pytest.mark.conformance
class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


@pytest.mark.conformance
class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    def test_changing_materialization_changes_relation_type(self, project):
        for materialization, flags in (
            ("view", []),
            ("table", []),
            ("view", []),
            ("incremental", []),
            ("table", ["--full-refresh"]),
            ("materialized_table", ["--full-refresh"]),
            ("incremental", []),
            ("materialized_table", ["--full-refresh"]),
            ("table", []),
            ("view", []),
            ("materialized_table", []),
            ("view", []),
        ):
            self._run_and_check_materialization(materialization, flags)
            expected = "table" if materialization == "incremental" else materialization
            with get_connection(project.adapter) as connection:
                schema = connection.credentials.schema
                found = project.adapter.get_relation(project.database, schema, "model_mc_modelface")
            assert (materialization, found.type) == (materialization, expected)
