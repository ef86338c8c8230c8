"""Change of a query's result as SQL over the changes of its sources.

Every operator has a change: the bag of rows that its result gains, and the bag that it loses.
Linear operators (D1) are applied to the change of their input. Inner joins (D2) combine the change
of one side with all rows of the other. Algebraic aggregates (D3) add the change of a group to its
stored values. Every other operator must be partitioned by a key (K). It is computed before and
after for the keys that the changes of its inputs contain. The first rows of a sorted result (TOP)
follow from the change of all of its rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query import (
    differential_keys,
    first_rows,
    grouping_sets,
    relation_states,
    subqueries,
    windows,
)
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.boundary import UNEXPECTED, guarded
from dbt.adapters.spark_mt.query.columns_read import narrowed
from dbt.adapters.spark_mt.query.differential_changes import (
    Change,
    ChangeNotSupported,
    ChangeNotSupportedError,
    Changes,
    NotIncremental,
)
from dbt.adapters.spark_mt.query.exactness import computes_exactly
from dbt.adapters.spark_mt.query.expressions import Expression, Named, values_of
from dbt.adapters.spark_mt.query.function_use import functions_in
from dbt.adapters.spark_mt.query.functions import ORDER_DEPENDENT
from dbt.adapters.spark_mt.query.operator_sql import named
from dbt.adapters.spark_mt.query.partial_sums import AddedSums, AlgebraicResult, partial_sums
from dbt.adapters.spark_mt.query.shared_rows import SharedRows
from dbt.adapters.spark_mt.query.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.expressions import Attribute, WindowCall
    from dbt.adapters.spark_mt.query.first_rows import TopRows
    from dbt.adapters.spark_mt.query.partial_sums import PartialSums
    from dbt.adapters.spark_mt.query.shared_rows import SharedRelation
    from dbt.adapters.spark_mt.query.types import DataType


__all__ = [
    "ChangeNotSupported",
    "ChangeQueries",
    "NotIncremental",
    "ResultChange",
    "added_sums",
    "first_rows_of",
    "obstacles",
    "result_change",
]


def _no_change(problem: str) -> NoReturn:
    raise ChangeNotSupportedError(NotIncremental(UNEXPECTED, problem))


@dataclass(frozen=True, slots=True)
class ChangeQueries:
    """The SQL of the change of a result.

    Args:
        added: A query: the bag of rows to add, with the columns of the result; empty for none.
        removed: A query: the bag of rows to remove; empty for none.
        both: A query: rows to add and rows to remove, with the columns of the result and `WEIGHT`;
            empty where `added` and `removed` have them.
        unique_by: Columns by which the rows of the result are unique; none if unknown.
        keys: A query: the values of `unique_by` whose rows are replaced by `added`, each once, with
            these columns; empty where the change is not known by key.
        unknown: A query that has a row where the change is not known, so that the result must be
            computed; empty where it is known.
        shared: The relations that the queries read, each after those that it reads. They are small
            as the change is, unless they are views or one row of a source changes many rows.
    """

    added: str = ""
    removed: str = ""
    both: str = ""
    unique_by: tuple[str, ...] = ()
    keys: str = ""
    unknown: str = ""
    shared: tuple[SharedRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultChange:
    """The change of a query's result, as operators.

    A row may be both in `added` and in `removed`. Floating-point values that are computed again may
    differ in their last digits from the stored ones. A choice between equal rows (`row_number`) may
    differ, too. A writer must check that each row of `removed` was found in the table, and
    recompute otherwise.

    Args:
        columns: The names of the columns of the result.
        output: What they are in the rows of the change.
        change: The rows to add and to remove.
        weight: Holds the weight of a row in a bag of both.
        rules: Those of D1, D2, D3, K and TOP that were used.
        unique_by: Columns by which the rows of the result are unique; none if unknown.
        keys: Rows with the values of `unique_by` whose rows are replaced by `added`, each once;
            None where the change is not known by key.
        key: What the columns of `unique_by` are in these rows.
        doubt: Rows of which the values are not known; None where all are.
        top: For first rows: the operators that choose them, the stored rows, the candidates and the
            changed rows.
        reads: By the occurrence of a scan: the full name of the relation, and what it reads of it.
    """

    columns: tuple[str, ...]
    output: tuple[Attribute, ...]
    change: Change
    weight: Attribute
    rules: tuple[str, ...]
    unique_by: tuple[str, ...]
    keys: ops.Operator | None = None
    key: tuple[Expression, ...] = ()
    doubt: ops.Operator | None = None
    top: tuple[TopRows, tuple[ops.Operator, ...]] | None = None
    reads: Mapping[int, tuple[str, relation_states.StateOf]] = field(default_factory=dict)

    @guarded(_no_change, ChangeNotSupportedError)
    def queries(
        self,
        states: Mapping[str, relation_states.RelationStates],
        table: str,
        new_name: Callable[[], str],
    ) -> ChangeQueries:
        """Return the SQL of the change.

        The queries read `table`, the texts in `states` and shared relations only, so that all of
        them are over fixed versions.

        Args:
            states: By the full name of each relation, how it is read.
            table: The stored result, as text after FROM, with the columns of the result.
            new_name: Returns the name of a relation that is not there yet, for shared rows.

        Raises:
            ChangeNotSupported: It cannot be written.
        """
        inputs = {at: states[name].at(which) for at, (name, which) in self.reads.items()}
        inputs[relation_states.TABLE] = table
        shared = SharedRows(self._roots(), inputs, new_name)

        def rows_of(node: ops.Operator | None, *more: Attribute) -> str:
            if node is None:
                return ""
            shown = [a.expression for a in (*self.output, *more)]
            return named(shown, (*self.columns, *(a.name for a in more)), shared.text(node))

        added, removed = rows_of(self.change.added), rows_of(self.change.removed)
        both, keys, unknown = rows_of(self.change.both, self.weight), "", ""
        if self.keys is not None:
            keys = named(self.key, self.unique_by, shared.text(self.keys))
        if self.doubt is not None:
            unknown = f"SELECT 1 AS `unknown` FROM (\n{shared.text(self.doubt)}\n)"
        if self.top is not None:
            first, others = self.top
            unknown = first.unknown(*map(shared.text, others))
        relations = tuple(shared.relations)
        return ChangeQueries(added, removed, both, self.unique_by, keys, unknown, relations)

    @guarded(_no_change, ChangeNotSupportedError)
    def whole_reads(self) -> Counter[str]:
        """Return how often the queries read each relation as a whole, by its full name.

        Raises:
            ChangeNotSupported: It cannot be written.
        """
        inputs = {at: f"{name} {which.name}" for at, (name, which) in self.reads.items()}
        inputs[relation_states.TABLE] = "stored"
        names = map(str, count())
        found = Counter[str]()
        for at, times in SharedRows(self._roots(), inputs, names.__next__).whole_reads().items():
            if at != relation_states.TABLE:
                found[self.reads[at][0]] += times
        return found

    def _roots(self) -> Iterator[ops.Operator]:
        """Yield the operators that the queries are made of."""
        yield from self.change.parts
        yield from () if self.keys is None else (self.keys,)
        yield from () if self.doubt is None else (self.doubt,)
        yield from () if self.top is None else self.top[1]


@lru_cache(maxsize=32)
def _of_first_rows(tree: ops.Tree) -> tuple[TopRows | None, ops.Operator]:
    """Return the operators that choose first rows, None for none, and the operator of all rows.

    All rows have columns by which they are sorted and which the result does not show.
    """
    root = first_rows.without_needless_limits(tree.root)
    top = first_rows.TopRows.of(root)
    return top, root if top is None else top.sorted(subqueries.fresh_ids(root))


def first_rows_of(tree: ops.Tree) -> TopRows | None:
    """Return the operators that choose the first rows of a query's result; None for none."""
    return _of_first_rows(tree)[0]


