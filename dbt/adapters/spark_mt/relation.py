"""dbt relations with three-part names and a type for materialized tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base.relation import SerializableIterable  # noqa: TC002 - read at run time
from dbt.adapters.contracts.relation import Policy
from dbt.adapters.spark.relation import SparkQuotePolicy, SparkRelation
from dbt.adapters.utils import classproperty
from dbt_common.dataclass_schema import StrEnum

SPARK_CATALOG = "spark_catalog"
"""Spark's own catalog."""


class SparkMTRelationType(StrEnum):
    """dbt's relation types and ours; an enum with members cannot be extended."""

    Table = "table"
    View = "view"
    CTE = "cte"
    MaterializedView = "materialized_view"
    External = "external"
    Ephemeral = "ephemeral"
    PointerTable = "pointer_table"
    Function = "function"
    MaterializedTable = "materialized_table"


_RelationTypes = type[SparkMTRelationType]


@dataclass
class SparkMTIncludePolicy(Policy):
    """Catalog, schema and name are all printed."""

    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class SparkMTRelation(SparkRelation):
    """A table, view or materialized table as `catalog.schema.name`."""

    type: SparkMTRelationType | None = None  # type: ignore[assignment]
    quote_policy: Policy = field(default_factory=SparkQuotePolicy)
    include_policy: Policy = field(default_factory=SparkMTIncludePolicy)
    renameable_relations: SerializableIterable = field(
        default_factory=lambda: frozenset({SparkMTRelationType.Table, SparkMTRelationType.View})
    )
    replaceable_relations: SerializableIterable = field(
        default_factory=lambda: frozenset(
            {SparkMTRelationType.View, SparkMTRelationType.MaterializedTable}
        )
    )

    def __post_init__(self) -> None:
        """Check nothing: unlike in dbt-spark, a relation may have a catalog."""

    def render(self) -> str:
        """The name in SQL."""
        return ".".join(part for _, part in self._render_iterator() if part is not None)

    def as_table(self) -> SparkMTRelation:
        """The materialized table of this name."""
        return self._changed(type=SparkMTRelationType.MaterializedTable)

    def as_view(self) -> SparkMTRelation:
        """The view of this name."""
        return self._changed(type=SparkMTRelationType.View)

    def with_suffix(self, suffix: str) -> SparkMTRelation:
        """The relation whose name ends with `suffix` as well."""
        return self._changed(path={"identifier": f"{self.identifier}{suffix}"})

    def _changed(self, **changes: object) -> SparkMTRelation:
        changed: SparkMTRelation = self.incorporate(**changes)  # type: ignore[no-untyped-call]
        return changed

    @classproperty
    def MaterializedTable(cls) -> str:  # noqa: N802, N805 - dbt's way of naming a type
        """The type's name, as `this.MaterializedTable` in Jinja."""
        return str(SparkMTRelationType.MaterializedTable)

    @classproperty
    def get_relation_type(cls) -> _RelationTypes:  # noqa: N805
        """The enum of types."""
        return SparkMTRelationType

    @property
    def is_materialized_table(self) -> bool:
        """Whether this is one of ours."""
        return self.type == SparkMTRelationType.MaterializedTable

    @property
    def is_in_spark_catalog(self) -> bool:
        """Whether it is in Spark's own catalog."""
        return is_spark_catalog(self.database)


def is_spark_catalog(catalog: str | None) -> bool:
    """Whether a catalog is Spark's own, to which names without one belong."""
    return (catalog or SPARK_CATALOG).lower() == SPARK_CATALOG
