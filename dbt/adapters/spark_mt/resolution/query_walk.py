"""Walks through a query's tree and finds what keeps it from being applied row by row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.query_text import readable_text
from dbt.adapters.spark_mt.resolution.select_rules import (
    NoShapeError,
    check_clauses,
    check_expressions,
    check_group_by,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from dbt.adapters.spark_mt.resolution.analysis import ViewQuery


@dataclass(slots=True)
class QueryWalk:
    """Looks at a query from the outside to its relations.

    Args:
        static: Full names of tables whose changes do not count, in lower case.
        views: The views on the way, by full name in lower case.
        inside: The view whose query this is; None for the query itself.
    """

    static: Container[str]
    views: Mapping[str, ViewQuery]
    inside: ViewQuery | None = None
    ctes: dict[str, exp.Expr] = field(default_factory=dict)

    def check(self, query: str, key: Callable[[], Sequence[int]]) -> bool:
        """Make sure that a query is row-wise, or groups row-wise rows by its key.

        Args:
            query: The expanded query.
            key: Returns which of its columns are the table's key, counted from 0.

        Returns:
            Whether it groups rows.

        Raises:
            NoShapeError: It is neither.
        """
        tree = self._opened(_parsed(query))
        if isinstance(tree, exp.Select) and tree.args.get("group"):
            check_clauses(tree, grouped=True)
            check_expressions(tree, grouped=True)
            self._check_relations(tree)
            check_group_by(tree, key())
            return True
        self._check_rows(tree)
        return False

    def _opened(self, node: exp.Expr) -> exp.Expr:
        """Take the CTEs of a query, and go through parentheses around it."""
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            if with_.args.get("recursive"):
                raise NoShapeError(reason="RECURSIVE", problem="it is recursive")
            for cte in with_.expressions:
                if self.ctes.get(cte.alias.lower(), cte.this) is not cte.this:
                    raise NoShapeError(
                        reason="SHADOWED_CTE", problem=f"it names two CTEs {cte.alias}"
                    )
                self.ctes[cte.alias.lower()] = cte.this
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            check_clauses(node)
            return self._opened(node.this)
        return node

    def _check_rows(self, node: exp.Expr) -> None:
        query = self._opened(node)
        if isinstance(query, exp.Union):
            check_clauses(query)
            if query.args.get("distinct"):
                raise NoShapeError(
                    reason="UNION_DISTINCT", problem="it uses UNION, which removes duplicates"
                )
            self._check_rows(query.this)
            self._check_rows(query.expression)
        elif isinstance(query, exp.Select):
            check_clauses(query)
            check_expressions(query)
            self._check_relations(query)
        else:
            raise NoShapeError(reason="OPERATOR", problem=f"it uses {query.key.upper()}")

    def _check_relations(self, select: exp.Select) -> None:
        from_ = select.args.get("from_")
        if not isinstance(from_, exp.From):
            raise NoShapeError(reason="CONSTANT_ROWS", problem="it has rows that no source gives")
        if self._is_static(from_.this):
            raise NoShapeError(
                reason="LOOKUP_FIRST", problem="its rows come from a table that is looked up"
            )
        self._check_relation(from_.this)
        for join in select.args.get("joins") or ():
            self._check_join(join)

    def _check_relation(self, relation: exp.Expr) -> None:
        """A relation behind FROM, which gives the rows."""
        _check_plain(relation)
        for join in relation.args.get("joins") or ():
            self._check_join(join)
        if isinstance(relation, exp.Table):
            self._check_named(relation)
        elif isinstance(relation, exp.Subquery):
            self._check_rows(relation.this)
        else:
            raise NoShapeError(reason="RELATION", problem=f"it reads {relation.key.upper()}")

    def _check_named(self, table: exp.Table) -> None:
        """A CTE and a view are what their queries are; a table is its rows."""
        cte = self._cte(table)
        if cte is not None:
            self._check_rows(cte)
            return
        view = self.views.get(self._full_name(table))
        if view is not None:
            QueryWalk((), self.views, view).check_view()
        elif self.inside is not None and (table.args.get("version") or table.args.get("when")):
            problem = f"the view {self.inside.name} reads a version of {table.name}"
            raise NoShapeError(reason="VERSION_IN_VIEW", problem=problem)

    def check_view(self) -> None:
        """Make sure that the view's own rows are each made of one row."""
        if self.inside is None:
            raise ValueError(self.inside)
        try:
            self._check_rows(_parsed(self.inside.query))
        except NoShapeError as no:
            problem = f"of the view {self.inside.name}: {no.problem}"
            raise NoShapeError(reason=no.reason, problem=problem) from no

    def _full_name(self, table: exp.Table) -> str:
        name = TableName.of(*[part.name for part in table.parts][-3:])
        view = self.inside
        return str(name.within(view.catalog, view.schema) if view else name).lower()

    def _check_join(self, join: exp.Join) -> None:
        relation = join.this
        if isinstance(relation, exp.Lateral) and _is_generator(relation):
            return
        _check_plain(relation)
        if not self._is_static(relation):
            raise NoShapeError(reason="JOIN", problem="it joins sources that are both followed")
        if join.side.upper() in {"RIGHT", "FULL"}:
            raise NoShapeError(
                reason="OUTER_JOIN", problem="it keeps unmatched rows of a table that is looked up"
            )

    def _is_static(self, relation: exp.Expr) -> bool:
        """Whether a relation's changes do not count: looked up, or at a version the user fixed."""
        if not isinstance(relation, exp.Table) or self._cte(relation) is not None:
            return False
        return ".".join(part.name for part in relation.parts).lower() in self.static

    def _cte(self, table: exp.Table) -> exp.Expr | None:
        return None if table.db else self.ctes.get(table.name.lower())


def _parsed(query: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(readable_text(query), read="spark")
    except (SqlglotError, RecursionError):
        raise NoShapeError(reason="UNREADABLE", problem="its text cannot be taken apart") from None


def _check_plain(relation: exp.Expr) -> None:
    if relation.args.get("sample"):
        raise NoShapeError(reason="SAMPLE", problem="it takes a sample")
    if relation.args.get("pivots"):
        raise NoShapeError(reason="PIVOT", problem="it uses PIVOT")
    if isinstance(relation, exp.Table) and not isinstance(relation.this, exp.Identifier):
        raise NoShapeError(
            reason="TABLE_FUNCTION", problem=f"it reads the table function {relation.this.name}"
        )


def _is_generator(lateral: exp.Lateral) -> bool:
    return not isinstance(lateral.this, (exp.Query, exp.Subquery))
