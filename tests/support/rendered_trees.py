"""Comparison of a query with the SQL of its operator tree, by Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query.differential import obstacles
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operator_sql import render_query
from dbt.adapters.spark_mt.query.subqueries import fresh_ids, without_subqueries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import QueryContext, SourceColumns


@dataclass
class RenderedTrees:
    """Queries whose trees are compared with them.

    Args:
        spark: A session in whose current schema the tables are.
        context: The catalog and schema of the tables.
        sources: Their columns.
    """

    spark: SparkSession
    context: QueryContext
    sources: Sequence[SourceColumns]
    refused: dict[str, str] = field(default_factory=dict)
    by_plan: int = 0
    by_rows: int = 0

    def problem(self, query: str) -> str:
        """Return how the rows of a query's tree differ from its own; empty where they are equal.

        The tree without its subqueries is compared as well. A query whose tree has gaps, or whose
        change cannot be derived, is remembered with the reason.
        """
        original = self.spark.sql(query)
        tree = operator_tree(query, self.context, tuple(original.columns), sources=self.sources)
        if tree.gaps:
            self.refused[query] = tree.gaps[0][0]
            return ""
        texts = [render_query(tree)]
        if found := obstacles(tree):
            self.refused[query] = found[0].code
        else:
            root = without_subqueries(tree.root, fresh_ids(tree.root))
            texts.append(render_query(replace(tree, root=root)))
        return "\n".join(self._difference(query, original, text) for text in texts).strip()

    def _difference(self, query: str, original: DataFrame, text: str) -> str:
        rendered = self.spark.sql(text)
        ours = [(f.name, f.dataType) for f in rendered.schema.fields]
        if ours != [(f.name, f.dataType) for f in original.schema.fields]:
            return f"{query}\nhas other columns than\n{text}"
        plans = [each._jdf.queryExecution().optimizedPlan() for each in (original, rendered)]
        if plans[0].sameResult(plans[1]):
            self.by_plan += 1
            return ""
        self.by_rows += 1
        wanted, found = (Counter(map(repr, each.collect())) for each in (original, rendered))
        if found == wanted:
            return ""
        return f"{query}\nlacks {wanted - found}, has {found - wanted}:\n{text}"
