"""Columns of source relations, as recorded and as they are now.

A query may take columns without naming them: `SELECT *`, NATURAL JOIN, set operations. To keep its
meaning, each relation whose columns differ from the recorded ones is replaced. Its subquery selects
the recorded ones by name: `(SELECT a, b FROM star) AS star`. Columns that were added later are
invisible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import FieldName, TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.errors import InvalidTypeError
from dbt.adapters.spark_mt.query.binder import FILE_METADATA
from dbt.adapters.spark_mt.query.syntax import same_tokens
from dbt.adapters.spark_mt.query.text import replace_at, shape_of, tree_of
from dbt.adapters.spark_mt.query.types import parse_type
from dbt.adapters.spark_mt.resolution.columns import Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import Column, QueryContext, SourceColumns
    from dbt.adapters.spark_mt.definition.definition import (
        DeclaredDefinition,
        ResolvedDefinition,
        StoredDefinition,
    )
    from dbt.adapters.spark_mt.query.text import RelationRef
    from dbt.adapters.spark_mt.query.types import DataType

    Fields = tuple[FieldName, ...]


class UnboundColumnsError(Exception):
    """The recorded columns of a relation cannot be selected; the message has the reason."""


def field_names(columns: Iterable[Column]) -> Fields:
    """Return the names of columns, and of the fields nested in them."""
    return tuple(FieldName(c.name, _inside(_parsed(c.type)), c.type) for c in columns)


def merged(recorded: Fields, now: Fields, names: Names) -> Fields:
    """Return the current columns: recorded ones in their order, new ones at the end."""
    there = {names.fold(field.name): field for field in now}
    known = {names.fold(field.name) for field in recorded}
    kept = (
        FieldName(field.name, merged(field.nested, found.nested, names), found.type)
        for field in recorded
        if (found := there.get(names.fold(field.name))) is not None
    )
    return (*kept, *(field for field in now if names.fold(field.name) not in known))


def missing(wanted: Fields, among: Fields, names: Names) -> Iterator[str]:
    """Yield the columns and nested fields of `wanted` that are not in `among`, with their path."""
    there = {names.fold(field.name): field for field in among}
    for field in wanted:
        found = there.get(names.fold(field.name))
        if found is None:
            yield quote(field.name)
        else:
            inner = missing(field.nested, found.nested, names)
            yield from (f"{quote(field.name)}.{path}" for path in inner)


def changed_columns(source: str, recorded: Fields, now: Fields, names: Names) -> Iterator[str]:
    """Yield the columns that a relation has lost and gained, as one clause; nothing for neither."""
    lost, gained = [*missing(recorded, now, names)], [*missing(now, recorded, names)]
    parts = [f"no longer has {', '.join(lost)}"] if lost else []
    parts += [f"has new columns: {', '.join(gained)}"] if gained else []
    if parts:
        yield f"{source} {' and '.join(parts)}"


def same_fields(one: Fields, other: Fields, names: Names) -> bool:
    """Return whether two relations have the same names in the same order, nested ones included."""
    return len(one) == len(other) and all(
        names.fold(a.name) == names.fold(b.name) and same_fields(a.nested, b.nested, names)
        for a, b in zip(one, other, strict=True)
    )


def selection(now: Sequence[Column], wanted: Fields, names: Names) -> tuple[str, ...] | None:
    """Return the SELECT items for the wanted columns that a relation still has, in their order.

    None if the relation has just these columns in this order.
    """
    if same_fields(field_names(now), wanted, names):
        return None
    there = {names.fold(column.name): column for column in now}
    return tuple(
        _item(field, _parsed(found.type), names)
        for field in wanted
        if (found := there.get(names.fold(field.name))) is not None
    )


def recorded_fields(recorded: Iterable[SourceColumns]) -> dict[str, Fields]:
    """Return recorded columns by the relation's full name in lower case."""
    return {each.source.lower(): each.columns for each in recorded}


def _item(field: FieldName, now: DataType | None, names: Names) -> str:
    column = quote(field.name)
    if now is None or same_fields(field.nested, _inside(now), names):
        return column
    return f"{_rebuilt(column, now, field.nested, names, 0)} AS {column}"


