from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.util import check_relations_equal, run_dbt

pytestmark = pytest.mark.conformance


def statement_of(model: str) -> str:
    """What ran for a model, without white space."""
    written = Path("target/run/test/models", f"{model}.sql").read_text(encoding="utf-8")
    return "".join(written.split())


class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project):
        """As dbt's, with Spark's statement."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        statement = statement_of("double_dependent")
        assert statement.startswith(
            f"createorreplaceviewspark_catalog.{project.test_schema}.double_dependentas"
            "with__dbt__cte__baseas("
        )
        assert statement.count("__dbt__cte__baseas(") == 1
        assert "__dbt__cte__base_copyas(" in statement


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project):
        """As dbt's, with Spark's statement."""
        assert len(run_dbt(["run"])) == 2
        schema = f"spark_catalog.{project.test_schema}"
        assert statement_of("root_view") == (
            f"createorreplaceview{schema}.root_viewas"
            f"with__dbt__cte__ephemeral_level_twoas(select*from{schema}.source_table),"
            "__dbt__cte__ephemeralas(select*from__dbt__cte__ephemeral_level_two)"
            "select*from__dbt__cte__ephemeral"
        )


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
