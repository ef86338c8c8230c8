from __future__ import annotations

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentSchemas,
)

pytestmark = pytest.mark.conformance


class SparkText:
    @pytest.fixture(scope="class")
    def macros(self):
        casts = fixtures.MACROS__CAST_SQL.replace("::text", "")
        return {"cast.sql": casts, "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL}


class TestAliases(SparkText, BaseAliases):
    pass


class TestAliasErrors(BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkText, BaseSameAliasDifferentSchemas):
    pass
