"""Which tables a list shows, and in which order: what stands in the address of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dbt.adapters.spark_mt.service.http.pages_rows import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.service.http.pages_rows import Row

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
    """Search, narrow, sort and cut."""
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
