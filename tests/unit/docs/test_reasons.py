"""Every code of a reason that users can see is documented, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from dbt.adapters.spark_mt import query as package
from dbt.adapters.spark_mt.definition.positions import ChangeKind
from dbt.adapters.spark_mt.query import relations
from dbt.adapters.spark_mt.resolution import row_lineage
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.stream_shape import LATE, PROBLEMS
from tools.docs_data.reasons import REASONS

TREES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(Path(package.__file__).parents[1].rglob("*.py"))
}
PLACES = {"Reason": 0, "Opaque": 0, "UnreadableError": 0, "NotIncremental": 0, "Refusal.of": 1}
PLACES |= dict.fromkeys(("NoShapeError", "NotUnderstoodError", "gaps.add"), 0)
"""By what is called: the place of the code among its arguments, unless it is a keyword."""
KEYWORDS = {"code", "reason"}
NO_CODES = {"code", "reason", "no.reason", "part.reason", "node.reason", "found.code"}
"""Expressions that pass on a code that another place gives."""


def constants():
    """The texts of the package that have a name."""
    return {
        target.id: node.value.value
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def given():
    """The expressions that are the code of a reason in the package, with their places."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            name = next(
                (n for n in PLACES if called == n or called.endswith((f"_{n}", f".{n}"))), ""
            )
            name = name or ("gaps.add" if called.endswith("gaps.add") else "")
            if not name:
                continue
            code = next((k.value for k in node.keywords if k.arg in KEYWORDS), None)
            if code is None and len(node.args) > PLACES[name]:
                code = node.args[PLACES[name]]
            if code is not None:
                yield f"{path.name}:{node.lineno}", code


def given_codes():
    """The texts of these codes, and the places of those that cannot be known."""
    named, codes, unknown = constants(), set(), []
    for place, code in given():
        text = ast.unparse(code)
        if isinstance(code, ast.Constant):
            codes.add(code.value)
        elif text.rpartition(".")[2] in named:
            codes.add(named[text.rpartition(".")[2]])
        elif not any(text.endswith(end) for end in NO_CODES):
            unknown.append(f"{place}: {text}")
    return codes, unknown


def happened():
    """What can have happened to a source."""
    kinds = {str(number): kind for number, kind in enumerate(ChangeKind)}
    return (reason.code for reason in strategy.disallowed(kinds, ChangeKind.ADDED))


def test_every_code_is_documented_once():
    listed = [doc.code for doc in REASONS]
    codes, unknown = given_codes()
    codes |= {LATE, *happened(), *row_lineage.PROBLEMS}
    codes |= {code for table in (PROBLEMS, relations.UNKNOWN) for code, _ in table.values()}
    assert unknown == []
    assert len(listed) == len(set(listed))
    assert sorted(codes - set(listed)) == []
    assert sorted(set(listed) - codes) == []
