"""Which settings took part in what a definition left open (semantics 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.resolution.durations import describe_duration

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import AskedDefinition, Pairs
    from dbt.adapters.spark_mt.resolution.settings import Settings

_THRESHOLD = "refresh-mode.freshness-threshold"
_DEFAULT_FULL = "default-freshness.full"
_DEFAULT_CONTINUOUS = "default-freshness.continuous"


def is_derived_by(derived_from: Pairs, settings: Settings) -> bool:
    """Whether a definition's mode and freshness are those that these settings would give it.

    Args:
        derived_from: What the definition says of the settings that it was derived from.
        settings: The others.
    """
    now = {"enricher": settings.enricher, **_deriving(settings)}
    return all(now[key] == value for key, value in derived_from if key in now)


def _deriving(settings: Settings) -> dict[str, str]:
    """Return what modes and freshness are derived from, by the end of the settings' names."""
    return {
        _THRESHOLD: describe_duration(settings.freshness_threshold),
        _DEFAULT_FULL: str(settings.default_freshness_full),
        _DEFAULT_CONTINUOUS: str(settings.default_freshness_continuous),
    }


def derived_from(asked: AskedDefinition, settings: Settings) -> Pairs:
    """Return the settings that took part in the answer, by the end of their names."""
    used = {"enricher": settings.enricher}
    deriving = _deriving(settings)
    if asked.logical_refresh_mode is LogicalRefreshMode.AUTOMATIC:
        used[_THRESHOLD] = deriving[_THRESHOLD]
    if asked.freshness is None:
        full = asked.logical_refresh_mode is LogicalRefreshMode.FULL
        default = _DEFAULT_FULL if full else _DEFAULT_CONTINUOUS
        used[default] = deriving[default]
    if asked.start_mode is None:
        used["default-start-mode"] = settings.default_start_mode.sql
    return tuple(sorted(used.items()))
