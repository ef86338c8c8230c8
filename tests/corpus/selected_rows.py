"""Rows of tables for which a query returns rows, some of which share the rows of dimensions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import count
from typing import TYPE_CHECKING

from tests.corpus import calendar
from tests.corpus.conditions import conditions
from tests.corpus.trials import Database
from tests.corpus.witnesses import Table, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.corpus.sources import Choice, Column, Row
    from tests.corpus.values import Value

_FACTS = ("_sales", "_returns", "inventory")
_KEYS_OF_QUERY = 100_000
_TRIES, _LAST_TRIES, _VARIANTS, _GOOD = 30, 90, 6, 2
_ENOUGH = 4
_RENEWALS = 4
_CHANGED = 0.35
_WAYS = ((0.0, True), (0.8, True), (0.8, True), (0.15, False), (0.35, False))
"""How variants of rows differ: the share of the columns, and whether dimensions stay."""
_NULLS = 0.05
_NOISE = 3
_MEASURES = (0, 0, 1, 5, 20, 50, 100, 100, 100, 250, 800)
_STEADY = "100.00"


def is_fact(table: str) -> bool:
    """Whether the rows of a table have no key of their own."""
    return table.endswith(_FACTS)


@dataclass
class SelectedRows:
    """Rows for one query.

    Args:
        text: The query.
        columns: The columns of the tables that it reads.
        choice: What chooses among values.
        place: The place of the query among others, whose rows have other keys.
    """

    text: str
    columns: Mapping[str, tuple[Column, ...]]
    choice: Choice
    place: int
    _known: dict[tuple[str, Value], dict[str, Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with the keys of the query."""
        self._keys = count((self.place + 1) * _KEYS_OF_QUERY)
        self._last = next(self._keys)
        self._tables = {
            name: Table("" if is_fact(name) else columns[0].name, {c.name: c.type for c in columns})
            for name, columns in self.columns.items()
        }

    def found(self) -> dict[str, list[Row]]:  # noqa: PLR0912 - one loop
        """Return the rows of each table.

        Rows are added as long as the query returns few rows, and if it then returns more.
        """
        rows: dict[str, list[Row]] = {name: [] for name in self.columns}
        database = Database(self.columns)
        kept, seen, before = 0, 0, None
        for tried in range(_LAST_TRIES):
            if tried >= _TRIES and seen:
                break
            more = self._of_one_choice()
            if more is None:
                continue
            with database.trial() as trial:
                for name, each in more.items():
                    database.insert(name, each)
                result = database.rows(self.text) or []
                now = sum(any(value not in (None, 0) for value in row) for row in result)
                is_better = now > seen or (now == seen > 0 and result != before and kept < _GOOD)
                if is_better:
                    trial.keep()
            if is_better:
                kept, seen, before = kept + 1, now, result
                for name, each in more.items():
                    rows[name].extend(each)
            is_complete = all(rows.values()) or tried >= _TRIES // 2
            if kept >= _GOOD and seen >= _ENOUGH and is_complete:
                break
        database.close()
        for name, each in rows.items():
            each.extend(self._noise(name, each))
        return rows

    def _of_one_choice(self) -> dict[str, list[Row]] | None:
        """Return rows for one choice among the alternatives of the query, and variants of them."""
        wanted = conditions(self.text, self.columns, self.choice)
        if wanted is None:
            return None
        witness = Witness(wanted, self._tables, self.choice, self._fresh)
        if witness.unmet:
            return None
        self._is_steady = self.choice.random() < 1 / 3
        self._known.clear()
        share, only_facts = self.choice.choice(_WAYS)
        rows: dict[str, list[Row]] = {name: [] for name in self.columns}
        for _ in range(self.choice.choice((1, *range(1, _VARIANTS + 1)))):
            self._settle(witness)
            for name, row in self._rows(witness):
                rows[name].append(row)
            witness.vary(share, only_facts=only_facts)
        return rows

    def _fresh(self) -> int:
        self._last = next(self._keys)
        return self._last

    def _settle(self, witness: Witness) -> None:
        """Give rows other keys that have other values than the known rows with their keys."""
        for _ in range(_RENEWALS):
            changed = False
            for row, name in witness.conditions.rows.items():
                key = self._tables[name].key
                if key and name != calendar.TABLE:
                    values = witness.read(row)
                    known = self._known.get((name, values.get(key)))
                    if known is not None and any(known.get(n) != v for n, v in values.items()):
                        witness.renew(row)
                        changed = True
            if not changed:
                return

    def _rows(self, witness: Witness) -> Iterator[tuple[str, Row]]:
        for row, name in witness.conditions.rows.items():
            values = witness.read(row)
            if name == calendar.TABLE:
                values = {c.name: witness.get(row, c.name) for c in self.columns[name]}
            key = self._tables[name].key
            if key:
                known = name, values.get(key)
                if known in self._known and known[1] is not None:
                    continue
                self._known[known] = values
            first = self._row(name, values)
            yield name, first
            for _ in range(1, witness.conditions.copies.get(row, 1)):
                yield name, self._like(name, first, values)

    def _row(self, name: str, values: Mapping[str, Value]) -> Row:
        return tuple(
            _text(values[column.name], column)
            if column.name in values
            else self._other(column, is_key=place == 0 and not is_fact(name))
            for place, column in enumerate(self.columns[name])
        )

    def _like(self, name: str, row: Row, values: Mapping[str, Value]) -> Row:
        """Return a row that a count counts with another: its key and its amounts are its own."""
        columns = self.columns[name]
        key = () if is_fact(name) else (0,)
        free = [
            place
            for place, column in enumerate(columns)
            if place in key or (column.type.startswith("DECIMAL") and column.name not in values)
        ]
        return tuple(
            self._other(columns[place], is_key=place in key) if place in free else value
            for place, value in enumerate(row)
        )

    def _other(self, column: Column, *, is_key: bool) -> str | None:  # noqa: PLR0911 - one case each
        """Return a value of a column that no condition names."""
        choice = self.choice
        if is_key:
            return str(self._fresh())
        if choice.random() < _NULLS:
            return None
        if column.type == "INT" and column.name.endswith(("_sk", "_number")):
            return str(choice.randrange(self._last - 20, self._last + 5))
        if column.type == "INT":
            return str(choice.randrange(1, 13))
        if column.type == "DATE":
            return str(calendar.FIRST + timedelta(choice.randrange(calendar.DAYS)))
        if column.type.startswith("DECIMAL"):
            return _STEADY if self._is_steady else f"{choice.choice(_MEASURES)}.25"
        return choice.choice("abc")

    def _noise(self, name: str, rows: Sequence[Row]) -> Iterator[Row]:
        """Yield rows that resemble others, with NULLs and with keys without a partner."""
        if not rows:
            return
        columns = self.columns[name]
        if is_fact(name):
            yield self.choice.choice(rows)  # a row twice
        for _ in range(_NOISE):
            if name == calendar.TABLE:
                day = self.choice.choice(calendar.days())
                yield tuple(_text(day.get(c.name), c) for c in columns)  # type: ignore[arg-type]
                continue
            row = list(self.choice.choice(rows))
            for place in range(len(row)):
                if self.choice.random() < _CHANGED / 2:
                    other = self.choice.choice(rows)[place]
                    row[place] = None if self.choice.random() < 1 / 2 else other
            if not is_fact(name):
                row[0] = str(self._fresh())
            yield tuple(row)


def _text(value: Value, column: Column) -> str | None:
    if value is None:
        return None
    if column.type.startswith("DECIMAL"):
        return f"{float(value):.2f}"  # type: ignore[arg-type]
    if isinstance(value, date):
        return value.isoformat()
    length = re.search(r"CHAR\((\d+)\)", column.type)
    return str(value)[: int(length[1])] if length else str(value)
