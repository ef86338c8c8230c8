"""Every code that the code can give is documented, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from dbt.adapters.spark_mt.definition.positions import ChangeKind
from dbt.adapters.spark_mt.execution import baseline
from dbt.adapters.spark_mt.hosting import hosted_table
from dbt.adapters.spark_mt.query import relations
from dbt.adapters.spark_mt.resolution import row_lineage
from dbt.adapters.spark_mt.resolution.stream_plan import LATE, PROBLEMS
from dbt.adapters.spark_mt.strategies import differential, strategy
from tools.docs_data.reasons import REASONS

PACKAGES = [
    Path(m.__file__).parent for m in (relations, row_lineage, strategy, baseline, hosted_table)
]
SOURCES = sorted(path for package in PACKAGES for path in package.glob("*.py"))
CODE_OF = {"Reason": None, "NoShapeError": "reason", "NotUnderstoodError": "reason"}
CODE_OF |= {"Opaque": None, "UnreadableError": None, "NotIncremental": None}
"""By the name of a class: the keyword of its code, None for its first argument."""


def given_codes():
    """The texts that are the code of a reason in the package."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called == "Refusal.of":
                yield node.args[1].value
            if called not in CODE_OF:
                continue
            keyword = CODE_OF[called]
            code = node.args[0] if keyword is None else None
            for each in node.keywords:
                code = each.value if each.arg == keyword else code
            if isinstance(code, ast.Constant):
                yield code.value


def happened():
    """What can have happened to a source."""
    kinds = {str(number): kind for number, kind in enumerate(ChangeKind)}
    return (reason.code for reason in strategy.disallowed(kinds, ChangeKind.ADDED))


def test_every_code_is_documented_once():
    codes = [doc.code for doc in REASONS]
    given = {
        *given_codes(),
        LATE,
        strategy.NO_BASELINE,
        strategy.SWITCHED_OFF,
        differential.RULES,
        *happened(),
        *row_lineage.PROBLEMS,
    }
    given |= {code for table in (PROBLEMS, relations.UNKNOWN) for code, _ in table.values()}
    assert len(codes) == len(set(codes))
    assert set(codes) == given
