"""The clauses of a definition, as one table: a clause is one entry of `CLAUSES`.

The entry drives parser, renderer, defaults, diff, SHOW, DESC and the config of dbt models. The
value of a clause is a field of `DeclaredDefinition`, and of `ResolvedDefinition` if it is resolved.
Statements have clauses in their order up to AS.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions, modes
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements import values as clause_values
from dbt.adapters.spark_mt.statements.lexer import Cursor, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, ResolvedDefinition
    from dbt.adapters.spark_mt.definition.modes import ResolvedStartMode

    Fold = Callable[[str], str]
    """Returns the form of a name in which the session compares names."""


_MOST_WORDS = 12
"""How many tokens a value has at most; a value after a missing equals sign is searched for."""


_BUCKETS = frozenset({"DISTRIBUTED", "CLUSTERED", "BUCKETED"})
_QUERY_WORDS = frozenset({"SELECT", "FROM", "VALUES", "WITH"})
_OTHER_NAMES = {"OPTIONS": "WITH", "PROPERTIES": "WITH", "PARTITION": "PARTITIONED BY"}


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
    sql: Callable[[Any], str] = lambda value: str(value.sql)
    example: str = ""
    spellings: tuple[str, ...] = ()
    excludes: str = ""
    alter: Alter = Alter.NONE
    label: str = ""
    noun: str = ""
    shown: Callable[[Any], str] | None = None
    key: Callable[[Any, Fold], object] = lambda value, _: value
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
            raise cursor.missing_equals(self.keyword, self._value_ahead(cursor))
        return self.read(cursor)

    def read_alone(self, text: str) -> Any:  # noqa: ANN401
        """Read a value that is all of a text, as in the config of a dbt model.

        Raises:
            StatementSyntaxError: It is no value of the clause, or something follows it.
        """
        cursor = Cursor(text)
        cursor.statement = "The value"
        value = self.read(cursor)
        if not cursor.at_end():
            raise cursor.expected(what="the end of the value")
        return value

    def _value_ahead(self, cursor: Cursor) -> str:
        """Return the text of the value that comes next, or the example."""
        for words in range(_MOST_WORDS, 0, -1):
            text = cursor.text_between(cursor.peek(), cursor.peek(words - 1))
            try:
                self.read_alone(text)
            except StatementSyntaxError:
                continue
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


def lines_text(items: Iterable[str]) -> str:
    """Return items in parentheses, one a line."""
    return "(\n  " + ",\n  ".join(items) + "\n)"


def options_text(options: Pairs) -> str:
    """Return options as a statement has them, one a line."""
    return lines_text(f"{quote_text(key)} = {quote_text(value)}" for key, value in options)


def names_text(names: Iterable[str]) -> str:
    """Return names as a statement has them."""
    return f"({', '.join(quote(name) for name in names)})"


def _start(start: ResolvedStartMode, _: Fold) -> object:
    """Compare relative start modes by interval, absolute ones by instant."""
    mode = start.mode
    if mode.type.fallback is modes.StartModeType.FROM_TIMESTAMP:
        return mode.type, start.instant_ms
    return mode.type, mode.interval and mode.interval.length


def _start_effect(wanted: ResolvedDefinition) -> Effect:
    """RESUME_OR_* applies at the next change of the query, another form at once."""
    resumes = wanted.start_mode.mode.type.resumes
    acts = wanted.refresh_mode is modes.RefreshMode.CONTINUOUS and not resumes
    return Effect.CONTENT if acts else Effect.TEXT


def _start_warning(wanted: ResolvedDefinition, _: bool) -> str:  # noqa: FBT001
    if wanted.refresh_mode is modes.RefreshMode.CONTINUOUS or wanted.declared.start_mode is None:
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
        clause_values.read_column_names,
        Place.HEAD,
        sql=names_text,
        excludes="clustered_by",
        label="Partitioned by",
        noun="partitioning",
        key=lambda names, fold: tuple(map(fold, names)),
        effect=lambda _: Effect.IMPOSSIBLE,
        config=ConfigKey(
            "partition_by", "none", "A column or a list of columns; cannot change in place."
        ),
    ),
    Clause(
        "CLUSTER BY",
        "clustered_by",
        clause_values.read_column_names,
        Place.HEAD,
        sql=names_text,
        excludes="partitioned_by",
        label="Clustered by",
        noun="clustering",
        key=lambda names, fold: tuple(map(fold, names)),
        effect=lambda _: Effect.STORAGE,
        config=ConfigKey("cluster_by", "none", "A column or a list of columns."),
    ),
    Clause(
        "WITH",
        "options",
        clause_values.read_options,
        Place.HEAD,
        sql=options_text,
        spellings=("TBLPROPERTIES",),
        config=ConfigKey("options", "none", "A mapping, as in WITH (...).", ("tblproperties",)),
    ),
    Clause(
        "FRESHNESS",
        "freshness",
        clause_values.read_freshness,
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
            "`{count: 3, period: minute}` or `{build_after: {count: 3, period: minute}}`. Next to "
            "dbt's own mapping under `freshness`, write it as `freshness_interval`.",
            ("freshness",),
        ),
    ),
    Clause(
        "REFRESH_MODE",
        "refresh_mode",
        clause_values.read_refresh_mode,
        Place.REFRESH,
        sql=lambda mode: str(mode.value),
        example="FULL",
        alter=Alter.ALONE,
        label="Refresh mode",
        effect=lambda _: Effect.REFRESH,
        is_resolved=True,
        implied=modes.LogicalRefreshMode.AUTOMATIC,
        source="freshness",
        config=ConfigKey(
            "refresh_mode", "automatic", "`automatic`, `continuous` or `full`, in any case."
        ),
    ),
    Clause(
        "START_MODE",
        "start_mode",
        clause_values.read_start_mode,
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
        clause_values.read_state_retention,
        Place.EVOLUTION,
        example="NONE",
        alter=Alter.WITH_QUERY,
        label="State retention",
        key=lambda retention, _: (retention.type, frozenset(retention.operators)),
        effect=lambda _: Effect.TEXT,
        is_resolved=True,
        default=modes.KEEP_NONE,
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
    values = {c: c.declared(declared) for c in CLAUSES if c.default is not None}
    return {c.field: c.default if value is None else value for c, value in values.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """What may precede AS: a clause in one of its spellings, or the column list.

    Args:
        field: Which part of the definition it gives; two spellings of one clause share it.
        words: What it begins with.
        read: Reads what follows the words.
        title: Its name in messages, if that is not its words.
        keep: Whether `read` reads the words as well.
        excludes: The field of a clause that the same statement cannot have.
    """

    field: str
    words: tuple[str, ...]
    read: Callable[[Cursor], object]
    title: str = ""
    keep: bool = False
    excludes: str = ""

    def __str__(self) -> str:
        """Its words, or its title."""
        return self.title or " ".join(self.words)


def parts_of(clause: Clause, *before: str) -> tuple[Part, ...]:
    """Return a clause in all of its spellings, with the words `before` each."""
    return tuple(
        Part(clause.field, (*before, *words.split()), clause.read_value, excludes=clause.excludes)
        for words in (clause.keyword, *clause.spellings)
    )


@dataclass(frozen=True, slots=True)
class PartList:
    """The parts of a statement before AS, in the usual order.

    Args:
        orders: Every order of fields that is accepted, the usual one first.
    """

    parts: tuple[Part, ...]
    orders: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """The parts in the usual order, for messages."""
        first_spellings = {part.field: part for part in reversed(self.parts)}
        return ", ".join(str(part) for part in self.parts if first_spellings[part.field] is part)


def read_clauses(cursor: Cursor, known: PartList) -> dict[str, object]:
    """Read clauses up to AS, which is read as well; return the values by field.

    Raises:
        StatementSyntaxError: A clause is unknown, misplaced, repeated, or AS is missing.
    """
    values: dict[str, object] = {}
    before: list[Part] = []
    while not cursor.accept("AS"):
        part = next((part for part in known.parts if cursor.at(*part.words)), None)
        # WITH without a parenthesis is a query whose AS was forgotten.
        if part is None or (part.words == ("WITH",) and cursor.peek(1).text != "("):
            raise _no_clause(cursor, known)
        _check_place(cursor, known, before, part)
        if not part.keep:
            cursor.expect(*part.words)
        values[part.field] = part.read(cursor)
        before.append(part)
    return values


def _check_place(cursor: Cursor, known: PartList, before: list[Part], part: Part) -> None:
    fields = [each.field for each in before]
    if part.field in fields:
        raise cursor.error(conditions.REPEATED_CLAUSE, clause=part)
    other = next((each for each in before if part.field == each.excludes), None)
    if other is not None:
        raise cursor.error(conditions.PARTITIONED_AND_CLUSTERED, other=other)
    fitting = [order for order in known.orders if fields == sorted(fields, key=order.index)]
    ranks = [(order.index(part.field), order) for order in fitting]
    if any(rank > max(map(order.index, fields), default=-1) for rank, order in ranks):
        return
    rank, order = ranks[0]
    later = next(each for each in before if order.index(each.field) > rank)
    raise cursor.error(conditions.CLAUSE_OUT_OF_ORDER, clause=part, before=later, clauses=known)


def _no_clause(cursor: Cursor, known: PartList) -> Exception:
    token = cursor.peek()
    if token.keyword in _BUCKETS:
        return cursor.error(conditions.DISTRIBUTED)
    if token.keyword in _QUERY_WORDS:
        return cursor.error(conditions.MISSING_AS)
    if cursor.at_end() or cursor.at(";"):
        return cursor.expected("AS and the query")
    if other := _OTHER_NAMES.get(token.keyword):
        suggestion = f"Did you mean {other}? "
    else:
        suggestion = did_you_mean(token.keyword, (*map(str, known.parts), "AS"))
    return cursor.error(conditions.UNKNOWN_CLAUSE, clauses=f"{known}, AS", suggestion=suggestion)
