"""Plain tables of dbt's own materializations: their place and their constraints.

Tables that read a relation by its name see it neither empty nor missing where one commit
replaces it. Where none can, the new table is written under another name first, so that a failure
leaves the old relation, and the name is missing for two renames only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.adapter.catalog import format_of
from dbt.adapters.spark_mt.adapter.materialization import Drop, Release, swap
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.handle import STAGED
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.adapter.materialization import RelationStep
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.relation import SparkMTRelation


class Placement(Enum):
    """How a table gets its name."""

    REPLACE = "replace"
    """CREATE OR REPLACE, in one commit; nothing else has the name, or it is of the same format."""
    RELEASE = "release"
    """As REPLACE, when the materialized table of the name was released."""
    STAGE = "stage"
    """By a rename, when it has its rows."""
    DROP = "drop"
    """CREATE after DROP, of a clone or in a format that replaces nothing, as dbt-spark does it."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """The write of a table.

    Args:
        placement: How the table gets its name.
        relation: The table.
        existing: What has its name now; None if nothing has.
    """

    placement: Placement
    relation: SparkMTRelation
    existing: SparkMTRelation | None

    @property
    def written(self) -> SparkMTRelation:
        """The relation that the statement names."""
        is_staged = self.placement is Placement.STAGE
        return self.relation.with_suffix(STAGED) if is_staged else self.relation

    @property
    def steps_before(self) -> tuple[RelationStep, ...]:
        """What is done to relations before the table is written."""
        if self.placement is Placement.STAGE:
            return (Drop(self.written),)
        if self.existing is None or self.placement is Placement.REPLACE:
            return ()
        is_released = self.placement is Placement.RELEASE
        return (Release(self.existing) if is_released else Drop(self.existing),)

    @property
    def needs_valid_query(self) -> bool:
        """Whether the steps before take an existing relation, so that the query must be valid."""
        return bool(self.steps_before) and self.placement is not Placement.STAGE

    @property
    def steps_after(self) -> tuple[RelationStep, ...]:
        """What is done to relations when the table is written."""
        if self.placement is not Placement.STAGE or self.existing is None:
            return ()
        return swap(self.existing, self.written, self.relation)


def plan_write(
    relation: SparkMTRelation, existing: SparkMTRelation | None, file_format: str | None
) -> TableWrite:
    """Decide how a table gets its name.

    Args:
        relation: The table.
        existing: What has its name now; None if nothing has.
        file_format: The format of the table; None for a clone, which replaces nothing.
    """
    placement, wanted = Placement.DROP, FORMATS.of(file_format)
    if existing is None:
        placement = Placement.REPLACE
    elif wanted is not None:
        placement = _over(existing, wanted)
    return TableWrite(placement, relation, existing)


def _over(existing: SparkMTRelation, wanted: TableFormat) -> Placement:
    if existing.is_materialized_table:
        return Placement.RELEASE
    return Placement.REPLACE if format_of(existing) is wanted else Placement.STAGE


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of a model's contract that a plain table has.

    Args:
        not_null: The columns that are NOT NULL.
        checks: Name and expression of each CHECK.
        warnings: One sentence for each constraint that no plain table has.
    """

    not_null: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]

    def guard(self) -> str:
        """A condition that is true for each row, or fails the query at one that breaks them.

        Empty without constraints.
        """
        cases = [
            *((f"{quote(c)} IS NULL", f"NOT NULL of column {c}") for c in self.not_null),
            *((f"NOT coalesce({sql}, false)", f"CHECK {n} ({sql})") for n, sql in self.checks),
        ]
        if not cases:
            return ""
        listed = (
            f"WHEN {broken} THEN raise_error({quote_text(f'A row breaks the constraint {what}.')})"
            for broken, what in cases
        )
        # The optimizer moves no condition that is not deterministic below a join or a filter of the
        # query, where it would see rows that are not in the result. It knows that rand() >= 0.
        return f"CASE {' '.join(listed)} ELSE monotonically_increasing_id() >= 0 END"

    def statements(self, table: str) -> Iterator[str]:
        """Yield the statements that add them to a table without any."""
        # Delta makes columns of CREATE TABLE … AS nullable, and Spark then refuses SET NOT NULL.
        not_null = ((_not_null_name(c), f"{quote(c)} IS NOT NULL") for c in self.not_null)
        for name, expression in (*not_null, *self.checks):
            yield f"ALTER TABLE {table} ADD CONSTRAINT {quote(name)} CHECK ({expression})"


def constraints_of(model: Mapping[str, Any], file_format: str | None) -> Constraints:
    """The constraints of a plain table; only those of the default format have any.

    Args:
        model: The model as Jinja has it, with `columns` and `constraints`.
        file_format: The format of its table; None for the default one.
    """
    of_columns = (
        {**each, "columns": [column["name"]]}
        for column in model["columns"].values()
        for each in column.get("constraints", ())
    )
    declared = [*of_columns, *model.get("constraints", ())]
    table_format = FORMATS.default if file_format is None else FORMATS.of(file_format)
    has_any = table_format is FORMATS.default
    kept = [each for each in declared if has_any and each["type"] in {"not_null", "check"}]
    not_null = (c for each in kept if each["type"] == "not_null" for c in each["columns"])
    checks = (
        (each.get("name") or _name_of(each["expression"]), each["expression"])
        for each in kept
        if each["type"] == "check"
    )
    return Constraints(
        tuple(dict.fromkeys(not_null)),
        tuple(checks),
        tuple(
            f"constraint {each['type']} ({', '.join(each.get('columns') or ())}): no "
            f"{table_format.title if table_format else file_format} table has it."
            for each in declared
            if each not in kept and each.get("warn_unsupported", True)
        ),
    )


def _not_null_name(column: str) -> str:
    return f"not_null_{column}" if column.isidentifier() else _name_of(f"{column} IS NOT NULL")


def _name_of(expression: str) -> str:
    return f"check_{sha256(expression.encode()).hexdigest()[:12]}"
