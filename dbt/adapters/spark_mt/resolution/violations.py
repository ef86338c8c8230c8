"""Everything wrong with a statement, said at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidDefinitionError(MaterializedTableError):
    """A definition cannot be made into a table, for several reasons; nothing was done.

    Each reason is an error of a class below this one; `errors` holds them, `conditions` names them.
    """

    condition = "MATERIALIZED_TABLE_INVALID_DEFINITION"
    text = "The definition of materialized table {table} is not valid, nothing was changed:"
    errors: tuple[MaterializedTableError, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of every violation."""
        return tuple(e.condition for e in self.errors) or (self.condition,)


def as_violation(error: MaterializedTableError) -> str:
    """Return `error` as an item of another error's list."""
    return str(error).replace("\n", "\n    ")


def raise_violations(table: str, errors: Sequence[MaterializedTableError]) -> None:
    """Raise what was found: one violation as itself, several as one error that lists them.

    Args:
        table: The table's name, for the error.
        errors: The violations in the order in which they are to be read.

    Raises:
        MaterializedTableError: The only violation.
        InvalidDefinitionError: There are several.
    """
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    combined = InvalidDefinitionError(table=table, violations=[as_violation(e) for e in errors])
    combined.errors = tuple(errors)
    raise combined
