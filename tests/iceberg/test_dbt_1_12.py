"""What came with dbt 1.12, in the Spark of the other tests of this directory."""

from tests.functional.adapter.test_dbt_1_12 import (
    TestCatalogs,
    TestDeprecations,
    TestEmptySeed,
    TestEmptySeedFlag,
    TestLatestVersionPointer,
    pytestmark,
)

__all__ = [
    "TestCatalogs",
    "TestDeprecations",
    "TestEmptySeed",
    "TestEmptySeedFlag",
    "TestLatestVersionPointer",
    "pytestmark",
]
