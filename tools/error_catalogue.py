"""Conditions that a user can meet, for docs/errors.md."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import Condition, Group, StatementSyntaxError
from dbt.adapters.spark_mt.spark.formats import delta

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ABOUT = {
    Group.STATEMENT: (
        "Nothing was read from or done to any table. The message shows the place in the statement; "
        "a remedy costs no more than running the statement again."
    ),
    Group.DEFINITION: (
        "What a statement or a model asks for cannot be made into a table. Nothing was changed, "
        "and a remedy costs no more than running the statement again, unless it says otherwise. "
        "Several violations are reported at once."
    ),
    Group.CHANGE: (
        "A table exists, and cannot be changed in place into what the statement asks for. Nothing "
        "was changed. Several violations are reported at once."
    ),
    Group.EXECUTION: (
        "The statement is valid, but the table, its sources or another statement do not allow it."
    ),
    Group.SPARK: "The surroundings do not work yet; no table was touched.",
    Group.MANAGER: (
        "A manager that does not start, or refuses a request. Over HTTP these come as problem "
        "documents, with the same condition, parameters, violations and remedy."
    ),
    Group.CLIENT: (
        "What `spark-mt` meets before it reaches a table, or receives from the manager."
    ),
    Group.DBT: "Checked before any statement runs.",
}
"""What holds for all conditions of a group."""
TABLES = (conditions, delta)


@dataclass(frozen=True, slots=True)
class Documented:
    """A condition, and the same one as a statement shows it."""

    condition: Condition[Any]
    in_statement: tuple[Condition[Any], ...] = ()


class SharedConditionError(Exception):
    """Two conditions that mean different things have one name."""


def documented(
    known: Iterable[Condition[Any]] = tuple(
        each for table in TABLES for each in vars(table).values() if isinstance(each, Condition)
    ),
) -> tuple[Documented, ...]:
    """Every condition by group and name.

    Raises:
        SharedConditionError: Conditions that are not the same have one name.
    """
    owners: dict[str, Documented] = {}
    for each in known:
        owner = owners.get(each.name)
        if owner is None:
            owners[each.name] = Documented(each)
        elif each.error is StatementSyntaxError and owner.condition.text in each.text:
            owners[each.name] = Documented(owner.condition, (*owner.in_statement, each))
        else:
            raise SharedConditionError(each, owner.condition)
    groups = list(Group)
    return tuple(
        sorted(owners.values(), key=lambda d: (groups.index(d.condition.group), d.condition.name))
    )


class _Blanks(dict[str, str]):
    """Stands for every parameter by its name."""

    def __missing__(self, name: str) -> str:
        return f"<{name}>"


def shown(template: str) -> str:
    """A message with its parameters' names in place of their values."""
    blanks: Mapping[str, object] = _Blanks()
    return template.format_map(blanks).replace(">The ", "> The ")


def parameters(template: str) -> set[str]:
    """The names of the parameters that a message takes."""
    return {name for _, name, _, _ in Formatter().parse(template) if name}
