"""Rows, selection, lineage and advice of the tables on the status page."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.manager.http import pages_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.freshness import SourceActivity
    from dbt.adapters.spark_mt.manager.views import TableView


SUSPENDED = "SUSPENDED"


PAGE_SIZE = 50
LONGEST_SEARCH = 200
DEFAULT_SORT = "attention"
_NEVER = -1
# What each sort goes by, and whether its first click shows the largest first.
_SORTS: dict[str, tuple[Callable[[Row], tuple[object, ...]], bool]] = {
    DEFAULT_SORT: (lambda row: (row.rank, -row.overdue), False),
    "name": (lambda row: (row.view.name,), False),
    "lag": (lambda row: (row.overdue,), True),
    "refreshed": (lambda row: (row.view.last_refresh_at_ms or _NEVER,), True),
    "engine": (lambda row: (row.view.refresh_mode, row.view.engine, row.view.strategy), False),
    "rows": (lambda row: (_NEVER if row.view.rows is None else row.view.rows,), True),
    "next": (lambda row: (row.view.next_run_at_ms is None, row.view.next_run_at_ms or 0), False),
}
MOST = 60
_ENOUGH = 3
"""Refreshes from which on their usual duration says something."""


_WRONG_ROWS = (
    "Report the query. 'incremental' = 'off' lets each refresh compute all rows. This is shown "
    "until a later verification finds equal rows."
)


class State(Enum):
    """What a list can be narrowed to; a table may be in several."""

    ATTENTION = "attention"
    LATE = "late"
    FAILING = "failing"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"
    MET = "met"


_RANKS = (
    frozenset({State.LATE, State.FAILING}),
    frozenset({State.LATE}),
    frozenset({State.FAILING}),
    frozenset({State.ATTENTION}),
    frozenset({State.UNKNOWN}),
    frozenset({State.MET}),
)
"""The first that a table's states contain is its place in the order; those the user suspended come
last."""


@dataclass(frozen=True)
class Row:
    """One table of the list.

    Args:
        view: The manager's view of the table.
        now_ms: The instant that ages and distances count from.
    """

    view: TableView
    now_ms: int

    @cached_property
    def key(self) -> str:
        """An id for HTML that is the same on every page, whatever characters the name has."""
        return "t" + hashlib.sha256(self.view.name.encode()).hexdigest()[:12]

    @cached_property
    def states(self) -> frozenset[State]:
        """Every state that the table is in."""
        view = self.view
        late = view.freshness_status is FreshnessStatus.LATE
        failing = view.failures > 0
        suspended = view.status == SUSPENDED
        by_us = suspended and bool(view.status_reason)
        held = {
            State.ATTENTION: late or failing or by_us or self.has_wrong_rows,
            State.LATE: late,
            State.FAILING: failing,
            State.SUSPENDED: suspended,
            State.UNKNOWN: view.freshness_status is FreshnessStatus.UNKNOWN,
            State.MET: view.freshness_status is FreshnessStatus.MET,
        }
        return frozenset(state for state, holds in held.items() if holds)

    @property
    def has_wrong_rows(self) -> bool:
        """Whether the newest verification found rows that differ."""
        return self.view.verification is not None and self.view.verification.is_wrong

    @property
    def needs_attention(self) -> bool:
        """Whether a user should check it."""
        return State.ATTENTION in self.states

    @property
    def overdue(self) -> float:
        """The lag as a multiple of the allowed one; 0 where it is unknown or does not count."""
        if self.view.lag_seconds is None or self.view.freshness_status is FreshnessStatus.NONE:
            return 0.0
        return self.view.lag_seconds / max(1, self.allowed)

    @cached_property
    def rank(self) -> int:
        """Its place in the order by attention."""
        fitting = (n for n, wanted in enumerate(_RANKS) if wanted <= self.states)
        return next(fitting, len(_RANKS))

    @property
    def allowed(self) -> float:
        """The largest lag in seconds at which its freshness is met."""
        measured = self.view.allowed_lag_seconds
        return self.view.freshness_seconds if measured is None else measured

    @property
    def late_since_ms(self) -> int | None:
        """Since when it is late; None while it is not or that is unknown."""
        late = (self.view.lag_seconds or 0.0) - self.allowed
        if self.view.freshness_status is not FreshnessStatus.LATE or late <= 0:
            return None
        return self.now_ms - round(late * 1000)

    @property
    def failing_since_ms(self) -> int | None:
        """The start of the first of the newest failures in a row, as far as they are known."""
        since = None
        for point in reversed(self.view.recent):
            if point.status == "FAILED":
                since = point.started_at_ms
            elif point.status != "RUNNING":
                break
        return since

    @property
    def running_since_ms(self) -> int | None:
        """The start of a refresh that runs now."""
        if self.view.recent and self.view.recent[-1].status == "RUNNING":
            return self.view.recent[-1].started_at_ms
        return None


def counts(rows: Iterable[Row]) -> dict[State, int]:
    """Count the tables of each state."""
    found = dict.fromkeys(State, 0)
    for row in rows:
        for state in row.states:
            found[state] += 1
    return found


@dataclass(frozen=True, slots=True)
class Choice:
    """What a user chose to see.

    Args:
        search: Words that all occur in what a row shows, in any case.
        state: Only tables in this state; None for all.
        sort: What the list goes by; a name of the sorts.
        backwards: Whether it goes the other way than on the first click.
        page: From 1.
    """

    search: str = ""
    state: State | None = None
    sort: str = DEFAULT_SORT
    backwards: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """Read the parameters of an address; what makes no sense counts as left out."""
        state = query.get("state", "")
        sort = query.get("sort", "")
        page = query.get("page", "")
        return cls(
            search=query.get("q", "")[:LONGEST_SEARCH].strip(),
            state=State(state) if state in {known.value for known in State} else None,
            sort=sort if sort in _SORTS else DEFAULT_SORT,
            backwards=query.get("way", "") == "back",
            page=int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1,
        )

    @property
    def address(self) -> str:
        """The address that shows this."""
        plain = Choice()
        parts = {
            "q": self.search,
            "state": self.state.value if self.state else "",
            "sort": "" if self.sort == plain.sort else self.sort,
            "way": "back" if self.backwards else "",
            "page": "" if self.page <= 1 else str(self.page),
        }
        query = urlencode({name: value for name, value in parts.items() if value})
        return f"/?{query}" if query else "/"

    def showing(self, state: State | None) -> Choice:
        """The same narrowed to another state."""
        return replace(self, state=state, page=1)

    def sorted_by(self, sort: str) -> Choice:
        """The same in another order; asked for again, the other way round."""
        again = sort == self.sort
        return replace(self, sort=sort, backwards=again and not self.backwards, page=1)

    def turned_to(self, page: int) -> Choice:
        """Another page of the same."""
        return replace(self, page=page)

    @property
    def direction(self) -> str:
        """What `aria-sort` says of the column that the list goes by."""
        return "descending" if _SORTS[self.sort][1] != self.backwards else "ascending"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tables that a choice shows.

    Args:
        choice: With the number of a page that exists.
        matching: Every table that the search finds, whatever its state, in the order of the list.
        found: Those of the chosen state.
        rows: Those of the page.
        pages: How many pages there are, at least 1.
    """

    choice: Choice
    matching: tuple[Row, ...]
    found: tuple[Row, ...]
    rows: tuple[Row, ...]
    pages: int

    @property
    def first(self) -> int:
        """The number of the page's first table, from 1."""
        return (self.choice.page - 1) * PAGE_SIZE + 1