def _rebuilt(text: str, now: DataType, fields: Fields, names: Names, depth: int) -> str:
    """Return an expression for a value with other nested fields or another order, by name."""
    if same_fields(fields, _inside(now), names):
        return text
    if now.name == "STRUCT":
        there = {names.fold(f.name): f.type for f in now.fields}
        parts = (
            f"{quote_text(field.name)}, "
            + _rebuilt(f"{text}.{quote(field.name)}", type_, field.nested, names, depth)
            for field in fields
            if (type_ := there.get(names.fold(field.name))) is not None
        )
        return f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    item, inner = f"_{depth}", {field.name: field.nested for field in fields}
    if now.name == "ARRAY":
        made = _rebuilt(item, now.elements[0], inner.get("element", ()), names, depth + 1)
        return f"transform({text}, {item} -> {made})"
    if now.name != "MAP" or not inner:
        raise UnboundColumnsError(f"{text} is no longer a type with fields")  # noqa: TRY003, EM102
    key, value = (
        _rebuilt(f"{item}{part}", type_, inner.get(name, ()), names, depth + 1)
        for part, name, type_ in zip("kv", ("key", "value"), now.elements, strict=True)
    )
    arguments = f"({item}k, {item}v) ->"
    return f"transform_values(transform_keys({text}, {arguments} {key}), {arguments} {value})"


def _inside(type_: DataType | None) -> Fields:
    if type_ is None:
        return ()
    if type_.fields:
        return tuple(FieldName(f.name, _inside(f.type)) for f in type_.fields)
    labels = ("element",) if type_.name == "ARRAY" else ("key", "value")
    inner = [(name, _inside(e)) for name, e in zip(labels, type_.elements, strict=False)]
    return tuple(FieldName(name, fields) for name, fields in inner if fields)


def _parsed(type_: str) -> DataType | None:
    try:
        return parse_type(type_)
    except InvalidTypeError:
        return None


def bind(query: str, context: QueryContext, selections: Mapping[str, tuple[str, ...]]) -> str:
    """Restrict a query to some columns of its relations.

    Relations at a version that the user wrote are not changed: the columns of a version are fixed.

    Args:
        query: The query.
        context: Completes the names in it.
        selections: SELECT items by the full name of a relation in lower case.

    Raises:
        UnboundColumnsError: The text cannot be parsed, or a relation is not in it.
    """
    if not selections:
        return query
    shape = shape_of(query)
    if not shape.readable:
        raise UnboundColumnsError("the text of the query cannot be parsed")  # noqa: TRY003, EM101
    refs = [(ref, name) for ref in shape.relations if (name := full_name_of(ref, context))]
    found = {name for _, name in refs}
    if absent := selections.keys() - found:
        listed = ", ".join(sorted(absent))
        raise UnboundColumnsError(f"the text of the query does not name {listed}")  # noqa: TRY003, EM102
    if FILE_METADATA in query.lower() and not has_star(query):
        selections = {n: (*items, FILE_METADATA) for n, items in selections.items()}
    bound = [(ref, selections[n]) for ref, n in refs if n in selections and not ref.pinned]
    edits = [edit for ref, items in bound for edit in _edits(ref, items)]
    edits += _unqualified(query, [ref for ref, _ in bound])
    return replace_at(query, edits)


def full_name_of(ref: RelationRef, context: QueryContext) -> str:
    """Return the full name of a relation in lower case; empty where it has too many parts."""
    if len(ref.parts) > 3:
        return ""
    return str(TableName.of(*ref.parts).within(context.catalog, context.schema)).lower()


def takes_all_columns(query: str) -> bool:
    """Return whether the rows of a query may depend on columns that it does not name.

    A `*` that only passes columns on does not count: a dropped column is missed by its name.
    """
    tree = tree_of(query)
    return tree is None or any(_marks_of_whole_rows(tree))


def _marks_of_whole_rows(tree: exp.Expr) -> Iterator[bool]:
    """Yield for each construct whose rows depend on columns without a name whether it is used."""
    yield any(join.method.upper() == "NATURAL" for join in tree.find_all(exp.Join))
    yield any(table.args.get("pivots") for table in tree.find_all(exp.Table, exp.Subquery))
    renaming = [alias.parent for alias in tree.find_all(exp.TableAlias) if alias.columns]
    yield any(isinstance(relation, exp.Table) for relation in renaming)
    if stars := [*_stars(tree)]:
        yield any(isinstance(relation, (exp.Subquery, exp.CTE)) for relation in renaming)
        yield tree.find(exp.SetOperation, exp.Distinct) is not None
        yield any(not isinstance(_holder(star), exp.Select) for star in stars)


