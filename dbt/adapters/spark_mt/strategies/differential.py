"""Strategy `differential`: the change of the result follows from the changes of the sources.

It computes only the rows that differ, for any query that has rules for it, and keeps the bag of
rows that a recompute would give. Where the sources are small, or a large part of them changed,
`recompute` costs less and is used instead, unless the option `incremental` is `strict`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import ChangeKind, positions_of
from dbt.adapters.spark_mt.query import differential, relation_states
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.query.boundary import UNEXPECTED, guarded
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.query.partial_sums import summable_types
from dbt.adapters.spark_mt.resolution.columns import stored_columns
from dbt.adapters.spark_mt.resolution.options import Incremental
from dbt.adapters.spark_mt.strategies import reasons, strategy
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.positions import ChangeExtent, SourcePositions
    from dbt.adapters.spark_mt.query.differential import NotIncremental
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs
    from dbt.adapters.spark_mt.strategies.table_facts import TableFacts


RULES = "RULES"
LARGEST_SHARE = 0.15
"""Up to which part of the rows of the sources may have changed."""
SMALLEST_SOURCES = 500_000
"""From how many rows of all sources on reading them costs more than planning by their changes."""
SHORTEST_RECOMPUTE_S = 2.0
"""From how many seconds of a recompute on a refresh by changes may be faster."""
_MARGIN = 1.25
"""How many times as long as the other strategy one may take that the last refresh used."""
_OF_CHANGES, _OF_ALL = (0.2, 2.5), (1.0, 4.0)
"""How durations follow the changed rows, and all rows: the exponent, and the largest factor. 50
times as many changed rows took 1.5 to 1.9 times as long: most of a refresh is planning, and reading
what they are joined with."""
_TRIALS = 2
"""After how many refreshes in a row their duration counts: the first one may build sums."""
_TRIED_AGAIN = 0.05
"""Up to which part of the duration of all refreshes changes that are tried again may cost more."""
_LONGEST_TRIAL = 3
"""How many times as long as a recompute the first refresh in a row may take to be followed by a
second: to build sums as well takes no longer than that."""
_CLEARLY, _CLEARLY_OF_COLD = 1.5, 3.0
"""How many times as fast as an old recompute, and as one of a cold process, refreshes by changes
must be for that not to be measured again. A JVM that just started takes three times as long."""
_UNTRIED_S, _UNTRIED_ROW_S = 2.0, 5e-6
"""How many seconds refreshes by changes are taken to need before one was made: in all, and more for
each changed row. A first one also does work that no later one does."""
_NOT_COMPUTED = frozenset(
    {"FUNCTION", "NOT_PINNABLE", "TIME_DEPENDENT", "LOOKED_UP_AND_FOLLOWED", "PROCESS_FUNCTION"}
)
"""Shapes of queries whose rows do not follow from versions of the sources alone."""


_CHANGED = relation_states.SourceChange(adds=True, removes=True)
_CHANGES = {
    ChangeKind.NONE: relation_states.SourceChange(),
    ChangeKind.ADDED: relation_states.SourceChange(adds=True),
}


def _not_derived(problem: str) -> strategy.Choice | strategy.Refusal:
    return strategy.Refusal.of(strategy.DIFFERENTIAL, UNEXPECTED, problem)


@guarded(_not_derived)
def _possible(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    """Return that changed rows are computed, or every reason why the definition forbids it."""
    if problems := _switched_off(table) or tuple(_problems(table)) or _of_query(table):
        return strategy.Refusal(strategy.DIFFERENTIAL, problems)
    rules = _of_any_change(table)
    if not any(reason.code == RULES for reason in rules):
        return strategy.Refusal(strategy.DIFFERENTIAL, rules)
    reasons = (*rules, *strategy.follows(table.followed))
    return strategy.Choice(
        strategy.INCREMENTAL, strategy.DIFFERENTIAL, reasons, strategy.Write.CHANGE
    )


def _switched_off(table: TableFacts) -> tuple[Reason, ...]:
    """Return why the user does not want it; empty where it is wanted."""
    declared = table.definition.declared.logical_refresh_mode
    if table.is_full and declared is not LogicalRefreshMode.AUTOMATIC:
        return (reasons.FULL_MODE,)
    if table.incremental is not Incremental.OFF:
        return ()
    return (Reason(reasons.SWITCHED_OFF, "", "the option incremental is off"),)


def _problems(table: TableFacts) -> Iterator[Reason]:
    """Yield what the baseline, the columns and the sources of a table forbid."""
    if table.baseline is not None:
        yield Reason("BASELINE", "", "the table counts its sources from a baseline")
    if differential.first_rows_of(table.tree) is not None and _has_other_types(table):
        text = "its first rows are stored with other types than those by which they are sorted"
        yield Reason("TOP_OF_OTHER_TYPES", "", text)
    yield from _moving(table)
    for source in table.analyzed.sources:
        name = str(source.name)
        if source.kind is SourceKind.UNVERSIONED:
            yield Reason("READ_WHOLE", name, f"the changes of {name} are not recorded")
        elif "/" in source.name.name:
            yield Reason("PATH", name, f"{name} is named by its path")


def _has_other_types(table: TableFacts) -> bool:
    stored = [column.type for column in stored_columns(table.definition)]
    return stored != [column.type for column in table.analyzed.columns]


def _moving(table: TableFacts) -> Iterator[Reason]:
    """Yield why its rows do not follow from versions of its sources alone."""
    analyzed = table.analyzed
    if analyzed.nondeterministic:
        functions = ", ".join(f"{name}()" for name in analyzed.nondeterministic)
        yield Reason("NONDETERMINISTIC", "", f"it uses {functions}")
    if analyzed.streaming or table.watermarks or table.tree.has_watermark:
        yield Reason("STREAM_QUERY", "", "a stream with a checkpoint keeps its rows")
    if table.shape.reason in _NOT_COMPUTED:
        yield Reason(table.shape.reason, "", table.shape.problem)
    if analyzed.lookups:
        names = ", ".join(map(str, analyzed.lookups))
        yield Reason("LOOKUP", names, f"it looks {names} up as of the moment of each refresh")


def _of_query(table: TableFacts) -> tuple[Reason, ...]:
    return tuple(map(_reason, differential.obstacles(table.tree)))


def _reason(found: NotIncremental) -> Reason:
    remedy = f" ({found.remedy})" if found.remedy else ""
    return Reason(found.code, "", found.problem + remedy)


def _of_any_change(table: TableFacts) -> tuple[Reason, ...]:
    """Return by which rules changes are derived, and what some or all changes need instead.

    Where all sources together have no rules, some refreshes may: those after a change of one.
    """
    every = _rules(table)
    if every.code == RULES:
        return (every,)
    kinds = (ChangeKind.ADDED, ChangeKind.REMOVED)
    names = dict.fromkeys(str(scan.relation) for scan in scans(table.tree.root))
    found = [_rules(table, {name: kind}) for name in names for kind in kinds]
    some = [rules for rules in found if rules.code == RULES][-1:]
    needs = [reason for reason in (*found, every) if reason.code != RULES]
    if some:
        needs = [replace(need, text=f"not by each refresh: {need.text}") for need in needs]
    return tuple(dict.fromkeys((*some, *needs)))


def _no_rules(problem: str) -> Reason:
    return Reason(UNEXPECTED, "", problem)


@guarded(_no_rules)
def _rules(table: TableFacts, kinds: Mapping[str, ChangeKind] | None = None) -> Reason:
    """Return by which rules the change of the result is derived, or why there are none.

    Args:
        table: The table.
        kinds: What happened to each source; None for every kind of change in all of them.
    """
    sources = _changes(table, kinds)
    try:
        rules = differential.result_change(table.tree, sources, _summable(table)).rules
        if "K" in rules and differential.added_sums(table.tree, sources) is not None:
            rules = (*rules, "D3")  # whether partial sums pay is known when the sizes are
    except differential.ChangeNotSupported as no:
        return _reason(no.reason)
    by = f" ({', '.join(sorted(set(rules)))})" if rules else ""
    return Reason(RULES, "", f"the change of the result follows from those of the sources{by}")


def _changes(
    table: TableFacts, kinds: Mapping[str, ChangeKind] | None
) -> dict[str, relation_states.SourceChange]:
    """Return what happened to each relation of the query; arguments as those of `_rules`."""
    found = {name.lower(): _CHANGES.get(kind, _CHANGED) for name, kind in (kinds or {}).items()}
    other = _CHANGED if kinds is None else _CHANGES[ChangeKind.NONE]
    relations = {str(scan.relation) for scan in scans(table.tree.root)}
    return {name: found.get(name.lower(), other) for name in relations}


def _summable(table: TableFacts) -> tuple[str, ...]:
    stored = [column.type for column in stored_columns(table.definition)]
    return summable_types(stored, table.definition.context)


def _read_again(table: TableFacts, extents: Mapping[str, ChangeExtent]) -> float:
    """Return what changes read of whole relations beyond what the query reads, as a part of that.

    Relations that did not change are left out: the query may read few of their rows, too.
    """
    kinds = {name: extent.kind for name, extent in extents.items()}
    try:
        change = differential.result_change(table.tree, _changes(table, kinds), _summable(table))
        by_changes = change.whole_reads()
    except differential.ChangeNotSupported:
        return 0.0  # refused by its rules
    by_query = Counter(str(scan.relation) for scan in scans(table.tree.root))
    rows = {name.lower(): extent.rows for name, extent in extents.items()}
    read, whole = (
        sum(times * rows.get(name.lower(), 0) for name, times in each.items())
        for each in (by_changes, by_query)
    )
    return max(read / whole - 1, 0.0) if whole else 0.0


def _usable(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Choice | strategy.Refusal:
    """Return after which positions changes are applied, or why all rows must be computed."""
    if refused := _refused(inputs):
        return refused
    names = table.shape.followed
    since = positions_of(names, inputs.positions or {})
    if missing := [name for name in names if name not in dict(since)]:
        return strategy.unread(strategy.DIFFERENTIAL, missing)
    return _derived(table, own, inputs, since)


DERIVING = strategy.Strategy(strategy.DIFFERENTIAL, _possible, _usable)


def _derived(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs, since: SourcePositions
) -> strategy.Choice | strategy.Refusal:
    """Return that changes are applied, or why all rows are computed although they could be."""
    is_strict = table.incremental is Incremental.STRICT
    if not is_strict and (short := _short(inputs.costs)) is not None:  # before a log is read
        return strategy.Refusal(strategy.DIFFERENTIAL, (short,), since=since)
    if refused := strategy.retyped(strategy.DIFFERENTIAL, inputs, since):
        return refused
    extents = inputs.extents(since)
    changed = sum(extent.changed for extent in extents.values())
    rows = sum(extent.rows for extent in extents.values())
    reasons, is_possible = _extent(extents, changed, rows, is_strict=is_strict)
    again = partial(_read_again, table, extents)
    longer = None if is_strict else slower(inputs.costs, changed, rows, again)
    if is_possible and longer is not None:
        reasons, is_possible = (longer,), False
    if is_possible:
        rules = _rules(table, {name: extent.kind for name, extent in extents.items()})
        is_possible = rules.code == RULES
        reasons = (*reasons, rules, *strategy.follows(table.followed)) if is_possible else (rules,)
    if not is_possible:
        return strategy.Refusal(strategy.DIFFERENTIAL, reasons, since=since, source_rows=rows)
    reasons = (*reasons, *_estimated(inputs.costs, changed, rows))
    return replace(own, reasons=reasons, since=since, source_rows=changed)


def _refused(inputs: RefreshInputs) -> strategy.Refusal | None:
    """Refuse what is asked for, or a table whose rows are not those of its positions."""
    if inputs.request in (
        strategy.Request.FORCED,
        strategy.Request.FILL,
        strategy.Request.PARTITIONS,
    ):
        return strategy.all_rows(strategy.DIFFERENTIAL, inputs)
    if inputs.redefined:
        return strategy.changed_views(strategy.DIFFERENTIAL, inputs)
    found = None
    if inputs.foreign:
        listed = ", ".join(map(str, inputs.foreign))
        found = Reason("FOREIGN_ROWS", "", f"others changed its rows in version {listed}")
    elif inputs.is_partly_refreshed():
        text = "some partitions reflect another state of the sources than the rest"
        found = Reason("PARTITIONS", "", text)
    return strategy.Refusal(strategy.DIFFERENTIAL, (found,)) if found else None


def _extent(
    extents: Mapping[str, ChangeExtent], changed: int, rows: int, *, is_strict: bool
) -> tuple[tuple[Reason, ...], bool]:
    """Return which part of the sources changed, and whether to derive the result's change."""
    kinds = {name: extent.kind for name, extent in extents.items()}
    if unknown := tuple(strategy.disallowed(kinds, ChangeKind.ADDED, ChangeKind.REMOVED)):
        return unknown, False
    if compared := tuple(_compared(extents)):
        return compared, is_strict
    text = f"about {changed} of {rows} source rows changed"
    if changed > LARGEST_SHARE * rows:
        found = Reason("CHANGE_TOO_LARGE", "", f"{text}, more than {LARGEST_SHARE:.0%}")
    elif rows < SMALLEST_SOURCES:
        found = Reason("SMALL_SOURCES", "", f"{text}, fewer than {SMALLEST_SOURCES} in all")
    else:
        return (Reason("SMALL_CHANGE", "", text),), True
    return (found,), is_strict


