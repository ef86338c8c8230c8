from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.adapter.persist_docs.fixtures import (
    _MODELS__TABLE,
    _MODELS__VIEW,
)
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsQuotedColumnCaseSensitive,
)
from dbt.tests.util import run_dbt

_EXPLAINED = """
{{ config(materialized='materialized_table', freshness='10 minutes', refresh_mode='full') }}
select id from range(3)
"""


class TestStatistics:
    """What the docs page shows of a materialized table."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"explained.sql": _EXPLAINED, "plain.sql": "select 1 as id"}

    @pytest.fixture(scope="class")
    def nodes(self, project):
        assert project.test_schema
        run_dbt(["run"])
        run_dbt(["docs", "generate"])
        return json.loads(Path("target/catalog.json").read_text(encoding="utf-8"))["nodes"]

    def test_of_a_materialized_table(self, nodes):
        explained = nodes["model.test.explained"]
        stats = {key: stat["value"] for key, stat in explained["stats"].items()}
        assert explained["metadata"]["type"] == "materialized_table"
        assert stats["freshness"] == "INTERVAL '10' MINUTE"
        assert stats["refresh_mode"] == "FULL"
        assert stats["start_mode"] == "FROM_BEGINNING (by default)"
        assert stats["status"] == "ACTIVATED"
        assert stats["rows"] == 3
        assert stats["declared_by"] == "model.test.explained"
        assert stats["lag"].startswith("0 seconds at ")
        assert stats["last_refresh"].endswith(" UTC")
        assert all(stat["label"] and stat["description"] for stat in explained["stats"].values())

    def test_of_a_view(self, nodes):
        assert list(nodes["model.test.plain"]["stats"]) == ["has_stats"]


@pytest.mark.conformance
class TestPersistDocs(BasePersistDocs):
    @pytest.mark.usefixtures("project")
    def test_has_comments_pglike(self):
        # without `no_docs_model`'s comments, which Spark keeps for tables only
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path("target/catalog.json").read_text(encoding="utf-8"))
        table = catalog["nodes"]["model.test.table_model"]
        assert table["metadata"]["comment"].startswith("Table model description")
        assert table["columns"]["id"]["comment"].startswith("id Column description")
        assert table["columns"]["name"]["comment"].startswith("Some stuff here and then a call to")
        view = catalog["nodes"]["model.test.view_model"]
        assert view["metadata"]["comment"].startswith("View model description")
        assert view["columns"]["id"]["comment"].startswith("id Column description")


@pytest.mark.conformance
class TestPersistDocsMaterializedTable(TestPersistDocs):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "table_model.sql": _MODELS__TABLE.replace("'table'", "'materialized_table'"),
            "view_model.sql": _MODELS__VIEW,
            "no_docs_model.sql": "select 1 as id, 'Alice' as name",
        }


@pytest.mark.conformance
class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


@pytest.mark.conformance
class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


@pytest.mark.conformance
class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass
