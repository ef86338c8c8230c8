"""Conditions and subqueries of an operator tree as joins.

A builder gives equalities to joins, and makes joins of EXISTS and IN in a condition. Subqueries
elsewhere become joins of the whole tree, as far as there is a join with the same result; the others
stay an `Apply`. Time windows become columns of the input of an aggregate.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query.expressions import (
    AggregateCall,
    Attribute,
    EquiKey,
    Expression,
    Named,
    SubqueryKind,
    all_of,
    call_name,
    call_of,
    passed_on,
)
from dbt.adapters.spark_mt.query.operators import (
    Aggregate,
    Apply,
    Filter,
    Generate,
    Join,
    JoinKind,
    Operator,
    Project,
    Sort,
    Union,
    expressions_of,
    keys_in,
    rows_of,
    transform,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dbt.adapters.spark_mt.query.binder import Bound, Subquery


def filtered(rows: Operator, bound: Bound) -> Operator:
    """Apply a condition: equalities to the joins below, EXISTS and IN as joins where possible."""
    by_key = {subquery.attribute.key: subquery for subquery in bound.subqueries}
    parts = Expression(bound.tree).conjuncts
    simple = [part for part in parts if not part.keys & by_key.keys()]
    rest: list[Expression] = []
    for part in simple:
        joined = _with_key(rows, part)
        rows = joined if joined is not None else rows
        rest += [part] if joined is None else []
    rows = Filter(rows, all_of(rest)) if rest else rows
    complex_: list[Expression] = []
    for part in parts:
        if part.keys & by_key.keys():
            joined = _as_join(rows, part, by_key)
            rows = joined if joined is not None else rows
            complex_ += [part] if joined is None else []
    if not complex_:
        return rows
    used = frozenset().union(*(part.keys for part in complex_))
    for key, subquery in by_key.items():
        rows = subquery.over(rows) if key in used else rows
    return Filter(rows, all_of(complex_))


def _with_key(rows: Operator, part: Expression) -> Operator | None:
    """Give an equality to the inner join whose inputs it compares; None where there is none."""
    if not isinstance(rows, Join) or rows.kind not in {JoinKind.INNER, JoinKind.CROSS}:
        return None
    below = [part.keys <= keys_in(side) for side in rows.inputs]
    if any(below):
        sides = [_with_key(s, part) if b else s for s, b in zip(rows.inputs, below, strict=True)]
        kept = [side for side in sides if side is not None]
        return rows.over(*kept) if len(kept) == len(sides) and part.keys else None
    key = EquiKey.of(part, keys_in(rows.left), keys_in(rows.right))
    return replace(rows, kind=JoinKind.INNER, keys=(*rows.keys, key)) if key is not None else None


def _as_join(rows: Operator, part: Expression, subqueries: dict[str, Subquery]) -> Operator | None:
    """Return a semi or anti join for EXISTS, NOT EXISTS and IN; None for anything else."""
    tree = part.tree.unnest()
    negated = isinstance(tree, exp.Not)
    if isinstance(tree, exp.Not):
        tree = tree.this.unnest()
    subquery = subqueries.get(tree.name) if isinstance(tree, exp.Column) else None
    possible = {SubqueryKind.EXISTS} if negated else {SubqueryKind.EXISTS, SubqueryKind.IN}
    if subquery is None or subquery.kind not in possible:
        return None
    found = decorrelated(subquery.query, keys_in(rows))
    width = len(subquery.operands)
    if found is None or (width and width != len(found[2])):
        return None
    right, correlated, values = found
    equal = (
        Expression(exp.EQ(this=_operand(mine), expression=_operand(theirs)))
        for mine, theirs in zip(subquery.operands, values, strict=False)
    )
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    keys, rest = EquiKey.split([*equal, *correlated], keys_in(rows), keys_in(right))
    return Join(rows, right, kind, keys, rest, subquery=True)


def _operand(side: Expression) -> exp.Expr:
    tree = side.tree.copy()
    return exp.Paren(this=tree) if isinstance(tree, (exp.Binary, exp.Unary)) else tree


def decorrelated(
    query: Operator, outer: frozenset[str]
) -> tuple[Operator, list[Expression], list[Expression]] | None:
    """Take the conditions over outer attributes out of a subquery.

    Returns:
        The rows without these conditions, the conditions, and the columns of the subquery as
        expressions over the rows; None where an outer attribute is used elsewhere.
    """
    values = [attribute.expression for attribute in query.output]
    if not any(e.keys & outer for e in expressions_of(query)):
        return query, [], values
    correlated: list[Expression] = []
    local: list[Expression] = []
    while isinstance(query, (Project, Filter, Sort)):
        if isinstance(query, Project):
            trees = {c.attribute.key: c.expression.tree for c in query.columns}
            values = [value.over(trees) for value in values]
            correlated = [part.over(trees) for part in correlated]
            local = [part.over(trees) for part in local]
        elif isinstance(query, Filter):
            if isinstance(query.input, Apply):
                break
            for part in query.condition.conjuncts:
                (correlated if part.keys & outer else local).append(part)
        query = query.input
    if any(e.keys & outer for e in (*expressions_of(query), *values)):
        return None
    return (Filter(query, all_of(local)) if local else query), correlated, values


_ZERO_ON_EMPTY = frozenset({"count", "count_if", "regr_count", "approx_count_distinct"})
_NULL_ON_EMPTY = frozenset(
    {"sum", "avg", "mean", "min", "max", "stddev", "stddev_pop", "stddev_samp", "std", "var_pop"}
    | {"var_samp", "variance", "bool_and", "bool_or", "any", "some", "every", "max_by", "min_by"}
    | {"median", "percentile", "try_sum", "try_avg", "corr", "covar_pop", "covar_samp", "skewness"}
)


def without_subqueries(root: Operator, ids: Iterator[int]) -> Operator:
    """Return a tree with joins in the place of subqueries, as far as there are such joins.

    Args:
        root: The last operator of a query.
        ids: Gives attributes an identity that the tree does not have yet.
    """
    return transform(root, _Rewriter(ids, _constants(root)).changed)


_LOGICAL = (exp.Paren, exp.And, exp.Or, exp.Not)
_KEEPING = (exp.Cast, exp.TryCast, exp.Is, exp.NullSafeEQ)
_KEEPING_CALLS = frozenset(
    {"coalesce", "nvl", "ifnull", "if", "isnull", "isnotnull", "struct", "named_struct", "array"}
    | {"max", "min", "count", "bool_and", "bool_or", "every", "some", "any"}
)
"""Functions whose value of IN Spark does not compare with a literal, which it turns into NOT IN."""


def _is_negated(value: exp.Expr) -> bool | None:
    """Return whether NOT applies to a value of IN; None where that depends on Spark's optimizer.

    Spark evaluates IN (subquery) in an expression by a join, and the value is never NULL. What
    would be NULL is FALSE for IN and for NOT IN. Which of the two a value is, is known after
    Spark has moved NOT inwards, over AND and OR.
    """
    negated = False
    node, parent = value, value.parent
    while isinstance(parent, _LOGICAL):
        negated ^= isinstance(parent, exp.Not)
        node, parent = parent, parent.parent
    if parent is None or isinstance(parent, _KEEPING):
        return negated
    if isinstance(parent, exp.If):
        case = parent.parent
        is_plain = isinstance(case, exp.Case) and case.args.get("this") is None
        return negated if is_plain and node.arg_key == "this" else None
    name = call_name(parent)
    if name == "if" and parent.expressions[0] is not node:
        return None
    return negated if name in _KEEPING_CALLS else None


def _is_logical(value: exp.Expr) -> bool:
    """Return whether a whole expression is made of a value by AND, OR and NOT."""
    parent = value.parent
    while isinstance(parent, _LOGICAL):
        parent = parent.parent
    return parent is None


def _uses(expressions: Iterable[Expression], keys: Collection[str]) -> Iterator[exp.Expr]:
    """Yield the places of some attributes in expressions."""
    for expression in expressions:
        for column in expression.tree.find_all(exp.Column):
            if column.name in keys:
                yield column


def _constants(root: Operator) -> frozenset[str]:
    """Return the keys of attributes that Spark may replace by a literal, if IN is a value."""
    if not _has_value(root):
        return frozenset()
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for node in walk(root):
            if isinstance(node, Project):
                found |= {c.attribute.key for c in node.columns if c.expression.keys <= found}
            elif isinstance(node, Union):
                sides = (zip(node.output, b.output, strict=False) for b in node.branches)
                found |= {ours.key for side in sides for ours, a in side if a.key in found}
    return frozenset(found)


def _has_value(root: Operator) -> bool:
    """Return whether IN (subquery) is a value in an expression of a tree."""
    return any(isinstance(n, Apply) and n.kind is SubqueryKind.IN for n in walk(root))


def uses_value_again(root: Operator) -> bool:
    """Return whether an operator computes with a column that is the value of IN (subquery).

    Spark merges both operators, so that NOT in the upper one would apply to IN in the lower one.
    """
    if not _has_value(root):
        return False
    values: set[str] = set()
    for node in reversed(list(walk(root))):
        own = {each.attribute.key for each in _chain(node) if each.kind is SubqueryKind.IN}
        if isinstance(node, Apply):
            continue
        if isinstance(node, Union):
            pairs = [p for b in node.branches for p in zip(node.output, b.output, strict=False)]
            values |= {ours.key for ours, theirs in pairs if theirs.key in values}
            continue
        named = [*getattr(node, "columns", ()), *getattr(node, "groups", ())]
        passed_ = {id(each.expression) for each in named if each.expression.attribute in values}
        others = [each for each in node.expressions if id(each) not in passed_]
        if not isinstance(node, Sort) and any(
            _is_computed(node, use) for use in _uses(others, values)
        ):
            return True
        made = [
            each.attribute.key
            for each in named
            if each.expression.attribute in values
            or any(map(_is_logical, _uses((each.expression,), own)))
        ]
        values |= {*made}
    return False


def aggregates_value(root: Operator) -> bool:
    """Return whether an aggregate negates a value of IN that is no join.

    NOT would not apply to IN where both are computed one after the other.
    """
    for node in walk(root):
        keys = {each.attribute.key for each in _chain(node) if each.kind is SubqueryKind.IN}
        if isinstance(node, Aggregate) and any(
            _is_negated(use) is not False for use in _uses(node.expressions, keys)
        ):
            return True
    return False


def _is_computed(node: Operator, use: exp.Expr) -> bool:
    """Return whether a column is more than a condition that must be true."""
    parent = use.parent
    while isinstance(parent, (exp.Paren, exp.And, exp.Or)):
        parent = parent.parent
    return parent is not None or not isinstance(node, Filter)


def _chain(node: Operator) -> Iterator[Apply]:
    """Yield the subqueries whose values an operator uses."""
    below = node.inputs[0] if node.inputs and not isinstance(node, Apply) else None
    while isinstance(below, Apply):
        yield below
        below = below.input


def fresh_ids(root: Operator) -> Iterator[int]:
    """Return identities that no attribute of a tree has."""
    used = (a.id for node in walk(root) for a in node.output)
    return count(max(used, default=0) + 1)


def passed(node: Operator, *more: Named, output: tuple[Attribute, ...] | None = None) -> Project:
    """Return the columns of an operator, or some of them, and computed ones."""
    kept = node.output if output is None else output
    return Project(node, (*passed_on(kept), *more))


def count_call(attribute: Attribute, *arguments: Expression) -> AggregateCall:
    """Return `count(*)` or `count(x)`."""
    return AggregateCall(attribute, call_of("count", *arguments), "count", arguments)


def time_windows(expression: Expression) -> list[exp.Expr]:
    """Return the calls of `window` in an expression."""
    return [node for node in expression.tree.walk() if call_name(node) == "window"]


class _Rewriter:
    def __init__(self, ids: Iterator[int], constants: frozenset[str]) -> None:
        self._ids = ids
        self._constants = constants

    def changed(self, node: Operator) -> Operator:
        if isinstance(node, Aggregate) and node.sets is None:
            node = self._with_window_column(node)
        if not isinstance(node, (Filter, Project, Generate, Aggregate)):
            return node
        if not isinstance(node.input, Apply):
            return node
        rows = self._joined(node.input, node.expressions)
        if rows is None:
            return node
        changed = node.over(rows)
        return changed if changed.output == node.output else passed(changed, output=node.output)

    def _with_window_column(self, node: Aggregate) -> Aggregate:
        found = [call for g in node.groups for call in time_windows(g.expression)]
        calls = list(dict.fromkeys(found))
        if not calls:
            return node
        columns = [Named(self._attribute("window"), Expression(call.copy())) for call in calls]
        trees = {c.expression.tree: c.attribute.expression.tree for c in columns}

        def replaced(part: exp.Expr) -> exp.Expr:
            return trees[part].copy() if part in trees else part

        groups = tuple(
            replace(g, expression=Expression(g.expression.tree.copy().transform(replaced)))
            for g in node.groups
        )
        used = frozenset(node.input.output)
        return replace(node, input=passed(node.input, *columns), groups=groups) if used else node

    def _joined(self, top: Apply, used: Sequence[Expression]) -> Operator | None:
        chain: list[Apply] = []
        node: Operator = top
        while isinstance(node, Apply):
            chain.append(node)
            node = node.input
        rows, kept = node, []
        for apply in reversed(chain):
            joined = self._as_join(rows, replace(apply, input=rows_of(top)), rows_of(top), used)
            rows = joined if joined is not None else rows
            kept += [apply] if joined is None else []
        if len(kept) == len(chain):
            return None
        for apply in kept:
            rows = apply.over(rows, apply.query)
        return rows

    def _as_join(
        self, rows: Operator, apply: Apply, base: Operator, used: Sequence[Expression]
    ) -> Operator | None:
        if apply.kind is SubqueryKind.SCALAR:
            return self._scalar(rows, apply)
        if apply.kind is SubqueryKind.EXISTS:
            return self._exists(rows, apply, keys_in(base))
        negated = {_is_negated(use) for use in _uses(used, {apply.attribute.key})}
        if len(negated) != 1 or None in negated or any(map(self._may_be_null, apply.operands)):
            return None
        return self._not_in(rows, apply) if negated.pop() else self._in(rows, apply, keys_in(base))

    def _may_be_null(self, operand: Expression) -> bool:
        """Return whether an operand is a constant, and no literal: NULL IN (…) is NULL in Spark."""
        tree = operand.tree.unnest()
        is_literal = isinstance(tree, (exp.Literal, exp.Var))
        return operand.keys <= self._constants and not is_literal

    def _scalar(self, rows: Operator, apply: Apply) -> Operator | None:
        value, below = apply.query.output[0].expression, apply.query
        while isinstance(below, (Project, Sort)) and not isinstance(below.input, Apply):
            if isinstance(below, Project):
                value = value.over({c.attribute.key: c.expression.tree for c in below.columns})
            below = below.input
        if not isinstance(below, Aggregate) or below.groups or below.sets is not None:
            return None
        outer = keys_in(rows)
        if not apply.outer:
            named = Named(apply.attribute, apply.query.output[0].expression)
            return Join(rows, Project(apply.query, (named,)), JoinKind.CROSS)
        return self._correlated(rows, apply.attribute, value, below, outer)

    def _correlated(
        self,
        rows: Operator,
        attribute: Attribute,
        value: Expression,
        aggregate: Aggregate,
        outer: frozenset[str],
    ) -> Operator | None:
        """Return a join with the rows of a subquery, grouped by what they are compared with."""
        known = all(c.name in _ZERO_ON_EMPTY | _NULL_ON_EMPTY for c in aggregate.calls)
        found = decorrelated(aggregate.input, outer)
        if not known or found is None or any(c.expression.keys & outer for c in aggregate.calls):
            return None
        body, conditions, values = found
        keys, rest = EquiKey.split(conditions, outer, keys_in(body))
        if rest is not None or not keys:
            return None
        groups = tuple(Named(self._attribute("key"), key.right) for key in keys)
        columns = zip(aggregate.input.output, values, strict=True)
        input_ = Project(body, (*(Named(a, e) for a, e in columns), *groups))
        by = passed_on(g.attribute for g in groups)
        right = Aggregate(input_, by, aggregate.calls)
        equal = tuple(
            EquiKey(key.left, g.attribute.expression, key.null_safe)
            for key, g in zip(keys, groups, strict=True)
        )
        joined = Join(rows, right, JoinKind.LEFT, equal)
        zero = Expression(exp.Literal.number(0))
        zeros = {
            c.attribute.key: call_of("coalesce", c.attribute.expression, zero).tree
            for c in aggregate.calls
            if c.name in _ZERO_ON_EMPTY
        }
        return passed(joined, Named(attribute, value.over(zeros)), output=rows.output)

    def _exists(self, rows: Operator, apply: Apply, outer: frozenset[str]) -> Operator | None:
        if not apply.outer:
            counted, rows_found, _ = self._counted(apply.query)
            some = exp.GT(this=rows_found.expression.tree, expression=exp.Literal.number(0))
            columns = (Named(apply.attribute, Expression(some)),)
            return Join(rows, Project(counted, columns), JoinKind.CROSS)
        found = decorrelated(apply.query, outer)
        if found is None:
            return None
        right, conditions, _ = found
        keys, rest = EquiKey.split(conditions, outer, keys_in(right))
        if not keys:
            return None
        semi = Join(rows, right, JoinKind.SEMI, keys, rest, subquery=True)
        return self._either(semi, apply.attribute, Expression(exp.false()))

    def _in(self, rows: Operator, apply: Apply, outer: frozenset[str]) -> Operator | None:
        """Return x IN (…), FALSE in the place of NULL."""
        found = decorrelated(apply.query, outer)
        if found is None or len(apply.operands) != len(found[2]):
            return None
        right, conditions, values = found
        pairs = list(zip(apply.operands, values, strict=True))
        equal = [Expression(exp.EQ(this=_operand(a), expression=_operand(b))) for a, b in pairs]
        keys, rest = EquiKey.split([*equal, *conditions], outer, keys_in(right))
        if len(pairs) == 1 and not conditions:
            keys, rest = (EquiKey(*pairs[0]),), None
        if not keys:
            return None
        semi = Join(rows, right, JoinKind.SEMI, keys, rest, subquery=True)
        return self._either(semi, apply.attribute, Expression(exp.false()))

    def _not_in(self, rows: Operator, apply: Apply) -> Operator | None:
        """Return x IN (…), TRUE in the place of NULL, for one x and no correlation."""
        if apply.outer or len(apply.operands) != 1 or len(apply.query.output) != 1:
            return None
        operand, column = apply.operands[0], apply.query.output[0]
        counted, rows_found, values_found = self._counted(apply.query)
        empty, has_null = self._attribute("empty"), self._attribute("has_null")
        found, zero = rows_found.expression.tree, exp.Literal.number(0)
        some = exp.GT(this=found.copy(), expression=values_found.expression.tree)
        facts = (
            Named(empty, Expression(exp.EQ(this=found, expression=zero))),
            Named(has_null, Expression(some)),
        )
        right = Project(counted, facts)
        crossed = Join(rows, right, JoinKind.CROSS)
        key = EquiKey(operand, column.expression)
        semi = Join(crossed, apply.query, JoinKind.SEMI, (key,), subquery=True)
        otherwise = exp.Case(
            ifs=[
                exp.If(this=empty.expression.tree, true=exp.false()),
                exp.If(
                    this=exp.Or(
                        this=exp.Is(
                            this=exp.Paren(this=operand.tree.copy()), expression=exp.null()
                        ),
                        expression=has_null.expression.tree,
                    ),
                    true=exp.true(),
                ),
            ],
            default=exp.false(),
        )
        either = self._either(semi, apply.attribute, Expression(otherwise))
        return passed(either, output=(*rows.output, apply.attribute))

    def _counted(self, query: Operator) -> tuple[Operator, Attribute, Attribute]:
        """Return one row: the number of rows of a subquery, and of values in its column."""
        column = query.output[0].expression
        rows = count_call(self._attribute("count"))
        values = count_call(self._attribute("count"), column)
        return Aggregate(query, (), (rows, values)), rows.attribute, values.attribute

    def _either(self, semi: Join, attribute: Attribute, otherwise: Expression) -> Operator:
        """Return all rows of the left side: TRUE for those with a partner, or another value."""
        anti = replace(semi, kind=JoinKind.ANTI)
        yes = passed(semi, Named(attribute, Expression(exp.true())))
        no = passed(anti, Named(attribute, otherwise))
        return Union((yes, no), yes.output)

    def _attribute(self, name: str) -> Attribute:
        return Attribute(next(self._ids), name)
