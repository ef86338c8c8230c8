"""Statements that change the results of queries, found by trying statements in DuckDB."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from tests.corpus.selected_rows import is_fact
from tests.corpus.sources import ROUNDS, Choice, Source, changes
from tests.corpus.trials import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.corpus.queries import Query
    from tests.corpus.sources import Row

_TRIES, _OFTEN = 6, 2


@dataclass
class EffectiveChanges:
    """Statements of each round: for each query one of a table of facts and one of a dimension.

    A statement changes the rows of a query's result, where a few tries find one that does. No
    query fails by it or loses all of its rows.

    Args:
        queries: The queries.
        rows: The rows of each query's tables.
        sources: The tables with all rows.
        seed: The seed of the changes.
    """

    queries: Sequence[Query]
    rows: Mapping[str, Mapping[str, Sequence[Row]]]
    sources: Mapping[str, Source]
    seed: int
    _results: dict[str, object] = field(default_factory=dict)

    def statements(self) -> dict[str, list[str]]:
        """Return the statements of each round."""
        self._database = Database({s.name: s.columns for s in self.sources.values()})
        for source in self.sources.values():
            self._database.insert(source.name, source.rows)
        for query in self.queries:
            self._results[query.name] = self._database.rows(query.text)
        found = {round_: list(self._of_round(round_)) for round_ in ROUNDS}
        self._database.close()
        return found

    def _of_round(self, round_: str) -> Iterator[str]:
        changed: Counter[str] = Counter()
        choice = Choice(f"{self.seed} {round_}")
        for query in choice.sample(self.queries, len(self.queries)):
            names = self.rows[query.name]
            for is_wanted in (True, False):
                group = [name for name in names if is_fact(name) == is_wanted]
                if group:
                    yield from self._of_query(query, group, round_, changed)

    def _of_query(
        self, query: Query, names: Sequence[str], round_: str, changed: Counter[str]
    ) -> Iterator[str]:
        """Yield a statement for one of some tables, of those that changed the least often."""
        choice = Choice(f"{self.seed} {query.name} {round_} {names}")
        for _ in range(_TRIES):
            least = min(changed[name] for name in names)
            if least == _OFTEN:
                return
            name = choice.choice([name for name in names if changed[name] < least + 1])
            text = self._statement(query, name, round_, choice)
            if text is not None and self._is_effective(query, name, text):
                changed[name] += 1
                yield text
                return

    def _statement(self, query: Query, name: str, round_: str, choice: Choice) -> str | None:
        source = self.sources[name]
        text = query.text.lower()
        preferred = [p for p, column in enumerate(source.columns) if column.name in text]
        own = Source(name, source.columns, tuple(self.rows[query.name][name]))
        return changes(own, round_, choice, preferred)

    def _is_effective(self, query: Query, name: str, text: str) -> bool:
        """Apply a statement if it changes a query's result and ends none; whether it was."""
        others = [q for q in self.queries if q is not query and name in self.rows[q.name]]
        with self._database.trial() as trial:
            try:
                self._database.execute(text)
            except duckdb.Error:
                return False
            results = {}
            for each in (query, *others):
                before = self._results[each.name]
                now = self._database.rows(each.text)
                if now is None or (before and not now) or (each is query and now == before):
                    return False
                results[each.name] = now
            trial.keep()
        self._results.update(results)
        return True
