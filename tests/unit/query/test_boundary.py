"""A failure of the analysis of a query is a reason to recompute, and never ends a statement."""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from functools import singledispatchmethod

import pytest

from dbt.adapters.spark_mt import query as package
from dbt.adapters.spark_mt.definition.columns import (
    FieldName,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.positions import (
    ChangeExtent,
    ChangeKind,
    VersionedPosition,
)
from dbt.adapters.spark_mt.query import boundary, operator_builder
from dbt.adapters.spark_mt.query.columns_read import columns_read
from dbt.adapters.spark_mt.query.differential import (
    ChangeNotSupported,
    added_sums,
    obstacles,
    result_change,
)
from dbt.adapters.spark_mt.query.function_use import functions_of
from dbt.adapters.spark_mt.query.operator_builder import operator_tree, relations_to_list
from dbt.adapters.spark_mt.query.operator_sql import NotRenderedError, render_query
from dbt.adapters.spark_mt.query.operators import opaque_parts
from dbt.adapters.spark_mt.query.relation_states import RelationStates
from dbt.adapters.spark_mt.query.text import naming_variables, shape_of
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.strategy import (
    NONE,
    RECOMPUTE,
    Cost,
    RefreshInputs,
    Request,
)
from tests.support.differential_cases import changes_of
from tests.unit.builders import Engine, analyzed, table_source

TABLES = {"t": ("a", "b", "c", "ys"), "u": ("a", "k", "v")}
SOURCES = tuple(
    SourceColumns(
        f"spark_catalog.sales.{name}", tuple(FieldName(column, type="INT") for column in columns)
    )
    for name, columns in TABLES.items()
)
CONTEXT = QueryContext("spark_catalog", "sales", ())
QUERIES = {
    "rows": "SELECT *, t.a + 1 AS x, (b).f AS f FROM t WHERE a > 0 AND b <=> 1 OR NOT c LIKE 'x'",
    "top": "SELECT a, b FROM t ORDER BY 1, b DESC LIMIT 3",
    "one row": "SELECT n FROM (SELECT count(*) AS n FROM t) x CROSS JOIN "
    "(SELECT max(k) AS m FROM u) y LIMIT 3",
    "computed first rows": "SELECT t.a + 1 AS x, s.m FROM t JOIN (SELECT a, m, max(m) OVER "
    "(PARTITION BY a) AS w FROM (SELECT a, sum(if(k > 1, coalesce(v, 0) + 1, 2)) AS m FROM u "
    "GROUP BY a, k) g) s ON t.a = s.a ORDER BY t.a + 1, s.w LIMIT 3",
    "groups": "SELECT a, sum(b) AS s, avg(b), max(b) FILTER (WHERE b > 1) AS m, count(*) AS n "
    "FROM t GROUP BY a HAVING count(*) > 1",
    "sums": "SELECT a, avg(b) AS s FROM t GROUP BY a",
    "counts": "SELECT a, count(*) AS n, sum(b) AS s, count(b) AS m FROM t GROUP BY a",
    "all": "SELECT a, max(b) AS m FROM t GROUP BY ALL ORDER BY ALL",
    "path": "SELECT a:b.c[0] FROM t",
    "named": "SELECT a FROM IDENTIFIER(x)",
    "value": "SELECT a FROM (SELECT a, a IN (SELECT k FROM u) AS x FROM t) s WHERE x",
    "sets": "SELECT a, c, count(*) AS n FROM t GROUP BY a, ROLLUP(c)",
    "time": "SELECT window.start AS s, count(*) AS n FROM t GROUP BY window(b, '1 day')",
    "joins": "SELECT t.a, u.v FROM t JOIN u ON t.a = u.a AND t.b < u.v LEFT JOIN u z USING (k)",
    "using": "SELECT * FROM t NATURAL JOIN u",
    "semi": "SELECT * FROM t LEFT SEMI JOIN u USING (a)",
    "applied": "SELECT a, (SELECT k FROM u WHERE u.a = t.a LIMIT 1) AS k FROM t",
    "full": "SELECT a, x.b FROM t x FULL JOIN u USING (a)",
    "subqueries": "SELECT a, (SELECT max(v) FROM u WHERE u.a = t.a) AS m, a IN (SELECT k FROM u) "
    "AS i FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.b) AND a IN (SELECT v FROM u) "
    "AND b NOT IN (SELECT a FROM u) AND (b = 1 OR EXISTS (SELECT 1 FROM u))",
    "windows": "SELECT a, row_number() OVER w AS n FROM t WINDOW w AS (PARTITION BY a ORDER BY b) "
    "QUALIFY n < 3",
    "sets of rows": "SELECT a FROM t UNION SELECT a FROM u EXCEPT (SELECT k AS a FROM u) "
    "ORDER BY 1",
    "by name": "SELECT a, b FROM t UNION ALL BY NAME SELECT k AS b, a FROM u",
    "ctes": "WITH x AS (SELECT DISTINCT a FROM t), y(p) AS (SELECT a FROM x) SELECT p FROM y",
    "generators": "SELECT a, y FROM t LATERAL VIEW OUTER explode(ys) e AS y",
    "generator": "SELECT a, posexplode(ys) AS (p, y) FROM t",
    "values": "SELECT * FROM VALUES (1, 'x'), (2, DATE '2020-01-01') AS v(a, b)",
    "watermark": "SELECT a, count(*) AS n FROM t WATERMARK b DELAY OF INTERVAL 1 DAY GROUP BY a",
    "unknown": "SELECT * FROM t PIVOT (sum(b) FOR a IN (1, 2))",
}
_NOT_OF_THE_TREE = {"analyzer", "bags", "boundary", "types"}
"""Modules without a part of the analysis of a text, and the boundary itself."""
_OF_FAILURES = {"partial_sums._no", "partial_sums._none", "operator_sql.not_rendered"}
_OF_FAILURES |= {"operators._none_known"}
"""What stands for a result."""
_EDITING = {"text.replace_at", "text.blank", "text.without_lookups", "text._words"}
"""Functions that change the text of a statement: a failure here is one of the statement."""
_APART = _OF_FAILURES | _EDITING
_ANALYSIS = (f"{package.__name__}.", "dbt.adapters.spark_mt.sql_tokens")
_NOT_CALLED = 54
"""How many functions belong to no analysis of these queries; it may only shrink."""


def _raise(*_args, **_kwargs):
    raise ZeroDivisionError  # a builtin: the code runs with the names of another module


def _functions():
    """All functions and methods of the modules that analyse a query, by their names."""
    found = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        if module_info.name in _NOT_OF_THE_TREE:
            continue
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                for inner, member in vars(value).items():
                    found |= _of(f"{module_info.name}.{name}.{inner}", member, module)
            else:
                found |= _of(f"{module_info.name}.{name}", value, module)
    return found


def _of(name, member, module):
    """Return the functions that a member of a module or a class stands for."""
    if isinstance(member, singledispatchmethod):
        registry = member.dispatcher.registry.items()
        return {f"{name}[{kind.__name__}]": function for kind, function in registry}
    for attribute in ("fget", "func", "__func__", "__wrapped__"):
        member = getattr(member, attribute, None) or member
    member = inspect.unwrap(member) if callable(member) else member
    is_ours = inspect.isfunction(member) and member.__code__.co_filename == module.__file__
    is_error = name.endswith("Error.__init__")
    return {name: member} if is_ours and not is_error and not member.__code__.co_freevars else {}


FUNCTIONS = {name: each for name, each in _functions().items() if name not in _APART}


@contextmanager
def failing(function):
    """Let a function of the analysis fail, wherever it is called."""
    code = function.__code__
    try:
        function.__code__ = _raise.__code__
        yield
    finally:
        function.__code__ = code


def _definition(query):
    names = operator_tree(query, CONTEXT, sources=SOURCES).columns
    ddl = "; ".join(f"{name or 'c'} INT" for name in names) or "x INT"
    found = analyzed(query, ddl, *map(table_source, TABLES), source_columns=SOURCES)
    return Engine().knows(found).resolve(DeclaredDefinition(query)).definition, found


DEFINITIONS = {name: _definition(query) for name, query in QUERIES.items()}
POSITIONS = {each.source: VersionedPosition(1, "a") for each in SOURCES}
NEWEST = {each.source: VersionedPosition(2, "b") for each in SOURCES}


def _refresh():
    extent = ChangeExtent(ChangeKind.REMOVED, 1, 1_000_000)
    return RefreshInputs(
        Request.REFRESH,
        POSITIONS,
        NEWEST,
        changes=lambda since: {name: extent.kind for name, _ in since},
        extents=lambda since: {name: extent for name, _ in since},
    )


def _derive(tree, states):
    """Derive and render the change of a tree; return the code of what cannot be derived."""
    try:
        change = result_change(tree, changes_of(states), ["INT"] * len(tree.columns))
        change.queries(states, "stored", "shared".upper)
        render_query(tree)
    except ChangeNotSupported as no:
        return [no.reason.code]
    except NotRenderedError:
        return ["NOT_RENDERED"]
    return []


def _analyse(name):
    """Do with a query what a statement does; return the codes of all reasons."""
    definition, found = DEFINITIONS[name]
    functions_of(definition.expanded_query)
    shape_of(definition.expanded_query)
    naming_variables(definition.expanded_query)
    row_shape(definition, found)
    kept = choose(definition, found)
    chosen = choose(definition, found, None, _refresh())
    untried = choose(definition, found, None, replace(_refresh(), costs={RECOMPUTE: Cost(9.0)}))
    assert NONE not in {kept.strategy, chosen.strategy, untried.strategy}
    tree = operator_builder.definition_tree(definition, found)
    relations_to_list(tree)
    columns_read(tree)
    codes = [each.code for each in obstacles(tree)]
    codes += [r.code for choice in (kept, chosen) for x in choice.refused for r in x.reasons]
    states = {n: RelationStates("x", "y", "(g)", "(l)", "(c)") for n in POSITIONS}
    sums = added_sums(tree, changes_of(states)) if not obstacles(tree) else None
    codes += _derive(tree, states)
    if sums is not None:
        codes += _derive(sums.sums, states)
        _ = sums.shown_keys
        sums.are_exact({})
        try:
            render_query(sums.over(TableName("sums")))
        except NotRenderedError:
            codes.append("NOT_RENDERED")
    return codes


def _clear_caches():
    """Forget the results of earlier calls, under which a failure would not be seen."""
    for module in [m for name, m in sys.modules.items() if name.startswith(_ANALYSIS)]:
        for member in list(vars(module).values()):
            layers = [member]
            while wrapped := getattr(layers[-1], "__wrapped__", None):
                layers.append(wrapped)
            for each in layers:
                getattr(each, "cache_clear", bool)()


@pytest.fixture(autouse=True)
def _without_caches():
    _clear_caches()
    yield
    _clear_caches()


def test_without_failures_nothing_is_unexpected():
    for name in QUERIES:
        assert boundary.UNEXPECTED not in _analyse(name), name


@pytest.fixture(scope="module")
def callers():
    """For the code of each function, the queries whose analysis calls it."""
    found = defaultdict(list)
    for name in QUERIES:
        called = set()
        _clear_caches()
        sys.setprofile(lambda frame, *_, called=called: called.add(frame.f_code))
        try:
            _analyse(name)
        finally:
            sys.setprofile(None)
        for code in called:
            found[code].append(name)
    return found


def test_the_queries_call_nearly_all_functions(callers):
    missed = [name for name, function in FUNCTIONS.items() if function.__code__ not in callers]
    assert len(missed) <= _NOT_CALLED, "\n".join(missed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_failure_of_a_function_ends_a_statement(name, callers):
    queries = callers.get(FUNCTIONS[name].__code__, [])
    with failing(FUNCTIONS[name]):
        for query in {*queries[:1], *queries[-1:]}:
            _clear_caches()
            _analyse(query)


def test_an_unexpected_failure_makes_the_tree_opaque_and_asks_for_a_report(caplog):
    boundary._log.cache_clear()
    with failing(FUNCTIONS["relations.Relations.relation"]), caplog.at_level(logging.WARNING):
        trees = [operator_tree("SELECT a FROM t", QueryContext("c", "s", ())) for _ in range(2)]
    (part,) = opaque_parts(trees[0].root)
    assert part.reason == "UNEXPECTED"
    assert "ZeroDivisionError" in part.problem
    assert [code for code, _ in trees[1].gaps] == ["UNEXPECTED"]
    (record,) = caplog.records
    assert "report" in record.getMessage()
    assert record.exc_info is None


def test_a_deep_text_is_no_failure(caplog):
    query = "SELECT " + "(" * 3000 + "a" + ")" * 3000 + " FROM t"
    tree = operator_tree(query, QueryContext("c", "s", ()))
    assert opaque_parts(tree.root)
    assert not caplog.records