def _unexpected(problem: str) -> tuple[NotIncremental, ...]:
    return (NotIncremental(UNEXPECTED, problem),)


@guarded(_unexpected)
@lru_cache(maxsize=32)
def obstacles(tree: ops.Tree) -> tuple[NotIncremental, ...]:
    """Return why a query cannot be refreshed incrementally; empty where it can."""
    found = [NotIncremental(code, problem) for code, problem in tree.gaps]
    _, root = _of_first_rows(tree)
    if not tree.gaps:
        joined = _without_subqueries(root, subqueries.fresh_ids(root))
        if subqueries.uses_value_again(root) or subqueries.aggregates_value(joined):
            problem = "it computes with a column that is the value of IN (subquery)"
            remedy = "Write EXISTS, or compute with the value where it is made."
            found.append(NotIncremental("SUBQUERY_VALUE", problem, remedy))
        root = joined
        found += _function_obstacles(root)
    for node in ops.walk(root):
        found += _obstacles_of(node)
    if windows.without_bound(root):
        problem = "it uses a window without PARTITION BY"
        remedy = f"Add PARTITION BY, or keep rows by their rank, up to {first_rows.MOST_FIRST}."
        found.append(NotIncremental("WINDOW_WITHOUT_PARTITION_BY", problem, remedy))
    return tuple(dict.fromkeys(found))


