"""Conditions and subqueries of an operator tree as joins.

A builder gives equalities to joins, and makes joins of EXISTS and IN in a condition. Subqueries
elsewhere become joins of the whole tree, as far as there is a join with the same result; the others
stay an `Apply`. Time windows become columns of the input of an aggregate.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dbt.adapters.spark_mt.query.binder import Bound, Subquery


_ZERO_ON_EMPTY = frozenset({"count", "count_if", "regr_count", "approx_count_distinct"})
_NULL_ON_EMPTY = frozenset(
    {"sum", "avg", "mean", "min", "max", "stddev", "stddev_pop", "stddev_samp", "std", "var_pop"}
    | {"var_samp", "variance", "bool_and", "bool_or", "any", "some", "every", "max_by", "min_by"}
    | {
        "any_value",
        "median",
        "percentile",
        "try_sum",
        "try_avg",
        "corr",
        "covar_pop",
        "covar_samp",
        "skewness",
    }
)
_LOGICAL = (exp.Paren, exp.And, exp.Or, exp.Not)
_KEEPING = (exp.Cast, exp.TryCast, exp.Is, exp.NullSafeEQ)
_KEEPING_CALLS = frozenset(
    {"coalesce", "nvl", "ifnull", "if", "isnull", "isnotnull", "struct", "named_struct", "array"}
    | {"max", "min", "count", "bool_and", "bool_or", "every", "some", "any"}
)
"""Functions whose value of IN Spark does not compare with a literal, which it turns into NOT IN."""


def filtered(rows: ops.Operator, bound: Bound) -> ops.Operator:
    """Apply a condition: equalities to the joins below, EXISTS and IN as joins where possible."""
    by_key = {subquery.attribute.key: subquery for subquery in bound.subqueries}
    parts = exprs.Expression(bound.tree).conjuncts
    simple = [part for part in parts if not part.keys & by_key.keys()]
    rest: list[exprs.Expression] = []
    for part in simple:
        joined = _with_key(rows, part)
        rows = joined if joined is not None else rows
        rest += [part] if joined is None else []
    rows = ops.Filter(rows, exprs.all_of(rest)) if rest else rows
    complex_: list[exprs.Expression] = []
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
    return ops.Filter(rows, exprs.all_of(complex_))


def _with_key(rows: ops.Operator, part: exprs.Expression) -> ops.Operator | None:
    """Give an equality to the inner join whose inputs it compares; None where there is none."""
    if not isinstance(rows, ops.Join) or rows.kind not in ops.INNER_JOINS:
        return None
    below = [part.keys <= ops.keys_in(side) for side in rows.inputs]
    if any(below):
        sides = [_with_key(s, part) if b else s for s, b in zip(rows.inputs, below, strict=True)]
        kept = [side for side in sides if side is not None]
        return rows.over(*kept) if len(kept) == len(sides) and part.keys else None
    key = exprs.EquiKey.of(part, ops.keys_in(rows.left), ops.keys_in(rows.right))
    return (
        replace(rows, kind=ops.JoinKind.INNER, keys=(*rows.keys, key)) if key is not None else None
    )


def _as_join(
    rows: ops.Operator, part: exprs.Expression, subqueries: dict[str, Subquery]
) -> ops.Operator | None:
    """Return a semi or anti join for EXISTS, NOT EXISTS and IN; None for anything else."""
    tree = part.tree.unnest()
    negated = isinstance(tree, exp.Not)
    if isinstance(tree, exp.Not):
        tree = tree.this.unnest()
    subquery = subqueries.get(tree.name) if isinstance(tree, exp.Column) else None
    possible = (
        {exprs.SubqueryKind.EXISTS}
        if negated
        else {exprs.SubqueryKind.EXISTS, exprs.SubqueryKind.IN}
    )
    if subquery is None or subquery.kind not in possible:
        return None
    found = decorrelated(subquery.query, ops.keys_in(rows))
    width = len(subquery.operands)
    if found is None or (width and width != len(found[2])):
        return None
    right, correlated, values = found
    equal = (
        exprs.Expression(exp.EQ(this=_operand(mine), expression=_operand(theirs)))
        for mine, theirs in zip(subquery.operands, values, strict=False)
    )
    kind = ops.JoinKind.ANTI if negated else ops.JoinKind.SEMI
    keys, rest = exprs.EquiKey.split([*equal, *correlated], ops.keys_in(rows), ops.keys_in(right))
    return ops.Join(rows, right, kind, keys, rest, subquery=True)


def _operand(side: exprs.Expression) -> exp.Expr:
    tree = side.tree.copy()
    return exp.Paren(this=tree) if isinstance(tree, (exp.Binary, exp.Unary)) else tree


def decorrelated(
    query: ops.Operator, outer: frozenset[str]
) -> tuple[ops.Operator, list[exprs.Expression], list[exprs.Expression]] | None:
    """Take the conditions over outer attributes out of a subquery.

    Returns:
        The rows without these conditions, the conditions, and the columns of the subquery as
        expressions over the rows; None where an outer attribute is used elsewhere.
    """
    values = [attribute.expression for attribute in query.output]
    if not any(e.keys & outer for e in ops.expressions_of(query)):
        return query, [], values
    correlated: list[exprs.Expression] = []
    local: list[exprs.Expression] = []
    while isinstance(query, (ops.Project, ops.Filter, ops.Sort)):
        if isinstance(query, ops.Project):
            trees = exprs.values_of(query.columns)
            values = [value.over(trees) for value in values]
            correlated = [part.over(trees) for part in correlated]
            local = [part.over(trees) for part in local]
        elif isinstance(query, ops.Filter):
            if isinstance(query.input, ops.Apply):
                break
            for part in (p for c in query.condition.conjuncts for p in factored(c)):
                (correlated if part.keys & outer else local).append(part)
        query = query.input
    if any(e.keys & outer for e in (*ops.expressions_of(query), *values)):
        return None
    used = frozenset(key for part in (*correlated, *values) for key in part.keys)
    if local and _has_scalars(query, used):  # a filter over them would keep none of their columns
        query = passed(query)
    return (ops.Filter(query, exprs.all_of(local)) if local else query), correlated, values


def _has_scalars(node: ops.Operator, keys: frozenset[str]) -> bool:
    """Return whether some keys are of scalar subqueries of which an operator adds the values."""
    kinds, made = set(), set()
    while isinstance(node, ops.Apply):
        kinds.add(node.kind)
        made.add(node.attribute.key)
        node = node.input
    return kinds == {exprs.SubqueryKind.SCALAR} and not made.isdisjoint(keys)


def factored(condition: exprs.Expression) -> tuple[exprs.Expression, ...]:
    """Return conditions that are true where one is: what all sides of an OR have is one of them."""
    tree = condition.tree.unnest()
    if not isinstance(tree, exp.Or):
        return (condition,)
    sides = [exprs.Expression(side).conjuncts for side in tree.flatten()]
    first, *others = ([part.tree.unnest() for part in side] for side in sides)
    common = [part for part in first if all(part in other for other in others)]
    rests = [[p for p in side if p.tree.unnest() not in common] for side in sides]
    shared = tuple(map(exprs.Expression, dict.fromkeys(common)))
    if not common or not all(rests):
        return shared or (condition,)
    either: list[exp.Expr] = [exp.Paren(this=exprs.all_of(rest).tree) for rest in rests]
    tree = reduce(lambda one, other: exp.Or(this=one, expression=other), either)
    return *shared, exprs.Expression(tree)


def without_subqueries(root: ops.Operator, ids: Iterator[int]) -> ops.Operator:
    """Return a tree with joins in the place of subqueries, as far as there are such joins.

    Args:
        root: The last operator of a query.
        ids: Gives attributes an identity that the tree does not have yet.
    """
    return ops.transform(root, _Rewriter(ids, _constants(root)).changed)


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
    name = exprs.call_name(parent)
    if name == "if" and parent.expressions[0] is not node:
        return None
    return negated if name in _KEEPING_CALLS else None


def _is_logical(value: exp.Expr) -> bool:
    """Return whether a whole expression is made of a value by AND, OR and NOT."""
    parent = value.parent
    while isinstance(parent, _LOGICAL):
        parent = parent.parent
    return parent is None


def _uses(expressions: Iterable[exprs.Expression], keys: Collection[str]) -> Iterator[exp.Expr]:
    """Yield the places of some attributes in expressions."""
    for expression in expressions:
        for column in expression.tree.find_all(exp.Column):
            if column.name in keys:
                yield column


def _constants(root: ops.Operator) -> frozenset[str]:
    """Return the keys of attributes that Spark may replace by a literal, if IN is a value."""
    if not _has_value(root):
        return frozenset()
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for node in ops.walk(root):
            if isinstance(node, ops.Project):
                found |= {c.attribute.key for c in node.columns if c.expression.keys <= found}
            elif isinstance(node, ops.Union):
                sides = (zip(node.output, b.output, strict=False) for b in node.branches)
                found |= {ours.key for side in sides for ours, a in side if a.key in found}
    return frozenset(found)


def _has_value(root: ops.Operator) -> bool:
    """Return whether IN (subquery) is a value in an expression of a tree."""
    return any(isinstance(n, ops.Apply) and n.kind is exprs.SubqueryKind.IN for n in ops.walk(root))


def uses_value_again(root: ops.Operator) -> bool:
    """Return whether an operator computes with a column that is the value of IN (subquery).

    Spark merges both operators, so that NOT in the upper one would apply to IN in the lower one.
    """
    if not _has_value(root):
        return False
    values: set[str] = set()
    for node in reversed(list(ops.walk(root))):
        own = {each.attribute.key for each in _chain(node) if each.kind is exprs.SubqueryKind.IN}
        if isinstance(node, ops.Apply):
            continue
        if isinstance(node, ops.Union):
            pairs = [p for b in node.branches for p in zip(node.output, b.output, strict=False)]
            values |= {ours.key for ours, theirs in pairs if theirs.key in values}
            continue
        named = [*getattr(node, "columns", ()), *getattr(node, "groups", ())]
        passed_ = {id(each.expression) for each in named if each.expression.attribute in values}
        others = [each for each in node.expressions if id(each) not in passed_]
        if not isinstance(node, ops.Sort) and any(
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


def aggregates_value(root: ops.Operator) -> bool:
    """Return whether an aggregate negates a value of IN that is no join.

    NOT would not apply to IN where both are computed one after the other.
    """
    for node in ops.walk(root):
        keys = {each.attribute.key for each in _chain(node) if each.kind is exprs.SubqueryKind.IN}
        if isinstance(node, ops.Aggregate) and any(
            _is_negated(use) is not False for use in _uses(node.expressions, keys)
        ):
            return True
    return False


def _is_computed(node: ops.Operator, use: exp.Expr) -> bool:
    """Return whether a column is more than a condition that must be true."""
    parent = use.parent
    while isinstance(parent, (exp.Paren, exp.And, exp.Or)):
        parent = parent.parent
    return parent is not None or not isinstance(node, ops.Filter)


def _chain(node: ops.Operator) -> Iterator[ops.Apply]:
    """Yield the subqueries whose values an operator uses."""
    below = node.inputs[0] if node.inputs and not isinstance(node, ops.Apply) else None
    while isinstance(below, ops.Apply):
        yield below
        below = below.input


def fresh_ids(root: ops.Operator) -> Iterator[int]:
    """Return identities that no attribute of a tree has."""
    used = (a.id for node in ops.walk(root) for a in node.output)
    return count(max(used, default=0) + 1)


def passed(
    node: ops.Operator, *more: exprs.Named, output: tuple[exprs.Attribute, ...] | None = None
) -> ops.Project:
    """Return the columns of an operator, or some of them, and computed ones."""
    kept = node.output if output is None else output
    return ops.Project(node, (*exprs.passed_on(kept), *more))


def count_call(attribute: exprs.Attribute, *arguments: exprs.Expression) -> exprs.AggregateCall:
    """Return `count(*)` or `count(x)`."""
    return exprs.AggregateCall(attribute, exprs.call_of("count", *arguments), "count", arguments)


def time_windows(expression: exprs.Expression) -> list[exp.Expr]:
    """Return the calls of `window` in an expression."""
    return [node for node in expression.tree.walk() if exprs.call_name(node) == "window"]


class _Rewriter:
    def __init__(self, ids: Iterator[int], constants: frozenset[str]) -> None:
        self._ids = ids
        self._constants = constants

    def changed(self, node: ops.Operator) -> ops.Operator:
        if isinstance(node, ops.Aggregate) and node.sets is None:
            node = self._with_window_column(node)
        if not isinstance(node, (ops.Filter, ops.Project, ops.Generate, ops.Aggregate)):
            return node
        if not isinstance(node.input, ops.Apply):
            return node
        rows = self._joined(node.input, node.expressions)
        if rows is None:
            return node
        changed = node.over(rows)
        return changed if changed.output == node.output else passed(changed, output=node.output)

    def _with_window_column(self, node: ops.Aggregate) -> ops.Aggregate:
        found = [call for g in node.groups for call in time_windows(g.expression)]
        calls = list(dict.fromkeys(found))
        if not calls:
            return node
        columns = [
            exprs.Named(self._attribute("window"), exprs.Expression(call.copy())) for call in calls
        ]
        trees = {c.expression.tree: c.attribute.expression.tree for c in columns}

        def replaced(part: exp.Expr) -> exp.Expr:
            return trees[part].copy() if part in trees else part

        groups = tuple(
            replace(g, expression=exprs.Expression(g.expression.tree.copy().transform(replaced)))
            for g in node.groups
        )
        used = frozenset(node.input.output)
        return replace(node, input=passed(node.input, *columns), groups=groups) if used else node

    def _joined(self, top: ops.Apply, used: Sequence[exprs.Expression]) -> ops.Operator | None:
        chain: list[ops.Apply] = []
        node: ops.Operator = top
        while isinstance(node, ops.Apply):
            chain.append(node)
            node = node.input
        rows, kept = node, []
        for apply in reversed(chain):
            joined = self._as_join(
                rows, replace(apply, input=ops.rows_of(top)), ops.rows_of(top), used
            )
            rows = joined if joined is not None else rows
            kept += [apply] if joined is None else []
        if len(kept) == len(chain):
            return None
        for apply in kept:
            rows = apply.over(rows, apply.query)
        return rows

    def _as_join(
        self,
        rows: ops.Operator,
        apply: ops.Apply,
        base: ops.Operator,
        used: Sequence[exprs.Expression],
    ) -> ops.Operator | None:
        if apply.kind is exprs.SubqueryKind.SCALAR:
            return self._scalar(rows, apply)
        if apply.kind is exprs.SubqueryKind.EXISTS:
            return self._exists(rows, apply, ops.keys_in(base))
        negated = {_is_negated(use) for use in _uses(used, {apply.attribute.key})}
        if len(negated) != 1 or None in negated or any(map(self._may_be_null, apply.operands)):
            return None
        return (
            self._not_in(rows, apply) if negated.pop() else self._in(rows, apply, ops.keys_in(base))
        )

    def _may_be_null(self, operand: exprs.Expression) -> bool:
        """Return whether an operand is a constant, and no literal: NULL IN (…) is NULL in Spark."""
        tree = operand.tree.unnest()
        is_literal = isinstance(tree, (exp.Literal, exp.Var))
        return operand.keys <= self._constants and not is_literal

    def _scalar(self, rows: ops.Operator, apply: ops.Apply) -> ops.Operator | None:
        value, below = apply.query.output[0].expression, apply.query
        while isinstance(below, (ops.Project, ops.Sort)) and not isinstance(below.input, ops.Apply):
            if isinstance(below, ops.Project):
                value = value.over(exprs.values_of(below.columns))
            below = below.input
        query = apply.query
        if not isinstance(below, ops.Aggregate) or below.groups or below.sets is not None:
            below, value = self._single(query)
            query = ops.Project(below, (exprs.Named(self._attribute("scalar"), value),))
        if not apply.outer:
            named = exprs.Named(apply.attribute, query.output[0].expression)
            return ops.Join(rows, ops.Project(query, (named,)), ops.JoinKind.CROSS)
        return self._correlated(rows, apply.attribute, value, below, ops.keys_in(rows))

    def _single(self, query: ops.Operator) -> tuple[ops.Aggregate, exprs.Expression]:
        """Return the one row of a subquery as an aggregate, and its value over it.

        Spark fails where a scalar subquery has more rows, and the value does so as well.
        """
        column, count_ = query.output[0].expression, self._attribute("count")
        any_value = exprs.call_of("any_value", column)
        call = exprs.AggregateCall(self._attribute("any"), any_value, "any_value", (column,))
        text = exp.Literal.string("a scalar subquery has more than one row")
        several = exp.GT(this=count_.expression.tree, expression=exp.Literal.number(1))
        fails = exp.If(this=several, true=exp.Anonymous(this="raise_error", expressions=[text]))
        value = exp.Case(ifs=[fails], default=call.attribute.expression.tree)
        return ops.Aggregate(query, (), (call, count_call(count_))), exprs.Expression(value)

    def _correlated(
        self,
        rows: ops.Operator,
        attribute: exprs.Attribute,
        value: exprs.Expression,
        aggregate: ops.Aggregate,
        outer: frozenset[str],
    ) -> ops.Operator | None:
        """Return a join with the rows of a subquery, grouped by what they are compared with."""
        known = all(c.name in _ZERO_ON_EMPTY | _NULL_ON_EMPTY for c in aggregate.calls)
        found = decorrelated(aggregate.input, outer)
        if not known or found is None or any(c.expression.keys & outer for c in aggregate.calls):
            return None
        body, conditions, values = found
        keys, rest = exprs.EquiKey.split(conditions, outer, ops.keys_in(body))
        if rest is not None or not keys:
            return None
        groups = tuple(exprs.Named(self._attribute("key"), key.right) for key in keys)
        columns = zip(aggregate.input.output, values, strict=True)
        input_ = ops.Project(body, (*(exprs.Named(a, e) for a, e in columns), *groups))
        by = exprs.passed_on(g.attribute for g in groups)
        right = ops.Aggregate(input_, by, aggregate.calls)
        equal = tuple(
            exprs.EquiKey(key.left, g.attribute.expression, key.null_safe)
            for key, g in zip(keys, groups, strict=True)
        )
        joined = ops.Join(rows, right, ops.JoinKind.LEFT, equal)
        zero = exprs.Expression(exp.Literal.number(0))
        zeros = {
            c.attribute.key: exprs.call_of("coalesce", c.attribute.expression, zero).tree
            for c in aggregate.calls
            if c.name in _ZERO_ON_EMPTY
        }
        return passed(joined, exprs.Named(attribute, value.over(zeros)), output=rows.output)

    def _exists(
        self, rows: ops.Operator, apply: ops.Apply, outer: frozenset[str]
    ) -> ops.Operator | None:
        if not apply.outer:
            counted, rows_found, _ = self._counted(apply.query)
            some = exp.GT(this=rows_found.expression.tree, expression=exp.Literal.number(0))
            columns = (exprs.Named(apply.attribute, exprs.Expression(some)),)
            return ops.Join(rows, ops.Project(counted, columns), ops.JoinKind.CROSS)
        found = decorrelated(apply.query, outer)
        if found is None:
            return None
        right, conditions, _ = found
        keys, rest = exprs.EquiKey.split(conditions, outer, ops.keys_in(right))
        if not keys:
            return None
        semi = ops.Join(rows, right, ops.JoinKind.SEMI, keys, rest, subquery=True)
        return self._either(semi, apply.attribute, exprs.Expression(exp.false()))

    def _in(
        self, rows: ops.Operator, apply: ops.Apply, outer: frozenset[str]
    ) -> ops.Operator | None:
        """Return x IN (…), FALSE in the place of NULL."""
        found = decorrelated(apply.query, outer)
        if found is None or len(apply.operands) != len(found[2]):
            return None
        right, conditions, values = found
        pairs = list(zip(apply.operands, values, strict=True))
        equal = [
            exprs.Expression(exp.EQ(this=_operand(a), expression=_operand(b))) for a, b in pairs
        ]
        keys, rest = exprs.EquiKey.split([*equal, *conditions], outer, ops.keys_in(right))
        if len(pairs) == 1 and not conditions:
            keys, rest = (exprs.EquiKey(*pairs[0]),), None
        if not keys:
            return None
        semi = ops.Join(rows, right, ops.JoinKind.SEMI, keys, rest, subquery=True)
        return self._either(semi, apply.attribute, exprs.Expression(exp.false()))

    def _not_in(self, rows: ops.Operator, apply: ops.Apply) -> ops.Operator | None:
        """Return x IN (…), TRUE in the place of NULL, for one x and no correlation."""
        if apply.outer or len(apply.operands) != 1 or len(apply.query.output) != 1:
            return None
        operand, column = apply.operands[0], apply.query.output[0]
        counted, rows_found, values_found = self._counted(apply.query)
        empty, has_null = self._attribute("empty"), self._attribute("has_null")
        found, zero = rows_found.expression.tree, exp.Literal.number(0)
        some = exp.GT(this=found.copy(), expression=values_found.expression.tree)
        facts = (
            exprs.Named(empty, exprs.Expression(exp.EQ(this=found, expression=zero))),
            exprs.Named(has_null, exprs.Expression(some)),
        )
        right = ops.Project(counted, facts)
        crossed = ops.Join(rows, right, ops.JoinKind.CROSS)
        key = exprs.EquiKey(operand, column.expression)
        semi = ops.Join(crossed, apply.query, ops.JoinKind.SEMI, (key,), subquery=True)
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
        either = self._either(semi, apply.attribute, exprs.Expression(otherwise))
        return passed(either, output=(*rows.output, apply.attribute))

    def _counted(
        self, query: ops.Operator
    ) -> tuple[ops.Operator, exprs.Attribute, exprs.Attribute]:
        """Return one row: the number of rows of a subquery, and of values in its column."""
        column = query.output[0].expression
        rows = count_call(self._attribute("count"))
        values = count_call(self._attribute("count"), column)
        return ops.Aggregate(query, (), (rows, values)), rows.attribute, values.attribute

    def _either(
        self, semi: ops.Join, attribute: exprs.Attribute, otherwise: exprs.Expression
    ) -> ops.Operator:
        """Return all rows of the left side: TRUE for those with a partner, or another value."""
        anti = replace(semi, kind=ops.JoinKind.ANTI)
        yes = passed(semi, exprs.Named(attribute, exprs.Expression(exp.true())))
        no = passed(anti, exprs.Named(attribute, otherwise))
        return ops.Union((yes, no), yes.output)

    def _attribute(self, name: str) -> exprs.Attribute:
        return exprs.Attribute(next(self._ids), name)
