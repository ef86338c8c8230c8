"""What came with dbt 1.12: empty seeds, pointers to the latest version, catalogs, deprecations."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
import yaml
from dbt.tests.adapter.empty import test_empty as upstream
from dbt.tests.util import run_dbt, write_file
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt raises
from packaging.version import Version

pytestmark = pytest.mark.skipif(
    Version(metadata.version("dbt-core")) < Version("1.12.0"), reason="needs dbt-core 1.12"
)

_SEED = "id,v\n1,10\n2,20\n"
_FIRST = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select id from {{ ref('numbers') }}
"""
_SECOND = """
{{ config(
    materialized='materialized_table', freshness='10 minutes',
    latest_version_pointer={'enabled': true},
) }}
select id, v from {{ ref('numbers') }}
"""
_VERSIONS = """
models:
  - name: sums
    latest_version: 2
    versions: [{v: 1}, {v: 2}]
"""


class TestEmptySeedFlag(upstream.BaseTestEmptySeedFlag):
    pass


class TestEmptySeed:
    """A seed that a materialized table reads, run with `--empty`."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"numbers.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"firsts.sql": _FIRST}

    def test_a_table_follows_a_seed_that_was_emptied_and_filled(self, project):
        def rows():
            found = project.run_sql(
                f"select id from {project.test_schema}.firsts order by 1", fetch="all"
            )
            return [row[0] for row in found]

        run_dbt(["build"])
        assert rows() == [1, 2]
        run_dbt(["seed", "--empty"])
        run_dbt(["run"])
        assert rows() == []
        run_dbt(["build"])
        assert rows() == [1, 2]


class TestLatestVersionPointer:
    """A view of the model's name on its latest version; the tests build on each other."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"numbers.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "sums_v1.sql": _FIRST,
            "sums_v2.sql": _SECOND,
            "versions.yml": _VERSIONS,
        }

    @pytest.fixture(scope="class")
    def ask(self, project):
        return lambda text: project.run_sql(text.format(project.test_schema), fetch="all")

    def test_it_shows_the_rows_of_the_latest_version(self, ask):
        assert len(run_dbt(["build"])) == 3
        assert sorted(ask("select * from {}.sums")) == [(1, 10), (2, 20)]
        assert sorted(ask("select * from {}.sums_v1")) == [(1,), (2,)]
        kinds = {row[0] for row in ask("show views in {}")} | {
            row[1] for row in ask("show views in {}")
        }
        assert "sums" in kinds

    def test_a_second_run_changes_nothing(self, ask):
        before = ask("describe history {}.sums_v2")
        run_dbt(["run"])
        assert ask("describe history {}.sums_v2") == before
        assert sorted(ask("select * from {}.sums")) == [(1, 10), (2, 20)]

    def test_it_follows_the_latest_version(self, project, ask):
        later = yaml.safe_load(_VERSIONS)
        later["models"][0]["versions"].append({"v": 3})
        later["models"][0]["latest_version"] = 3
        write_file(yaml.safe_dump(later), project.project_root, "models", "versions.yml")
        third = _SECOND.replace("id, v", "id, v + 1 as v")
        write_file(third, project.project_root, "models", "sums_v3.sql")
        run_dbt(["run"])
        assert sorted(ask("select * from {}.sums")) == [(1, 11), (2, 21)]


class TestCatalogs:
    """dbt's catalogs.yml describes catalogs of Iceberg, and is refused with what to do instead."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"one.sql": "select 1 as id"}

    def test_the_error_names_the_config_to_use(self, project):
        integration = {"name": "lake", "catalog_type": "unity", "table_format": "iceberg"}
        catalogs = {"catalogs": [{"name": "lake", "write_integrations": [integration]}]}
        Path(project.project_root, "catalogs.yml").write_text(yaml.safe_dump(catalogs))
        try:
            with pytest.raises(DbtRuntimeError) as raised:
                run_dbt(["parse"])
        finally:
            Path(project.project_root, "catalogs.yml").unlink()
        assert "catalogs.yml" in raised.value.msg
        assert "database: lake" in raised.value.msg


_EVERYTHING = """
{{ config(
    materialized='materialized_table', freshness='10 minutes', refresh_mode='full',
    partition_by=['id'], options={'a': 'b'}, primary_key=['id'], incremental='auto',
    on_configuration_change='apply',
) }}
select id, v from {{ ref('numbers') }}
"""
_TESTED = """
models:
  - name: everything
    config: {refresh_on_run: always}
    columns: [{name: id, data_tests: [not_null]}]
    data_tests: [materialized_table_equals_query, materialized_table_healthy]
"""


class TestDeprecations:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"numbers.csv": _SEED}

    @pytest.fixture(scope="class")
    def models(self):
        return {"everything.sql": _EVERYTHING, "everything.yml": _TESTED}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+freshness": "1 hour", "test": {"+refresh_mode": "full"}}}

    @pytest.mark.usefixtures("project")
    def test_no_config_test_or_macro_of_ours_is_deprecated(self):
        run_dbt(["--warn-error", "--show-all-deprecations", "build"], expect_pass=True)
