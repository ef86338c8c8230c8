"""Dialect of sqlglot whose trees are written as Spark SQL again.

sqlglot replaces functions, types and literals by what it considers their equivalent. This dialect
keeps every function by its name, and every literal as it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

if TYPE_CHECKING:
    from collections.abc import Callable


_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")


class LiteralText(exp.Var):
    """A literal of text, as it is written: 'a' and 'A' differ, while a Var is equal in any case."""

    _hash_raw_args: ClassVar[bool] = True


class _Dialect(Spark):
    """Spark without functions that sqlglot knows; syntax of its own stays (`EXTRACT(x FROM y)`)."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name in _PARSERS
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in {"CASE", "TRANSFORM"}
        }

    class Generator(SparkGenerator):
        TRANSFORMS: ClassVar = {
            node: text
            for node, text in SparkGenerator.TRANSFORMS.items()
            if node not in {exp.Select, exp.Qualify}
        } | {
            exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
            LiteralText: lambda _, node: node.name,
        }


DIALECT = _Dialect()


def sql(tree: exp.Expr) -> str:
    """Write a part of a tree."""
    return tree.sql(dialect=DIALECT, normalize_functions=False, comments=False)
