from __future__ import annotations

import pytest
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.util import run_dbt
from dbt_common.contracts.metadata import (  # noqa: TID251 - what dbt's method returns
    CatalogTable,
    ColumnMetadata,
    StatsItem,
    TableMetadata,
)


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestEmpty(BaseEmpty):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


@pytest.mark.conformance
class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


@pytest.mark.conformance
class TestAdapterMethod(BaseAdapterMethod):
    pass


@pytest.mark.conformance
class TestEphemeral(BaseEphemeral):
    pass


@pytest.mark.conformance
class TestGenericTests(BaseGenericTests):
    pass


@pytest.mark.conformance
class TestIncremental(BaseIncremental):
    pass


@pytest.mark.conformance
class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


@pytest.mark.conformance
class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    @pytest.mark.usefixtures("project")
    def test_incremental_invalid_strategy(self):
        run_dbt(["seed"])
        results = run_dbt(["run", "--select", "incremental"], expect_pass=False)
        assert "Invalid incremental strategy provided: bad_strategy" in results.results[0].message


@pytest.mark.conformance
class TestSingularTests(BaseSingularTests):
    pass


@pytest.mark.conformance
class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


@pytest.mark.conformance
class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


@pytest.mark.conformance
class TestTableMaterialization(BaseTableMaterialization):
    pass


_TYPES = {
    "id": "bigint",
    "first_name": "string",
    "email": "string",
    "ip_address": "string",
    "updated_at": "timestamp",
}


def expected_catalog(project, name: str, type_: str) -> CatalogTable:
    return CatalogTable(
        metadata=TableMetadata(
            type=type_,
            schema=project.test_schema,
            name=name,
            database="spark_catalog",
            comment=None,
            owner=None,
        ),
        columns={
            column: ColumnMetadata(type=kind, index=index, name=column, comment=None)
            for index, (column, kind) in enumerate(_TYPES.items())
        },
        stats={
            "has_stats": StatsItem(
                id="has_stats",
                label="Has Stats?",
                value=False,
                include=False,
                description="Indicates whether there are statistics for this table",
            )
        },
    )


@pytest.mark.conformance
class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project):
        return expected_catalog(project, "my_seed", "table")

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project):
        return expected_catalog(project, "my_view_model", "view")
