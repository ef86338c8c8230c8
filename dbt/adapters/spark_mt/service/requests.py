"""What a manager is asked to do beside what its page offers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement that somebody asks the manager to carry out in its driver.

    Args:
        statement: CREATE, ALTER of any kind, or REFRESH of a materialized table.
        catalog: Where names without a catalog belong.
        schema: Where names without a schema belong.
        owner: Who declares the table, as the definition keeps it.
    """

    statement: str
    catalog: str
    schema: str
    owner: tuple[tuple[str, str], ...] = ()
