"""Values of a choice: a strategy, what it is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import with_article
from dbt.adapters.spark_mt.definition.positions import (
    ChangeExtent,
    ChangeKind,
    DefinitionPosition,
)
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.strategies import reasons
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.positions import Positions, SourcePositions
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import Source
    from dbt.adapters.spark_mt.strategies.table_facts import TableFacts


BATCH, INCREMENTAL, STREAM = "batch", "incremental", "stream"
"""Engines: a query over all rows, a query over changes, Structured Streaming."""
RECOMPUTE, APPEND, MERGE, WINDOW = "recompute", "append", "merge", "window"
DIFFERENTIAL, STATEFUL, NONE = "differential", "stateful", "none"
"""Strategies, as they are stored and shown."""


REMEMBERED = 20
"""After how many refreshes by one strategy the duration of the other one is measured again."""
_HAPPENED = {
    ChangeKind.GONE: ("SOURCE_HISTORY_GONE", "what happened to {} since then cannot be read"),
    ChangeKind.REPLACED: ("SOURCE_RECREATED", "{} was dropped and created again"),
    ChangeKind.REMOVED: ("ROWS_CHANGED", "rows of {} were removed or changed"),
}


class OutputMode(Enum):
    """Rows that a stream emits after each batch."""

    APPEND = "append"
    """Rows that never change again."""
    UPDATE = "update"
    """The new state of every group that the batch touched."""


class Write(Enum):
    """How computed rows reach the table."""

    REPLACE = "they replace all rows"
    ADD = "they are added"
    KEYS = "they replace the rows of the keys that the changes touch"
    CHANGE = "rows that the result lost are removed, rows that it gained are added"
    BATCHES = "a stream adds or replaces the rows of each batch"
    NONE = "no rows can be computed"


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated cost of a refresh.

    Args:
        seconds: From the last refresh of the table by the same strategy; None where unknown.
        rows: Rows that it has to write; None where unknown.
        repeated: How many of the newest refreshes used the strategy without a break.
        ago: How many refreshes came after that one.
        source_rows: How many rows of the sources had changed, or all of them where all were read;
            None where unknown.
        is_cold: Whether that refresh was one of the first of its process: in these the JVM loads
            and compiles code, so they take up to three times as long as later ones.
    """

    seconds: float | None = None
    rows: int | None = None
    repeated: int = 0
    ago: int = 0
    source_rows: int | None = None
    is_cold: bool = False

    def estimate(self, source_rows: int, exponent: float, most: float) -> float | None:
        """Return how many seconds a refresh may take; None where nothing is known.

        Args:
            source_rows: How many rows of the sources it is about.
            exponent: How the duration follows their number.
            most: How many times as long or as short as the last one it is at most.
        """
        if self.seconds is None or not self.source_rows:
            return self.seconds
        factor: float = (max(source_rows, 1) / self.source_rows) ** exponent
        return self.seconds * min(max(factor, 1 / most), most)

    def __str__(self) -> str:
        """For people: `3.2 seconds, 1500 rows`."""
        seconds = () if self.seconds is None else (f"{self.seconds:.1f} seconds",)
        rows = () if self.rows is None else (f"{self.rows} rows",)
        return ", ".join((*seconds, *rows))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A strategy that is not used, with every reason.

    Args:
        strategy: Its name.
        is_final: Whether no other strategy may be used instead: the rows would be wrong or lost.
        since: Positions after which it would have read changes.
        alternative: Why no other strategy is possible, as part of a sentence.
        source_rows: How many rows the sources have; None where that was not read.
    """

    strategy: str
    reasons: tuple[Reason, ...]
    is_final: bool = False
    since: SourcePositions = ()
    alternative: str = ""
    source_rows: int | None = None

    @classmethod
    def of(cls, strategy: str, code: str, text: str, subject: str = "") -> Refusal:
        """Return a refusal for one reason."""
        return cls(strategy, (Reason(code, subject, text),))


@dataclass(frozen=True, slots=True)
class Choice:
    """How the rows of a table are computed, in general or by one refresh.

    Args:
        engine: `batch`, `incremental` or `stream`.
        strategy: `recompute`, `append`, `merge`, `window`, `stateful`; `none` where all refuse.
        reasons: Every reason, the one that decided first.
        write: How the rows reach the table.
        since: Only source rows after these positions count; None where all do.
        output_mode: For a stream: which rows each batch passes on.
        key: For a stream: columns of the table by which the rows of a batch replace rows; empty
            where they are added.
        followed: For a stream: full names of the sources that it reads as streams; it reads all
            others as they are at each batch.
        watermarks: For a stream: those of the option `watermark`, by the full names of sources.
        keeps_checkpoint: Whether the rows come from a stream that needs its checkpoint to resume.
        possible: Names of the strategies that the definition allows, the preferred one first.
        refused: The strategies that are not used.
        cost: What a refresh costs; None where unknown.
        costs: The cost of the last refresh of the table by each strategy.
        source_rows: How many rows of the sources changed, or all of them where all are read; None
            where unknown.
    """

    engine: str
    strategy: str
    reasons: tuple[Reason, ...] = ()
    write: Write = Write.REPLACE
    since: SourcePositions | None = None
    output_mode: OutputMode | None = None
    key: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, Watermark], ...] = ()
    keeps_checkpoint: bool = False
    possible: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    cost: Cost | None = None
    costs: tuple[tuple[str, Cost], ...] = ()
    source_rows: int | None = None

    @property
    def name(self) -> str:
        """Engine and strategy: `stream/append`."""
        return f"{self.engine}/{self.strategy}"

    @property
    def is_stream(self) -> bool:
        """Whether Structured Streaming computes the rows."""
        return self.engine == STREAM

    @property
    def runs_batches(self) -> bool:
        """Whether a stream resumes after the rows of the table."""
        return self.write is Write.BATCHES

    @property
    def reads_changes(self) -> bool:
        """Whether a refresh may apply the changes of the sources instead of computing all rows."""
        return RECOMPUTE not in self.possible or not {*self.possible} <= {STREAM, RECOMPUTE}

    @property
    def reason(self) -> str:
        """Every reason, for people, with what it is about."""
        return "; ".join(dict.fromkeys(reason.text for reason in self.reasons))

    @property
    def explanation(self) -> str:
        """Every reason with its code, in one line."""
        return "; ".join(map(str, self.reasons))

    @property
    def alternatives(self) -> str:
        """The other strategies that a refresh may use: `merge, window`; empty without one."""
        own = STREAM if self.is_stream else self.strategy
        return ", ".join(name for name in self.possible if name != own)

    @property
    def refusals(self) -> tuple[tuple[str, Reason], ...]:
        """The strategies that are not used, each with a reason that the choice itself lacks.

        A strategy for tables with a baseline is left out for a table without one, and one that an
        option switches off.
        """
        known = {reason.code for reason in self.reasons} | {
            reasons.NO_BASELINE,
            reasons.SWITCHED_OFF,
        }
        return tuple(
            (refusal.strategy, reason)
            for refusal in self.refused
            for reason in refusal.reasons
            if reason.code not in known
        )


class Request(Enum):
    """What is asked of the strategies."""

    KEEP = "how the table is kept"
    FILL = "all rows of a new or changed table"
    REFRESH = "the rows of the newest state of the sources"
    FORCED = "all rows, even if no source has moved"
    PARTITIONS = "the rows of some partitions"
    HOST = "fresh rows for as long as the table is hosted"


def _no_changes(since: SourcePositions) -> Mapping[str, ChangeKind]:
    return dict.fromkeys((name for name, _ in since), ChangeKind.NONE)


def _no_extents(since: SourcePositions) -> Mapping[str, ChangeExtent]:
    return dict.fromkeys((name for name, _ in since), ChangeExtent(ChangeKind.NONE))


def _no_types(since: SourcePositions) -> Mapping[str, tuple[str, ...]]:
    return dict.fromkeys((name for name, _ in since), ())


@dataclass(frozen=True, slots=True)
class RefreshInputs:
    """State of a table and its sources when a refresh begins; ports are read only if needed.

    Args:
        request: What is asked for.
        positions: Of the rows that the table has; None where they are unknown.
        newest: Of the sources.
        changes: Reads what happened to sources between some positions and the newest ones.
        extents: Reads from the logs how much happened to sources between these positions.
        foreign: Versions of the table in which others changed rows that it still has.
        is_partly_refreshed: Reads whether partitions reflect another state of the sources than the
            rest of the table.
        is_readable: Reads whether a source is still the one that a position names.
        can_resume: Reads whether the checkpoint of the table's rows is there.
        costs: Cost of earlier refreshes of this table, by strategy.
        refused: Preferred strategies that this refresh cannot use; `choose` fills it in.
        changed_types: Reads which columns that the query reads of a source changed their types
            between some positions and the newest ones, each as a clause for people.
    """

    request: Request
    positions: Positions | None = None
    newest: Positions = field(default_factory=dict)
    changes: Callable[[SourcePositions], Mapping[str, ChangeKind]] = _no_changes
    extents: Callable[[SourcePositions], Mapping[str, ChangeExtent]] = _no_extents
    foreign: tuple[int, ...] = ()
    is_partly_refreshed: Callable[[], bool] = bool
    is_readable: Callable[[SourcePositions], bool] = bool
    can_resume: Callable[[], bool] = bool
    costs: Mapping[str, Cost] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    changed_types: Callable[[SourcePositions], Mapping[str, tuple[str, ...]]] = _no_types

    @property
    def redefined(self) -> tuple[str, ...]:
        """Views and functions whose definition is not that of the table's rows."""
        return redefined(self.positions, self.newest)


