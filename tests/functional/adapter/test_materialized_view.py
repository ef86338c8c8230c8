"""dbt's materialized-view tests, for `materialized_table`."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.materialized_view import files
from dbt.tests.adapter.materialized_view.basic import MaterializedViewBasic
from dbt.tests.adapter.materialized_view.changes import (
    MaterializedViewChanges,
    MaterializedViewChangesApplyMixin,
    MaterializedViewChangesContinueMixin,
    MaterializedViewChangesFailMixin,
)
from dbt.tests.util import (
    assert_message_in_logs,
    get_connection,
    get_model_file,
    run_dbt,
    run_dbt_and_capture,
    set_model_file,
)

_MODEL = files.MY_MATERIALIZED_VIEW.replace("materialized_view", "materialized_table")


def shown_mode(project, relation) -> str:
    """The refresh mode in SHOW MATERIALIZED TABLES, empty where the table is not listed."""
    listed = project.run_sql(
        f"show materialized tables in {relation.database}.{relation.schema}", fetch="all"
    )
    return next((mode for _, name, mode, *_ in listed if name == relation.identifier), "")


class Ours:
    @pytest.fixture(scope="class", autouse=True)
    def models(self):
        return {
            "my_table.sql": files.MY_TABLE,
            "my_view.sql": files.MY_VIEW,
            "my_materialized_view.sql": _MODEL,
        }

    @staticmethod
    def query_relation_type(project, relation):
        """The word that dbt's asserts expect of the relation that is there, looked at directly."""
        with get_connection(project.adapter):
            if project.adapter.is_materialized_table(relation):
                return "materialized_view"
        facts = project.run_sql(f"describe extended {relation}", fetch="all")
        return "view" if ("Type", "VIEW", "") in facts else "table"


@pytest.mark.conformance
class TestMaterializedTableBasic(Ours, MaterializedViewBasic):
    @staticmethod
    def insert_record(project, table, record):
        project.run_sql(f"insert into {table} values {record}")

    @staticmethod
    def refresh_materialized_view(project, materialized_view):
        project.run_sql(f"alter materialized table {materialized_view} refresh")

    @staticmethod
    def query_row_count(project, relation):
        return project.run_sql(f"select count(*) from {relation}", fetch="one")[0]

    @staticmethod
    def swap_table_to_materialized_view(project, table):
        model = get_model_file(project, table)
        set_model_file(project, table, model.replace("'table'", "'materialized_table'"))

    @staticmethod
    def swap_view_to_materialized_view(project, view):
        model = get_model_file(project, view)
        set_model_file(project, view, model.replace("'view'", "'materialized_table'"))

    @staticmethod
    def swap_materialized_view_to_table(project, materialized_view):
        model = get_model_file(project, materialized_view)
        set_model_file(project, materialized_view, model.replace("'materialized_table'", "'table'"))

    @staticmethod
    def swap_materialized_view_to_view(project, materialized_view):
        model = get_model_file(project, materialized_view)
        set_model_file(project, materialized_view, model.replace("'materialized_table'", "'view'"))

    def test_materialized_view_replaces_table(self, project, my_table):
        """A table may hold history that no query rebuilds: only --full-refresh replaces it."""
        run_dbt(["run", "--models", my_table.identifier])
        self.swap_table_to_materialized_view(project, my_table)

        results = run_dbt(["run", "--models", my_table.identifier], expect_pass=False)
        assert "--full-refresh" in results.results[0].message
        assert self.query_relation_type(project, my_table) == "table"

        run_dbt(["run", "--models", my_table.identifier, "--full-refresh"])
        assert self.query_relation_type(project, my_table) == "materialized_view"


class Changes(Ours, MaterializedViewChanges):
    @staticmethod
    def check_start_state(project, materialized_view):
        assert shown_mode(project, materialized_view) == "CONTINUOUS"

    @staticmethod
    def change_config_via_alter(project, materialized_view):
        model = get_model_file(project, materialized_view)
        changed = model.replace("materialized=", "refresh_mode='full', materialized=")
        set_model_file(project, materialized_view, changed)

    @staticmethod
    def check_state_alter_change_is_applied(project, materialized_view):
        assert shown_mode(project, materialized_view) == "FULL"

    @staticmethod
    def change_config_via_replace(project, materialized_view):
        model = get_model_file(project, materialized_view)
        changed = model.replace("materialized=", "partition_by='id', materialized=")
        set_model_file(project, materialized_view, changed)


@pytest.mark.conformance
class TestChangesApply(Changes, MaterializedViewChangesApplyMixin):
    def test_change_is_applied_via_replace(self, project, my_materialized_view):
        """PARTITIONED BY cannot change in place; a silent rebuild would lose history."""
        self.change_config_via_alter(project, my_materialized_view)
        self.change_config_via_replace(project, my_materialized_view)
        name = my_materialized_view.identifier
        _, logs = run_dbt_and_capture(["--debug", "run", "--models", name], expect_pass=False)
        self.check_start_state(project, my_materialized_view)
        assert_message_in_logs("--full-refresh", logs)
        assert_message_in_logs(
            f"Applying REPLACE to: {my_materialized_view}", logs, expected_pass=False
        )

        _, logs = run_dbt_and_capture(["--debug", "run", "--models", name, "--full-refresh"])
        self.check_state_alter_change_is_applied(project, my_materialized_view)
        assert_message_in_logs(f"Applying REPLACE to: {my_materialized_view}", logs)


@pytest.mark.conformance
class TestChangesContinue(Changes, MaterializedViewChangesContinueMixin):
    pass


@pytest.mark.conformance
class TestChangesFail(Changes, MaterializedViewChangesFailMixin):
    pass
