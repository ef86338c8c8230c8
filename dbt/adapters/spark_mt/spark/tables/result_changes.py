"""Change of a query's result between two states of its sources, as rows of the table.

The rules of `query.differential` say how it follows from the changes of the sources. These are
computed once, and so is the change of the result where it has rows to remove. Rows that are removed
and added again cancel out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Column, quote
from dbt.adapters.spark_mt.execution.table_format import is_comparable
from dbt.adapters.spark_mt.query import bags, differential, relation_states
from dbt.adapters.spark_mt.query.operator_sql import render_query
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.query.partial_sums import summable_types
from dbt.adapters.spark_mt.query.types import castable_ddl, parse_type, unbounded_type
from dbt.adapters.spark_mt.resolution import columns as table_columns
from dbt.adapters.spark_mt.spark.catalog.commit import table_of
from dbt.adapters.spark_mt.spark.query.query_relations import analysed, has_rows
from dbt.adapters.spark_mt.spark.query.query_rows import raise_if_unfit
from dbt.adapters.spark_mt.spark.query.version_rows import are_comparable
from dbt.adapters.spark_mt.spark.session.input_size import sizes_of, total_of
from dbt.adapters.spark_mt.spark.session.kept_rows import Wanted
from dbt.adapters.spark_mt.spark.session.types import columns_of, ddl_type
from dbt.adapters.spark_mt.spark.tables.stored_sums import SumsTables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField

    from dbt.adapters.spark_mt.definition.columns import PrimaryKey
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import VersionRange
    from dbt.adapters.spark_mt.planning.steps import ApplyChanges
    from dbt.adapters.spark_mt.query.operators import Tree
    from dbt.adapters.spark_mt.query.partial_sums import PartialSums
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables, TableDetails
    from dbt.adapters.spark_mt.spark.query.query_rows import QueryRows
    from dbt.adapters.spark_mt.spark.session.kept_rows import Kept, KeptRows
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession
    from dbt.adapters.spark_mt.spark.tables.stored_sums import StoredSums


SMALLEST_RATIO = 20
"""How many times as large as a table its sources must be for partial sums to pay."""
_WEIGHT = relation_states.WEIGHT
_WEIGHTS = (f"max({_WEIGHT})", f"min({_WEIGHT})")


@dataclass(frozen=True, slots=True)
class TableChange:
    """What changes in the rows of a table.

    Args:
        added: A query for the rows to add; empty for none.
        removed: A query for the rows to remove; empty for none.
        unique_by: Columns of the table whose values differ in all of its rows; none if none are
            known.
        keys: A query for the values of `unique_by` whose rows are replaced by `added`; empty where
            the change is not known by key.
    """

    added: str = ""
    removed: str = ""
    unique_by: tuple[str, ...] = ()
    keys: str = ""

    def keeps_key(self, key: PrimaryKey | None) -> bool:
        """Whether no two rows can get the same key by it."""
        if key is None:
            return True
        there = {column.lower() for column in key.columns}
        return bool(self.unique_by) and {column.lower() for column in self.unique_by} <= there


class VersionViews:
    """Views of tables at versions, which the queries of one session share.

    Of all versions that the texts of a change may read, a query reads some, and one of them in
    several places. A view is made when a query is about to read it, and its files are listed once.

    Args:
        spark: A private session.
        tables: Opens the versions.
        kept: Gives and defines views of the session.
    """

    def __init__(self, spark: SparkSession, tables: SparkTables, kept: KeptRows) -> None:
        self._spark = spark
        self._tables = tables
        self._kept = kept
        self._names: dict[tuple[TableRef, int], str] = {}
        self._missing: dict[str, tuple[TableRef, int]] = {}

    def of(self, table: TableRef, version: int) -> str:
        """Return the name of the view of a version, which `make` makes."""
        found = self._names.get((table, version))
        if found is None:
            found = self._names[table, version] = self._kept.new_view()
            self._missing[found] = table, version
        return found

    def make(self, *texts: str) -> None:
        """Make the views that texts are about to read.

        Raises:
            MaterializedTableError: A table no longer has a version.
        """
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        for name in [name for name in self._missing if name in words]:
            table, version = self._missing.pop(name)
            relation = self._tables.of(table).opened(self._spark, table, version)
            self._kept.define(f"SELECT * FROM {relation}", name)


class ResultChanges:
    """Changes of results, derived from changes of sources.

    Args:
        tables: Reads the changes of sources.
        rows: Returns which versions a refresh reads.
        details: Reads what the catalog has of the table, and of those with partial sums.
    """

    def __init__(self, tables: SparkTables, rows: QueryRows, details: TableDetails) -> None:
        self._tables = tables
        self._rows = rows
        self._details = details
        self._sums = SumsTables(tables, details)
        self._paying: dict[tuple[str, int], bool] = {}

    def of(self, session: PrivateSession, step: ApplyChanges, kept: KeptRows) -> TableChange:
        """Return what a refresh changes in the rows of a table.

        The stored partial sums of the table, if it has any, are changed before.

        Args:
            session: A private session in the context of the query.
            step: The refresh.
            kept: Keeps rows for as long as the change is used.

        Raises:
            ChangeNotSupported: There is no rule for the query, rows cannot be compared, or the
                first rows of a sorted result need rows that are not stored.
            CommitConflictError: Another refresh changed the partial sums first.
            RowsNotThereError: The partial sums are not those of the groups.
        """
        spark, definition, tree = session.spark, step.definition, step.run.tree
        if tree is None:
            raise ValueError(step)
        versions = VersionViews(spark, self._tables, kept)
        states = self._states(spark, step, tree, kept, versions)
        resolved = definition.resolved
        types = summable_types(
            (c.type for c in table_columns.stored_columns(resolved)), resolved.context
        )
        derived = differential.result_change(tree, _changes(states), types)
        if not derived.change.parts:
            self._sums.move(session, step)
            return TableChange()
        needs_sums = "K" in derived.rules
        found = self._by_sums(session, step, states, kept, versions, needs_sums=needs_sums)
        if found is None:
            own = self._own_rows(step, versions)
            found = _shared_once(derived.queries(states, own, kept.new_view), kept, versions)
            if derived.doubt is not None and has_rows(spark, found.unknown):
                derived = differential.result_change(tree, _changes(states))  # adds to no sums
                found = _shared_once(derived.queries(states, own, kept.new_view), kept, versions)
        if derived.top is not None and found.unknown and has_rows(spark, found.unknown):
            problem = (
                "rows left the first ones, or came to the place of the last one, and rows that are "
                "not stored may follow"
            )
            raise differential.ChangeNotSupported(
                differential.NotIncremental("TOP_ROWS_LEFT", problem)
            )
        _raise_if_unfit(definition, _columns(spark, found))
        return _of_rows(spark, resolved, found, kept)

    def _by_sums(
        self,
        session: PrivateSession,
        step: ApplyChanges,
        states: Mapping[str, relation_states.RelationStates],
        kept: KeptRows,
        versions: VersionViews,
        *,
        needs_sums: bool,
    ) -> differential.ChangeQueries | None:
        """Return the change of a result by its partial sums, which are changed by this.

        Sums that are there follow every change, also one for which the table shows enough.

        Returns:
            None where sums would not be exact, or where there are none that would pay.
        """
        tree = step.run.tree
        sums = None if tree is None else differential.added_sums(tree, _changes(states))
        if sums is None:
            return None
        stored = self._sums.find(session.spark, step, sums)
        if stored is not None and stored.reflect(dict(step.since)):
            return self._summed(session, step, sums, states, stored, kept, versions)
        if stored is None or not stored.reflect(step.run.positions):
            pays = needs_sums and self._pay(session.spark, step, states, versions)
            if pays:
                versions.make(*(state.after for state in states.values()))
            stored = self._sums.build(session, step, sums, states) if pays else None
        if stored is None:
            return None
        query = render_query(sums.over(stored.table.name), {0: stored.rows})
        own = f"SELECT * FROM {self._own_rows(step, versions)}"
        versions.make(own)
        return differential.ChangeQueries(query, own)

    def _pay(
        self,
        spark: SparkSession,
        step: ApplyChanges,
        states: Mapping[str, relation_states.RelationStates],
        versions: VersionViews,
    ) -> bool:
        """Whether partial sums cost less than reading the sources of the touched groups.

        It is decided once for a definition, so that the sums are not built again and again.
        """
        key = (step.definition.table_id, step.definition.generation)
        if key not in self._paying:
            own = self._own_rows(step, versions)
            relations = (own, *(state.after for state in states.values()))
            versions.make(*relations)
            self._paying[key] = sums_pay(*sizes_of(spark, relations))
        return self._paying[key]

    def _summed(
        self,
        session: PrivateSession,
        step: ApplyChanges,
        sums: PartialSums,
        states: Mapping[str, relation_states.RelationStates],
        stored: StoredSums,
        kept: KeptRows,
        versions: VersionViews,
    ) -> differential.ChangeQueries:
        """Apply the change of the sources to the sums, and return what follows for the result."""
        types = [stored.types[column] for column in sums.sums.columns]
        derived = differential.result_change(sums.sums, _changes(states), types)
        queries = derived.queries(states, stored.rows, kept.new_view)
        found = _shared_once(queries, kept, versions)
        rows = kept.keep(found.added)
        added = f"SELECT * FROM {rows.view}"
        if not found.keys:
            columns = [Column(name, stored.types[name]) for name in sums.sums.columns]
            change = _netted(columns, bags.with_weights(added, found.removed, _WEIGHT), (), kept)
            self._sums.apply(session, step, stored, change.added, removed=change.removed)
        else:
            self._sums.apply(session, step, stored, added, keys=found.keys)
        tree = sums.over(stored.table.name)
        gained, lost = (render_query(tree, {0: text}) for text in (rows.view, f"({found.removed})"))
        shown = sums.shown_keys
        if not shown or not found.keys:
            return differential.ChangeQueries(gained, lost)
        pairs = zip(sums.keys, shown, strict=True)
        listed = ", ".join(f"{quote(key)} AS {quote(name)}" for key, name in pairs)
        return differential.ChangeQueries(
            gained, lost, unique_by=shown, keys=f"SELECT {listed} FROM ({found.keys})"
        )

    def _states(
        self,
        spark: SparkSession,
        step: ApplyChanges,
        tree: Tree,
        kept: KeptRows,
        versions: VersionViews,
    ) -> dict[str, relation_states.RelationStates]:
        """Return what each table of the query was and is; its changes are computed once."""
        ranges = {str(r.table.name).lower(): r for r in self._rows.ranges(step.run, step.since)}
        names = dict.fromkeys(scan.relation for scan in scans(tree.root))
        followed = {
            name: ranges[str(name).lower()] for name in names if str(name).lower() in ranges
        }
        changed = {name: kept.new_view() for name, r in followed.items() if not r.is_empty}
        rows = kept.keep_all(
            [
                Wanted(self._changed(spark, followed[name]), view, _WEIGHTS)
                for name, view in changed.items()
            ]
        )
        states = {}
        for name in names:
            if name in followed:
                own = rows[changed[name]] if name in changed else None
                states[str(name)] = self._state(spark, followed[name], own, versions)
            else:  # read at versions of the query only
                states[str(name)] = relation_states.RelationStates(name.sql, name.sql)
        return states

    def _changed(self, spark: SparkSession, range_: VersionRange) -> Sequence[str]:
        """Return queries for the rows that a range added or removed, and how often."""
        return self._tables.of(range_.table).changes(spark).weighted(range_, _WEIGHT)

    def _state(
        self,
        spark: SparkSession,
        range_: VersionRange,
        changed: Kept | None,
        versions: VersionViews,
    ) -> relation_states.RelationStates:
        as_of = partial(versions.of, range_.table)
        now = as_of(range_.upto.version)
        if changed is None or not changed.rows:
            return relation_states.RelationStates(now, now)
        *columns, _ = spark.table(changed.view).schema
        added, removed = _bags(changed, ", ".join(quote(field.name) for field in columns))
        both = _with_signs(changed, columns) if added and removed else ""
        before, after = range_.after.version, range_.upto.version
        if self._tables.history(range_.table).keeps_columns(range_.table, before, after):
            earlier = as_of(before)
        else:
            earlier = _before(as_of(before), range_, columns)
        cancels = not are_comparable(f for f in columns if range_.reads(f.name))
        return relation_states.RelationStates(earlier, now, added, removed, both, cancels)

    def _own_rows(self, step: ApplyChanges, versions: VersionViews) -> str:
        """Return the rows of the table as a relation with the columns of the query."""
        resolved = step.definition.resolved
        columns = ", ".join(
            f"{quote(column.name)} AS {quote(name)}"
            for name, column in zip(
                table_columns.inner_names(resolved),
                table_columns.stored_columns(resolved),
                strict=True,
            )
        )
        table = table_of(self._details, step.definition.name)
        rows = versions.of(table, step.version)
        return f"(SELECT {columns} FROM {rows})"


def sums_pay(own: float | None, *sources: float | None) -> bool:
    """Whether partial sums of a table pay, by the sizes of its files and of those of its sources.

    They do not where a size is unknown: to build them costs as much as computing the query.
    """
    total = total_of(sources)
    return own is not None and total is not None and total >= SMALLEST_RATIO * own


def _changes(
    states: Mapping[str, relation_states.RelationStates],
) -> dict[str, relation_states.SourceChange]:
    return {
        name: relation_states.SourceChange(bool(state.added), bool(state.removed), state.cancels)
        for name, state in states.items()
    }


def _shared_once(
    found: differential.ChangeQueries, kept: KeptRows, versions: VersionViews
) -> differential.ChangeQueries:
    """Make the versions that the queries of a change read, and the relations that they share."""
    texts = (found.added, found.removed, found.both, found.keys, found.unknown)
    versions.make(*texts, *(each.query for each in found.shared))
    kept.keep_all(
        [Wanted((each.query,), each.name, (), each.reads, each.is_view) for each in found.shared]
    )
    return found


def _bags(weighted: Kept, columns: str) -> tuple[str, str]:
    """Return the added and the removed rows of a weighted relation, empty where there are none."""
    most, least = weighted.measures
    return _bag(weighted.view, columns, 1, most), _bag(weighted.view, columns, -1, -least)


def _bag(view: str, columns: str, sign: int, most: int) -> str:
    """Return the rows whose weight has a sign, each as often as the weight says."""
    if most < 1:
        return ""
    return f"({bags.signed_query(columns, view, _WEIGHT, sign, repeats=most > 1)})"


def _with_signs(weighted: Kept, columns: Sequence[StructField]) -> str:
    """Return the rows of a weighted relation, each as often as its weight says, with 1 or -1."""
    most, least = weighted.measures
    if max(most, -least) <= 1:
        return weighted.view
    listed = ", ".join(quote(field.name) for field in columns)
    copies = f"explode(array_repeat(1, CAST(abs({_WEIGHT}) AS INT)))"
    return (
        f"(SELECT {listed}, sign({_WEIGHT}) AS {_WEIGHT} FROM {weighted.view} "
        f"LATERAL VIEW {copies} AS `__materialized_table_copy`)"
    )


def _columns(spark: SparkSession, found: differential.ChangeQueries) -> tuple[Column, ...]:
    """Return the columns of the rows of a change."""
    columns = columns_of(analysed(spark, found.added or found.removed or found.both).schema)
    return columns[:-1] if found.both else columns


def _before(rows: str, range_: VersionRange, after: Sequence[StructField]) -> str:
    """Return the earlier state of a table, in the columns of the later one.

    The columns that are read have the same types in both. The others are NULL.

    Args:
        rows: What a query reads for the earlier state.
        range_: The table.
        after: The columns of its later state.
    """
    columns = ", ".join(
        quote(f.name)
        if range_.reads(f.name)
        else f"CAST(NULL AS {ddl_type(f.dataType)}) AS {quote(f.name)}"
        for f in after
    )
    return f"(SELECT {columns} FROM {rows})"


def _raise_if_unfit(definition: StoredDefinition, columns: Sequence[Column]) -> None:
    """Refuse a change whose columns are not those of the table; the write checks lengths of texts.

    Operators of a change, such as the union with own rows, have STRING for CHAR and VARCHAR.
    """
    resolved = replace(definition.resolved, columns=_unbounded(definition.resolved.columns))
    if not table_columns.has_distinct_columns(resolved):  # whose names in a change are numbered
        pairs = zip(columns, resolved.query_columns, strict=True)
        columns = [replace(column, name=name) for column, name in pairs]
    raise_if_unfit(replace(definition, resolved=resolved), _unbounded(columns))


def _unbounded(columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(replace(column, type=unbounded_type(column.type)) for column in columns)


def _of_table(definition: ResolvedDefinition, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the table's names of columns of the query."""
    names = table_columns.Names.of(definition.context)
    inner = table_columns.inner_names(definition)
    places = {
        names.fold(inner[place]): column.name
        for place, column in zip(
            table_columns.query_positions(definition), definition.columns, strict=True
        )
    }
    return tuple(places[names.fold(column)] for column in columns)