def _compared(extents: Mapping[str, ChangeExtent]) -> Iterator[Reason]:
    """Yield the sources whose changes are found by a comparison of all of their rows."""
    for name, extent in extents.items():
        if extent.compared:
            text = (
                f"the changes of {name} are found by comparing all of its rows, as it marks rows "
                f"as deleted; set {extent.compared}"
            )
            yield Reason("MERGE_ON_READ_SOURCE", name, text)


def _last(costs: Mapping[str, strategy.Cost]) -> tuple[strategy.Cost, strategy.Cost]:
    """Return the costs of the last refresh by changes, and of the last recompute."""
    none = strategy.Cost()
    return costs.get(strategy.DIFFERENTIAL, none), costs.get(strategy.RECOMPUTE, none)


def _estimates(
    costs: Mapping[str, strategy.Cost], changed: int, rows: int
) -> tuple[float | None, float | None]:
    """Return how many seconds a refresh may take by changes, and by a recompute.

    Args:
        costs: Of the last refreshes of the table.
        changed: How many rows of the sources changed.
        rows: How many rows they have.
    """
    own, other = _last(costs)
    return own.estimate(changed, *_OF_CHANGES), other.estimate(rows, *_OF_ALL)


def _estimated(costs: Mapping[str, strategy.Cost], changed: int, rows: int) -> tuple[Reason, ...]:
    own, other = _estimates(costs, changed, rows)
    known = {"by their changes": own, "by computing all rows": other}
    listed = [f"{seconds:.1f} seconds {how}" for how, seconds in known.items() if seconds]
    text = f"the estimate is {' and '.join(listed)}"
    return (Reason("ESTIMATE", "", text),) if listed else ()