def _without_subqueries(root: ops.Operator, ids: Iterator[int]) -> ops.Operator:
    """Return a tree with joins in the place of subqueries, and operators with keys."""
    joined = windows.separated(subqueries.without_subqueries(root, ids))
    return grouping_sets.expanded(
        joined, ids, lambda each: differential_keys.partition_of(each) is None
    )


def _function_obstacles(root: ops.Operator) -> Iterator[NotIncremental]:
    used = functions_in(root)
    for name in used.time_dependent:
        yield NotIncremental(
            "TIME_DEPENDENT",
            f"it uses {name}, whose value changes with time",
            "Filter by the time where the table is read.",
        )
    for name in used.nondeterministic:
        if name not in ORDER_DEPENDENT:
            problem = f"it uses {name}, which may give another value for the same row"
            yield NotIncremental("NONDETERMINISTIC", problem, f"Remove {name}.")


def _obstacles_of(node: ops.Operator) -> Iterator[NotIncremental]:
    if isinstance(node, ops.Limit):
        yield NotIncremental(
            "GLOBAL_LIMIT",
            "it limits the number of rows of a whole result",
            f"Write ORDER BY and a LIMIT of up to {first_rows.MOST_FIRST} at the end.",
        )
    elif isinstance(node, ops.Scan) and node.lookup:
        problem = f"it looks up {node.relation} at the processing time"
        yield NotIncremental("PROCESSING_TIME_LOOKUP", problem, "Join the table as it is.")
    elif isinstance(node, ops.Scan) and "(" in node.version:
        problem = f"it reads {node.relation} at a computed version"
        yield NotIncremental("NONDETERMINISTIC", problem, "Write the version as a literal.")
    elif isinstance(node, ops.Aggregate):
        yield from _aggregate_obstacles(node)
    elif isinstance(node, ops.Window):
        yield from _window_obstacles(node.calls)


def _aggregate_obstacles(node: ops.Aggregate) -> Iterator[NotIncremental]:
    for call in node.calls:
        if not call.order_free:
            yield NotIncremental(
                "NONDETERMINISTIC",
                f"the value of {call.name} depends on the order of the rows",
                f"Sort the value (sort_array), or use WITHIN GROUP or max_by for {call.name}.",
            )
    if differential_keys.partition_of(node) is None:
        sessions = any("session_window" in g.expression.calls for g in node.groups)
        if sessions and node.sets is None:
            problem = "it groups by a session window only"
            yield NotIncremental("SESSION_WINDOW", problem, "Group by another column as well.")
        else:
            problem = "its grouping sets have no column in common"
            remedy = "Write each grouping set as a materialized table of its own."
            yield NotIncremental("GROUPING_SETS", problem, remedy)


