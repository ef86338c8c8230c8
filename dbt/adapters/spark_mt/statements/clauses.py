"""The clauses of a definition, as one table: a clause is one entry of `CLAUSES`.

The entry drives parser, renderer, defaults, diff, SHOW, DESC and the config of dbt models. The
value of a clause is a field of `DeclaredDefinition`, and of `ResolvedDefinition` if it is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.modes import (
    KEEP_NONE,
    IntervalUnit,
    LogicalRefreshMode,
    RefreshMode,
    StartModeType,
)
from dbt.adapters.spark_mt.statements.errors import MissingEqualsError, StatementSyntaxError
from dbt.adapters.spark_mt.statements.lexer import Cursor
from dbt.adapters.spark_mt.statements.values import (
    read_column_names,
    read_freshness,
    read_options,
    read_refresh_mode,
    read_start_mode,
    read_state_retention,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.definition import (
        DeclaredDefinition,
        Pairs,
        ResolvedDefinition,
    )
    from dbt.adapters.spark_mt.definition.modes import ResolvedStartMode

    Fold = Callable[[str], str]
    """Returns the form of a name in which the session compares names."""


_MOST_WORDS = 12
"""How many tokens a value has at most; a value after a missing equals sign is searched for."""


class Effect(Enum):
    """What a change does to a table, the lightest first."""

    TEXT = "metadata only"
    STORAGE = "storage properties, constraints or clustering"
    REFRESH = "the schedule or trigger of the refresh"
    CONTENT = "the table is filled again"
    IMPOSSIBLE = "cannot be done in place"


class Place(Enum):
    """The place of a clause in CREATE; REFRESH and EVOLUTION in either order."""

    HEAD = "head"
    REFRESH = "refresh"
    EVOLUTION = "evolution"


class Alter(Enum):
    """Which ALTER changes a clause."""

    NONE = "none"
    ALONE = "SET clause"
    ALONE_OR_RESET = "SET clause, RESET clause"
    WITH_QUERY = "SET clause AS query"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A config key of dbt models.

    Args:
        name: The key.
        default: What applies if it is left out, as text.
        meaning: What it is for, and the forms of its value.
        synonyms: Other names of the same key.
    """

    name: str
    default: str
    meaning: str
    synonyms: tuple[str, ...] = ()


def _sql(value: Any) -> str:  # noqa: ANN401 - the value of any clause
    return str(value.sql)