def choose(rows: Sequence[Row], choice: Choice) -> Chosen:
    """Return the rows of the chosen page: filtered, sorted, and as many as a page has."""
    words = choice.search.lower().split()
    matching = [row for row in rows if _has(row, words)]
    key, largest_first = _SORTS[choice.sort]
    matching.sort(key=lambda row: row.view.name)
    matching.sort(key=key, reverse=largest_first != choice.backwards)
    found = tuple(row for row in matching if choice.state is None or choice.state in row.states)
    pages = max(1, -(-len(found) // PAGE_SIZE))
    page = min(max(1, choice.page), pages)
    shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return Chosen(choice.turned_to(page), tuple(matching), found, shown, pages)


def _has(row: Row, words: Sequence[str]) -> bool:
    if not words:
        return True
    view = row.view
    states = (state.value for state in row.states)
    texts = (view.name, view.refresh_mode, view.engine, view.strategy, view.activity, view.problem)
    text = " ".join((*texts, view.status, view.status_reason, *states)).lower()
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class Node:
    """A table, or a source that is none.

    Args:
        name: The full name.
        row: None of a source.
        reads: What it reads, of what is shown.
    """

    name: str
    row: Row | None
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nodes, those read before those that read them where there is no cycle.

    Args:
        left_out: How many tables and sources belong to it but are not shown.
    """

    nodes: tuple[Node, ...]
    left_out: int = 0


def lineage_of(wanted: Sequence[Row], rows: Mapping[str, Row]) -> Lineage:
    """Show tables with what they read, as many as fit, in their order.

    Args:
        wanted: The tables of the list.
        rows: Every table by its full name.
    """
    names = [name for row in wanted for name in (row.view.name, *row.view.reads)]
    return _cut(names, rows)


def lineage_around(row: Row, rows: Mapping[str, Row]) -> Lineage:
    """Show one table with all that it comes from and all that comes from it, nearest first."""
    readers: dict[str, list[str]] = {}
    for other in rows.values():
        for source in other.view.reads:
            readers.setdefault(source, []).append(other.view.name)
    reads = {name: list(other.view.reads) for name, other in rows.items()}
    up, down = _nearest(row.view.name, reads), _nearest(row.view.name, readers)
    near = sorted([*up.items(), *down.items()], key=lambda found: found[1])
    return _cut([name for name, _ in near], rows)


def _nearest(start: str, neighbours: Mapping[str, Sequence[str]]) -> dict[str, int]:
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for other in neighbours.get(name, ()):
            if other not in distances:
                distances[other] = distances[name] + 1
                waiting.append(other)
    return distances


def _cut(names: Iterable[str], rows: Mapping[str, Row]) -> Lineage:
    distinct = list(dict.fromkeys(names))
    shown = dict.fromkeys(distinct[:MOST])
    nodes = []
    for name in shown:
        row = rows.get(name)
        reads = dict.fromkeys(row.view.reads if row else ())
        nodes.append(Node(name, row, tuple(source for source in reads if source in shown)))
    return Lineage(_upstream_first(nodes), len(distinct) - len(nodes))


def _upstream_first(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Sort by depth; the members of a cycle come last, as they were."""
    left = list(nodes)
    done: dict[str, Node] = {}
    while left:
        ready = [node for node in left if all(source in done for source in node.reads)]
        for node in ready or left:
            done[node.name] = node
        left = [node for node in left if node.name not in done]
    return tuple(done.values())


@dataclass(frozen=True, slots=True)
class Advice:
    """Why a table needs attention.

    Args:
        facts: What is wrong and since when, one sentence each.
        causes: Full names of troubled tables that it reads, directly or through others: look there
            first.
        remedy: What to do, one sentence; empty when the text of the failure says it.
    """

    facts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    remedy: str = ""


def advise(row: Row, rows: Mapping[str, Row]) -> Advice:
    """Return causes and remedy of a table.

    Args:
        row: The table.
        rows: Every table by its full name, to find the cause upstream.
    """
    if not row.needs_attention:
        return Advice()
    on_the_way = (stage.table for stage in row.view.lag_stages if stage.table != row.view.name)
    upstream = dict.fromkeys((*row.view.reads, *on_the_way))
    troubled = {State.ATTENTION, State.SUSPENDED}
    causes = tuple(
        name for name in upstream if (other := rows.get(name)) and other.states & troubled
    )
    return Advice(_facts(row), causes, _remedy(row, causes))


def _facts(row: Row) -> tuple[str, ...]:
    view, found = row.view, []
    since = row.late_since_ms
    if since is not None:
        late = pages_format.duration((row.now_ms - since) / 1000)
        at = pages_format.clock_time(since, row.now_ms)
        found.append(f"It has been late for {late}, since {at}.")
    elif view.freshness_status is FreshnessStatus.LATE:
        found.append("Its lag to its base tables is larger than its freshness allows.")
    if view.failures:
        since = row.failing_since_ms
        # Where all that is known failed, the first failure may have been earlier.
        complete = all(point.status in {"FAILED", "RUNNING"} for point in view.recent)
        at = (
            ""
            if since is None or complete
            else f", since {pages_format.clock_time(since, row.now_ms)}"
        )
        times = pages_format.plural(view.failures, "time")
        found.append(f"Its refresh failed {times} in a row{at}.")
    if view.verification is not None and view.verification.is_wrong:
        at = pages_format.clock_time(view.verification.at_ms, row.now_ms)
        found.append(f"The verification of {at} found wrong rows: {view.verification.problem}")
    if view.status == SUSPENDED:
        found.append("The manager has suspended it.")
    return (*found, *_small_files(view.source_activities))


def _small_files(sources: Iterable[SourceActivity]) -> Iterator[str]:
    """Yield each source whose files make reading it slow."""
    for source in sources:
        if source.compaction:
            files, size = (
                pages_format.plural(source.files or 0, "file"),
                pages_format.size_text(source.file_bytes or 0),
            )
            yield f"{source.table} has {files} of {size} on average: {source.compaction}."


def _remedy(row: Row, causes: tuple[str, ...]) -> str:
    if row.view.status == SUSPENDED:
        return "Remove the cause, then resume it."
    if row.view.failures:
        return "Remove the cause; the manager tries again, and Refresh now does so at once."
    if causes and not row.has_wrong_rows:
        return "It will catch up once what it reads has."
    return _WRONG_ROWS if row.has_wrong_rows else _upstream(row) or _slow(row)


def _upstream(row: Row) -> str:
    """Name the table for which the oldest missing change has waited most, if that is another."""
    slowest = max(row.view.lag_stages, key=lambda stage: stage.seconds, default=None)
    if slowest is None or slowest.table == row.view.name:
        return ""
    return (
        f"{pages_format.duration(slowest.seconds)} of its lag arise in {slowest.table}: give that "
        "a smaller freshness, or this one a larger one."
    )


def _slow(row: Row) -> str:
    lasted = [
        point.duration_ms / 1000
        for point in row.view.recent
        if point.status == "FINISHED" and point.duration_ms is not None
    ]
    usual = median(lasted) if len(lasted) >= _ENOUGH else 0.0
    allowed = row.view.freshness_seconds
    if usual * 2 > allowed:
        return (
            f"A refresh usually takes {pages_format.duration(usual)}, too long for a freshness of "
            f"{pages_format.duration(allowed)}{_change_rate(row)}: make the query cheaper, or "
            "allow for more."
        )
    running = row.running_since_ms
    if running is not None:
        so_far = pages_format.duration((row.now_ms - running) / 1000)
        return f"A refresh has been running for {so_far}; it will show when that has ended."
    return "No refresh has failed: see on its page who runs its refresh, and what its sources say."


def _change_rate(row: Row) -> str:
    """Name the source that changes most often."""
    rates = [
        (source.change_seconds, source.table)
        for source in row.view.source_activities
        if source.change_seconds is not None
    ]
    if not rates:
        return ""
    seconds, table = min(rates)
    return f" while {table} changes every {pages_format.duration(seconds)}"
