"""The closed set of config keys of a `materialized_table` model (semantics 10).

dbt itself validates no config of an adapter, so a misspelt key would be dropped without a word.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A config key of ours.

    Args:
        name: The key.
        default: What holds when it is left out, as text.
        meaning: What it is for, and the forms of its value.
        synonyms: Other names of the same key.
    """

    name: str
    default: str
    meaning: str
    synonyms: tuple[str, ...] = ()


CONFIG_KEYS = (
    ConfigKey(
        "freshness_interval",
        "the enricher's",
        "How far the table may lag behind its sources: `3 minutes`, `INTERVAL '3' MINUTE`, "
        "`{count: 3, period: minute}` or `{build_after: {count: 3, period: minute}}`.",
        ("freshness",),
    ),
    ConfigKey("refresh_mode", "automatic", "`automatic`, `continuous` or `full`, in any case."),
    ConfigKey(
        "start_mode",
        "from_beginning",
        "`from_beginning`, `from_now`, `from_now(interval '7' day)`, `from_timestamp(timestamp "
        "'2025-10-28 12:00:00')` or `{from_timestamp: ...}`, each also behind `resume_or_`.",
    ),
    ConfigKey("state_retention", "none", "`none`, `all`, `ptf_only` or `ptf_only('operator')`."),
    ConfigKey("partition_by", "none", "A column or a list of columns; cannot change in place."),
    ConfigKey("cluster_by", "none", "A column or a list of columns."),
    ConfigKey("options", "none", "A mapping, as in WITH (...).", ("tblproperties",)),
    ConfigKey("primary_key", "none", "A column or a list of columns.", ("unique_key",)),
    ConfigKey(
        "watermark",
        "none",
        "How late rows of a source may come: `ts DELAY OF INTERVAL 10 SECONDS`, "
        "`{column: ts, delay: 10 seconds}` (with `source: s.orders` where several have the "
        "column), or a list of these. The option `watermark` below.",
    ),
    ConfigKey(
        "on_configuration_change",
        "apply",
        "What to do when the config changed but the query did not: `apply`, `continue` or `fail`.",
    ),
    ConfigKey(
        "refresh_on_run",
        "auto",
        "`auto` leaves the table to a refresh manager that keeps it fresh, and brings it up to "
        "date when sources moved where there is none; `always` recomputes it; `never` leaves it to "
        "others once it is filled.",
    ),
    ConfigKey(
        "wait",
        "none",
        "What to wait for where a refresh manager keeps the table: `started` until it has taken "
        "the table over, `fresh` until the rows reflect what the sources have now, so that tests "
        "and models downstream read it. For five minutes at most, or `{until: fresh, at_most: 10 "
        "minutes}`; then the model fails. Without a manager the run itself refreshes.",
    ),
    ConfigKey(
        "adopt",
        "false",
        "`true` takes an existing plain Delta table of the model's name over without rewriting it: "
        "it keeps its rows, files and history. Its columns must be those of the query, or the "
        "first of them. Its rows are trusted to be what the query has now, with `{as_of: "
        "'2026-11-01 00:00:00'}` at that time; a refresh that computes the whole table ends that. "
        "Without effect on a table that is a materialized one already.",
    ),
)

_DBT_KEYS = """
access alias catalog contract database docs enabled event_time freshness full_refresh group
materialized meta packages persist_docs post-hook post_hook pre-hook pre_hook quoting schema
static_analysis tags grants file_format location_root
"""
DBT_KEYS = frozenset(_DBT_KEYS.split())
"""Keys of dbt and dbt-spark that mean for us what they always mean."""

FOREIGN_KEYS = {
    **dict.fromkeys(("incremental_strategy", "on_schema_change"), "incremental"),
    **dict.fromkeys(("merge_update_columns", "merge_exclude_columns"), "incremental"),
    **dict.fromkeys(("incremental_predicates", "predicates"), "incremental"),
    **dict.fromkeys(("begin", "batch_size", "lookback", "concurrent_batches"), "microbatch"),
    **dict.fromkeys(("strategy", "updated_at", "check_cols", "hard_deletes"), "snapshot"),
    **dict.fromkeys(("clustered_by", "buckets", "sql_header"), "table"),
}
"""Keys of other materializations, and of which."""

SYNONYMS = {synonym: key.name for key in CONFIG_KEYS for synonym in key.synonyms}
KNOWN_KEYS = frozenset({key.name for key in CONFIG_KEYS}) | SYNONYMS.keys() | DBT_KEYS
