"""Rows that meet conditions: values for the columns that these compare, found by repair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from tests.corpus import calendar
from tests.corpus.conditions import is_of_aggregates
from tests.corpus.values import NotKnownError, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.corpus.conditions import Conditions
    from tests.corpus.sources import Choice
    from tests.corpus.values import Value

    Place = tuple[str, str]
    """A row and a column."""

_REPAIRS, _PATIENCE = 80, 12
_MANY = 60
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_MEASURES = (0, 1, 2, 5, 10, 20, 40, 50, 70, 100, 110, 150, 250, 400, 800)


@dataclass(frozen=True)
class Table:
    """What the values of a table's columns depend on.

    Args:
        key: The column that identifies a row; empty where none does.
        types: The types of the columns, by name.
    """

    key: str
    types: dict[str, str]


@dataclass
class Witness:
    """Values of the columns of rows that conditions name.

    Args:
        conditions: The conditions.
        tables: The tables of the rows.
        choice: What chooses among values.
        fresh: Returns a number that no other row has.
    """

    conditions: Conditions
    tables: dict[str, Table]
    choice: Choice
    fresh: Callable[[], int]
    _same: dict[Place, Place] = field(default_factory=dict)
    _values: dict[Place, Value] = field(default_factory=dict)
    _days: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Unite the columns that are equal, and choose values."""
        self._read: dict[str, set[str]] = {row: set() for row in self.conditions.rows}
        for conjunct in self.conditions.conjuncts:
            for column in conjunct.find_all(exp.Column):
                self._read[column.table].add(column.name)
        self._defined: dict[Place, Place] = {}
        self._checks = [each for each in self.conditions.conjuncts if not self._united(each)]
        self._follow_keys()
        for place in self._places():
            self._choose(self._root(place))
        for row in self._rows_of_days:
            self._days[row] = self.choice.choice(self._domain(row))
        self.repair()

    # What is equal

    @cached_property
    def _rows_of_days(self) -> list[str]:
        rows = self.conditions.rows.items()
        return [row for row, table in rows if table == calendar.TABLE]

    def _is_day(self, place: Place) -> bool:
        return self.conditions.rows[place[0]] == calendar.TABLE

    def _root(self, place: Place) -> Place:
        while place in self._same:
            place = self._same[place]
        return place

    def _united(self, conjunct: exp.Expression) -> bool:
        """Unite the columns of an equality; False where it is to be checked."""
        if not isinstance(conjunct, exp.EQ):
            return False
        left, right = conjunct.left.unnest(), conjunct.right.unnest()
        if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
            return False
        return self._unite((left.table, left.name), (right.table, right.name))

    def _unite(self, left: Place, right: Place) -> bool:  # noqa: PLR0911 - one case each
        is_day = self._is_day(left), self._is_day(right)
        if all(is_day):
            return False
        if any(is_day):
            day, other = (left, right) if is_day[0] else (right, left)
            known = self._defined.setdefault(self._root(other), day)
            return known == day
        one, other = self._root(left), self._root(right)
        if one == other:
            return True
        if one in self._defined and other in self._defined:
            return False
        if one in self._defined:
            one, other = other, one
        self._same[one] = other
        return True

    def _follow_keys(self) -> None:
        """Unite the columns of rows with the same key."""
        for _ in range(len(self._read)):
            rows: dict[tuple[str, Place], list[str]] = defaultdict(list)
            for row, name in self.conditions.rows.items():
                key = self.tables[name].key
                if key and name != calendar.TABLE:
                    rows[name, self._root((row, key))].append(row)
            changed = [self._unite_rows(found) for found in rows.values() if len(found) > 1]
            if not any(changed):
                return

    def _unite_rows(self, rows: Sequence[str]) -> bool:
        names = set().union(*(self._read[row] for row in rows))
        changed = False
        for row in rows:
            self._read[row] |= names
            for name in names:
                one, other = (rows[0], name), (row, name)
                if self._root(one) != self._root(other):
                    changed |= self._unite(one, other)
        return changed

    def _places(self) -> Iterator[Place]:
        for row, names in self._read.items():
            if row not in self._rows_of_days:
                yield from ((row, name) for name in sorted(names))

    # Values

    def get(self, row: str, column: str) -> Value:
        """Return the value of a column of a row."""
        if self.conditions.rows[row] == calendar.TABLE:
            return calendar.days()[self._days[row]].get(column)  # type: ignore[return-value]
        root = self._root((row, column))
        if root in self._defined and self._defined[root][0] in self._days:
            return self.get(*self._defined[root])
        return self._values.get(root)

    def read(self, row: str) -> dict[str, Value]:
        """Return the values of the columns of a row that conditions name."""
        return {name: self.get(row, name) for name in sorted(self._read[row])}

    def is_key(self, root: Place) -> bool:
        """Whether any number will do for a column: no condition compares it with another."""
        return not self._of_root[root] and self._type(root) == "INT" and root not in self._defined

    def _type(self, root: Place) -> str:
        row, column = root
        return self.tables[self.conditions.rows[row]].types.get(column, "INT")

    @cached_property
    def _of_root(self) -> dict[Place, list[exp.Expression]]:
        """The checks of each root."""
        found: dict[Place, list[exp.Expression]] = defaultdict(list)
        for check in self._checks:
            for root in self._roots(check):
                found[root].append(check)
        return found

    def _roots(self, check: exp.Expression) -> set[Place]:
        return {
            self._root((c.table, c.name))
            for c in check.find_all(exp.Column)
            if c.table not in self._rows_of_days
        }

    def _moves(self, check: exp.Expression) -> list[Place | str]:
        """The roots and the rows of days on which a check depends."""
        days = {c.table for c in check.find_all(exp.Column) if c.table in self._rows_of_days}
        roots = self._roots(check)
        days |= {self._defined[root][0] for root in roots if root in self._defined}
        return [*sorted(root for root in roots if root not in self._defined), *sorted(days)]

    def _choose(self, root: Place) -> None:
        if root in self._values or root in self._defined:
            return
        if self.is_key(root):
            self._values[root] = self.fresh()
            return
        self._values[root] = self.choice.choice(self._fitting(root))

    def _fitting(self, root: Place) -> list[Value]:
        """Return values of a column that meet the conditions on it alone."""
        others = list(self._others(root))
        return [*self._literals(root), *self._meeting(root, others)] or others

    def _literals(self, root: Place) -> list[Value]:
        """Return those of the values in the conditions on a column that meet these."""
        if root not in self._of_literals:
            checks = self._of_root[root]
            found = [
                each
                for check in checks
                for literal in check.find_all(exp.Literal)
                for each in _near(literal, self._type(root))
            ]
            nulls = [None for check in checks if check.find(exp.Is)]
            unique = list(dict.fromkeys([*found, *nulls]))
            if len(unique) > _MANY:
                unique = self.choice.sample(unique, _MANY)
            self._of_literals[root] = self._meeting(root, unique)
        return self._of_literals[root]

    def _meeting(self, root: Place, found: Iterable[Value]) -> list[Value]:
        """Return those of some values that meet the conditions on a column alone."""
        alone = [check for check in self._of_root[root] if self._moves(check) == [root]]
        known, kept = self._values.get(root), []
        for each in found:
            self._values[root] = each
            if all(self._is_met(check) for check in alone):
                kept.append(each)
        self._values[root] = known
        return kept

    @cached_property
    def _of_literals(self) -> dict[Place, list[Value]]:
        return {}

    def _others(self, root: Place) -> Iterator[Value]:
        type_ = self._type(root)
        if type_ == "INT":
            yield from (self.choice.randrange(1, 30) for _ in range(4))
            yield from self.choice.sample(_MEASURES, 4)
        elif type_.startswith("DECIMAL"):
            yield from (float(self.choice.choice(_MEASURES)) + 0.25 for _ in range(6))
        elif type_ == "DATE":
            yield calendar.FIRST + timedelta(self.choice.randrange(calendar.DAYS))
        else:
            yield from ("a", "b", "c", f"{self.choice.randrange(10_000, 99_999)}")

    def _domain(self, row: str) -> Sequence[int]:
        """Return the days that meet the conditions on a row of days alone."""
        if row not in self._domains:
            alone = [
                check.sql()
                for check in self._checks
                if {c.table for c in check.find_all(exp.Column)} == {row}
            ]
            self._domains[row] = _days_of(tuple(each.replace(f"{row}.", "") for each in alone))
        return self._domains[row]

    @cached_property
    def _domains(self) -> dict[str, Sequence[int]]:
        return {}

    # Repair

    def _is_met(self, check: exp.Expression) -> bool:
        try:
            return value(check, self.get) is True
        except NotKnownError:
            return True

    @property
    def unmet(self) -> list[exp.Expression]:
        """The conditions that the values do not meet, and that more rows do not meet either."""
        return [check for check in self._hard if not self._is_met(check)]

    @cached_property
    def _hard(self) -> list[exp.Expression]:
        return [check for check in self._checks if not is_of_aggregates(check)]

    @cached_property
    def _soft(self) -> list[exp.Expression]:
        return [check for check in self._checks if is_of_aggregates(check)]

    def repair(self) -> None:
        """Change values until all conditions are met, or for a while."""
        patience = _PATIENCE
        for _ in range(_REPAIRS):
            unmet = self.unmet
            if not unmet:
                unmet = [check for check in self._soft if not self._is_met(check)]
                patience -= 1
            movable = [check for check in unmet if self._moves(check)]
            if not movable or patience < 0:
                return
            check = self.choice.choice(movable)
            self._move(self.choice.choice(self._moves(check)), check)

    def _move(self, mover: Place | str, check: exp.Expression) -> None:
        """Give a column or a day the value with which the fewest conditions are unmet."""
        if isinstance(mover, str):
            into: dict = self._days  # type: ignore[type-arg]
            is_equality = isinstance(check, exp.EQ)
            domain = self._meeting_days(mover, check) if is_equality else self._domain(mover)
            options: Iterable[object] = self.choice.sample(domain, min(len(domain), _MANY * 4))
        else:
            options = [*self._fitting(mover), *self._wanted(mover, check)]
            into = self._values
        touched = [each for each in self._checks if mover in self._moves(each)]
        weights = [(each, 1 if is_of_aggregates(each) else len(touched)) for each in touched]
        costs: dict[int, list[object]] = defaultdict(list)
        for option in options:
            into[mover] = option
            costs[sum(n for each, n in weights if not self._is_met(each))].append(option)
        into[mover] = self.choice.choice(costs[min(costs)])

    def _meeting_days(self, row: str, check: exp.Expression) -> Sequence[int]:
        """Return the days of a row that meet a check; all where none does."""
        domain, kept = self._domain(row), []
        for day in domain:
            self._days[row] = day
            if self._is_met(check):
                kept.append(day)
        return kept or domain

    def _wanted(self, root: Place, check: exp.Expression) -> Iterator[Value]:
        """Yield values that a comparison with another expression suggests."""
        if not isinstance(check, _COMPARISONS):
            return
        for side in check.iter_expressions():
            try:
                found = value(side, self.get)
            except NotKnownError:
                continue
            yield from _adapted(found, self._type(root))

    def vary(self, share: float, *, only_facts: bool) -> None:
        """Choose other values for some of the columns, so that all conditions are met again.

        Args:
            share: The share of the columns.
            only_facts: Whether the rows of tables with a key stay, but for days.
        """
        before = dict(self._values), dict(self._days)
        roots = sorted({self._root(place) for place in self._places()} - set(self._defined))
        for root in roots:
            is_varied = not only_facts or (self._is_of_fact(root) and not self.is_key(root))
            if is_varied and self.choice.random() < share:
                del self._values[root]
                self._choose(root)
        for row in self._rows_of_days:
            if self.choice.random() < share:
                self._days[row] = self.choice.choice(self._domain(row))
        self.repair()
        if self.unmet:
            self._values, self._days = before

    def _is_of_fact(self, root: Place) -> bool:
        return not self.tables[self.conditions.rows[root[0]]].key

    def renew(self, row: str) -> bool:
        """Give a row another key, where no condition compares the key; whether that was so."""
        key = self._root((row, self.tables[self.conditions.rows[row]].key))
        if key not in self._values or not self.is_key(key):
            return key not in self._values
        self._values[key] = self.fresh()
        return True


