"""Every code that the code can give is documented, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from dbt.adapters.spark_mt.resolution import engines
from dbt.adapters.spark_mt.resolution.reason_catalogue import REASONS
from dbt.adapters.spark_mt.resolution.stream_rows import LATE, PROBLEMS

SOURCES = sorted(Path(engines.__file__).parent.glob("*.py"))


def given_codes():
    """The texts that stand as the code of a reason in the package."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id == "Reason":
                code = node.args[0]
            elif node.func.id == "NoShapeError":
                (code,) = (k.value for k in node.keywords if k.arg == "reason")
            else:
                continue
            if isinstance(code, ast.Constant):
                yield code.value


def test_every_code_is_documented_once():
    codes = [doc.code for doc in REASONS]
    given = {*given_codes(), LATE, *(code for code, _ in PROBLEMS.values())}
    assert len(codes) == len(set(codes))
    assert set(codes) == given