def _keys(definition: ResolvedDefinition, found: differential.ChangeQueries) -> str:
    """Return the touched keys with the names and types of the columns of the table."""
    types = {c.name: castable_ddl(parse_type(c.type)) for c in definition.columns}
    pairs = zip(found.unique_by, _of_table(definition, found.unique_by), strict=True)
    listed = ", ".join(f"CAST({quote(c)} AS {types[own]}) AS {quote(own)}" for c, own in pairs)
    return f"SELECT {listed} FROM (\n{found.keys}\n)"


def _of_rows(
    spark: SparkSession,
    resolved: ResolvedDefinition,
    found: differential.ChangeQueries,
    kept: KeptRows,
) -> TableChange:
    """Return the change of a result as rows of the table."""
    unique_by = _of_table(resolved, found.unique_by)
    if found.both:
        rows = table_columns.content_query(resolved, found.both, _WEIGHT)
        return _netted(resolved.columns, rows, unique_by, kept)
    added, removed = (
        table_columns.content_query(resolved, text) if text else ""
        for text in (found.added, found.removed)
    )
    if found.keys:
        change = TableChange(added, removed, unique_by, _keys(resolved, found))
        return change if has_rows(spark, change.keys) else TableChange()
    if not removed:
        return TableChange(added, unique_by=unique_by)
    return _netted(resolved.columns, bags.with_weights(added, removed, _WEIGHT), unique_by, kept)


def _netted(
    columns: Sequence[Column],
    rows: str,
    unique_by: tuple[str, ...],
    kept: KeptRows,
) -> TableChange:
    """Return a change without the rows that it removes and adds again.

    Args:
        columns: The columns of the rows.
        rows: A query: these columns and the weight of each row.
        unique_by: Columns by which the rows of the table are unique.
        kept: Keeps the rows.

    Raises:
        ChangeNotSupported: Rows cannot be compared.
    """
    if bad := [c for c in columns if not is_comparable(c.type)]:
        problem = f"values of type {bad[0].type} cannot be compared, those of column {bad[0].name}"
        raise differential.ChangeNotSupported(
            differential.NotIncremental("INCOMPARABLE_TYPE", problem, "")
        )
    listed = ", ".join(quote(column.name) for column in columns)
    compared = tuple(bags.BagColumn.of(quote(column.name), column.type) for column in columns)
    found = kept.keep(bags.weighted_query(compared, rows, _WEIGHT), *_WEIGHTS)
    if not found.rows:
        return TableChange()
    gained, lost = (f"SELECT * FROM {bag}" if bag else "" for bag in _bags(found, listed))
    return TableChange(gained, lost, unique_by)
