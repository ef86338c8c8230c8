"""Every condition that a user can meet, read from the error classes; docs/errors.md shows them."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters import spark_mt

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = spark_mt.__name__
ELSEWHERE = PACKAGE + ".integrations."
"""Modules that run in the processes of other systems, and need those; they have no conditions."""


class Group(NamedTuple):
    """Where errors come from.

    Args:
        packages: The folders of the package whose classes belong here; the last group takes what
            no other names.
        about: What holds for all of them.
    """

    title: str
    packages: tuple[str, ...]
    about: str


GROUPS = (
    Group(
        "The text of a statement",
        ("statements",),
        "Nothing was read from or done to any table. The message shows the place in the statement; "
        "a remedy costs no more than running the statement again.",
    ),
    Group(
        "A definition",
        ("definition", "query", "resolution"),
        "What a statement or a model asks for cannot be made into a table. Nothing was changed, "
        "and a remedy costs no more than running the statement again, unless it says otherwise. "
        "Several violations are reported at once.",
    ),
    Group(
        "A change of a definition",
        ("changes",),
        "A table exists, and cannot be changed in place into what the statement asks for. Nothing "
        "was changed. Several violations are reported at once.",
    ),
    Group(
        "Carrying out a statement",
        ("planning", "execution", "hosting"),
        "The statement is valid, but the table, its sources or another statement do not allow it.",
    ),
    Group(
        "Spark, Java and the metastore",
        ("spark",),
        "The surroundings do not work yet; no table was touched.",
    ),
    Group(
        "The refresh manager",
        ("scheduler", "manager"),
        "A manager that does not start, or refuses a request. Over HTTP these come as problem "
        "documents, with the same condition, parameters, violations and remedy.",
    ),
    Group(
        "The command line",
        ("cli", "client"),
        "What `spark-mt` meets before it reaches a table, or receives from the manager.",
    ),
    Group("dbt", (), "Checked before any statement runs."),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Args:
        kind: The class that stands for it.
        variants: Classes that say the same in another place, such as the text of a statement.
    """

    kind: type[MaterializedTableError]
    variants: tuple[type[MaterializedTableError], ...] = ()

    @property
    def name(self) -> str:
        """The condition as errors carry it."""
        return self.kind.condition

    @property
    def group(self) -> Group:
        """Where it comes from."""
        inner = self.kind.__module__.removeprefix(PACKAGE + ".").partition(".")[0]
        return next((group for group in GROUPS if inner in group.packages), GROUPS[-1])


class SharedConditionError(Exception):
    """Two classes of errors that mean different things have one condition."""


def conditions() -> tuple[Condition, ...]:
    """Every condition by group and name.

    Raises:
        SharedConditionError: Classes that are no kin have the same condition.
    """
    owners: dict[str, Condition] = {}
    for kind in sorted(set(_kinds(MaterializedTableError)), key=_ancestry):
        known = owners.get(kind.condition)
        if known is None:
            owners[kind.condition] = Condition(kind)
        elif issubclass(kind, known.kind):
            owners[kind.condition] = Condition(known.kind, (*known.variants, kind))
        else:
            raise SharedConditionError(kind, known.kind)
    return tuple(sorted(owners.values(), key=lambda c: (GROUPS.index(c.group), c.name)))


def _kinds(base: type[MaterializedTableError]) -> Iterator[type[MaterializedTableError]]:
    """The classes of the package, once all of its modules are loaded."""
    for module in pkgutil.walk_packages(spark_mt.__path__, PACKAGE + "."):
        if not module.name.startswith(ELSEWHERE):
            importlib.import_module(module.name)
    yield from _below(base)


def _below(base: type[MaterializedTableError]) -> Iterator[type[MaterializedTableError]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith(PACKAGE + "."):
            yield kind
        yield from _below(kind)


def _ancestry(kind: type) -> tuple[int, str]:
    return len(kind.__mro__), kind.__qualname__


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