@cache
def _days_of(conditions: tuple[str, ...]) -> Sequence[int]:
    """Return the days that meet conditions on the columns of the calendar; all where none does."""
    checks = [sqlglot.parse_one(each) for each in conditions]
    kept = [number for number in range(calendar.DAYS) if _has(number, checks)]
    return kept or range(calendar.DAYS)


def _has(number: int, checks: Iterable[exp.Expression]) -> bool:
    day = calendar.days()[number]
    try:
        return all(value(each, lambda _, name: day.get(name)) is True for each in checks)  # type: ignore[arg-type,return-value]
    except NotKnownError:
        return True


def _near(literal: exp.Literal, type_: str) -> Iterator[Value]:
    yield from _adapted(literal.name if literal.is_string else float(literal.name), type_)


def _adapted(found: Value, type_: str) -> Iterator[Value]:
    """Yield values of a type that are equal to a value, or near it."""
    if found is None or isinstance(found, bool):
        return
    is_number = not isinstance(found, (str, date)) or str(found).replace(".", "", 1).isdigit()
    if type_ == "INT" and is_number:
        number = int(float(found))  # type: ignore[arg-type]
        yield from (number, number + 1, max(number - 1, 0))
    elif type_.startswith("DECIMAL") and is_number:
        amount = min(round(float(found), 2), 9_999.0 if "(7" in type_ else 400.0)  # type: ignore[arg-type]
        yield from (amount, amount + 0.5, amount * 2, amount / 2, amount + 100)
    elif type_ == "DATE":
        if isinstance(found, date):
            yield from (found, found + timedelta(1), found - timedelta(1))
    elif "CHAR" in type_ or type_ == "STRING":
        length = int(type_.partition("(")[2].rstrip(")") or 20)
        yield str(found).replace("%", "").replace("_", "a")[:length]
