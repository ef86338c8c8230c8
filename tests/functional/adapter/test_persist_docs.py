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

pytestmark = pytest.mark.conformance


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


class TestPersistDocsMaterializedTable(TestPersistDocs):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "table_model.sql": _MODELS__TABLE.replace("'table'", "'materialized_table'"),
            "view_model.sql": _MODELS__VIEW,
            "no_docs_model.sql": "select 1 as id, 'Alice' as name",
        }


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass
