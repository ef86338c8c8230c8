from __future__ import annotations

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChangeSetup,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.conformance

_MICROBATCH = """
{{ config(materialized='incremental', incremental_strategy='microbatch', unique_key='id',
          event_time='event_time', batch_size='day', partition_by=['date_day'],
          begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0)) }}
select *, cast(event_time as date) as date_day from {{ ref('input_model') }}
"""


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        # the fixtures write dates as plain strings, which only the lenient cast takes
        return {
            "models": {
                "+incremental_strategy": "merge",
                "+pre-hook": "set spark.sql.storeAssignmentPolicy = LEGACY",
            }
        }

    @pytest.mark.usefixtures("project")
    def test__bad_unique_key(self):
        """Delta 4.4 lacks the text of its own error for an unknown column in MERGE."""
        self.assert_refused("not_found_unique_key")

    @pytest.mark.usefixtures("project")
    def test__bad_unique_key_list(self):
        """As above."""
        self.assert_refused("not_found_unique_key_list")

    @staticmethod
    def assert_refused(model):
        run_dbt(["seed", "--full-refresh"])
        run_dbt(["run", "--select", model, "--full-refresh"])
        results = run_dbt(["run", "--select", model], expect_pass=False)
        assert "DELTA_MERGE_UNRESOLVED_EXPRESSION" in results.results[0].message


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChangeSetup):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "append"}}

    def test_run_incremental_ignore(self, project):
        self.run_twice_and_assert(
            "model_a incremental_ignore incremental_ignore_target",
            "incremental_ignore",
            "incremental_ignore_target",
            project,
        )

    def test_run_incremental_append_new_columns(self, project):
        """Without the removal of a column: an append writes all columns of the table."""
        self.run_incremental_append_new_columns(project)

    @pytest.mark.usefixtures("project")
    def test_run_incremental_fail_on_schema_change(self):
        select = "model_a incremental_fail"
        run_dbt(["run", "--models", select, "--full-refresh"])
        results = run_dbt(["run", "--models", select], expect_pass=False)
        assert "Compilation Error" in results[1].message


class TestIncrementalPredicatesMerge(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                "+incremental_predicates": ["dbt_internal_dest.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                "+merge_exclude_columns": ["msg"],
                "+incremental_strategy": "merge",
            }
        }


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return _MICROBATCH

    @pytest.fixture(scope="class")
    def insert_two_rows_sql(self, project):
        return (
            f"insert into {project.database}.{project.test_schema}.input_model (id, event_time) "
            "values (4, timestamp '2020-01-04 00:00:00-0'), (5, timestamp '2020-01-05 00:00:00-0')"
        )
