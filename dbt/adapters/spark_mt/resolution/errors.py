"""Violations of a statement, reported together, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class InvalidDefinitionError(MaterializedTableError):
    """A definition has several violations; nothing was done.

    Each violation is an error of a subclass. `errors` holds them, `conditions` names them.
    """

    condition = "MATERIALIZED_TABLE_INVALID_DEFINITION"
    text = "The definition of materialized table {table} is not valid, nothing was changed:"
    errors: tuple[MaterializedTableError, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of every violation."""
        return tuple(e.condition for e in self.errors) or (self.condition,)


def as_violation(error: MaterializedTableError) -> str:
    """Return `error` as an item of the list of another error."""
    return str(error).replace("\n", "\n    ")


def raise_violations(table: str, errors: Sequence[MaterializedTableError]) -> None:
    """Raise the violations: a single one as it is, several as one error that lists them.

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


_ALIKE = 0.8


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is similar to `name`, or None."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_ALIKE)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean '…'?`, or an empty text."""
    found = closest(name, known)
    return f" Did you mean '{found}'?" if found else ""
