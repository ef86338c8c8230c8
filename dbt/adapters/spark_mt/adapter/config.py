"""Config of a `materialized_table` model: its keys, their validation and its clauses.

dbt validates no config of an adapter, so a misspelt key would be ignored without this check. All
violations of a config are reported in one error, before anything is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.errors import (
    InvalidValueError,
    StatementSyntaxError,
    did_you_mean,
)
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import Wait
from dbt.adapters.spark_mt.execution.results import AdoptionTerms
from dbt.adapters.spark_mt.resolution import options as table_options
from dbt.adapters.spark_mt.resolution.durations import parse_duration
from dbt.adapters.spark_mt.resolution.query_options import WATERMARK, parse_watermarks
from dbt.adapters.spark_mt.resolution.time_zones import parse_timestamp
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.statements.clauses import CLAUSES, ConfigKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.results import RefreshPolicy
    from dbt.adapters.spark_mt.statements.clauses import Clause


_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=str)


CONFIG_KEYS = (
    *(clause.config for clause in CLAUSES if clause.config is not None),
    ConfigKey("primary_key", "none", "A column or a list of columns.", ("unique_key",)),
    ConfigKey(
        "watermark",
        "none",
        "How late rows of a source may come: `ts DELAY OF INTERVAL 10 SECONDS`, "
        "`{column: ts, delay: 10 seconds}` (with `source: s.orders` where several have the "
        "column), or a list of these. The option `watermark` below.",
    ),
    ConfigKey(
        table_options.INCREMENTAL,
        table_options.Incremental.AUTO.value,
        "`auto`, `strict` or `off`: whether a refresh computes only the rows that the changes of "
        "the sources reach. The option `incremental` below.",
    ),
    ConfigKey(
        table_options.VERIFY,
        "0",
        "The share of refreshes by changes or by a stream whose rows are compared with those of "
        "the query after their commit, from 0 to 1. The option `verify` below.",
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
        "if_equal",
        "Which existing plain table of the model's name is taken over without rewriting it, with "
        "its rows, files and history. `if_equal` takes one that has the rows of the query; the "
        "first run computes the query once to compare them. `true` takes one whose columns are "
        "those of the query, or the first of them. Its rows are trusted to be what the query has "
        "now, with `{as_of: '2026-11-01 00:00:00'}` at that time; a refresh that computes the "
        "whole table ends that. `false` takes none. Without effect on a table that is a "
        "materialized one already.",
    ),
)

_DBT_KEYS = """
access alias catalog contract database docs enabled event_time freshness full_refresh group
latest_version_pointer materialized meta packages persist_docs post-hook post_hook pre-hook pre_hook
quoting schema static_analysis tags grants file_format location_root
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

_WITHOUT_EFFECT = {
    "grants": "Spark has no GRANT; they were not applied.",
    "location_root": "a materialized table lies where its schema lies.",
}
_NO_ZONE = timezone(timedelta(0), "the session's")
_REFRESH_ON_RUN: tuple[RefreshPolicy, ...] = ("auto", "always", "never")


ADOPT_IF_EQUAL: AdoptionTerms | None = AdoptionTerms(if_equal=True)
"""The default of `adopt`; None adopts no table."""