def _window_obstacles(calls: Sequence[WindowCall]) -> Iterator[NotIncremental]:
    for call in calls:
        if call.name in ORDER_DEPENDENT and not call.order:
            problem = f"the value of {call.name} depends on the order of the rows"
            yield NotIncremental("NONDETERMINISTIC", problem, "Add ORDER BY to its window.")


@guarded(_no_change, ChangeNotSupportedError)
def result_change(
    tree: ops.Tree, sources: Mapping[str, relation_states.SourceChange], types: Sequence[str] = ()
) -> ResultChange:
    """Return the change of a query's result.

    Args:
        tree: The operator tree of the query.
        sources: What happened to each relation, by its full name.
        types: The types of the columns of the stored result, as `summable_types` returns them. Sums
            are added to stored ones only where they are known.

    Raises:
        ChangeNotSupported: This change needs a recompute, or the query has obstacles.
    """
    if found := obstacles(tree):
        raise ChangeNotSupportedError(found[0])
    missing = {str(scan.relation) for scan in ops.scans(tree.root)} - sources.keys()
    if missing:
        raise ValueError(f"no change of {', '.join(sorted(missing))}")  # noqa: TRY003, EM102
    return _Root(tree, sources, tuple(types)).change()


def _no_sums(_: str) -> PartialSums | None:
    return None


@guarded(_no_sums)
def added_sums(
    tree: ops.Tree, sources: Mapping[str, relation_states.SourceChange]
) -> PartialSums | None:
    """Return the partial sums of a query to which the changes of its sources can be added.

    None where there are none, or where their change needs more than their own rows.

    Args:
        tree: The operator tree of the query.
        sources: As for `result_change`.
    """
    sums = partial_sums(tree)
    if sums is None:
        return None
    types = ["BIGINT"] * len(sums.sums.columns)
    try:
        rules = result_change(sums.sums, sources, types).rules
    except ChangeNotSupportedError:
        return None
    return sums if "D3" in rules else None


