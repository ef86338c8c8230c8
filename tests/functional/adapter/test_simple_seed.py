from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures
from dbt.tests.adapter.simple_seed import seeds as upstream_seeds
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


class NoCascade(FromPostgres):
    """Spark's DROP TABLE leaves what reads the table."""

    def _check_relation_end_state(self, run_result, project, exists):  # noqa: ARG002 - dbt's signature
        super()._check_relation_end_state(run_result, project, exists=True)


class TestBasicSeedTests(NoCascade, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(NoCascade, BaseSeedConfigFullRefreshOn):
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
        """A header that is not split is no column's name."""
        results = run_dbt(["seed"], expect_pass=False)
        assert "[PARSE_SYNTAX_ERROR]" in results.results[0].message


class TestSeedWithEmptyDelimiter(FromPostgres, BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(FromPostgres, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(FromPostgres, BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        project.run_sql(upstream_seeds.seeds__expected_sql)
        folder = Path(project.project_root, "seeds")
        folder.mkdir(exist_ok=True)
        text = BOM_UTF8.decode("utf-8") + upstream_seeds.seed__actual_csv.lstrip()
        (folder / "seed_bom.csv").write_text(text, encoding="utf-8")


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def seeds(self):
        """Without the name with dots, which unquoted identifiers do not have."""
        rows = "\n".join(str(i) for i in range(20000))
        return {
            "big_seed.csv": f"seed_id\n{rows}\n",
            "seed_unicode.csv": upstream_seeds.seed__unicode_csv,
        }

    @pytest.mark.usefixtures("project")
    def test_simple_seed(self):
        assert len(run_dbt(["seed"])) == 2


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
