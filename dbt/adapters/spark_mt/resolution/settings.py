"""Settings of materialized tables, read from Spark confs, and those that a definition used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions, freshness, modes
from dbt.adapters.spark_mt.definition.errors import (
    FreshnessTooLongError,
    InvalidFreshnessError,
    InvalidValueError,
    StatementSyntaxError,
    closest,
)
from dbt.adapters.spark_mt.definition.table_format import SINGLE_DRIVER
from dbt.adapters.spark_mt.resolution.durations import describe_duration, parse_duration
from dbt.adapters.spark_mt.statements.lexer import Cursor
from dbt.adapters.spark_mt.statements.values import read_start_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition


PREFIX = "spark.materialized-table."


_THREE_MINUTES = freshness.Freshness(3, freshness.TimeUnit.MINUTE)
_ONE_HOUR = freshness.Freshness(1, freshness.TimeUnit.HOUR)
_THRESHOLD = "refresh-mode.freshness-threshold"
_DEFAULT_FULL = "default-freshness.full"
_DEFAULT_CONTINUOUS = "default-freshness.continuous"


def parse_start_mode(text: str) -> modes.StartMode:
    """Read one of the six forms as the clause START_MODE takes it.

    Raises:
        InvalidValueError: The text is none of them.
    """
    try:
        cursor = Cursor(text)
        mode = read_start_mode(cursor)
        complete = cursor.at_end()
    except StatementSyntaxError:
        complete = False
    if not complete:
        raise conditions.INVALID_START_MODE(
            startMode=text.strip(), problem="is none of the six forms"
        )
    return mode


def _freshness(text: str) -> freshness.Freshness:
    try:
        return freshness.Freshness.parse(text)
    except FreshnessTooLongError:
        raise
    except InvalidFreshnessError:
        duration = parse_duration(text)
    if duration <= timedelta() or duration % timedelta(seconds=1):
        raise conditions.INVALID_SETTING(
            detail="A freshness is a positive number of whole seconds."
        )
    seconds = duration // timedelta(seconds=1)
    unit = next(u for u in reversed(freshness.TimeUnit) if seconds % u.value == 0)
    return freshness.Freshness(seconds // unit.value, unit).checked()


def _positive(text: str) -> timedelta:
    duration = parse_duration(text)
    if duration <= timedelta():
        raise conditions.INVALID_SETTING(detail=f"'{text}' is not positive.")
    return duration


def _text(text: str) -> str:
    if not text.strip():
        raise conditions.INVALID_SETTING(detail="The value is empty.")
    return text.strip()


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in {"true", "false"}:
        raise conditions.INVALID_SETTING(detail=f"'{text}' is neither true nor false.")
    return word == "true"


def _registered(text: str) -> Pairs:
    found = []
    for item in text.split(",") if text.strip() != "none" else ():
        name, equals, place = (part.strip() for part in item.partition("="))
        module, colon, attribute = place.partition(":")
        if not (name and equals and module and colon and attribute):
            raise conditions.INVALID_SETTING(
                detail=f"'{item.strip()}' is not <name>=<module>:<function>."
            )
        found.append((name, place))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Settings:
    """Values for materialized tables whose definition leaves a clause out.

    Args:
        freshness_threshold: AUTOMATIC: a freshness strictly below it is refreshed continuously.
        default_freshness_continuous: For mode CONTINUOUS or AUTOMATIC.
        default_freshness_full: For mode FULL.
        default_start_mode: For an omitted START_MODE.
        enricher: The name of the enricher, or `module:Class`.
        checkpoint_location: Root of the checkpoints; None for a place under the warehouse.
        trigger_interval: How often CONTINUOUS checks for changes; None for as seldom as the
            freshness permits.
        scheduler: The name of the workflow scheduler for FULL.
        process_functions: Registered process functions: names, each with `module:function`.
        single_driver: Whether one Spark driver only writes the tables of the warehouse.
    """

    freshness_threshold: timedelta = timedelta(minutes=30)
    default_freshness_continuous: freshness.Freshness = _THREE_MINUTES
    default_freshness_full: freshness.Freshness = _ONE_HOUR
    default_start_mode: modes.StartMode = modes.FROM_BEGINNING
    enricher: str = "default"
    checkpoint_location: str | None = None
    trigger_interval: timedelta | None = None
    scheduler: str = "embedded"
    process_functions: Pairs = ()
    single_driver: bool = False

    def derived_as(self, other: Settings) -> Settings:
        """Return these settings with the values of `other` for modes and freshness."""
        return replace(
            self,
            freshness_threshold=other.freshness_threshold,
            default_freshness_continuous=other.default_freshness_continuous,
            default_freshness_full=other.default_freshness_full,
        )

    @classmethod
    def from_confs(cls, confs: Mapping[str, str]) -> Settings:
        """Read the settings among a session's confs; other confs do not matter.

        Raises:
            MaterializedTableError: A value cannot be read, or a key under our prefix is unknown.
        """
        known = {doc.key: doc for doc in SETTINGS}
        ends = sorted(key.removeprefix(PREFIX) for key in known)
        values: dict[str, Any] = {}
        violations = []
        for key in sorted(k for k in confs if k.startswith(PREFIX)):
            if key not in known:
                # By its end: the prefix, which all keys share, makes any two similar.
                found = closest(key.removeprefix(PREFIX), ends)
                meant = f" Did you mean '{PREFIX}{found}'?" if found else ""
                violations.append(f"{key} is not a setting.{meant}")
                continue
            try:
                values[known[key].field] = known[key].parse(confs[key])
            except InvalidValueError as error:
                violations.append(f"{key} = {confs[key]}: {error}".replace("\n", " "))
        if violations:
            raise conditions.INVALID_SETTINGS(violations=violations)
        return cls(**values)


@dataclass(frozen=True, slots=True)
class SettingDoc:
    """A setting: its key, parser and explanation.

    Args:
        key: The Spark conf's name.
        field: The attribute of `Settings` that holds it.
        default: The default, for people.
        meaning: One or two sentences.
        parse: Reads a value; raises `InvalidValueError`.
    """

    key: str
    field: str
    default: str
    meaning: str
    parse: Callable[[str], object]


SETTINGS: tuple[SettingDoc, ...] = (
    SettingDoc(
        PREFIX + "refresh-mode.freshness-threshold",
        "freshness_threshold",
        "30 min",
        "Mode AUTOMATIC: a freshness strictly below the threshold is refreshed continuously, any "
        "other one by full refreshes.",
        partial(parse_duration, longest=None),
    ),
    SettingDoc(
        PREFIX + "default-freshness.continuous",
        "default_freshness_continuous",
        "3 min",
        "The freshness of a table that names none, where its mode is CONTINUOUS or AUTOMATIC.",
        _freshness,
    ),
    SettingDoc(
        PREFIX + "default-freshness.full",
        "default_freshness_full",
        "1 h",
        "The freshness of a table that names none, where its mode is FULL.",
        _freshness,
    ),
    SettingDoc(
        PREFIX + "default-start-mode",
        "default_start_mode",
        "FROM_BEGINNING",
        "The START_MODE of a table that names none, in any of the six forms of the clause.",
        parse_start_mode,
    ),
    SettingDoc(
        PREFIX + "enricher",
        "enricher",
        "default",
        "What decides about clauses that were left out: the name of an enricher, or `module:Class` "
        "of your own.",
        _text,
    ),
    SettingDoc(
        PREFIX + "checkpoint-location",
        "checkpoint_location",
        "under the warehouse",
        "The root directory of the checkpoints of continuous refreshes.",
        _text,
    ),
    SettingDoc(
        PREFIX + "continuous.trigger-interval",
        "trigger_interval",
        "by the freshness",
        "How often a continuous refresh looks for changes: by default as seldom as the freshness "
        "and the duration of the last refreshes permit. A table's option "
        "`continuous.trigger-interval` wins over it.",
        _positive,
    ),
    SettingDoc(
        PREFIX + "scheduler",
        "scheduler",
        "embedded",
        "The workflow scheduler that runs full refreshes.",
        _text,
    ),
    SettingDoc(
        PREFIX + "process-functions",
        "process_functions",
        "none",
        "Functions that the table option `process-function` may name, as `<name>=<module>:"
        "<function>`; several are separated by commas. docs/refresh.md describes what they return.",
        _registered,
    ),
    SettingDoc(
        SINGLE_DRIVER,
        "single_driver",
        "false",
        "Confirms that one Spark driver only writes tables, where storage cannot serialize the "
        "commits of several. docs/operating.md says which storage that is.",
        _boolean,
    ),
)


def is_derived_by(derived_from: Pairs, settings: Settings) -> bool:
    """Return whether these settings would give a definition the mode and freshness that it has.

    Args:
        derived_from: The settings from which the definition was derived, as stored with it.
        settings: The settings to compare with.
    """
    now = {"enricher": settings.enricher, **_deriving(settings)}
    return all(now[key] == value for key, value in derived_from if key in now)


def _deriving(settings: Settings) -> dict[str, str]:
    """Return the settings for modes and freshness, by the end of their names."""
    return {
        _THRESHOLD: describe_duration(settings.freshness_threshold),
        _DEFAULT_FULL: str(settings.default_freshness_full),
        _DEFAULT_CONTINUOUS: str(settings.default_freshness_continuous),
    }


def derived_from(declared: DeclaredDefinition, settings: Settings) -> Pairs:
    """Return the settings that determine a resolved definition, by the end of their names."""
    used = {"enricher": settings.enricher}
    deriving = _deriving(settings)
    if declared.logical_refresh_mode is modes.LogicalRefreshMode.AUTOMATIC:
        used[_THRESHOLD] = deriving[_THRESHOLD]
    if declared.freshness is None:
        full = declared.logical_refresh_mode is modes.LogicalRefreshMode.FULL
        default = _DEFAULT_FULL if full else _DEFAULT_CONTINUOUS
        used[default] = deriving[default]
    if declared.start_mode is None:
        used["default-start-mode"] = settings.default_start_mode.sql
    return tuple(sorted(used.items()))