def redefined(before: Positions | None, now: Positions) -> tuple[str, ...]:
    """Return the views and functions whose definition differs between two sets of positions."""
    known = before or {}
    return tuple(
        name
        for name, position in sorted(now.items())
        if isinstance(position, DefinitionPosition)
        and not (name in known and position.same_state(known[name]))
    )


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to keep the rows of a table.

    Args:
        name: As it is stored and shown.
        possible: Returns how the strategy keeps a table, or why its definition forbids it. It knows
            the definition, the query and the baseline alone.
        usable: Returns how one refresh uses what `possible` returned, or why it cannot. It knows
            also the positions of the table, the changes of its sources, and the preferred
            strategies that were refused.
    """

    name: str
    possible: Callable[[TableFacts], Choice | Refusal]
    usable: Callable[[TableFacts, Choice, RefreshInputs], Choice | Refusal]


def changed_views(strategy: str, inputs: RefreshInputs) -> Refusal:
    """Refuse a strategy because the rows are those of older definitions of views."""
    names = ", ".join(inputs.redefined)
    return Refusal.of(strategy, "VIEW_CHANGED", f"the definition of {names} changed", names)


def retyped(
    strategy: str, inputs: RefreshInputs, since: SourcePositions, *, is_final: bool = False
) -> Refusal | None:
    """Refuse a strategy where the rows at some positions had other types than the newest ones.

    Changes between the two do not account for the values that the query makes of unchanged rows.
    It is asked before the changes themselves, which cannot be read over two types.
    """
    found = tuple(
        Reason(
            reasons.TYPES_CHANGED, name, f"columns of {name} have other types: {', '.join(changes)}"
        )
        for name, changes in inputs.changed_types(since).items()
        if changes
    )
    return Refusal(strategy, found, is_final, since) if found else None


def unread(strategy: str, names: Sequence[str]) -> Refusal:
    """Refuse a strategy because the rows have no position in some sources."""
    text = ", ".join(names)
    return Refusal.of(strategy, "POSITIONS_UNKNOWN", f"the rows have no position in {text}", text)


def all_rows(strategy: str, inputs: RefreshInputs) -> Refusal:
    """Refuse a strategy that computes only what changed."""
    return Refusal.of(strategy, "ALL_ROWS", f"{inputs.request.value} are asked for")


def disallowed(kinds: Mapping[str, ChangeKind], *allowed: ChangeKind) -> Iterator[Reason]:
    """Yield what happened to sources that a strategy cannot apply."""
    for name, kind in kinds.items():
        if kind not in (ChangeKind.NONE, *allowed):
            code, text = _HAPPENED[kind]
            yield Reason(code, name, text.format(name))


def kind_of(source: Source) -> str:
    """Return what a source is, for people."""
    return with_article(f"{source.format} table") if source.format else "a table of unknown format"


def follows(sources: Sequence[Source]) -> Iterator[Reason]:
    """Yield by what each source is followed."""
    for source in sources:
        name = str(source.name)
        if source.kind is SourceKind.VERSIONED:
            yield Reason("VERSIONED_SOURCE", name, f"{name} is followed by its versions")
        else:
            text = f"{name} is followed by its {source.format} log"
            yield Reason("LOG_SOURCE", name, text)
