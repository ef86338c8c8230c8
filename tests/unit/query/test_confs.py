from __future__ import annotations

from dbt.adapters.spark_mt.query.confs import DEFAULTS, semantic_confs


def test_only_confs_that_change_meaning_are_kept() -> None:
    confs = {
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.adaptive.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "Europe/Zurich",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.caseSensitive": "true",
    }
    assert semantic_confs(confs) == (
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.session.timeZone", "Europe/Zurich"),
    )


def test_a_default_that_was_set_is_no_change() -> None:
    assert semantic_confs({key: value.upper() for key, value in DEFAULTS.items()}) == ()