def _short(costs: Mapping[str, strategy.Cost]) -> Reason | None:
    """Return that a recompute is faster than reading the logs of the sources."""
    _, other = _last(costs)
    if other.seconds is None or other.seconds >= SHORTEST_RECOMPUTE_S:
        return None
    text = f"the last recompute took {other.seconds:.1f} seconds, planning changes takes longer"
    return Reason("SHORT_RECOMPUTE", "", text)


def slower(
    costs: Mapping[str, strategy.Cost],
    changed: int,
    rows: int,
    again: Callable[[], float] = float,
) -> Reason | None:
    """Return that a recompute is faster, by the last refreshes of the table; None if it is not.

    Args:
        costs: Of these refreshes.
        changed: How many rows of the sources changed.
        rows: How many rows they have.
        again: Returns how much more of whole relations changes read than the query, as a part of
            what it reads. It is asked only before changes were tried.
    """
    own, other = _last(costs)
    by_changes, by_all = _estimates(costs, changed, rows)
    if by_all is None:
        return None
    if by_changes is None or own.ago > _remembered(by_changes, by_all):
        return _would_be_slower(other, by_all, changed, again() if by_changes is None else 0.0)
    return _was_slower(own, other, (by_changes, by_all), f"for {changed} changed rows of {rows}")


