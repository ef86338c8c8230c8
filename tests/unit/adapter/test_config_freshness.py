"""dbt's `freshness` and our interval in the models of a parsed project."""

from __future__ import annotations

import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt.adapters.spark_mt.adapter.config import settings_of

_PROJECT = {
    "name": "shop",
    "version": "1.0",
    "profile": "shop",
    "models": {
        "shop": {"+materialized": "materialized_table", "fast": {"+freshness": "10 minutes"}}
    },
}
_PROFILE = {"shop": {"target": "d", "outputs": {"d": {"type": "spark_mt", "schema": "s"}}}}
_DAY = {"count": 1, "period": "day"}
_FOUR_HOURS = {"count": 4, "period": "hour"}
_MODELS = {
    "default": ({}, None),
    "both": (
        {"freshness_interval": "5 minutes", "freshness": {"build_after": _FOUR_HOURS}},
        "INTERVAL '5' MINUTE",
    ),
    "of_dbt": ({"freshness": {"warn_after": _DAY, "error_after": _DAY}}, None),
    "build": ({"freshness": {"warn_after": _DAY, "build_after": _FOUR_HOURS}}, "INTERVAL '4' HOUR"),
    "fast/inherited": ({"freshness": {"warn_after": _DAY}}, "INTERVAL '10' MINUTE"),
    "fast/nearer": ({"freshness": {"build_after": _FOUR_HOURS}}, "INTERVAL '4' HOUR"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    described = [
        {"name": path.rpartition("/")[2], "config": config} for path, (config, _) in _MODELS.items()
    ]
    files = {
        "dbt_project.yml": yaml.safe_dump(_PROJECT),
        "profiles.yml": yaml.safe_dump(_PROFILE),
        "models/models.yml": yaml.safe_dump({"models": described}),
        **{f"models/{path}.sql": "select 1 as a" for path in _MODELS},
    }
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    place = ("--project-dir", str(root), "--profiles-dir", str(root))
    logs = ("--log-path", str(root / "logs"))
    result = dbtRunner().invoke(["--quiet", *logs, "parse", "--no-partial-parse", *place])
    assert result.success, result.exception
    return {node.name: node for node in result.result.nodes.values()}


@pytest.mark.parametrize(("path", "interval"), [(p, sql) for p, (_, sql) in _MODELS.items()])
def test_the_interval_of_a_model(models, path, interval):
    found = settings_of(models[path.rpartition("/")[2]], _PROJECT["models"])
    assert found.clauses == (() if interval is None else (("FRESHNESS", interval),))


def test_dbt_keeps_its_own_mapping(models):
    of_dbt = models["both"].config.freshness
    assert (of_dbt.build_after.count, of_dbt.build_after.period.value) == (4, "hour")
