from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_seed import fixtures
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt

from tests.functional.adapter.postgres import FromPostgres

pytestmark = pytest.mark.conformance


class TestBasicSeedTests(FromPostgres, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(FromPostgres, BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(FromPostgres, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(FromPostgres, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(FromPostgres, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(FromPostgres, BaseSeedWithWrongDelimiter):
    @pytest.mark.usefixtures("project")
    def test_seed_with_wrong_delimiter(self):
        """A header that is not split holds characters which Delta refuses in a column's name."""
        results = run_dbt(["seed"], expect_pass=False)
        assert "[DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES]" in results.results[0].message


class TestSeedWithEmptyDelimiter(FromPostgres, BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(FromPostgres, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(FromPostgres, BaseSimpleSeedWithBOM):
    pass


class TestSeedSpecificFormats(FromPostgres, BaseSeedSpecificFormats):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        named = fixtures.properties__schema_yml
        for theirs, ours in (
            ("type: text", "type: string"),
            ("type: integer", "type: bigint"),
            ("type: timestamp without time zone", "type: timestamp"),
        ):
            named = named.replace(theirs, ours)
        return {"schema.yml": named}

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")
