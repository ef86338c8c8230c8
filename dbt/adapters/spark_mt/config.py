"""Validates a model's config and turns it into the clauses of its statement.

Everything that is wrong with a config is reported in one error, before anything is touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.spark_mt.config_keys import (
    FOREIGN_KEYS,
    KNOWN_KEYS,
    SYNONYMS,
)
from dbt.adapters.spark_mt.config_values import (
    NOT_AT_ALL,
    STAYS,
    Adopt,
    Waiting,
    read_adopt,
    read_clause,
    read_freshness,
    read_names,
    read_options,
    read_wait,
    read_watermark,
    read_word,
)
from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean
from dbt.adapters.spark_mt.resolution.watermarks import WATERMARK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from dbt.adapters.spark_mt.definition.definition import Pairs

_T = TypeVar("_T")
_FILE_FORMATS = ("delta",)
_REFRESH_MODES = ("automatic", "continuous", "full")
_REFRESH_ON_RUN = ("auto", "always", "never")
_ON_CHANGE = ("apply", "continue", "fail")


class InvalidConfigError(MaterializedTableError):
    """A model's config cannot be used."""

    condition = "MATERIALIZED_TABLE_INVALID_CONFIG"
    text = "The config of model {model} cannot be used:"
    remedy = (
        "Nothing was changed. docs/configuration.md lists the keys with their values; keys of your "
        "own belong under `meta`."
    )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A valid config; clauses are SQL text, an empty one is left out of the statement."""

    freshness: str = ""
    refresh_mode: str = ""
    start_mode: str = ""
    state_retention: str = ""
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    options: Pairs = ()
    primary_key: tuple[str, ...] = ()
    refresh_on_run: str = "auto"
    on_configuration_change: str = "apply"
    adopt: Adopt = STAYS
    wait: Waiting = NOT_AT_ALL
    warnings: tuple[str, ...] = ()


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
        given = {k: v for k in _spellings(key) if (v := self.values.get(k)) is not None}
        given = {k: v for k, v in given.items() if k in self.own} or given
        converted = {self._convert(name, value, convert, default) for name, value in given.items()}
        if len(converted) > 1:
            self.violations.append(f"{' and '.join(given)} mean the same and differ.")
        return next(iter(converted), default)

    def _convert(self, key: str, value: object, convert: Callable[[Any], _T], default: _T) -> _T:
        try:
            return convert(value)
        except InvalidValueError as error:
            self.violations.append(f"{key}: {_plain(error)}")
            return default


def validate_config(model: str, values: Mapping[str, Any], own: Collection[str]) -> ModelSettings:
    """Check a model's config as a whole.

    Args:
        model: The model's name, for the error.
        values: Everything that was set for the model, at whatever level.
        own: The keys that were set on the model itself. Others are inherited from the project,
            which may hold them for other models: what we do not know there is only warned about.

    Raises:
        InvalidConfigError: With every violation.
    """
    set_values = {key: value for key, value in values.items() if value is not None}
    strange = {key: _strange(key, set_values) for key in set_values if key not in KNOWN_KEYS}
    reader = _Reader(set_values, own, [text for key, text in strange.items() if key in own])
    warnings = tuple(text for key, text in strange.items() if key not in own)
    settings = _read_settings(reader, warnings + _ineffective(set_values))
    if settings.partitioned_by and settings.clustered_by:
        reader.violations.append("partition_by and cluster_by exclude each other.")
    if reader.violations:
        raise InvalidConfigError(model=model, violations=reader.violations)
    return settings


def _read_settings(reader: _Reader, warnings: tuple[str, ...]) -> ModelSettings:
    reader.read("file_format", read_word(_FILE_FORMATS), "")
    return ModelSettings(
        freshness=reader.read("freshness_interval", read_freshness, ""),
        refresh_mode=reader.read("refresh_mode", read_word(_REFRESH_MODES), "").upper(),
        start_mode=reader.read("start_mode", read_clause("START_MODE"), ""),
        state_retention=reader.read("state_retention", read_clause("STATE_RETENTION"), ""),
        partitioned_by=reader.read("partition_by", read_names, ()),
        clustered_by=reader.read("cluster_by", read_names, ()),
        options=_options(reader),
        primary_key=reader.read("primary_key", read_names, ()),
        refresh_on_run=reader.read("refresh_on_run", read_word(_REFRESH_ON_RUN), "auto"),
        on_configuration_change=reader.read(
            "on_configuration_change", read_word(_ON_CHANGE), "apply"
        ),
        adopt=reader.read("adopt", read_adopt, STAYS),
        wait=reader.read("wait", read_wait, NOT_AT_ALL),
        warnings=warnings,
    )


def _options(reader: _Reader) -> Pairs:
    """The options, and the keys that stand for one."""
    none: Pairs = ()
    options = reader.read("options", read_options, none)
    watermark = reader.read(WATERMARK, read_watermark, "")
    if watermark and WATERMARK in dict(options):
        reader.violations.append(f"{WATERMARK} is given by itself and among the options.")
    return (*options, (WATERMARK, watermark)) if watermark else options


def _spellings(key: str) -> tuple[str, ...]:
    """A key and its synonyms."""
    return (key, *(synonym for synonym, name in SYNONYMS.items() if name == key))


def _strange(key: str, values: Mapping[str, Any]) -> str:
    if key in FOREIGN_KEYS:
        return f"{key}: belongs to the materialization {FOREIGN_KEYS[key]}, it has no effect here."
    known = (k for k in KNOWN_KEYS if k not in values)
    return f"{key}: is no config of a materialized table.{did_you_mean(key, known)}"


def _ineffective(values: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = []
    if values.get("grants"):
        warnings.append("grants: Spark has no GRANT; they were not applied.")
    if values.get("location_root"):
        warnings.append("location_root: a materialized table lies where its schema lies.")
    return tuple(warnings)


def _plain(error: InvalidValueError) -> str:
    """The error's text without its condition, for a place inside another error."""
    text = str(error)
    return text.removeprefix(f"[{error.condition}] ").replace("\n", " ")