DBT_FRESHNESS = frozenset({"build_after", "warn_after", "error_after", "filter"})
"""The keys of dbt's own `freshness`, of models and of sources."""
_THRESHOLD = frozenset({"count", "period"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for where a manager keeps the table, and for how many seconds at most."""

    until: Wait = Wait.NONE
    at_most_s: float = 300.0


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A valid config.

    Args:
        clauses: Keyword and SQL text of the clauses with an equals sign that are given.
    """

    clauses: Pairs = ()
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    options: Pairs = ()
    primary_key: tuple[str, ...] = ()
    refresh_on_run: RefreshPolicy = "auto"
    on_configuration_change: str = "apply"
    adopt: AdoptionTerms | None = ADOPT_IF_EQUAL
    wait: Waiting = Waiting()
    warnings: tuple[str, ...] = ()


def read_word(known: Collection[_Word]) -> Callable[[Any], _Word]:
    """A reader of one of `known`, in any case."""

    def read(value: Any) -> _Word:  # noqa: ANN401 - whatever the YAML holds
        word = str(getattr(value, "value", value)).lower()
        found = next((each for each in known if each == word), None)
        if found is None:
            listed = ", ".join(sorted(known))
            hint = did_you_mean(word, known)
            raise conditions.INVALID_VALUE(detail=f"is one of {listed}, but was: {value!r}.{hint}")
        return found

    return read


def read_format(made_in: TableFormat) -> Callable[[Any], str]:
    """A reader of the format of a table, which is the one of its catalog."""

    def read(value: Any) -> str:  # noqa: ANN401
        if str(value).lower() != made_in.name:
            other = FORMATS.of(str(value))
            remedy = f" Name a catalog of {other.title} with `database`." if other else ""
            detail = (
                f"the tables of its catalog are tables of {made_in.title}, so it is "
                f"{made_in.name} or left out, but was: {value!r}.{remedy}"
            )
            raise conditions.INVALID_VALUE(detail=detail)
        return made_in.name

    return read


def read_names(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Read a column's name or a list of them.

    Raises:
        InvalidValueError: It is neither.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) and n for n in names):
        detail = f"is a column's name or a list of names, but was: {value!r}."
        raise conditions.INVALID_VALUE(detail=detail)
    return tuple(names)


def read_options(value: Any) -> Pairs:  # noqa: ANN401
    """Read a mapping of option keys to plain values.

    Raises:
        InvalidValueError: It is none, or a value is a list or a mapping.
    """
    if not isinstance(value, dict) or any(
        isinstance(each, dict | list) or each is None for each in value.values()
    ):
        raise conditions.INVALID_VALUE(detail=f"is a mapping of keys to texts, but was: {value!r}.")
    return tuple(
        (str(key), str(each).lower() if isinstance(each, bool) else str(each))
        for key, each in value.items()
    )


def is_freshness_of_dbt(value: object) -> bool:
    """Whether a value is a `freshness` as dbt defines it, and not only an interval."""
    return isinstance(value, dict) and not DBT_FRESHNESS.isdisjoint(value)


def build_after(value: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The threshold under `build_after` of dbt's mapping; None where it names no interval."""
    given = value.get("build_after")
    return None if isinstance(given, dict) and set(given) <= {"updates_on"} else given


def read_freshness(value: Any) -> str:  # noqa: ANN401
    """Read a text, `{count, period}` or dbt's mapping into an interval.

    Returns:
        The interval; empty for a mapping of dbt without `build_after`.

    Raises:
        InvalidFreshnessError: It is none of these.
        InvalidValueError: The mapping has another key, or a threshold that is none.
    """
    if is_freshness_of_dbt(value):
        check_thresholds(value)
        value = build_after(value)
        if value is None:
            return ""
    if isinstance(value, dict) and set(value) >= _THRESHOLD >= set(value) - {"updates_on"}:
        return Freshness.of(str(value["count"]), str(value["period"])).sql
    if not isinstance(value, str):
        raise conditions.INVALID_FRESHNESS(value=value)
    return Freshness.parse(value).sql


def check_thresholds(value: Mapping[str, Any]) -> None:
    """Check what dbt's `freshness` of a model says besides `build_after`.

    Raises:
        InvalidValueError: The mapping has another key, or a threshold is none.
    """
    strange = sorted(set(value) - DBT_FRESHNESS)
    if strange:
        hint = did_you_mean(strange[0], DBT_FRESHNESS - set(value))
        detail = f"dbt's mapping has no key {', '.join(map(repr, strange))}.{hint}"
        raise conditions.INVALID_VALUE(detail=detail)
    for key in ("warn_after", "error_after"):
        threshold = value.get(key)
        if threshold is None or _is_template(threshold):
            continue
        if not isinstance(threshold, dict) or set(threshold) != _THRESHOLD:
            detail = f"{key} is {{count: 1, period: day}}, but was: {threshold!r}."
            raise conditions.INVALID_VALUE(detail=detail)
        if not any(map(_is_template, threshold.values())):
            Freshness.of(str(threshold["count"]), str(threshold["period"]))


def _is_template(value: object) -> bool:
    """Whether a value is Jinja that only dbt renders."""
    return isinstance(value, str) and "{{" in value


def read_watermark(value: Any) -> str:  # noqa: ANN401
    """Read a text, `{column, delay}` with or without `source`, or a list of these, as an option.

    Raises:
        InvalidValueError: It is none of these.
    """
    text = "; ".join(map(_mark, value if isinstance(value, list | tuple) else [value]))
    parse_watermarks(text)
    return text


def _mark(value: object) -> str:
    if isinstance(value, str):
        return value.strip().removesuffix(";")
    needed = {"column", "delay"}
    if not isinstance(value, dict) or not needed <= set(value) <= {*needed, "source"}:
        detail = f"is a text or {{column: ts, delay: 10 seconds}}, but was: {value!r}."
        raise conditions.INVALID_VALUE(detail=detail)
    source = f"{value['source']}: " if value.get("source") else ""
    column = str(value["column"])
    name = column if column.isidentifier() else quote(column)
    return f"{source}{name} DELAY OF {value['delay']}"


def read_incremental(value: Any) -> str:  # noqa: ANN401
    """Read `auto`, `strict` or `off`, which YAML takes for false.

    Raises:
        InvalidValueError: It is none of these.
    """
    return (
        table_options.Incremental.OFF.value
        if value is False
        else read_word(table_options.INCREMENTAL_VALUES)(value)
    )


def read_share(value: Any) -> str:  # noqa: ANN401
    """Read a number from 0 to 1.

    Raises:
        InvalidValueError: It is none.
    """
    text = format(Decimal(str(value)), "f") if _is_number(value) else str(value)
    if problem := table_options.share_problem(text):
        raise conditions.INVALID_VALUE(detail=problem)
    return text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def read_wait(value: Any) -> Waiting:  # noqa: ANN401
    """Read `none`, `started`, `fresh`, or `{until: fresh, at_most: 10 minutes}`.

    Raises:
        InvalidValueError: It is none of these.
    """
    word = read_word([each.value for each in Wait])
    if value is False:
        return Waiting()
    if not isinstance(value, dict):
        return Waiting(Wait(word(value)))
    if not {"until"} <= set(value) <= {"until", "at_most"}:
        detail = f"is a word or {{until: fresh, at_most: 10 minutes}}, but was: {value!r}."
        raise conditions.INVALID_VALUE(detail=detail)
    waiting = Waiting()
    if "at_most" in value:
        bound = parse_duration(str(value["at_most"]))
        if bound <= timedelta():
            raise conditions.INVALID_VALUE(
                detail=f"at_most is a positive duration, but was: {value!r}."
            )
        waiting = Waiting(at_most_s=bound.total_seconds())
    return replace(waiting, until=Wait(word(value["until"])))


def read_adopt(value: Any) -> AdoptionTerms | None:  # noqa: ANN401
    """Read if_equal, true, false or `{as_of: <timestamp>}`; a timestamp may name no zone.

    Returns:
        None where no table is adopted.

    Raises:
        InvalidValueError: It is none of these.
    """
    if isinstance(value, bool):
        return AdoptionTerms() if value else None
    if isinstance(value, str) and value.lower() == "if_equal":
        return ADOPT_IF_EQUAL
    if not isinstance(value, dict) or set(value) != {"as_of"}:
        detail = f"is if_equal, true, false or {{as_of: <timestamp>}}, but was: {value!r}."
        raise conditions.INVALID_VALUE(detail=detail)
    at = value["as_of"]
    if not isinstance(at, datetime):  # a text; YAML reads some timestamps itself
        at = parse_timestamp(str(at), _NO_ZONE)
        at = at.replace(tzinfo=None) if at.tzinfo is _NO_ZONE else at
    return AdoptionTerms(at)


def read_clause(clause: Clause) -> Callable[[Any], str]:
    """A reader of a clause's value, as statements have it."""

    def read(value: Any) -> str:  # noqa: ANN401
        text = _of_mapping(value) if isinstance(value, dict) else str(value)
        try:
            return clause.sql(clause.read_alone(text))
        except StatementSyntaxError as error:
            raise conditions.INVALID_VALUE(detail=str(error).partition("\n")[0]) from error

    return read


def _of_mapping(value: Mapping[str, Any]) -> str:
    """`{from_timestamp: ...}` and `{from_now: 7 days}` as text."""
    if len(value) != 1:
        raise conditions.INVALID_VALUE(
            detail=f"has one key as a mapping, but was: {dict(value)!r}."
        )
    form, argument = next(iter(value.items()))
    if str(form).lower().endswith("from_timestamp"):
        return f"{form}(TIMESTAMP {quote_text(str(argument))})"
    if str(argument).strip().lower().startswith("interval"):
        return f"{form}({argument})"
    count, _, unit = str(argument).strip().partition(" ")
    return f"{form}(INTERVAL {quote_text(count)} {unit})"


_READERS: dict[str, Callable[[Any], str]] = {
    "freshness": read_freshness,
    "refresh_mode": lambda value: read_word(("automatic", "continuous", "full"))(value).upper(),
}
"""Clauses whose config has forms that their SQL text has not, by field."""

_OF_OPTIONS: dict[str, Callable[[Any], str]] = {
    WATERMARK: read_watermark,
    table_options.INCREMENTAL: read_incremental,
    table_options.VERIFY: read_share,
}
"""Keys that stand for an option, and how their values are read."""


@dataclass(slots=True)
class _Reader:
    """Reads keys one by one and keeps what is wrong with each."""

    values: Mapping[str, Any]
    own: Collection[str]
    violations: list[str] = field(default_factory=list)

    def read(self, key: str, convert: Callable[[Any], _T], default: _T) -> _T:
        """The converted value of a key or of its synonym; `default` where it is not set.

        What the model itself says wins over what it inherits under another name.
        """
        spellings = (key, *(synonym for synonym, name in SYNONYMS.items() if name == key))
        given = {k: v for k in spellings if (v := self.values.get(k)) is not None}
        given = {k: v for k, v in given.items() if k in self.own} or given
        converted = {self._convert(name, value, convert, default) for name, value in given.items()}
        if len(converted) > 1:
            self.violations.append(f"{' and '.join(given)} mean the same and differ.")
        return next(iter(converted), default)

    def _convert(self, key: str, value: object, convert: Callable[[Any], _T], default: _T) -> _T:
        try:
            return convert(value)
        except InvalidValueError as error:
            text = str(error).removeprefix(f"[{error.condition}] ").replace("\n", " ")
            self.violations.append(f"{key}: {text}")
            return default

    def check(self, key: str, check: Callable[[Any], None], value: object) -> None:
        """Check a value from which nothing is read."""
        self._convert(key, value, check, None)

    def clauses(self) -> Iterator[tuple[str, str]]:
        """Yield keyword and text of each clause that is given."""
        for clause in CLAUSES:
            if clause.example and clause.config is not None:
                read = _READERS.get(clause.field) or read_clause(clause)
                if text := self.read(clause.config.name, read, ""):
                    yield clause.keyword, text

    def options(self) -> Pairs:
        """Return the options, and the keys that stand for one."""
        none: Pairs = ()
        options = self.read("options", read_options, none)
        for key, read in _OF_OPTIONS.items():
            value = self.read(key, read, "")
            if value and key in dict(options):
                self.violations.append(f"{key} is given as a config and among the options.")
            options = (*options, (key, value)) if value else options
        return options


def validate_config(
    model: str,
    values: Mapping[str, Any],
    own: Collection[str],
    made_in: TableFormat = FORMATS.default,
) -> ModelSettings:
    """Check a model's config as a whole.

    Args:
        model: The model's name, for the error.
        values: Everything that was set for the model, at whatever level.
        own: The keys that were set on the model itself. Others are inherited from the project,
            which may hold them for other models: what we do not know there is only warned about.
        made_in: The format of the tables that are made in the model's catalog.

    Raises:
        MaterializedTableError: With every violation.
    """
    given = {key: value for key, value in values.items() if value is not None}
    of_dbt, interval = given.get("freshness"), given.get("freshness_interval")
    is_beside = is_freshness_of_dbt(of_dbt) and interval is not None
    if is_beside:
        del given["freshness"]  # both are usable on one model, and the explicit interval wins
    strange = {key: _unknown_key(key, given) for key in given if key not in KNOWN_KEYS}
    reader = _Reader(given, own, [text for key, text in strange.items() if key in own])
    reader.read("file_format", read_format(made_in), "")
    if is_beside and interval != of_dbt:
        reader.check("freshness", check_thresholds, of_dbt)
    settings = ModelSettings(
        clauses=tuple(reader.clauses()),
        partitioned_by=reader.read("partition_by", read_names, ()),
        clustered_by=reader.read("cluster_by", read_names, ()),
        options=reader.options(),
        primary_key=reader.read("primary_key", read_names, ()),
        refresh_on_run=reader.read(
            "refresh_on_run", read_word(_REFRESH_ON_RUN), _REFRESH_ON_RUN[0]
        ),
        on_configuration_change=reader.read(
            "on_configuration_change", read_word(("apply", "continue", "fail")), "apply"
        ),
        adopt=reader.read("adopt", read_adopt, ADOPT_IF_EQUAL),
        wait=reader.read("wait", read_wait, Waiting()),
        warnings=(
            *(text for key, text in strange.items() if key not in own),
            *(f"{key}: {why}" for key, why in _WITHOUT_EFFECT.items() if given.get(key)),
        ),
    )
    if settings.partitioned_by and settings.clustered_by:
        reader.violations.append("partition_by and cluster_by exclude each other.")
    if reader.violations:
        raise conditions.INVALID_CONFIG(model=model, violations=reader.violations)
    return settings


def _unknown_key(key: str, values: Mapping[str, Any]) -> str:
    if key in FOREIGN_KEYS:
        return f"{key}: belongs to the materialization {FOREIGN_KEYS[key]}, it has no effect here."
    known = (k for k in KNOWN_KEYS if k not in values)
    return f"{key}: is no config of a materialized table.{did_you_mean(key, known)}"


def settings_of(
    node: Any,  # noqa: ANN401 - dbt-core's node
    project_models: Mapping[str, Any],
    made_in: TableFormat = FORMATS.default,
) -> ModelSettings:
    """Validate the config of a model.

    Args:
        node: The parsed model.
        project_models: What `dbt_project.yml` says under `models`.
        made_in: The format of the tables that are made in the model's catalog.

    Raises:
        MaterializedTableError: With every violation.
    """
    values = {key: node.config.get(key) for key in node.unrendered_config}
    values["freshness_interval"] = node.config.get("freshness_interval")
    if "freshness" in values:
        # An interval arrives as `freshness_interval` (`SparkMTCredentials.translate_aliases`). dbt
        # drops its own mapping where it has no `build_after`, so the written one is validated.
        written = node.unrendered_config["freshness"]
        values["freshness"] = written if is_freshness_of_dbt(written) else None
    inherited = dict(inherited_config(project_models, node.fqn))
    own = {key for key in values if key not in inherited or inherited[key] != values[key]}
    return validate_config(node.name, values, own, made_in)


def inherited_config(models: Mapping[str, Any], fqn: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys that a project sets for a model, outermost level first.

    Args:
        models: The `models` of a `dbt_project.yml`: nested folders, keys with or without a plus.
        fqn: The model's project, folders and name.
    """
    level: Any = models
    for folder in ("", *fqn):
        level = level if not folder else level.get(folder)
        if not isinstance(level, dict):
            return
        for key, value in level.items():
            if key.startswith("+") or not isinstance(value, dict):
                yield key.removeprefix("+").strip(), value
