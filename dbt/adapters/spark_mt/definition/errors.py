"""The root of every error that a user can see, violations reported together, and suggestions.

One class per condition: the class has the texts, an instance has the facts. Callers and tests read
`condition` and `parameters`, never the wording.
"""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class MaterializedTableError(Exception):
    """An operation on a materialized table cannot be done.

    Subclasses set `condition`, `text` (what happened, on which table) and `remedy` (what to do and
    what it costs); both texts are `str.format` templates over the parameters.

    Args:
        violations: Every single reason, where there are several.
        parameters: The facts that the texts name, by name.
    """

    condition: ClassVar[str] = "MATERIALIZED_TABLE_ERROR"
    text: ClassVar[str] = "{detail}"
    remedy: ClassVar[str] = ""

    def __init__(self, *, violations: Sequence[str] = (), **parameters: object) -> None:
        self.parameters = {name: str(value) for name, value in parameters.items()}
        self.violations = tuple(violations)
        super().__init__(self._render())

    def name_table(self, table: str) -> None:
        """Say which table the error is about, unless it knows.

        What is found deep down, in a query or in a source, learns it from the statement.
        """
        if "table" not in self.parameters:
            self.parameters["table"] = table
            self.args = (self._render(),)

    def _render(self) -> str:
        silent = "table" in self.parameters and "{table}" not in self.text
        table = f"Materialized table {self.parameters['table']}: " if silent else ""
        lines = [f"[{self.condition}] {table}{self.text.format_map(self.parameters)}"]
        lines += [f"  - {violation}" for violation in self.violations]
        if self.remedy:
            lines.append(self.remedy.format_map(self.parameters))
        return "\n".join(lines)


@contextmanager
def about(table: object) -> Iterator[None]:
    """Name the table in every error of the block that does not.

    Args:
        table: Its name, as the user wrote it or in full.

    Raises:
        MaterializedTableError: The error of the block.
    """
    try:
        yield
    except MaterializedTableError as error:
        error.name_table(str(table))
        raise


def made_again(
    condition: str, parameters: Mapping[str, str], violations: Sequence[str]
) -> MaterializedTableError | None:
    """Return an error of another process as one of this process, with the same class and text.

    Args:
        condition: Its condition.
        parameters: Its parameters.
        violations: Its violations.

    Returns:
        None where no class that is loaded here has the condition and takes the parameters.
    """
    for kind in _kinds(MaterializedTableError):
        if kind.condition == condition:
            error = kind.__new__(kind)
            try:
                MaterializedTableError.__init__(error, violations=violations, **parameters)
            except KeyError:  # another release names other parameters
                continue
            return error
    return None


def _kinds(kind: type[MaterializedTableError]) -> Iterator[type[MaterializedTableError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


class InvalidValueError(MaterializedTableError, ValueError):
    """A config, setting or clause holds a value that is never valid, whatever the table.

    It is one violation among others in the error of the config, settings or statement.
    """

    condition = "MATERIALIZED_TABLE_INVALID_VALUE"
    text = "{detail}"


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
    """Raise the violations: a single one as it is, several as one error that lists them in order.

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


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is similar to `name`, or None."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.8)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean '…'?`, or an empty text."""
    found = closest(name, known)
    return f" Did you mean '{found}'?" if found else ""


REPLACE = (
    "replace the table with CREATE OR REPLACE MATERIALIZED TABLE {table} (in dbt: --full-refresh). "
    "That computes all rows again from the sources that exist today. Options and comments are "
    "those of the new statement, and readers see the old table until it is done"
)


class DefinitionChangeError(MaterializedTableError):
    """A definition cannot be changed in place, for several reasons; nothing was done.

    Each reason is an error of a class below this one; `errors` holds them, `conditions` names them.
    """

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_CHANGE"
    text = "Materialized table {table} cannot be changed in place, nothing was changed:"
    remedy = "Correct the statement, or " + REPLACE + "."
    errors: tuple[MaterializedTableError, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of every violation."""
        return tuple(e.condition for e in self.errors) or (self.condition,)
