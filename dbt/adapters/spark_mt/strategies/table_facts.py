"""Facts of a table by which its strategies decide: definition, query and baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.row_lineage import Shape, row_shape
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source
    from dbt.adapters.spark_mt.query.operators import Tree
    from dbt.adapters.spark_mt.resolution.options import Incremental
    from dbt.adapters.spark_mt.resolution.row_lineage import RowShape


@dataclass(frozen=True)
class TableFacts:
    """Definition, query and baseline of a table, for its strategies.

    Args:
        definition: The table as wanted, or as it is stored.
        analyzed: Its query as the engine sees it now.
        baseline: From where it counts its sources; None where all rows count.
    """

    definition: ResolvedDefinition
    analyzed: AnalyzedQuery
    baseline: Baseline | None = None

    @cached_property
    def shape(self) -> RowShape:
        """Which rows of the result a changed source row reaches."""
        return row_shape(self.definition, self.analyzed)

    @cached_property
    def followed(self) -> tuple[Source, ...]:
        """The sources whose changes count."""
        return tuple(s for s in self.analyzed.sources if str(s.name) in self.shape.followed)

    @property
    def is_full(self) -> bool:
        """Whether every refresh computes all rows."""
        return self.definition.refresh_mode is RefreshMode.FULL

    @property
    def keeps_rows(self) -> bool:
        """Whether the table has rows for which its query does not account."""
        return self.baseline is not None and self.baseline.keeps_rows

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the declared key."""
        key = self.definition.declared.primary_key
        return key.columns if key is not None else ()

    @property
    def incremental(self) -> Incremental:
        """The option `incremental`."""
        return read_options(self.definition.declared.options).incremental

    @cached_property
    def tree(self) -> Tree:
        """The operators of the query."""
        return definition_tree(self.definition, self.analyzed)

    @property
    def watermarks(self) -> tuple[Watermark, ...]:
        """Those of the option `watermark`."""
        return read_options(self.definition.declared.options).watermarks

    @property
    def is_row_wise(self) -> bool:
        """Whether every row of the result is made of one row of a source."""
        return self.shape.shape is Shape.ROW_WISE

    @property
    def is_keyed(self) -> bool:
        """Whether the query groups rows by the PRIMARY KEY."""
        return self.shape.shape is Shape.KEYED

    @property
    def applies_changes(self) -> bool:
        """Whether changes of the sources reach known rows, and all other rows can stay."""
        return self.whole is None and (self.is_row_wise or self.is_keyed)

    @property
    def whole(self) -> Reason | None:
        """Why the query cannot be computed over a part of its sources; None if it can."""
        if self.shape.can_be_limited:
            return None
        return self.not_row_wise if self.shape.problem else self.unversioned

    @property
    def not_row_wise(self) -> Reason:
        """Why rows of the sources count for each other."""
        if self.is_keyed:
            return Reason("GROUPS", "", "it groups rows by the PRIMARY KEY")
        return Reason(self.shape.reason, "", self.shape.problem)

    @property
    def unversioned(self) -> Reason:
        """Which sources do not record their changes."""
        names = ", ".join(self.shape.unversioned)
        return Reason("READ_WHOLE", names, f"the changes of {names} are not recorded")
