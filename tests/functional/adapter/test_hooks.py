from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest
from dbt.tests.adapter.hooks import test_model_hooks
from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks

pytestmark = pytest.mark.conformance


class TestPrePostModelHooksOnSeeds(BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


_DATA = Path(test_model_hooks.__file__).parent / "data"
_FIELDS = (
    "test_state",
    "target_dbname",
    "target_host",
    "target_name",
    "target_schema",
    "target_threads",
    "target_type",
    "target_user",
    "target_pass",
    "run_started_at",
    "invocation_id",
    "thread_id",
)


class _ProtocolTable:
    """Hooks write into a table of Spark; a target of ours has no user, password or database."""

    table = "on_model_hook"
    script = "seed_model.sql"

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        create_protocol_table(project, self.script)

    def check_hooks(self, state, project, host, count=1):  # noqa: ARG002 - dbt's signature
        listed = ", ".join(_FIELDS)
        found = project.run_sql(
            f"select {listed} from {project.test_schema}.{self.table} where test_state = '{state}'",
            fetch="all",
        )
        assert len(found) == count
        for row in found:
            ctx = dict(zip(_FIELDS, row, strict=True))
            assert ctx.pop("run_started_at")
            assert ctx.pop("invocation_id")
            assert ctx.pop("thread_id").startswith(("Thread-", "MainThread"))
            assert ctx == {
                "test_state": state,
                "target_dbname": "",
                "target_host": "",
                "target_name": "default",
                "target_schema": project.test_schema,
                "target_threads": 2,
                "target_type": "spark_mt",
                "target_user": "",
                "target_pass": "",
            }


def create_protocol_table(project, script: str) -> None:
    text = (_DATA / script).read_text(encoding="utf-8")
    for statement in text.replace("TEXT", "STRING").format(schema=project.test_schema).split(";"):
        if statement.strip():
            project.run_sql(statement)


class TestPrePostModelHooks(_ProtocolTable, BasePrePostModelHooks):
    pass


class TestHookRefs(_ProtocolTable, BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(_ProtocolTable, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    _ProtocolTable, BasePrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(_ProtocolTable, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostRunHooks(_ProtocolTable, BasePrePostRunHooks):
    table = "on_run_hook"

    @pytest.fixture(scope="class")
    def project_config_update(self):
        config = copy.deepcopy(_run_hooks(BasePrePostRunHooks))
        config["on-run-end"] = [sql.replace(" text", " string") for sql in config["on-run-end"]]
        return config

    @pytest.fixture
    def setUp(self, project, monkeypatch):
        create_protocol_table(project, "seed_run.sql")
        for table in ("schemas", "db_schemas"):
            project.run_sql(f"drop table if exists {project.test_schema}.{table}")
        monkeypatch.setitem(os.environ, "TERM_TEST", "TESTING")


def _run_hooks(cls: type) -> dict[str, object]:
    """The value of dbt's fixture."""
    return cls.project_config_update.__wrapped__(cls())


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