def has_star(query: str) -> bool:
    """Return whether a query has a `*` that stands for columns; `count(*)` has none."""
    tree = tree_of(query)
    return tree is None or any(True for _ in _stars(tree))


def has_outer_star(query: str) -> bool:
    """Return whether the result of a query has columns by `*`, in an order not in the text."""
    tree = tree_of(query)
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    return isinstance(tree, exp.Select) and any(
        isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star)
        for item in tree.expressions
    )


def hides_order(query: str) -> bool:
    """Return whether its relations' column order may matter without a trace in result names."""
    tree = tree_of(query)
    if tree is None or takes_all_columns(query):
        return True
    return any(_holder(star) is not tree for star in _stars(tree))


def recorded_columns(
    declared: DeclaredDefinition, stored: StoredDefinition | None
) -> tuple[SourceColumns, ...]:
    """Return the columns by which the query was defined, if it is still the same."""
    if stored is None or not same_tokens(stored.declared.query, declared.query):
        return ()
    return stored.resolved.source_columns


def in_stored_order(
    columns: tuple[Column, ...],
    declared: DeclaredDefinition,
    stored: StoredDefinition,
    context: QueryContext,
) -> tuple[Column, ...]:
    """Return the columns that the table has in its order, and new ones at the end.

    A new column has the place of one that is gone, as a renamed one does. A changed query whose
    text fixes the order of its columns keeps this order.
    """
    same = same_tokens(stored.declared.query, declared.query)
    if not same and not has_outer_star(declared.query):
        return columns
    names = Names.of(context)
    places = {names.fold(c.name): place for place, c in enumerate(stored.resolved.columns)}
    folded = [names.fold(c.name) for c in columns]
    new = [name for name in folded if name not in places]
    gone = [place for name, place in places.items() if name not in folded]
    places.update(zip(new, gone, strict=False))
    return tuple(sorted(columns, key=lambda c: places.get(names.fold(c.name), len(places))))


def keeping_sources(
    definition: ResolvedDefinition, stored: ResolvedDefinition
) -> ResolvedDefinition:
    """Keep the recorded columns of the sources while the same query returns the same columns.

    A column that a source gained then has no effect. To record it could change the meaning of the
    text for rows that stay. If a source lost a column on which the query may depend, the meaning
    has changed already.
    """
    names = Names.of(definition.context)
    same = (
        same_tokens(stored.declared.query, definition.declared.query)
        and same_tokens(stored.expanded_query, definition.expanded_query)
        and definition.query_columns == stored.query_columns
    )
    known = recorded_fields(definition.source_columns)
    before = recorded_fields(stored.source_columns)
    lost = any(any(missing(fields, known.get(s, ()), names)) for s, fields in before.items())
    if not same or (lost and takes_all_columns(definition.expanded_query)):
        return definition
    kept = (
        replace(each, columns=before.get(each.source.lower(), each.columns))
        for each in definition.source_columns
    )
    return replace(definition, source_columns=tuple(kept))


def _stars(tree: exp.Expr) -> Iterator[exp.Star]:
    for star in tree.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            yield star


def _holder(star: exp.Star) -> exp.Expr | None:
    """Return the node of which a star is an item; `t.*` is one item."""
    return star.parent.parent if isinstance(star.parent, exp.Column) else star.parent


def _edits(ref: RelationRef, items: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """Put a relation into a subquery; no alias can follow the clause of a sample."""
    end = ref.end if ref.sampled else ref.tail
    alias = "" if ref.aliased or ref.sampled else f" AS {quote(ref.parts[-1])}"
    yield ref.begin, ref.begin, f"(SELECT {', '.join(items)} FROM "
    yield end, end, f"){alias}"


def _unqualified(query: str, refs: Sequence[RelationRef]) -> Iterator[tuple[int, int, str]]:
    """Take the schema off columns such as `s.star.a`: a subquery's alias has none."""
    tree = tree_of(query)
    tables = {tuple(p.lower() for p in ref.parts) for ref in refs}
    if tree is None:
        return
    for column in tree.find_all(exp.Column):
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        qualifier = parts if column.is_star else parts[:-1]
        named = tuple(part.name.lower() for part in qualifier)
        if len(named) > 1 and any(table[-len(named) :] == named for table in tables):
            start, end = qualifier[0].meta.get("start"), qualifier[-1].meta.get("start")
            if start is not None and end is not None:
                yield start, end, ""