def _unchanged(value: Any, _: Fold) -> object:  # noqa: ANN401
    return value


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: how it is read, written, compared and explained.

    Args:
        keyword: What it begins with.
        field: The attribute of the definitions that holds its value.
        read: Reads the value.
        place: Its place in CREATE.
        sql: The value as a statement has it.
        example: A value; only for a clause with an equals sign.
        spellings: Other keywords.
        excludes: The field of a clause that the same statement cannot have.
        alter: Which ALTER changes it.
        label: Its name in DESC; empty for a clause that DESC does not list by it.
        noun: Its name in changes, if that is not the label.
        shown: The value in changes, if that is not the SQL text.
        key: What two values have in common that mean the same.
        effect: What another value does to a table with the definition given; None for a clause
            whose values are compared one by one.
        is_resolved: Whether a resolved definition always has a value.
        default: The value of a resolved definition, if no enricher decides.
        implied: The value that an omitted clause stands for.
        source: From what an omitted clause gets its value.
        warning: Returns the warning about a valid value, for a new table or not; empty for
            nothing.
        config: The config key of dbt models.
    """

    keyword: str
    field: str
    read: Callable[[Cursor], object]
    place: Place
    sql: Callable[[Any], str] = _sql
    example: str = ""
    spellings: tuple[str, ...] = ()
    excludes: str = ""
    alter: Alter = Alter.NONE
    label: str = ""
    noun: str = ""
    shown: Callable[[Any], str] | None = None
    key: Callable[[Any, Fold], object] = _unchanged
    effect: Callable[[ResolvedDefinition], Effect] | None = None
    is_resolved: bool = False
    default: object = None
    implied: object = None
    source: str = "default"
    warning: Callable[[ResolvedDefinition, bool], str] | None = None
    config: ConfigKey | None = None

    def read_value(self, cursor: Cursor) -> object:
        """Read the value, after the equals sign if the clause takes one.

        Raises:
            StatementSyntaxError: The equals sign is missing, or the value is none of the clause.
        """
        if self.example and not cursor.accept("="):
            suggestion = f"{self.keyword} = {self._value_ahead(cursor)}"
            raise cursor.error(MissingEqualsError, clause=self.keyword, suggestion=suggestion)
        return self.read(cursor)

    def _value_ahead(self, cursor: Cursor) -> str:
        """Return the text of the value that comes next, or the example."""
        for words in range(_MOST_WORDS, 0, -1):
            text = cursor.text_between(cursor.peek(), cursor.peek(words - 1))
            trial = Cursor(text)
            try:
                self.read(trial)
            except StatementSyntaxError:
                continue
            if trial.at_end():
                return text
        return self.example

    def text(self, value: object) -> str:
        """Return the clause as a statement has it; empty for no value."""
        if value is None or value == ():
            return ""
        return f"{self.keyword}{' =' if self.example else ''} {self.sql(value)}"

    def declared(self, definition: DeclaredDefinition) -> Any:  # noqa: ANN401
        """Return what the user wrote; None or empty if the clause was left out."""
        return getattr(definition, self.field)

    def origin(self, definition: ResolvedDefinition) -> str:
        """Return where a resolved value comes from; empty for a value that the user wrote."""
        declared = self.declared(definition.declared)
        if not self.is_resolved or declared not in (None, self.implied):
            return ""
        return f"by {self.source if self.implied is None else self.sql(self.implied)}"

    def described(self, definition: ResolvedDefinition) -> str | None:
        """Return the value for a sentence about a change; None for no value."""
        shown = self.shown or self.sql
        if not self.is_resolved:
            declared = self.declared(definition.declared)
            return shown(declared) if declared else None
        origin = self.origin(definition)
        text = shown(getattr(definition, self.field))
        return f"{text} ({origin})" if origin else text

    def compared(self, definition: ResolvedDefinition, fold: Fold) -> object:
        """Return what definitions have in common in which the clause means the same."""
        if self.is_resolved:
            return self.key(getattr(definition, self.field), fold)
        return self.key(self.declared(definition.declared), fold)


def _lines(items: Iterable[str]) -> str:
    return "(\n  " + ",\n  ".join(items) + "\n)"


def options_text(options: Pairs) -> str:
    """Return options as a statement has them, one a line."""
    return _lines(f"{quote_text(key)} = {quote_text(value)}" for key, value in options)


def names_text(names: Iterable[str]) -> str:
    """Return names as a statement has them."""
    return f"({', '.join(quote(name) for name in names)})"


def _folded(names: tuple[str, ...], fold: Fold) -> tuple[str, ...]:
    return tuple(fold(name) for name in names)


_IN_BASE_UNIT = {
    IntervalUnit.SECOND: ("seconds", 1),
    IntervalUnit.MINUTE: ("seconds", 60),
    IntervalUnit.HOUR: ("seconds", 3600),
    IntervalUnit.DAY: ("days", 1),
    IntervalUnit.WEEK: ("days", 7),
    IntervalUnit.MONTH: ("months", 1),
    IntervalUnit.YEAR: ("months", 12),
}
"""Intervals of the same length in the same base unit always mean the same instant."""


def _start(start: ResolvedStartMode, _: Fold) -> object:
    """Compare relative start modes by interval, absolute ones by instant."""
    mode = start.mode
    if mode.type.fallback is StartModeType.FROM_TIMESTAMP:
        return mode.type, start.instant_ms
    if mode.interval is None:
        return mode.type, None
    base, factor = _IN_BASE_UNIT[mode.interval.unit]
    return mode.type, (base, mode.interval.count * factor)


def _start_effect(wanted: ResolvedDefinition) -> Effect:
    """RESUME_OR_* applies at the next change of the query, another form at once."""
    resumes = wanted.start_mode.mode.type.resumes
    acts = wanted.refresh_mode is RefreshMode.CONTINUOUS and not resumes
    return Effect.CONTENT if acts else Effect.TEXT


def _start_warning(wanted: ResolvedDefinition, _: bool) -> str:  # noqa: FBT001
    if wanted.refresh_mode is RefreshMode.CONTINUOUS or wanted.declared.start_mode is None:
        return ""
    return "START_MODE is stored and has no effect in mode FULL."


def _retention_warning(wanted: ResolvedDefinition, new: bool) -> str:  # noqa: FBT001
    if not (new and wanted.declared.keeps_state):
        return ""
    sql = wanted.state_retention.sql
    return f"STATE_RETENTION = {sql} has no effect on a new table: it has no state."


CLAUSES: tuple[Clause, ...] = (
    Clause(
        "COMMENT",
        "comment",
        lambda cursor: cursor.string("a comment"),
        Place.HEAD,
        sql=quote_text,
        alter=Alter.ALONE,
        noun="comment",
        key=lambda text, _: text or None,
        effect=lambda _: Effect.TEXT,
    ),
    Clause(
        "PARTITIONED BY",
        "partitioned_by",
        read_column_names,
        Place.HEAD,
        sql=names_text,
        excludes="clustered_by",
        label="Partitioned by",
        noun="partitioning",
        key=_folded,
        effect=lambda _: Effect.IMPOSSIBLE,
        config=ConfigKey(
            "partition_by", "none", "A column or a list of columns; cannot change in place."
        ),
    ),
    Clause(
        "CLUSTER BY",
        "clustered_by",
        read_column_names,
        Place.HEAD,
        sql=names_text,
        excludes="partitioned_by",
        label="Clustered by",
        noun="clustering",
        key=_folded,
        effect=lambda _: Effect.STORAGE,
        config=ConfigKey("cluster_by", "none", "A column or a list of columns."),
    ),
    Clause(
        "WITH",
        "options",
        read_options,
        Place.HEAD,
        sql=options_text,
        spellings=("TBLPROPERTIES",),
        config=ConfigKey("options", "none", "A mapping, as in WITH (...).", ("tblproperties",)),
    ),
    Clause(
        "FRESHNESS",
        "freshness",
        read_freshness,
        Place.REFRESH,
        example="INTERVAL '3' MINUTE",
        alter=Alter.ALONE_OR_RESET,
        label="Freshness",
        shown=str,
        key=lambda freshness, _: freshness.seconds,
        effect=lambda _: Effect.REFRESH,
        is_resolved=True,
        config=ConfigKey(
            "freshness_interval",
            "the enricher's",
            "How far the table may lag its sources: `3 minutes`, `INTERVAL '3' MINUTE`, "
            "`{count: 3, period: minute}` or `{build_after: {count: 3, period: minute}}`.",
            ("freshness",),
        ),
    ),
    Clause(
        "REFRESH_MODE",
        "refresh_mode",
        read_refresh_mode,
        Place.REFRESH,
        sql=lambda mode: str(mode.value),
        example="FULL",
        alter=Alter.ALONE,
        label="Refresh mode",
        effect=lambda _: Effect.REFRESH,
        is_resolved=True,
        implied=LogicalRefreshMode.AUTOMATIC,
        source="freshness",
        config=ConfigKey(
            "refresh_mode", "automatic", "`automatic`, `continuous` or `full`, in any case."
        ),
    ),
    Clause(
        "START_MODE",
        "start_mode",
        read_start_mode,
        Place.EVOLUTION,
        example="FROM_BEGINNING",
        alter=Alter.WITH_QUERY,
        label="Start mode",
        key=_start,
        effect=_start_effect,
        is_resolved=True,
        warning=_start_warning,
        config=ConfigKey(
            "start_mode",
            "from_beginning",
            "`from_beginning`, `from_now`, `from_now(interval '7' day)`, `from_timestamp(timestamp "
            "'2025-10-28 12:00:00')` or `{from_timestamp: ...}`, each also after `resume_or_`.",
        ),
    ),
    Clause(
        "STATE_RETENTION",
        "state_retention",
        read_state_retention,
        Place.EVOLUTION,
        example="NONE",
        alter=Alter.WITH_QUERY,
        label="State retention",
        key=lambda retention, _: (retention.type, frozenset(retention.operators)),
        effect=lambda _: Effect.TEXT,
        is_resolved=True,
        default=KEEP_NONE,
        warning=_retention_warning,
        config=ConfigKey(
            "state_retention", "none", "`none`, `all`, `ptf_only` or `ptf_only('operator')`."
        ),
    ),
)
"""In the order in which a statement is rendered."""
BY_FIELD = {clause.field: clause for clause in CLAUSES}


def defaults(declared: DeclaredDefinition) -> dict[str, Any]:
    """Return the resolved values of the clauses that no enricher decides about, by field."""
    return {
        clause.field: clause.default
        if clause.declared(declared) is None
        else clause.declared(declared)
        for clause in CLAUSES
        if clause.default is not None
    }