def _remembered(by_changes: float, by_all: float) -> float:
    """Return after how many recomputes changes are tried, so that it costs little."""
    more = _TRIALS * (by_changes - by_all) / by_all
    return max(strategy.REMEMBERED, more / _TRIED_AGAIN)


def _was_slower(
    own: strategy.Cost, other: strategy.Cost, estimates: tuple[float, float], of: str
) -> Reason | None:
    """Return that a recompute is faster than changes that were tried lately.

    Args:
        own: The cost of the last refresh by changes.
        other: That of the last recompute.
        estimates: How many seconds each may take now.
        of: Of which rows.
    """
    by_changes, by_all = estimates
    is_past = other.ago > strategy.REMEMBERED
    is_own_colder = own.is_cold and not other.is_cold and not is_past
    is_first = 0 < own.repeated < _TRIALS or is_own_colder
    is_trial = is_first and by_changes <= by_all * _LONGEST_TRIAL
    is_other_colder = other.is_cold and not own.is_cold and other.ago > 0
    clearly = _CLEARLY_OF_COLD if is_other_colder else _CLEARLY
    if not is_trial and (is_other_colder or is_past) and by_changes * clearly > by_all:
        why = f"its process had just started, or it was over {strategy.REMEMBERED} refreshes ago"
        text = f"the {other.seconds:.1f} seconds of the last recompute are measured again: {why}"
        return Reason("OLD_DURATION", "", text)
    most = by_all * (_MARGIN if own.repeated else 1 / _MARGIN)
    if is_trial or by_changes <= most:
        return None
    durations = f"{own.seconds:.1f} seconds, and the last recompute {other.seconds:.1f}"
    text = f"the last refresh by changes took {durations}"
    if (own.seconds, other.seconds) != (by_changes, by_all):
        text += f"; {of} the estimate is {by_changes:.1f} and {by_all:.1f}"
    return Reason("CHANGES_TOOK_LONGER", "", text)


def _would_be_slower(
    other: strategy.Cost, by_all: float, changed: int, again: float
) -> Reason | None:
    """Return that a recompute is faster than changes that were not tried lately.

    Args:
        other: The cost of the last recompute; where it was the last refresh, changes must be faster
            by the margin that they need later.
        by_all: How many seconds one may take now.
        changed: How many rows of the sources changed.
        again: How much more of whole relations changes read than the query.
    """
    by_changes = _UNTRIED_S + _UNTRIED_ROW_S * changed + by_all * again
    is_faster = by_changes <= (by_all if other.ago else by_all / _MARGIN)
    if is_faster or other.repeated > _remembered(by_changes, by_all):
        return None
    text = (
        f"{changed} changed rows take about {by_changes:.1f} seconds, and the estimate of a "
        f"recompute is {by_all:.1f}"
    )
    return Reason("CHANGES_WOULD_TAKE_LONGER", "", text)