class _Root:
    """The change of a stored result."""

    def __init__(
        self,
        tree: ops.Tree,
        sources: Mapping[str, relation_states.SourceChange],
        types: tuple[str, ...],
    ) -> None:
        self._names = tree.columns
        self._types = types
        self._source_types = tree.types
        self._top, root = _of_first_rows(tree)
        ids = subqueries.fresh_ids(root)
        self._changes = Changes(ids, sources)
        shown = root.output[: len(tree.columns)]
        root = ops.without_sorts(_without_subqueries(root, ids))
        self._rows = narrowed(root, ops.keys_in(root))
        self._root = (
            subqueries.passed(self._rows, output=shown) if root.output != shown else self._rows
        )
        self._keys: ops.Operator | None = None
        self._unknown: ops.Operator | None = None
        self._touched: tuple[tuple[Expression, Expression], ...] = ()

    def change(self) -> ResultChange:
        if not self._changes.is_changed(self._root):
            return self._result(Change())
        if self._top is not None:
            return self._first(self._top)
        change = self._summed() or self._replaced() or self._changes.of(self._root)
        return self._result(change)

    def _result(self, change: Change) -> ResultChange:
        unique_by = self._unique_by()
        key = self._key_of(unique_by)
        if change.adds and change.removes and not key:
            self._check_types()
        return ResultChange(
            self._names,
            self._root.output,
            change,
            self._changes.weight,
            tuple(sorted(self._changes.rules)) or ("D1",),
            unique_by,
            self._keys if key else None,
            key,
            doubt=self._unknown,
            reads=self._changes.reads,
        )

    def _exact(self) -> Change:
        """Return the change as bags of rows, of which those to remove are as they are stored.

        A removed row need not be stored, so a writer cannot know whether one was missed. A row that
        is added and removed must cancel out before for the same reason.

        Raises:
            ChangeNotSupported: Rows of before are computed again, and may differ from stored ones.
        """
        change = self._changes.of(self._rows)
        if "K" in self._changes.rules and not computes_exactly(self._root, self._source_types):
            problem = "first rows cannot be found again by values that are computed a second time"
            remedy = "Group by columns of the result, or leave out the LIMIT."
            raise ChangeNotSupportedError(NotIncremental("TOP_OF_COMPUTED_VALUES", problem, remedy))
        return self._changes.consolidated(change, self._rows.output)

    def _shown_of(self, rows: ops.Operator) -> ops.Operator:
        """Return rows without the columns by which they are sorted and which are not shown."""
        shown = self._root.output
        return subqueries.passed(rows, output=shown) if rows.output != shown else rows

    def _first(self, top: TopRows) -> ResultChange:
        """Return the change of the first rows, by the change of all rows (TOP)."""
        change = self._replaced() or self._exact().each(self._shown_of)
        self._check_types()
        changes, stored = self._changes, self._table()
        changes.rules.add("TOP")
        kept = stored
        if change.removed is not None:  # rows that are not stored may be among them
            kept = ops.Difference(stored, change.removed)
        parts = (kept,) if change.added is None else (kept, change.added)
        candidates = changes.shared(ops.Union(parts, stored.output))
        changed = () if top.is_whole else (ops.Union(change.parts, stored.output),)
        return ResultChange(
            self._names,
            stored.output,
            Change(top.first(candidates), stored),
            changes.weight,
            tuple(sorted(changes.rules)),
            self._unique_by(),
            top=(top, (stored, candidates, *changed)),
            reads=changes.reads,
        )

    def _key_of(self, unique_by: tuple[str, ...]) -> tuple[Expression, ...]:
        """Return what the columns by which rows are unique are in the touched keys, if known."""
        names = dict(zip((a.key for a in self._root.output), self._names, strict=True))
        found = {names[a.attribute]: key for a, key in self._touched if a.attribute in names}
        return tuple(found[name] for name in unique_by) if set(unique_by) <= found.keys() else ()

    def _check_types(self) -> None:
        for name, type_ in zip(self._names, self._types, strict=False):
            if type_ and _is_incomparable(parse_type(type_)):
                problem = f"rows cannot be compared by column {name} of type {type_}"
                raise ChangeNotSupportedError(NotIncremental("INCOMPARABLE_TYPE", problem))

    def _table(self) -> ops.Operator:
        stored = tuple(map(self._changes.attribute, self._names))
        scan = ops.Scan(relation_states.TABLE, TableName("result"), stored)
        pairs = zip(self._root.output, stored, strict=True)
        return ops.Project(scan, tuple(Named(ours, theirs.expression) for ours, theirs in pairs))

    def _summed(self) -> Change | None:
        """Combine the stored values of each group in the change with those of its change (D3)."""
        node = self._root
        while isinstance(node, ops.Project):
            node = node.input
        if not isinstance(node, ops.Aggregate):
            return None
        change = self._changes.of(node.input)
        removes = change.removes
        result = AlgebraicResult.of(self._root, self._types, removes=removes)
        if result is None or "K" in self._changes.rules:
            return None
        self._changes.rules.add("D3")
        change = self._changes.apart(change, node.input.output)
        added = AddedSums(
            None if change.added is None else self._changes.shared(result.over(change.added)),
            None
            if change.removed is None
            else self._changes.shared(result.negative(change.removed)),
        )
        stored = self._table()
        if groups := result.groups:
            output = tuple(map(self._changes.attribute, (a.name for a in groups)))
            columns = tuple(
                Named(ours, a.expression) for ours, a in zip(output, groups, strict=True)
            )
            keys = ops.Distinct(
                ops.Union(tuple(ops.Project(part, columns) for part in added.parts), output)
            )
            touched = self._changes.shared(keys)
            pairs = tuple((a.expression, k) for a, k in zip(groups, output, strict=True))
            stored = differential_keys.semi_join(stored, pairs, touched)
            self._replaces(touched, [(ours, key.expression) for ours, key in pairs])
        cancels = self._changes.cancels(node)
        combined = result.combined(stored, added, self._changes.attribute, cancels=cancels)
        if combined.unknown is None:
            return Change(combined.rows, stored)
        rows = self._changes.shared(combined.rows)
        self._unknown = ops.Filter(rows, combined.unknown.expression)
        return Change(self._shown_of(rows), stored)

    def _replaced(self) -> Change | None:
        """Replace the rows of the keys in the change, if the result shows its key (K)."""
        changes = self._changes
        path, node = self._path()
        if not changes.is_partitioned(node):
            return None
        partition = changes.key_of(node)
        shown = self._shown(path)
        numbers = grouping_sets.numbers(node)
        key: list[tuple[int, Expression, Expression]] = []
        for i, expression in enumerate(partition.output):
            keys = changes.touched(node).output[i].expression
            found = _shown_key(expression, keys, shown)
            if found is not None:
                key.append((i, *found))
            elif expression.attribute not in numbers or len(partition.output) == 1:
                return None
        changes.rules.add("K")
        added = changes.restricted(node, changes.after, [i for i, _, _ in key])
        for each in reversed(path):
            others = (changes.after(each.query),) if isinstance(each, ops.Apply) else ()
            added = each.over(added, *others)
        if not key:
            return Change(added, self._table())
        touched = changes.touched(node)
        pairs = [(ours, theirs) for _, ours, theirs in key]
        self._replaces(touched, pairs)
        return Change(added, differential_keys.matching(self._table(), pairs, touched))

    def _replaces(
        self, touched: ops.Operator, pairs: Sequence[tuple[Expression, Expression]]
    ) -> None:
        """Remember that all rows of some keys are replaced."""
        self._keys, self._touched = touched, tuple(pairs)

    def _path(self) -> tuple[list[ops.Operator], ops.Operator]:
        """Return the operators from the root that are applied to each row, and the one below."""
        path: list[ops.Operator] = []
        node = self._root
        while isinstance(node, (ops.Project, ops.Filter, ops.Generate, ops.Apply)):
            if isinstance(node, ops.Apply) and self._changes.is_changed(node.query):
                break
            path.append(node)
            node = node.inputs[0]
        return path, node

    def _shown(self, path: Sequence[ops.Operator]) -> dict[Expression, Expression]:
        """Return the columns of the result by what they are over the operator below a path."""
        columns = [(a.expression, a.expression) for a in self._root.output]
        for each in path:
            if isinstance(each, ops.Project):
                values = values_of(each.columns)
                columns = [(e.over(values), shown) for e, shown in columns]
        return dict(reversed(columns))

    def _unique_by(self) -> tuple[str, ...]:
        return tuple(
            self._names[places[0]] for places in differential_keys.key_of_result(self._root)
        )


def _shown_key(
    expression: Expression, key: Expression, shown: Mapping[Expression, Expression]
) -> tuple[Expression, Expression] | None:
    """Return a part of a key over the columns of the result, and over the set of keys."""
    if expression in shown:
        return shown[expression], key
    trees = {e.attribute: shown[e].tree for e in shown if e.attribute}
    if expression.keys <= trees.keys():
        return expression.over(trees), key
    for bound in ("start", "end"):  # one of these is enough for a time window
        if (part := _field(expression, bound)) in shown:
            return shown[part], _field(key, bound)
    return None


def _field(expression: Expression, name: str) -> Expression:
    field = exp.to_identifier(name, quoted=True)
    return Expression(exp.Dot(this=expression.tree.copy(), expression=field))


def _is_incomparable(data_type: DataType) -> bool:
    inner = (*data_type.elements, *(field.type for field in data_type.fields))
    return data_type.name in {"MAP", "VARIANT"} or any(map(_is_incomparable, inner))
